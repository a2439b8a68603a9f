"""The pages: signing in and out, and the dashboard behind it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route

from lexbandit.service import audit
from lexbandit.service.dashboard.pages import login_page
from lexbandit.service.http.access import Door
from lexbandit.service.http.messages import SAFE, HttpRequest, Reply
from lexbandit.service.http.problems import (
    FORBIDDEN,
    FOREIGN,
    METHOD,
    UNAUTHENTICATED,
    Problem,
    unknown_point,
)
from lexbandit.service.http.sessions import cookie_in, key_in_form, set_cookie

_LOGIN, _LOGOUT = "/login", "/logout"
# What the page to sign in needs too.
_OPEN = "/dashboard/"
_LARGEST_FORM = 4096
_NOT_KEPT = [(name.decode(), value.decode()) for name, value in SAFE]


class Site:
    """Serves pages to those who signed in; without keys, to everybody near.

    `secure`: cookies are sent back over TLS only.
    """

    def __init__(
        self, door: Door, routes: Sequence[Route], points: Collection[str], *, secure: bool
    ) -> None:
        self._door = door
        self._routes = routes
        self._points = points
        self._secure = secure

    def has(self, request: HttpRequest) -> bool:
        """Tell whether there is a page at a path."""
        scope = _scope(request)
        return scope["path"] in (_LOGIN, _LOGOUT) or any(
            route.matches(scope)[0] != Match.NONE for route in self._routes
        )

    async def __call__(self, request: HttpRequest) -> Reply:
        """Answer with a page."""
        return _reply(await self._response(request))

    async def _response(self, request: HttpRequest) -> Response:
        scope = _scope(request)
        path = scope["path"]
        if path in (_LOGIN, _LOGOUT):
            return await self._own(path, request)
        if not path.startswith(_OPEN):
            try:
                self._door.admit(request.headers, "read", _point_in(path))
            except Problem as problem:
                page = request.method in ("GET", "HEAD") and not path.startswith("/v1/")
                if not page or problem.kind not in (FORBIDDEN, UNAUTHENTICATED):
                    raise
                return _see(_LOGIN)
        return await self._page(scope)

    async def _page(self, scope: dict[str, Any]) -> Response:
        for route in self._routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                point = child["path_params"].get("point")
                if point is not None and point not in self._points:
                    raise unknown_point(point, self._points)
                made: Response = await route.endpoint(Request({**scope, **child}))
                return made
        raise _method(scope["method"], "GET")

    async def _own(self, path: str, request: HttpRequest) -> Response:
        """Answer for the pages to sign in and out."""
        if path == _LOGIN and request.method in ("GET", "HEAD"):
            return _see("/") if self._door.keys is None else login_page()
        if request.method != "POST":
            raise _method(request.method, "GET, POST" if path == _LOGIN else "POST")
        _same_site(request.headers)
        if path == _LOGOUT:
            return self._logout(request.headers)
        return self._login(await request.body(_LARGEST_FORM))

    def _login(self, body: bytes) -> Response:
        keys, sessions = self._door.keys, self._door.sessions
        if keys is None or sessions is None:
            return _see("/")
        key = keys.find(key_in_form(body))
        if key is None or not key.may("read"):
            audit.refused("the key to sign in with is not known, or may not read")
            return login_page(wrong=True)
        audit.note("signed in", key.name)
        response = _see("/")
        value = set_cookie(sessions.begin(key), secure=self._secure)
        response.raw_headers.append((b"set-cookie", value))
        return response

    def _logout(self, headers: Mapping[bytes, bytes]) -> Response:
        if self._door.sessions is not None:
            self._door.sessions.end(cookie_in(headers.get(b"cookie", b"").decode("latin-1")))
        response = _see(_LOGIN)
        response.raw_headers.append((b"set-cookie", set_cookie("", secure=self._secure)))
        return response


def _point_in(path: str) -> str | None:
    """Return the decision point that a path names; None if it concerns all of them."""
    return path.split("/")[2] if path.startswith("/v1/") else None


def _see(place: str) -> Response:
    """Return an answer that leads elsewhere; nobody keeps it, with the cookie that it may have."""
    return RedirectResponse(place, 303, dict(_NOT_KEPT))


def _same_site(headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a page of another site sends: it would sign its visitors in as somebody else.

    Browsers say where a page is from; to an address without TLS they say its origin only. That is
    "null" for our own pages as well, since they ask for no referrer, and says nothing then.
    """
    site = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin", b"null")
    if site is not None:
        foreign, told = site not in (b"same-origin", b"none"), site
    else:
        host = origin.partition(b"://")[2]
        foreign, told = origin != b"null" and host != headers.get(b"host"), origin
    if foreign:
        raise Problem(
            FOREIGN,
            f"sign in and out on the service's own page, not from {told.decode('latin-1')}.",
        )


def _scope(request: HttpRequest) -> dict[str, Any]:
    """Return a request as Starlette knows it."""
    return {
        "type": "http",
        "method": request.method,
        "path": unquote(request.path.decode("latin-1")),
        "query_string": request.query,
        "headers": [*request.headers.items()],
    }


def _reply(response: Response) -> Reply:
    """Return an answer of Starlette's as ours."""
    headers = dict(response.raw_headers)
    headers.pop(b"content-length", None)
    media = headers.pop(b"content-type", b"text/plain")
    return Reply(response.status_code, bytes(response.body), media, (*headers.items(),))


def _method(method: str, allow: str) -> Problem:
    told = f"{method} is not possible here; {allow} is."
    return Problem(METHOD, told, {b"allow": allow.encode()})
