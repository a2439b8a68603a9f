"""A request and its answer, as the application sees them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lexbandit.service.problems import TOO_LARGE, Problem

JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""Headers of every answer that is no page: it is what it says it is, and nobody keeps it."""
CLOSE = (b"connection", b"close")
"""A header of an answer after which the connection ends."""


class Reply(NamedTuple):
    """An answer; its length need not be told."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = SAFE


class ClientGone(Exception):
    """The caller went away before the request was whole; nobody waits for an answer."""


class HttpRequest:
    """A request whose line and headers are complete; its body may still be on its way.

    path, query   as they were sent, still encoded
    headers       by their names in small letters; of one that comes twice, the last
    keep_alive    the caller will send another request after this one
    whole         there is no more to come of the body
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
        self.whole = self._gone = False
        self._want = want
        self._parts: list[bytes] = []
        self._size = 0
        self._waiting: tuple[asyncio.Future[None], int] | None = None

    @property
    def held(self) -> int:
        """How many bytes of the body came so far."""
        return self._size

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for the body now."""
        return self._waiting is not None

    def add(self, part: bytes) -> None:
        """Take in a part of the body."""
        self._parts.append(part)
        self._size += len(part)
        if self._waiting is not None and self._size > self._waiting[1]:
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
            if self._size <= most and not self._gone:
                self._waiting = (asyncio.get_running_loop().create_future(), most)
                self._want()
                await self._waiting[0]
                self._waiting = None
            if self._gone:
                raise ClientGone
        if self._size > most:
            raise _too_large(most)
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


def _too_large(most: int) -> Problem:
    # The connection is closed: what is left of the body is not read.
    told = f"a body has at most {most:,} bytes; send it in parts."
    return Problem(TOO_LARGE, told, dict([CLOSE]))
