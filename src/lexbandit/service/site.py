"""The pages: signing in and out, and the dashboard behind it."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match

from lexbandit.service.dashboard.pages import login_page
from lexbandit.service.doors import Door
from lexbandit.service.limits import body_of
from lexbandit.service.problems import FORBIDDEN, METHOD, UNAUTHENTICATED, Problem, unknown_point
from lexbandit.service.sessions import cookie_in, key_in_form, set_cookie

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

_LOGIN, _LOGOUT = "/login", "/logout"
# What the page to sign in needs too.
_OPEN = "/dashboard/"
_LARGEST_FORM = 4096


class Site:
    """Serves pages to those who signed in; without keys, to everybody near.

    `secure`: cookies are sent back over TLS only.
    """

    def __init__(
        self, door: Door, routes: Sequence[BaseRoute], points: Collection[str], *, secure: bool
    ) -> None:
        self._door = door
        self._routes = routes
        self._points = points
        self._secure = secure

    def has(self, scope: Any) -> bool:
        """Tell whether there is a page at a path."""
        return scope["path"] in (_LOGIN, _LOGOUT) or any(
            route.matches(scope)[0] != Match.NONE for route in self._routes
        )

    async def __call__(self, scope: Any, receive: "Receive", send: "Send") -> None:
        """Answer with a page."""
        path, headers = scope["path"], dict(scope["headers"])
        if path in (_LOGIN, _LOGOUT):
            response = await self._own(scope, headers, receive)
            await response(scope, receive, send)
            return
        if not path.startswith(_OPEN):
            try:
                self._door.admit(headers, "read")
            except Problem as problem:
                page = scope["method"] in ("GET", "HEAD") and not path.startswith("/v1/")
                if not page or problem.kind not in (FORBIDDEN, UNAUTHENTICATED):
                    raise
                await RedirectResponse(_LOGIN, 303)(scope, receive, send)
                return
        await self._page(scope, receive, send)

    async def _page(self, scope: Any, receive: "Receive", send: "Send") -> None:
        for route in self._routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                point = child["path_params"].get("point")
                if point is not None and point not in self._points:
                    raise unknown_point(point, self._points)
                scope.update(child)
                await route.handle(scope, receive, send)
                return
        raise _method(scope, "GET")

    async def _own(self, scope: Any, headers: dict[bytes, bytes], receive: "Receive") -> Response:
        """Answer for the pages to sign in and out."""
        path, method = scope["path"], scope["method"]
        if path == _LOGIN and method in ("GET", "HEAD"):
            return RedirectResponse("/", 303) if self._door.keys is None else login_page()
        if method != "POST":
            raise _method(scope, "GET, POST" if path == _LOGIN else "POST")
        if path == _LOGOUT:
            return self._logout(headers)
        return self._login(await body_of(receive, headers.get(b"content-length"), _LARGEST_FORM))

    def _login(self, body: bytes) -> Response:
        keys, sessions = self._door.keys, self._door.sessions
        if keys is None or sessions is None:
            return RedirectResponse("/", 303)
        key = keys.find(key_in_form(body))
        if key is None or not key.may("read"):
            return login_page(wrong=True)
        response = RedirectResponse("/", 303)
        value = set_cookie(sessions.begin(key), secure=self._secure)
        response.raw_headers.append((b"set-cookie", value))
        return response

    def _logout(self, headers: dict[bytes, bytes]) -> Response:
        if self._door.sessions is not None:
            self._door.sessions.end(cookie_in(headers.get(b"cookie", b"").decode("latin-1")))
        response = RedirectResponse(_LOGIN, 303)
        response.raw_headers.append((b"set-cookie", set_cookie("", secure=self._secure)))
        return response


def _method(scope: Any, allow: str) -> Problem:
    told = f"{scope['method']} is not possible here; {allow} is."
    return Problem(METHOD, told, {b"allow": allow.encode()})
