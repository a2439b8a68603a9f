"""Define the requests and replies of the application, and serve it as an ASGI application."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from lexbandit.service.http.problems import MALFORMED, MEDIA_TYPE, TOO_LARGE, Problem

JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""Headers of every reply that is not a page: no media type sniffing, no caching."""
CLOSE = (b"connection", b"close")
"""The header of a reply after which the connection is closed."""

# A request that repeats one of these is ambiguous, and refused.
_ONCE = (b"authorization", b"content-type", b"host")

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Reply(NamedTuple):
    """A reply; Content-Length is added when it is sent."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = SAFE


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class HttpRequest:
    """A request: its path is as it was sent, its header names are in lower case."""

    __slots__ = ("_receive", "headers", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: bytes,
        query: bytes,
        headers: Mapping[bytes, bytes],
        receive: Receive,
    ) -> None:
        self.method, self.path, self.query, self.headers = method, path, query, headers
        self._receive = receive

    async def body(self, most: int) -> bytes:
        """Return the whole body.

        Raises:
            Problem: it has more than `most` bytes; what is announced as larger is not awaited.
            ClientGone: the connection was closed before the body was complete.
        """
        announced = self.headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced[:20]) > most:
            raise _too_large(most)
        message = await self._receive()
        if message["type"] == "http.request" and not message["more_body"]:
            body: bytes = message["body"]
        else:
            body = await self._rest(message, most)
        if len(body) > most:
            raise _too_large(most)
        return body

    async def _rest(self, message: Mapping[str, Any], most: int) -> bytes:
        body = bytearray()
        while message["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                return bytes(body)
            if len(body) > most:
                raise _too_large(most)
            message = await self._receive()
        raise ClientGone


Answer = Callable[[HttpRequest], Awaitable[Reply]]


def asgi(answer: Answer) -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """Return the ASGI application that replies with what `answer` returns."""

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        sent = scope["headers"]
        headers = dict(sent)
        try:
            if len(headers) != len(sent):
                headers = _combined(sent)
            if b"host" not in headers or scope["http_version"] != "1.1":
                _check_version(scope["http_version"], headers)
            request = HttpRequest(
                scope["method"], scope["raw_path"], scope["query_string"], headers, receive
            )
            status, body, media, more = await answer(request)
        except ClientGone:
            return
        except Problem as problem:
            status, body, media, more = refusal(problem)
        if status not in (204, 304):
            about = ((b"content-type", media), (b"content-length", b"%d" % len(body)))
            more = (*about, *more)
        await send({"type": "http.response.start", "status": status, "headers": more})
        await send({"type": "http.response.body", "body": body})

    return application


def refusal(problem: Problem) -> Reply:
    """Return the reply to a request that cannot be read; the connection is closed after it."""
    headers = (*SAFE, *problem.headers.items(), CLOSE)
    return Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers)


def _combined(sent: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers of which some were sent several times, as one value each."""
    headers: dict[bytes, bytes] = {}
    for name, value in sent:
        before = headers.get(name)
        if before is not None and name in _ONCE:
            raise Problem(MALFORMED, f"the header {name.decode('latin-1')} stands there twice.")
        between = b"; " if name == b"cookie" else b", "
        headers[name] = value if before is None else before + between + value
    return headers


def _check_version(version: str, headers: Mapping[bytes, bytes]) -> None:
    if version not in ("1.0", "1.1"):
        raise Problem(MALFORMED, f"HTTP/{version} is not spoken here; HTTP/1.1 is.")
    if version == "1.1" and b"host" not in headers:
        raise Problem(MALFORMED, "the header Host is missing.")


def _too_large(most: int) -> Problem:
    return Problem(TOO_LARGE, f"a body has at most {most:,} bytes; send it in parts.")
