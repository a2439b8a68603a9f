"""The pages: signing in and out, the dashboard, the files it needs, and the JSON it asks for.

All of them need the role `read`, except the page to sign in and the files, which it needs too.
"""

import asyncio
import functools
import hashlib
import importlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec
from starlette.requests import Request as PageRequest
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match as RouteMatch
from starlette.routing import Route

from lexbandit._internal.vega_script import BUNDLE, NAME
from lexbandit.chooser.summary import Summary
from lexbandit.errors import unknown_name
from lexbandit.service.dashboard import maps, views
from lexbandit.service.http.access import COOKIE, Access, cookie_in, key_in_form, set_cookie
from lexbandit.service.http.problems import (
    FORBIDDEN,
    FOREIGN,
    UNAUTHENTICATED,
    Problem,
    not_allowed,
    unknown_point,
)
from lexbandit.service.http.server import SAFE, Reply, Request
from lexbandit.service.logging import audit, audit_refusal

if TYPE_CHECKING:
    from lexbandit.service.engine.engine import Engine

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every page: nothing is loaded from elsewhere, no script or style stands in the page itself."""

FILES = "/dashboard/"
"""Below this are the files that pages need; they are for everybody."""
_FOREVER = "public, max-age=31536000, immutable"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_LOGIN, _LOGOUT = "/login", "/logout"

# An answer is cached for at least so many seconds, and for so many times the processor time that it
# took. Not the time of the clock: on a busy machine that is mostly others' work, and a viewer would
# look at an old answer for long.
_LEAST, _TIMES = 1.5, 50.0
# How many answers the cache holds: a viewer who tries many maps does not fill the memory.
_CAPACITY = 16

_LARGEST_FORM = 4096
_NOT_KEPT = [(name.decode(), value.decode()) for name, value in SAFE]


def login_page(wrong: bool = False) -> Response:
    """Return the page that asks for a key; `wrong` says that the last one was not accepted."""
    note = "This key is not known, or may not read all decision points." if wrong else ""
    return _page("login.html", {"note": note}, status=403 if wrong else 200)


@functools.cache
def _static() -> dict[str, tuple[bytes, str]]:
    """Return the page's own files and their tags, by name."""
    found = {}
    for file in files("lexbandit.service.dashboard").joinpath("static").iterdir():
        content = file.read_bytes()
        found[file.name] = (content, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found


def _page(name: str, values: dict[str, str], status: int = 200) -> Response:
    """Return a page with values in place of its fields; they are shown as plain text."""
    page = _static()[name][0].decode()
    for field, text in values.items():
        page = page.replace(f"{{{field}}}", escape(text))
    return HTMLResponse(page, status, {**HEADERS, "Cache-Control": "no-store"})


class CachedAnswer(NamedTuple):
    """An answer, the last event it includes, and until when it may be out of date."""

    seq: int
    until: float
    answer: Any


class AnswerCache:
    """Answers by key; one that is out of date is served for `most` seconds at most."""

    def __init__(
        self,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._most = most
        self._clock = clock
        self._spent = spent
        self._answers: OrderedDict[Any, CachedAnswer] = OrderedDict()

    async def get(self, key: Any, seq: int, make: Callable[[], Awaitable[Any]]) -> CachedAnswer:
        """Return the cached answer if nothing happened since, or if it is young; else a new one."""
        cached = self._answers.get(key)
        if cached is None or (cached.seq != seq and self._clock() >= cached.until):
            before = self._spent()
            answer = await make()
            young = min(max(_LEAST, _TIMES * (self._spent() - before)), self._most)
            cached = self._answers[key] = CachedAnswer(seq, self._clock() + young, answer)
            self._answers.move_to_end(key)
            if len(self._answers) > _CAPACITY:
                self._answers.popitem(last=False)
        return cached


class _Watch:
    """Answers the requests of the dashboard from the engine."""

    def __init__(self, engine: "Engine", auth: str) -> None:
        self._engine = engine
        self._auth = auth
        self._summaries = AnswerCache(most=5.0)
        self._maps = AnswerCache(most=10.0)
        self._drawing = asyncio.Lock()
        self._what_if: Any = None

    async def page(self, request: PageRequest) -> Response:
        session = "session" if COOKIE in request.cookies else "none"
        points = " ".join(self._engine.points)
        values = {"vega": NAME, "points": points, "session": session, "auth": self._auth}
        return _page("index.html", values)

    async def file(self, request: PageRequest) -> Response:
        name = request.path_params["file"]
        if name == NAME:
            return await self._script("gzip" in request.headers.get("accept-encoding", ""))
        kind = name.rpartition(".")[2]
        if kind not in _KINDS or name not in _static():
            return Response("There is no such file.", 404, HEADERS, "text/plain")
        content, tag = _static()[name]
        headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=_KINDS[kind], headers=headers)

    async def _script(self, compressed: bool) -> Response:
        script = await BUNDLE.script()
        headers = {**HEADERS, "Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
        if not compressed:
            return Response(script.plain, media_type=_KINDS["js"], headers=headers)
        headers["Content-Encoding"] = "gzip"
        return Response(script.compressed, media_type=_KINDS["js"], headers=headers)

    async def history(self, request: PageRequest) -> Response:
        engine = self._engine
        point = self._engine.point(request.path_params["point"])
        series = request.query_params.get("series", "whole")
        if series not in views.SERIES:
            raise unknown_name("series", series, views.SERIES)

        async def summary() -> Summary:
            return point.chooser.summary()

        cached = await self._summaries.get(point.name, point.seq, summary)
        trouble = hashlib.sha256((engine.trouble or "").encode()).hexdigest()[:8]
        tag = f'"{series}-{point.seq}-{cached.seq}-{trouble}"'
        if request.headers.get("if-none-match") == tag:
            return _json(None, tag)
        view = views.standing(engine, point, cached.answer)
        return _json({**view, "series": views.series_of(point.history, series)}, tag)

    async def map(self, request: PageRequest) -> Response:
        query = request.query_params
        point = self._engine.point(request.path_params["point"])
        x, y, text = query.get("x"), query.get("y"), query.get("at")
        at = maps.fixed_values(text)
        contexts = [one.row["context"] for one in point.history.recent()]
        async with self._drawing:  # one after the other: who waited finds it drawn
            cached = await self._maps.get(
                (point.name, x, y, text),
                point.version,
                lambda: maps.draw_map(point.chooser, x, y, at, contexts),
            )
        return _json({"version": cached.seq, **cached.answer})

    async def recent(self, request: PageRequest) -> Response:
        point = self._engine.point(request.path_params["point"])
        return _json({"decisions": [views.decision(one) for one in point.history.recent()]})

    async def what_if(self, request: PageRequest) -> Response:
        point = self._engine.point(request.path_params["point"])
        if self._what_if is None:  # it brings Polars, which takes longer to import than all others
            module = "lexbandit.service.dashboard.what_if"
            found = await asyncio.to_thread(importlib.import_module, module)
            self._what_if = self._what_if or found.WhatIf(self._engine.storage)
        return _json(self._what_if.ask(point))


def _json(content: Any, tag: str | None = None) -> Response:
    """Return an answer; without content it says that nothing changed since `tag`."""
    headers = {"Cache-Control": "no-store" if tag is None else "private, no-cache"}
    headers["X-Content-Type-Options"] = "nosniff"
    if tag is not None:
        headers["ETag"] = tag
    if content is None:
        return Response(status_code=304, headers=headers)
    return Response(msgspec.json.encode(content), media_type="application/json", headers=headers)


class Pages:
    """Serves pages to signed-in users; without API keys, to everybody on this machine.

    `secure`: cookies are sent back over TLS only.
    """

    def __init__(self, engine: "Engine", access: Access, *, secure: bool) -> None:
        self._access = access
        self._points = engine.points
        self._secure = secure
        watch = _Watch(engine, "none" if access.keys is None else "keys")
        self._routes = (
            Route("/", watch.page, name="dashboard"),
            Route(FILES + "{file}", watch.file, name="dashboard file"),
            Route("/v1/{point}/history", watch.history),
            Route("/v1/{point}/map", watch.map),
            Route("/v1/{point}/recent", watch.recent),
            Route("/v1/{point}/what-if", watch.what_if),
        )

    def has(self, request: Request) -> bool:
        """Tell whether there is a page at a path."""
        scope = _scope(request)
        return scope["path"] in (_LOGIN, _LOGOUT) or any(
            route.matches(scope)[0] != RouteMatch.NONE for route in self._routes
        )

    async def __call__(self, request: Request) -> Reply:
        """Answer with a page."""
        response = await self._response(request)
        headers = dict(response.raw_headers)
        headers.pop(b"content-length", None)
        media = headers.pop(b"content-type", b"text/plain")
        return Reply(response.status_code, bytes(response.body), media, (*headers.items(),))

    async def _response(self, request: Request) -> Response:
        scope = _scope(request)
        path = scope["path"]
        if path in (_LOGIN, _LOGOUT):
            return await self._own(path, request)
        if not path.startswith(FILES):
            try:
                point = path.split("/")[2] if path.startswith("/v1/") else None
                self._access.authorize(request.headers, "read", point)
            except Problem as problem:
                page = request.method in ("GET", "HEAD") and not path.startswith("/v1/")
                if not page or problem.kind not in (FORBIDDEN, UNAUTHENTICATED):
                    raise
                return _see(_LOGIN)
        return await self._route(scope)

    async def _route(self, scope: dict[str, Any]) -> Response:
        for route in self._routes:
            match, child = route.matches(scope)
            if match is RouteMatch.FULL:
                point = child["path_params"].get("point")
                if point is not None and point not in self._points:
                    raise unknown_point(point, self._points)
                made: Response = await route.endpoint(PageRequest({**scope, **child}))
                return made
        raise not_allowed(scope["method"], "GET")

    async def _own(self, path: str, request: Request) -> Response:
        """Answer for the pages to sign in and out."""
        if path == _LOGIN and request.method in ("GET", "HEAD"):
            return _see("/") if self._access.keys is None else login_page()
        if request.method != "POST":
            raise not_allowed(request.method, "GET, POST" if path == _LOGIN else "POST")
        _same_site(request.headers)
        if path == _LOGOUT:
            return self._logout(request.headers)
        return self._login(await request.body(_LARGEST_FORM))

    def _login(self, body: bytes) -> Response:
        keys, sessions = self._access.keys, self._access.sessions
        if keys is None or sessions is None:
            return _see("/")
        key = keys.find(key_in_form(body))
        if key is None or not key.may("read") or not key.reaches(None):
            audit_refusal("the key to sign in with is not known, or may not read all points")
            return login_page(wrong=True)
        audit("signed in", key.name)
        response = _see("/")
        value = set_cookie(sessions.begin(key), secure=self._secure)
        response.raw_headers.append((b"set-cookie", value))
        return response

    def _logout(self, headers: Mapping[bytes, bytes]) -> Response:
        if self._access.sessions is not None:
            self._access.sessions.end(cookie_in(headers.get(b"cookie", b"").decode("latin-1")))
        response = _see(_LOGIN)
        response.raw_headers.append((b"set-cookie", set_cookie("", secure=self._secure)))
        return response


def _see(path: str) -> Response:
    """Return a redirect that is not cached, since it may set a cookie."""
    return RedirectResponse(path, 303, dict(_NOT_KEPT))


def _same_site(headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a page of another site sends: it would sign its visitors in as somebody else.

    Browsers say where a page is from; to an address without TLS they say its origin only. That is
    "null" for our own pages as well, since they ask for no referrer, and says nothing then.
    """
    site = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin", b"null")
    if site is not None:
        foreign, source = site not in (b"same-origin", b"none"), site
    else:
        host = origin.partition(b"://")[2]
        foreign, source = origin != b"null" and host != headers.get(b"host"), origin
    if foreign:
        raise Problem(
            FOREIGN,
            f"sign in and out on the service's own page, not from {source.decode('latin-1')}.",
        )


def _scope(request: Request) -> dict[str, Any]:
    """Return a request as Starlette knows it."""
    return {
        "type": "http",
        "method": request.method,
        "path": unquote(request.path.decode("latin-1")),
        "query_string": request.query_string,
        "headers": [*request.headers.items()],
    }
