"""HTTP/1.1 on a connection: llhttp reads what comes, the application answers, one after the other.

A general server hands every request on by a protocol of its own (ASGI), which costs more than half
of what a decision does; see decision 0016.
"""

import asyncio
import http
import logging
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from socket import socket
from typing import cast

import httptools

from lexbandit.service.messages import CLOSE, ClientGone, HttpRequest, Reply
from lexbandit.service.problems import HEAD, MALFORMED, MEDIA_TYPE, Problem

log = logging.getLogger("lexbandit.service")

LARGEST_HEAD = 65_536
# So much of a body is taken in before anybody waits for it.
_AHEAD = 65_536
# A connection is closed on which nothing came for so long, in seconds, and nothing is under way.
# Proxies and clients keep theirs for up to a minute; who closes first should be they.
_IDLE = 75.0

_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in http.HTTPStatus
}
_WITHOUT_BODY = (204, 304)

Answer = Callable[[HttpRequest], Awaitable[Reply]]


class Connection(asyncio.Protocol):
    """One connection: requests are answered in the order in which they came.

    While one is answered the connection is not read any further than the next ones that came with
    it, and a caller who does not read its answers gets no more of them.

    `_last`: nothing is taken in after the request that is being read, and when all are answered the
    connection ends. `_full`: so many bytes wait to be read by the caller that no more are made.

    `_unread` is how many bytes came since something was complete: a head, a part of a body, a
    request. So a head is bounded, and what follows a body in chunks (trailers) is too. `_unsent` is
    how many bytes the caller had not read when that was last looked at.
    """

    def __init__(self, answer: Answer, connections: "set[Connection]") -> None:
        self._answer = answer
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._requests: deque[HttpRequest] = deque()
        self._task: asyncio.Task[None] | None = None
        self._refusal: Problem | None = None
        self._unread = self._unsent = 0
        self._last = self._full = self._paused = self._lost = False
        self._url = b""
        self._headers: dict[bytes, bytes] = {}

    # --- the connection --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(_IDLE, self._look)

    def connection_lost(self, error: Exception | None) -> None:
        """End: what is under way goes on, but nobody hears of it."""
        self._timer.cancel()
        self._lost = True
        if self._task is None:
            self._connections.discard(self)
        for request in self._requests:
            request.drop()

    def finish(self) -> None:
        """Answer what is under way, then end."""
        self._last = True
        self._next()

    def abort(self) -> None:
        """End at once."""
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _look(self) -> None:
        """Close the connection if it is the caller's turn, and nothing moved for long."""
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        mine = self._requests and self._requests[0].whole and not self._full
        left = self._heard + _IDLE - self._loop.time()
        if mine or self._unsent != before:
            left = _IDLE
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        elif self._unsent:
            self._transport.abort()  # to close would wait until everything is read
        else:
            self._transport.close()

    def pause_writing(self) -> None:
        """Note that the caller does not read its answers as quickly as they are made."""
        self._full = True

    def resume_writing(self) -> None:
        """Go on: the caller has read."""
        self._full = False
        self._next()

    # --- what comes ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take in what came; too much of it without an end closes the connection."""
        self._heard = self._loop.time()
        if self._last and (self._refusal or not self._requests or self._requests[-1].whole):
            return
        room = LARGEST_HEAD - self._unread
        self._unread += len(data)
        if len(data) <= room:
            self._feed(data)
            return
        self._feed(data[:room])
        if self._unread > LARGEST_HEAD:  # nothing was complete in what was read
            told = f"a request's line and headers may have {LARGEST_HEAD:,} bytes together."
            self._refuse(Problem(HEAD, told))
        else:
            self.data_received(data[room:])

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._go_on(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._refuse(Problem(MALFORMED, f"this is not HTTP/1.1: {error}."))

    def _go_on(self, rest: bytes) -> None:
        """Read a request as if it had not asked for another protocol: this one is all there is."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(Problem(MALFORMED, "this is no proxy: CONNECT is not for it."))
            return
        kept = {**self._headers}
        kept.pop(b"connection")
        kept.pop(b"upgrade")
        lines = b"".join(b"%b: %b\r\n" % header for header in kept.items())
        self._parser = httptools.HttpRequestParser(self)
        self._feed(b"%b %b HTTP/1.1\r\n%b\r\n%b" % (method, self._url, lines, rest))

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._url, self._headers = b"", {}

    def on_url(self, url: bytes) -> None:
        """Take in a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header."""
        self._headers[name.lower()] = value.rstrip()

    def on_headers_complete(self) -> None:
        """Begin to answer, or let the request wait for those before it."""
        self._unread = 0
        parser = self._parser
        if parser.should_upgrade():
            return
        url = httptools.parse_url(self._url)
        old = parser.get_http_version() == "1.0"
        request = HttpRequest(
            parser.get_method().decode("ascii"),
            url.path or b"/",
            url.query or b"",
            self._headers,
            keep_alive=not old and parser.should_keep_alive(),
            want=self._wanted,
        )
        self._headers = {}  # trailers are no headers of the request
        self._requests.append(request)
        if len(self._requests) == 1:
            self._next()
        else:
            self._pause()

    def on_body(self, part: bytes) -> None:
        """Take in a part of a body; if it was answered before it was whole, the rest is nothing."""
        self._unread = 0
        if self._requests:
            request = self._requests[-1]
            request.add(part)
            if request.held > _AHEAD and not request.awaited:
                self._pause()

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        self._unread = 0
        if self._requests:
            request = self._requests[-1]
            request.end()
            self._last |= not request.keep_alive

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
        if self._task is not None or self._full or self._transport.is_closing():
            return
        if self._requests:
            self._task = self._loop.create_task(self._serve(self._requests[0]))
        elif self._refusal is not None:
            problem = self._refusal
            headers = (*problem.headers.items(), CLOSE)
            self._transport.write(
                _written(Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers))
            )
            self._transport.close()
        elif self._last:
            self._transport.close()
        else:
            self._heard = self._loop.time()
            self._resume()

    async def _serve(self, request: HttpRequest) -> None:
        """Answer a request."""
        try:
            self._write(request, await self._answer(request))
        except ClientGone:
            pass  # and so has the connection, or what it said could not be read
        except Exception:
            log.exception("a request could not be answered")
            self._transport.abort()
        finally:
            self._task = None
            if self._lost:
                self._connections.discard(self)
        self._requests.popleft()
        self._next()

    def _write(self, request: HttpRequest, reply: Reply) -> None:
        if self._transport.is_closing():
            return
        if not request.keep_alive or CLOSE in reply.headers:
            self._last = True
            self._requests = deque((request,))  # nothing after it is answered
        if self._last and len(self._requests) == 1 and CLOSE not in reply.headers:
            reply = reply._replace(headers=(*reply.headers, CLOSE))
        self._transport.write(_written(reply, empty=request.method == "HEAD"))

    def _refuse(self, problem: Problem) -> None:
        """Hear no more; say why when all that came before is answered."""
        if self._last:
            return
        self._last = True
        self._refusal = problem
        if self._requests:
            self._requests[-1].drop()
        self._next()


def _written(reply: Reply, *, empty: bool = False) -> bytes:
    """Return an answer as it is sent; `empty`: without its body."""
    parts = [_LINES[reply.status]]
    if reply.status not in _WITHOUT_BODY:
        length = len(reply.body)
        parts.append(b"content-type: %b\r\ncontent-length: %d\r\n" % (reply.media, length))
    parts += [b"%b: %b\r\n" % header for header in reply.headers]
    parts.append(b"\r\n")
    if not empty:
        parts.append(reply.body)
    return b"".join(parts)


@asynccontextmanager
async def listening(
    answer: Answer, served: socket, *, tls: ssl.SSLContext | None = None, patience: float = 30.0
) -> AsyncIterator[None]:
    """Answer who connects; at the end, what is under way may take `patience` seconds more."""
    connections: set[Connection] = set()  # those that are open, or have a request under way
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(answer, connections), sock=served, ssl=tls, backlog=2048
    )
    try:
        yield
    finally:
        server.close()
        end = loop.time() + patience
        for one in [*connections]:
            one.finish()
        while connections and loop.time() < end:
            await asyncio.sleep(0.01)
        if connections:
            log.warning("%d connections were given up, with what was under way", len(connections))
        for one in [*connections]:
            one.abort()
        await asyncio.sleep(0.01)  # what was given up comes to its end
