"""The dashboard's routes: its page, the files it needs, and the JSON it asks for.

Who may see them is not settled here: the application asks for the role `read` before it calls them,
except for the files, which the page to sign in needs too.
"""

import asyncio
import functools
import hashlib
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lexbandit.chooser.summary import Summary
from lexbandit.errors import unknown_name
from lexbandit.service.dashboard import maps, views
from lexbandit.service.dashboard.bundle import BUNDLE, NAME
from lexbandit.service.dashboard.cache import Fresh
from lexbandit.service.dashboard.what_if import WhatIf
from lexbandit.service.http.sessions import COOKIE

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


def routes(engine: "Engine", *, no_auth: bool) -> list[Route]:
    """Return the dashboard's routes; `no_auth`: nobody needs a key."""
    watch = _Watch(engine, "none" if no_auth else "keys")
    return [
        Route("/", watch.page, name="dashboard"),
        Route(FILES + "{file}", watch.file, name="dashboard file"),
        Route("/v1/{point}/history", watch.history),
        Route("/v1/{point}/map", watch.map),
        Route("/v1/{point}/recent", watch.recent),
        Route("/v1/{point}/what-if", watch.what_if),
    ]


def login_page(wrong: bool = False) -> Response:
    """Return the page that asks for a key; `wrong` says that the last one was not accepted."""
    note = "This key is not known, or may not read." if wrong else ""
    return _page("login.html", {"note": note}, status=403 if wrong else 200)


@functools.cache
def _static() -> dict[str, tuple[bytes, str]]:
    """Return the page's own files and their tags, by name."""
    found = {}
    for place in files("lexbandit.service.dashboard").joinpath("static").iterdir():
        content = place.read_bytes()
        found[place.name] = (content, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found


def _page(name: str, texts: dict[str, str], status: int = 200) -> Response:
    """Return a page with texts put in their places; they are shown as they are."""
    page = _static()[name][0].decode()
    for place, text in texts.items():
        page = page.replace(f"{{{place}}}", escape(text))
    return HTMLResponse(page, status, {**HEADERS, "Cache-Control": "no-store"})


class _Watch:
    """What the pages need of the engine."""

    def __init__(self, engine: "Engine", auth: str) -> None:
        self._engine = engine
        self._auth = auth
        self._summaries = Fresh(most=5.0)
        self._maps = Fresh(most=10.0)
        self._drawing = asyncio.Lock()
        self._what_if = WhatIf(engine.storage)

    async def page(self, request: Request) -> Response:
        session = "session" if COOKIE in request.cookies else "none"
        points = " ".join(self._engine.points)
        texts = {"vega": NAME, "points": points, "session": session, "auth": self._auth}
        return _page("index.html", texts)

    async def file(self, request: Request) -> Response:
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

    async def history(self, request: Request) -> Response:
        engine = self._engine
        point = self._engine.point(request.path_params["point"])
        series = request.query_params.get("series", "whole")
        if series not in views.SERIES:
            raise unknown_name("series", series, views.SERIES)

        async def summary() -> Summary:
            return point.chooser.summary()

        kept = await self._summaries.get(point.name, point.seq, summary)
        tag = f'"{series}-{point.seq}-{kept.seq}-{_hash(engine.trouble or "")}"'
        if request.headers.get("if-none-match") == tag:
            return _json(None, tag)
        told = views.standing(engine, point, kept.answer)
        return _json({**told, "series": views.series_of(point.history, series)}, tag)

    async def map(self, request: Request) -> Response:
        query = request.query_params
        point = self._engine.point(request.path_params["point"])
        x, y, text = query.get("x"), query.get("y"), query.get("at")
        at = maps.wanted(text)
        contexts = [kept.row["context"] for kept in point.history.recent()]
        async with self._drawing:  # one after the other: who waited finds it drawn
            kept = await self._maps.get(
                (point.name, x, y, text),
                point.version,
                lambda: maps.drawn(point.chooser, x, y, at, contexts),
            )
        return _json({"version": kept.seq, **kept.answer})

    async def recent(self, request: Request) -> Response:
        point = self._engine.point(request.path_params["point"])
        return _json({"decisions": [views.decision(kept) for kept in point.history.recent()]})

    async def what_if(self, request: Request) -> Response:
        return _json(self._what_if.ask(self._engine.point(request.path_params["point"])))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _json(content: Any, tag: str | None = None) -> Response:
    """Return an answer; without content it says that nothing changed since `tag`."""
    headers = {"Cache-Control": "no-store" if tag is None else "private, no-cache"}
    headers["X-Content-Type-Options"] = "nosniff"
    if tag is not None:
        headers["ETag"] = tag
    if content is None:
        return Response(status_code=304, headers=headers)
    return Response(msgspec.json.encode(content), media_type="application/json", headers=headers)
