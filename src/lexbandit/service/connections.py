"""HTTP/1.1 on a connection: requests are answered one after the other.

A general server hands every request on by a protocol of its own (ASGI), which costs more than half
of what a decision does; see decision 0016.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from lexbandit.errors import counted
from lexbandit.service.messages import CLOSE, SAFE, ClientGone, HttpRequest, Reply, written
from lexbandit.service.problems import MEDIA_TYPE, Problem
from lexbandit.service.reading import Reader

log = logging.getLogger("lexbandit.service")

# So much of a body is taken in before anybody waits for it.
_AHEAD = 65_536
# Answers are written in pieces of this size, each when the ones before were nearly all read.
_PIECE = 131_072
# A connection is closed on which nothing moved for so long, in seconds, and nothing is under way.
# Proxies and clients keep theirs for up to a minute; who closes first should be they. A head has so
# long to be whole, and so has the body after it, and a second more for every `_LEAST` bytes of it.
_IDLE, _LEAST = 75.0, 10_000
# That there is no room for more connections is said so often, in seconds.
_SAID = 60.0
# A refused caller may go on sending for so long, in seconds, and so much, before it is cut off.
_LINGER, _MOST = 2.0, 8_388_608

Answer = Callable[[HttpRequest], Awaitable[Reply]]


@dataclass
class Listener:
    """What connections share: who answers, which there are, and whether all is coming to an end.

    `connections` are those that are open, or have a request under way, `most` of them at once.
    `refused` hears the status of what was no request, which nobody else hears of.
    """

    answer: Answer
    refused: Callable[[int], None]
    most: int
    connections: "set[Connection]" = field(default_factory=set)
    ending: bool = False
    _said: float = -math.inf

    def has_room(self, now: float) -> bool:
        """Tell whether one more connection is taken; if not, that is logged now and then."""
        if len(self.connections) < self.most:
            return True
        if now >= self._said + _SAID:
            self._said = now
            log.warning(
                "%s open, as many as the limit of file descriptors has room for: further ones are "
                "closed. Raise it (ulimit -n, LimitNOFILE), or look for who holds them.",
                counted(self.most, "connection"),
            )
        return False


class Connection(asyncio.Protocol):
    """One connection: requests are answered in the order in which they came.

    While one is answered the connection is not read any further than the next ones that came with
    it, and a caller who does not read its answers gets no more of them.

    `_last`: when all that came is answered the connection ends. `_full`: so many bytes wait to be
    read by the caller that no more are made.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._reader = Reader(self._begun, self._wanted)
        self._requests: deque[HttpRequest] = deque()
        self._task: asyncio.Task[None] | None = None
        self._read: asyncio.Future[None] | None = None  # when the caller has read
        self._last = self._full = self._paused = self._lingers = self._lost = False
        self._dropped = 0

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._task is not None or bool(self._requests)

    # --- the connection --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._heard = self._loop.time()
        room = self._listener.has_room(self._heard)
        self._listener.connections.add(self)
        self._timer = self._loop.call_later(_IDLE, self._look)
        if not room:
            self._transport.abort()
        elif self._listener.ending:
            self.finish()

    def eof_received(self) -> bool:
        """Answer what came whole: a caller who has no more to say may still listen."""
        if self._lingers or not self._transport.can_write_eof():
            return False
        self._last = True
        self._reader.drop()
        self._next()
        return not self._transport.is_closing()

    def connection_lost(self, error: Exception | None) -> None:
        """End: what is under way goes on, but nobody hears of it."""
        self._timer.cancel()
        self._lost = True
        self._reader.drop()
        self._has_read()
        if self._task is None:
            self._listener.connections.discard(self)

    def finish(self) -> None:
        """Answer what is under way, then end."""
        self._last = True
        self._reader.stop()
        self._next()

    def abort(self) -> None:
        """End at once."""
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _close(self) -> None:
        """End; who is still sending would lose the last answer if nobody read that."""
        unread = self._reader.refusal is not None or self._reader.current is not None
        if not unread or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._lingers = True
        self._transport.write_eof()
        self._resume()
        self._timer.cancel()
        self._timer = self._loop.call_later(_LINGER, self._transport.abort)

    def _look(self) -> None:
        """Close the connection if it is the caller's turn, and nothing moved for long."""
        mine = self._requests and self._requests[0].whole and not self._full
        left = _IDLE if mine else self._heard + _IDLE - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        elif self._full or self._transport.get_write_buffer_size():
            self._transport.abort()  # to close would wait until everything is read
        else:
            self._transport.close()

    def pause_writing(self) -> None:
        """Note that the caller does not read its answers as quickly as they are made."""
        self._full = True

    def resume_writing(self) -> None:
        """Go on: the caller has read."""
        self._full = False
        self._heard = self._loop.time()
        self._has_read()
        self._next()

    def _has_read(self) -> None:
        if self._read is not None and not self._read.done():
            self._read.set_result(None)

    # --- what comes ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        reader = self._reader
        if self._lingers:
            self._dropped += len(data)
            if self._dropped > _MOST:
                self._transport.abort()
            return
        if not self._full:
            if reader.current is not None:  # who sends a body drop by drop runs out of time
                self._heard = min(self._heard + len(data) / _LEAST, self._loop.time())
            elif not reader.unread:  # a head counts from its first byte
                self._heard = self._loop.time()
        reader.feed(data)
        if reader.refusal is not None:
            self._next()
        elif len(self._requests) > 1 or (
            reader.current is not None
            and reader.current.held > _AHEAD
            and not reader.current.awaited
        ):
            self._pause()

    def _begun(self, request: HttpRequest) -> None:
        """Begin to answer, or let the request wait for those before it."""
        self._requests.append(request)
        self._next()

    def _wanted(self) -> None:
        """Let the body come that is waited for."""
        if self._requests[0].headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._resume()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    # --- what is answered ------------------------------------------------------------------------

    def _next(self) -> None:
        """Answer the next request, if it is time to."""
        if self._task is not None or self._full or self._lingers or self._transport.is_closing():
            return
        if self._requests:
            self._heard = self._loop.time()
            self._task = self._loop.create_task(self._serve(self._requests[0]))
        elif self._reader.refusal is not None:
            self._listener.refused(self._reader.refusal.kind.status)
            self._transport.write(written(_refused(self._reader.refusal)))
            self._close()
        elif self._last or self._reader.ended:
            self._close()
        else:
            self._heard = self._loop.time()
            self._resume()

    async def _serve(self, request: HttpRequest) -> None:
        """Answer a request."""
        try:
            data = self._written(request, await self._listener.answer(request))
            if len(data) <= _PIECE:
                self._transport.write(data)
            else:
                await self._write(data)
        except ClientGone:
            pass  # and so has the connection, or what it said could not be read
        except Exception:
            log.exception("a request could not be answered")
            self._transport.abort()
        finally:
            self._task = None
            if self._lost:
                self._listener.connections.discard(self)
        self._requests.popleft()
        self._next()

    def _written(self, request: HttpRequest, reply: Reply) -> bytes:
        """Return an answer as it is sent; the last one says that it is.

        It is the last if the body was not read before: nobody waits for the rest of that.
        """
        if not request.whole or not request.keep_alive or CLOSE in reply.headers:
            self._last = True
            self._reader.ended = True
            self._requests = deque((request,))  # nothing after it is answered
        last = (self._last or self._reader.ended) and len(self._requests) == 1
        if last and self._reader.refusal is None and CLOSE not in reply.headers:
            reply = reply._replace(headers=(*reply.headers, CLOSE))
        return written(reply, empty=request.method == "HEAD")

    async def _write(self, data: bytes) -> None:
        """Write a large answer as quickly as it is read."""
        for start in range(0, len(data), _PIECE):
            if self._full:
                self._read = self._loop.create_future()
                await self._read
            if self._transport.is_closing():
                return
            self._transport.write(data[start : start + _PIECE])


def _refused(problem: Problem) -> Reply:
    headers = (*SAFE, *problem.headers.items(), CLOSE)
    return Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers)
