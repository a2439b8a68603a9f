"""A request and its answer, as the application sees them, and the answer as it is sent."""

import asyncio
import http
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import NamedTuple

from lexbandit.service.problems import TOO_LARGE, Problem

JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""Headers of every answer that is no page: it is what it says it is, and nobody keeps it."""
CLOSE = (b"connection", b"close")
"""A header of an answer after which the connection ends."""

_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in http.HTTPStatus
}
_WITHOUT_BODY = (204, 304)


class Reply(NamedTuple):
    """An answer; its length need not be told."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = SAFE


class _Date:
    """The header that tells the time, made anew every second."""

    def __init__(self) -> None:
        self._second, self._line = 0, b""

    def line(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = f"date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


_date = _Date()


def written(reply: Reply, *, empty: bool = False) -> bytes:
    """Return an answer as it is sent; `empty`: without its body."""
    parts = [_LINES[reply.status], _date.line()]
    if reply.status not in _WITHOUT_BODY:
        length = len(reply.body)
        parts.append(b"content-type: %b\r\ncontent-length: %d\r\n" % (reply.media, length))
    parts += [b"%b: %b\r\n" % header for header in reply.headers]
    parts.append(b"\r\n")
    if not empty:
        parts.append(reply.body)
    return b"".join(parts)


class ClientGone(Exception):
    """The caller went away before the request was whole; nobody waits for an answer."""


class HttpRequest:
    """A request whose line and headers are complete; its body may still be on its way.

    path, query   as they were sent, still encoded
    headers       by their names in small letters
    keep_alive    another request may follow this one
    whole         there is no more to come of the body
    held          how many bytes of the body came so far
    """

    def __init__(
        self,
        method: str,
        path: bytes,
        query: bytes,
        headers: Mapping[bytes, bytes],
        *,
        keep_alive: bool = True,
        want: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin a request; `want` is called when its body is awaited."""
        self.method, self.path, self.query, self.headers = method, path, query, headers
        self.keep_alive = keep_alive
        self.whole = False
        self.held = 0
        self._gone = False
        self._want = want
        self._body: bytes | bytearray = b""
        self._waiting: tuple[asyncio.Future[None], int] | None = None

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for the body now."""
        return self._waiting is not None

    def add(self, part: bytes) -> None:
        """Take in a part of the body."""
        if not self.held:
            self._body = part
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += part
        self.held += len(part)
        if self._waiting is not None and self.held > self._waiting[1]:
            self._wake()

    def end(self) -> None:
        """Note that the body is whole."""
        self.whole = True
        self._wake()

    def drop(self) -> None:
        """Note that no more comes; if the body is not whole, it never will be."""
        self._gone = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting[0].done():
            self._waiting[0].set_result(None)

    async def body(self, most: int) -> bytes:
        """Return the whole body; one that is larger than `most` bytes is refused unread."""
        if not self.whole:
            announced = self.headers.get(b"content-length", b"")
            if announced.isdigit() and int(announced) > most:
                raise _too_large(most)
            if self.held <= most and not self._gone:
                self._waiting = (asyncio.get_running_loop().create_future(), most)
                self._want()
                await self._waiting[0]
                self._waiting = None
            if self._gone and not self.whole:
                raise ClientGone
        if self.held > most:
            raise _too_large(most)
        return bytes(self._body)


def _too_large(most: int) -> Problem:
    # The connection is closed: what is left of the body is not read.
    told = f"a body has at most {most:,} bytes; send it in parts."
    return Problem(TOO_LARGE, told, dict([CLOSE]))
