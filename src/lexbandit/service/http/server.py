"""Serve HTTP/1.1 by uvicorn: requests and replies, limits of connections, and load shedding.

uvicorn accepts connections, parses them with httptools and ends them. It bounds neither the size of
a head (request line and headers) nor the time in which a head or a body must arrive, and it queues
whatever it is sent; `Connection` adds these bounds. See docs/decisions/0022 and 0027.
"""

import asyncio
import contextlib
import logging
import math
import re
import ssl
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from socket import socket
from typing import Any, NamedTuple

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lexbandit.errors import counted
from lexbandit.service.http.problems import (
    HEAD,
    INTERNAL,
    LATE,
    MALFORMED,
    MEDIA_TYPE,
    OVERLOADED,
    TOO_LARGE,
    Kind,
    Problem,
)

log = logging.getLogger("lexbandit.service")

LARGEST_HEAD, MOST_HEADERS = 16_384, 100
JSON = b"application/json"
SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""Headers of every reply that is not a page: no media type sniffing, no caching."""
CLOSE = (b"connection", b"close")
"""The header of a reply after which the connection is closed."""

# File descriptors that are left for the storage and everything else.
_RESERVE = 64
# A body is read from the socket up to this size, in bytes, before the application asks for it.
_UNREAD_BODY = 65_536
# So many bytes are parsed at once. What comes behind a request that waits for the one before it is
# parsed when that one is answered: 256 KB may have ten thousand requests.
_PIECE = 16_384
# So many requests of one piece are refused one by one; then the connection is closed.
_MOST_SHED = 100
# Headers of which a second one would make a request ambiguous.
_ONCE = (b"authorization", b"content-type", b"host")
# Statuses whose replies have no body.
_EMPTY = (204, 304)
_LENGTH = re.compile(rb"\r\ncontent-length: ?(\d{1,9})\r\n", re.IGNORECASE)
# So many bytes of replies may wait for callers to read them, over all connections.
_UNREAD_REPLIES = 128 * 2**20
# The least number of seconds between two log lines that say that no connection is left.
_LOG_FULL = 60.0


class Reply(NamedTuple):
    """A reply; Content-Length is added when it is sent."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = SAFE


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class Request:
    """A request, from its headers to its reply.

    method, path   as they were sent; the path is not decoded
    id             the caller's own or a random one, as the reply names it; empty at first
    query_string   what follows the question mark, not decoded
    headers        by name in lower case
    content        the body as an operation reads it, once the application has decoded it
    query          the query likewise
    point, names   the decision point of the path, and what else it names
    reads          whether a caller that needs no role has the role read nevertheless
    complete       when the last byte came, by the event loop's clock; None before that
    answered       a reply was sent, or the caller is gone
    keep_alive     the connection stays open after the reply
    """

    __slots__ = (
        "_arrived",
        "_body",
        "_most",
        "answered",
        "complete",
        "content",
        "expects",
        "gone",
        "headers",
        "id",
        "keep_alive",
        "method",
        "names",
        "path",
        "point",
        "query",
        "query_string",
        "reads",
        "resume",
    )

    def __init__(
        self,
        method: str,
        path: bytes,
        query_string: bytes,
        headers: dict[bytes, bytes],
        body: bytes | None = None,
    ) -> None:
        self.method, self.path, self.query_string = method, path, query_string
        self.headers = headers
        self.id = b""
        self.point, self.names, self.reads = "", _NOTHING, False
        self.query: Any = None
        self.content: Any = None
        self.keep_alive = True
        self.gone = self.answered = False
        self.expects: Callable[[], None] | None = None
        self.resume: Callable[[], None] | None = None
        self.complete: float | None = None if body is None else 0.0
        self._body: bytes | bytearray = body or b""
        self._arrived: asyncio.Future[None] | None = None
        self._most: int | None = None

    async def body(self, most: int) -> bytes:
        """Return the whole body.

        Raises:
            Problem: it has more than `most` bytes; what is announced as larger is not awaited.
            ClientGone: the connection was closed before the body was complete.
        """
        announced = self.headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced[:20]) > most:
            raise _too_large_body(most)
        self._most = most
        if self.complete is None and self.expects is not None:
            self.expects()
        if self.resume is not None:
            self.resume()
        while self.complete is None and not self.gone and len(self._body) <= most:
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        if len(self._body) > most:
            raise _too_large_body(most)
        if self.complete is None:
            raise ClientGone
        body, self._body = self._body, b""
        return bytes(body)

    def feed(self, part: bytes) -> bool:
        """Add a part of the body; tells whether more is to be read now."""
        if not self._body:
            self._body = part
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += part
        if self._most is None:
            return len(self._body) <= _UNREAD_BODY
        if len(self._body) > self._most:
            self._wake()
        return True

    def finish(self, now: float) -> None:
        """Say that the body is complete."""
        self.complete = now
        self._wake()

    def disconnect(self) -> None:
        """Note that the caller is gone."""
        self.gone = True
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


_NOTHING: Mapping[str, str] = {}
Answer = Callable[[Request], Awaitable[Reply]]


def combined(sent: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; of one that was sent several times the values are joined.

    Raises:
        Problem: a header is there twice that would make the request ambiguous.
    """
    headers = dict(sent)
    if len(headers) == len(sent):
        return headers
    headers = {}
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
    if version == "1.0" and b"transfer-encoding" in headers:  # who passed it on may not know it
        raise Problem(MALFORMED, "HTTP/1.0 has no transfer codings: send Content-Length.")


def refusal(problem: Problem) -> Reply:
    """Return the reply to a request that cannot be read; the connection is closed after it."""
    headers = (*SAFE, *problem.headers.items(), CLOSE)
    return Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers)


def unavailable(kind: Kind, detail: str) -> Reply:
    """Return the reply to a request that can be answered in a second."""
    again = (b"retry-after", b"1")
    return Reply(503, Problem(kind, detail).body(), MEDIA_TYPE, (*SAFE, again))


@lru_cache(64)
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def to_bytes(reply: Reply, more: bytes = b"", *, body: bool = True) -> bytes:
    """Return a reply as it is sent, with more header lines; without its body for HEAD."""
    status, content, media, headers = reply
    lines = _lines(headers)
    if status in _EMPTY:
        return b"%b%b%b\r\n" % (STATUS_LINE[status], more, lines)
    return b"%b%bcontent-type: %b\r\ncontent-length: %d\r\n%b\r\n%b" % (
        STATUS_LINE[status],
        more,
        media,
        len(content),
        lines,
        content if body else b"",
    )


_TOO_MANY = "there are more requests than can be answered in time."
_SHED = to_bytes(unavailable(OVERLOADED, _TOO_MANY))
_LATE = to_bytes(unavailable(LATE, "it was not answered in time; it may have been written."))


def _too_large_body(most: int) -> Problem:
    return Problem(TOO_LARGE, f"a body has at most {most:,} bytes; send it in parts.")


def _too_large_head() -> Problem:
    return Problem(HEAD, f"a request's line and headers may have {LARGEST_HEAD:,} bytes together.")


def _size(url: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """Return how many bytes a head has at least."""
    return len(url) + sum(len(name) + len(value) + 4 for name, value in headers)


# --- load shedding -------------------------------------------------------------------------------

# The time that an accepted request takes besides the storage's own, in seconds, when there are more
# than can be answered. It is a quarter of what the slowest in a hundred may take: a request may
# wait in its socket for as long as those before it take, and the speed of a machine varies.
_TARGET = 0.025
# The bounds of the limit, and where it begins.
_LEAST, _MOST, _FIRST = 64.0, 8192.0, 256.0
# The limit is computed again after so many answers and seconds. What took longer had pauses in it,
# and says nothing about how many can be answered.
_ANSWERS, _SECONDS, _LONGEST = 20, 0.1, 1.0


@dataclass
class Admission:
    """Bounds the requests in flight, so that those that are accepted are answered in time.

    By Little's law a request takes (requests in flight) / (requests answered a second). The rate is
    measured while the limit is reached; the limit is that rate times the time a request may take.

    deadline   a request that is not answered after so many seconds is answered with 503
    refused    is called with the status of a request that the application did not see
    reading    returns how many requests wait for their callers' bodies, and so cost nothing now
    storing    returns how long the storage takes for one write, in seconds
    limit      so many requests may be in flight
    answered   so many were answered since the start
    full_at    when one more was too many, by the clock
    """

    deadline: float
    refused: Callable[[int], None]
    reading: Callable[[], int] = lambda: 0
    storing: Callable[[], float] = lambda: 0.0
    clock: Callable[[], float] = time.monotonic
    limit: float = _FIRST
    answered: int = 0
    full_at: float = -math.inf
    _reached: bool = False
    _answers: int = 0
    _since: float = 0.0

    def full(self, in_flight: int) -> bool:
        """Tell whether one more request than these is too many."""
        if in_flight < self.limit or in_flight - self.reading() < self.limit:
            return False
        self._reached = True
        self.full_at = self.clock()
        return True

    def note(self) -> None:
        """Count a request that was answered."""
        self.answered += 1
        self._answers += 1
        if self._answers == 1:
            self._since = self.clock()
        if self._answers < _ANSWERS or (elapsed := self.clock() - self._since) < _SECONDS:
            return
        if self._reached and elapsed < _LONGEST:
            # A group is written while the one before it is, so a request waits for two at most.
            fits = self._answers / elapsed * (_TARGET + 2 * self.storing())
            self.limit = min(max(fits, self.limit / 2, _LEAST), self.limit * 1.5, _MOST)
        self._reached, self._answers = False, 0


# Refusing costs up to half of answering, mostly for the socket. So there may be one refusal for so
# many answers, and a few a tick besides.
_ANSWERS_PER_REFUSAL, _FREE_REFUSALS = 8, 25
# The time between two looks at resting connections, how long one rests at most, and how long there
# are too many requests since one was too many, in seconds. A rest is shorter than what Retry-After
# says, so that nobody who heeds it waits.
_TICK, _LONGEST_REST, _OVERLOAD = 0.05, 0.8, 0.25


class Resting:
    """Refused connections that are not read for a while, so that refusing leaves time for answers.

    Callers who ask again at once would otherwise take the time of those that are answered. They
    wait in their sockets, where they cost nothing. Once more was refused than fits, a refused
    connection rests: it is read again in its turn, as refusals fit, and after 0.8 s at the latest.
    A request that came in the meantime may have waited for long. While there are too many requests
    it is refused too, so that those that are answered are answered quickly.
    """

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._waiting: deque[tuple[float, Connection]] = deque()
        self._released: list[Connection] = []
        self._left = _FREE_REFUSALS
        self._answered = 0
        self._timer: asyncio.TimerHandle | None = None

    def refused(self, connection: "Connection") -> None:
        """Let a connection rest that was just refused, if refusals do not fit any more."""
        if self._left > 0:
            self._left -= 1
            connection.rests = False
        elif not connection.held:
            connection.held = connection.rests = True
            connection.flow.pause_reading()
            self._waiting.append((connection.loop.time(), connection))
        if self._timer is None:
            self._answered = self.admission.answered
            self._timer = connection.loop.call_later(_TICK, self._tick, connection.loop)

    def release_all(self) -> None:
        """Read all connections again."""
        while self._waiting:
            self._release()
        self._forget()

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        answers = self.admission.answered - self._answered
        self._answered += answers
        self._left = answers // _ANSWERS_PER_REFUSAL + _FREE_REFUSALS
        self._forget()
        overloaded = self.admission.clock() < self.admission.full_at + _OVERLOAD
        if not overloaded:
            self.release_all()
        oldest, fitting = loop.time() - _LONGEST_REST, self._left
        while self._waiting and (fitting > 0 or self._waiting[0][0] <= oldest):
            fitting -= 1
            self._release()
        if overloaded:
            self._timer = loop.call_later(_TICK, self._tick, loop)

    def _release(self) -> None:
        _, connection = self._waiting.popleft()
        self._released.append(connection)
        connection.held = False
        if not connection.transport.is_closing():
            connection.read_on()

    def _forget(self) -> None:
        """Treat like others those that were read again at the last tick, but for those refused."""
        for connection in self._released:
            connection.rests = connection.held
        self._released.clear()


# --- connections ---------------------------------------------------------------------------------


@dataclass
class Timeouts:
    """How long a connection may take, in seconds; it is closed after, within `interval` seconds.

    idle       without a request. Proxies keep theirs for up to a minute, and should close first
    head       from the first byte of a request to the end of its headers
    body       from there to the end of its body, and for reading a reply
    refused    for the rest of a body whose request was refused already
    last       at the end, for a request that may be on its way on an idle connection
    graceful   at the end, for the requests in flight
    interval   between two looks at a connection
    """

    idle: float = 75.0
    head: float = 10.0
    body: float = 60.0
    refused: float = 5.0
    last: float = 1.0
    graceful: float = 30.0
    interval: float = 0.5


@dataclass
class Shared:
    """What the connections of a server share.

    admission   decides which requests the application sees, and counts those that it does not
    most        connections may be open at once
    closing     every reply is the last one of its connection
    ended       so many connections have ended since the start
    unread      connections whose callers have yet to read so many bytes, the oldest first
    resting     connections that were refused and are not read for a while
    """

    admission: Admission
    most: int
    timeouts: Timeouts
    closing: bool = False
    ended: int = 0
    unread: "dict[Connection, int]" = field(default_factory=dict)
    resting: Resting = field(init=False)
    _logged: float = -math.inf

    def __post_init__(self) -> None:
        self.resting = Resting(self.admission)

    def note_unread(self, connection: "Connection") -> int:
        """Note how much a caller has yet to read; returns it.

        If it is too much in all, those who have not read for the longest are cut off.
        """
        size = connection.transport.get_write_buffer_size()
        if size:
            self.unread[connection] = size
            while sum(self.unread.values()) > _UNREAD_REPLIES:
                oldest = next(iter(self.unread))
                del self.unread[oldest]
                oldest.transport.abort()
        else:
            self.unread.pop(connection, None)
        return size

    def log_full(self, now: float) -> None:
        """Log that no more connections are accepted, once a minute at most."""
        if now >= self._logged + _LOG_FULL:
            self._logged = now
            log.warning(
                "%s open, as many as the limit of file descriptors allows: further ones are "
                "closed. Raise it (ulimit -n, LimitNOFILE), or look for who holds them.",
                counted(self.most, "connection"),
            )


class Connection(HttpToolsProtocol):
    """A connection of uvicorn's with bounded heads, times and requests.

    in_head, in_body   a request has begun, its headers are complete; neither: none is being read
    since              when the last of these changed, or a part of a reply was last read
    unparsed           bytes since the last complete head, part of a body or request
    problem            why nothing more is read
    request            the request that is being read, or was last
    running            the request that is being answered, or was last
    queued             the requests behind it
    rest               what was received and is not parsed yet, since requests are queued
    eof                nothing more will be received
    shed               the request that is being read is refused: there are too many
    held               it was refused, and is not read until its turn comes
    rests              it was held, and what it sends now may have waited unread
    sheds              how many requests of what was received last were refused
    """

    def __init__(self, shared: Shared, **settings: Any) -> None:
        super().__init__(**settings)
        self.shared = shared
        self.in_head = self.in_body = self.shed = self.held = self.rests = False
        self.unparsed = self.unsent = self.sheds = 0
        self.since = self.loop.time()
        self.problem: Problem | None = None
        self.request: Request | None = None
        self.running: Request | None = None
        self.queued: deque[Request] = deque()
        self.rest = b""
        self.eof = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self.shared.most:
            self.shared.log_full(self.since)
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the application know that the caller is gone."""
        self.connections.discard(self)
        self.shared.ended += 1
        self.shared.unread.pop(self, None)
        for request in (self.request, self.running, *self.queued):
            if request is not None:
                request.disconnect()
        self.flow.resume_writing()
        self.parser = None  # type: ignore[assignment]

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer complete requests: a caller that has closed its side may still read."""
        self.eof = True
        waits = bool(self.rest) or (self.in_flight and not self.in_body)
        if not self.rest and self.request is not None:
            self.request.keep_alive = False
        return waits and self.transport.can_write_eof()

    @property
    def in_flight(self) -> bool:
        """Whether a request is being answered."""
        return self.running is not None and not self.running.answered

    def data_received(self, data: bytes) -> None:
        """Parse received data; refuse a head that is too large."""
        if self.problem is not None or self.transport.is_closing():
            return
        if self._too_many() and self._is_plain(data):
            self._answer_shed()
            return
        self.sheds = 0
        self._parse(self.rest + data)

    def _parse(self, data: bytes) -> None:
        """Parse data, up to the piece in which a request is queued."""
        self.rest = b""
        try:
            for start in range(0, len(data), _PIECE):
                if self.queued:
                    self.rest = data[start:]
                    return
                piece = data[start : start + _PIECE]
                self.unparsed += len(piece)
                while piece:
                    piece = self._feed(piece)
                if self.unparsed > LARGEST_HEAD:
                    raise _too_large_head()
        except Problem as problem:
            self._refuse(problem)
        except httptools.HttpParserError as error:
            known = error.__context__
            why = "its URL cannot be read" if known else f"this is not HTTP/1.1: {error}"
            self._refuse(known if isinstance(known, Problem) else Problem(MALFORMED, f"{why}."))

    def _too_many(self) -> bool:
        return self.shared.admission.full(len(self.tasks)) or self.rests

    def _is_plain(self, data: bytes) -> bool:
        """Tell whether data are one whole request, of the usual form, and nothing else.

        To refuse such a request without parsing it costs a tenth of parsing it.
        """
        busy = self.in_head or self.in_body or self.in_flight or self.rest
        if busy or not data.startswith(b"POST /v1/"):
            return False
        end, length = data.find(b"\r\n\r\n"), _LENGTH.search(data)
        if length is None or not 0 < length.end() <= end + 2 == len(data) - int(length[1]) - 2:
            return False
        head = data[:end].lower()  # where a body ends must not be in doubt
        return head.count(b"content-length") == 1 and b"transfer-encoding" not in head

    def _answer_shed(self) -> None:
        self.since = self.loop.time()
        self.shared.admission.refused(503)
        self.transport.write(_SHED)
        if not self.shared.closing:
            self.shared.resting.refused(self)

    def _feed(self, data: bytes) -> bytes:
        """Parse data; returns what is still to be parsed.

        A request that asks for another protocol (`Upgrade: h2c` of some clients) is parsed again
        as if it did not: to the parser, what follows its headers would be of that protocol.
        """
        parser = self.parser
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if parser.get_method() == b"CONNECT":
                raise Problem(MALFORMED, "this is no proxy: CONNECT is not for it.") from None
            others = [one for one in self.headers if one[0] not in (b"connection", b"upgrade")]
            keep = b"keep-alive" if parser.should_keep_alive() else b"close"
            others.append((b"connection", keep))
            lines = b"".join(b"%b: %b\r\n" % header for header in others)
            version = parser.get_http_version().encode()
            line = b"%b %b HTTP/%b\r\n" % (parser.get_method(), self.url, version)
            self.parser = httptools.HttpRequestParser(self)
            return line + lines + b"\r\n" + data[upgrade.args[0] :]
        return b""

    def _refuse(self, problem: Problem) -> None:
        """Reply to what cannot be read, after the requests before it, and close."""
        self.problem = problem.with_traceback(None)  # that would keep what was received
        self.flow.pause_reading()
        if self.in_body and not self.shed and self.request is not None:
            self.request.disconnect()  # it will never be complete
            if self.request is self.running:
                self._close_with(problem)
                return
            self.queued.pop()
        if not self.in_flight:
            self._close_with(problem)

    def _close_with(self, problem: Problem) -> None:
        self.shared.admission.refused(problem.kind.status)
        self.transport.write(to_bytes(refusal(problem)))
        self.transport.close()

    # --- called by the parser --------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.url = b""
        self.headers = []
        self.in_head, self.since = True, self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        if self.unparsed > LARGEST_HEAD and _size(self.url, self.headers) > LARGEST_HEAD:
            raise _too_large_head()
        if len(self.headers) > MOST_HEADERS:
            raise Problem(HEAD, f"a request may have {MOST_HEADERS} headers.")
        if self.parser.should_upgrade():
            return
        if self._too_many() and self._may_be_shed():
            self.shed = True
            self.sheds += 1
            if self.sheds > _MOST_SHED:
                raise Problem(OVERLOADED, _TOO_MANY, {b"retry-after": b"1"})
        else:
            self._begin()
        self.in_head, self.in_body, self.unparsed = False, True, 0
        self.headers = []  # trailers are no headers of the request

    def _may_be_shed(self) -> bool:
        """Tell whether the request can be refused at once: no reply before it is outstanding."""
        return (
            self.url.startswith(b"/v1")
            and not self.in_flight
            and self.parser.get_http_version() == "1.1"
            and self.parser.get_method() != b"HEAD"
            and self.parser.should_keep_alive()
        )

    def _begin(self) -> None:
        """Answer the request whose headers are complete, or queue it behind the one before it."""
        headers, version = combined(self.headers), self.parser.get_http_version()
        if b"host" not in headers or version != "1.1":
            _check_version(version, headers)
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise Problem(MALFORMED, "of transfer codings only chunked is spoken here.")
        url = self.url
        if url.startswith(b"/") and b"#" not in url:
            path, _, query = url.partition(b"?")
        else:
            parsed = httptools.parse_url(url)
            path, query = parsed.path or b"*", parsed.query or b""
        request = Request(self.parser.get_method().decode(), path, query, headers)
        request.keep_alive = (
            version != "1.0" and self.parser.should_keep_alive() and not self.shared.closing
        )
        if version != "1.0" and headers.get(b"expect", b"").lower() == b"100-continue":
            request.expects = self._continue
        self.request = request
        if self.in_flight:
            self.flow.pause_reading()
            self.queued.append(request)
        else:
            self._start(request)

    def _continue(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _start(self, request: Request) -> None:
        self.running = request
        if self.flow.read_paused and request.complete is None:
            request.resume = self.read_on
        self.tasks.add(self.loop.create_task(self._answer(request)))

    def on_body(self, body: bytes) -> None:
        """Add a part of a body."""
        self.unparsed = 0
        request = self.request
        if self.shed or request is None or request.answered:
            return
        if not request.feed(body):
            self.flow.pause_reading()
            request.resume = self.read_on

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        if not self.in_body:
            return
        self.in_body, self.unparsed, self.since = False, 0, self.loop.time()
        if self.shed:
            self.shed = False
            self._answer_shed()
        elif self.request is not None:
            self.request.finish(self.since)

    # --- replies ---------------------------------------------------------------------------------

    async def _answer(self, request: Request) -> None:
        """Let the application answer a request, and send its reply."""
        try:
            try:
                reply = await self.app(request)
            except ClientGone:
                return
            except Problem as problem:
                reply = refusal(problem)
            except (Exception, asyncio.CancelledError) as error:
                log.error("a request failed", exc_info=error)
                why = "it was logged; nothing is known to have changed."
                reply = refusal(Problem(INTERNAL, why))
            while self.flow.write_paused and not request.gone:  # the caller does not read
                await self.flow.drain()
            self._send(request, reply)
        finally:  # a callback of the task would take a turn of the event loop
            self.tasks.discard(asyncio.current_task())

    def _send(self, request: Request, reply: Reply) -> None:
        if request.gone:
            return
        more = _lines(tuple(self.server_state.default_headers))
        if request.id:
            more += b"x-request-id: %b\r\n" % request.id
        if CLOSE in reply.headers:
            request.keep_alive = False
        elif not request.keep_alive:
            more += b"connection: close\r\n"
        self.transport.write(to_bytes(reply, more, body=request.method != "HEAD"))
        self.shared.note_unread(self)
        self._end_of(request)

    def _end_of(self, request: Request) -> None:
        """Continue with the next request of the connection, if there is one."""
        request.answered = True
        self.shared.admission.note()
        if not request.keep_alive:
            self.transport.close()
        if self.transport.is_closing():
            return
        if self.queued:
            self._start(self.queued.popleft())
            if self.queued or self.problem is not None or not (self.rest and self.in_body):
                return
        elif self.problem is not None:
            self._close_with(self.problem)
            return
        if self.rest:
            self._parse(self.rest)
            if self.eof and not self.rest:
                self._end_after_last()
        if self.problem is None:
            self.read_on()

    def read_on(self) -> None:
        """Read again, unless requests are queued or the connection is held."""
        if not self.queued and not self.held:
            self.flow.resume_reading()

    def _end_after_last(self) -> None:
        """End after the last request of a caller who has closed its side."""
        if self.request is not None and self.in_flight and not self.in_body:
            self.request.keep_alive = False
        else:
            self.transport.close()

    # --- time ------------------------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """Close the connection if its caller took too long; if we did, answer with 503."""
        timeouts = self.shared.timeouts
        unsent = self.shared.note_unread(self)
        if unsent and unsent != self.unsent:  # the caller reads, however slowly
            self.since = now
        self.unsent = unsent
        waited = now - self.since
        if unsent:
            late = waited > timeouts.body
        elif self.in_head:
            late = waited > timeouts.head
        elif self.in_body:
            late = waited > (timeouts.body if self.in_flight else timeouts.refused)
        else:
            late = waited > timeouts.idle and not self.in_flight
            if self.in_flight and waited > self.shared.admission.deadline - timeouts.interval:
                self._give_up()
        if late:
            self.transport.abort()

    def _give_up(self) -> None:
        """Answer that there is no answer yet; what the application replies later is not sent.

        It goes on: what waits for the storage may be written, and stays in flight until then.
        """
        request = self.running
        if request is not None:
            request.gone = True
            self.shared.admission.refused(503)
            self.transport.write(_LATE)
            self._end_of(request)

    def shutdown(self) -> None:
        """End: after what is in flight, and after what the caller may be sending just now."""
        if self.in_flight and self.request is not None:
            self.request.keep_alive = False
        else:
            self.loop.call_later(self.shared.timeouts.last, self._end_idle)

    def _end_idle(self) -> None:
        if not self.in_flight:
            self.transport.close()
            # TLS waits for the caller's close_notify
            self.loop.call_later(self.shared.timeouts.last, self.transport.abort)


def connection_limit() -> int:
    """Return how many connections may be open at once: the open-file limit minus a reserve."""
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(limit - _RESERVE, 1)


class Server(uvicorn.Server):
    """uvicorn's server, and what its connections share."""

    def __init__(self, config: uvicorn.Config, shared: Shared) -> None:
        super().__init__(config)
        self.shared = shared

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the process."""
        return contextlib.nullcontext()


@asynccontextmanager
async def serving(
    answer: Answer,
    listener: socket,
    *,
    admission: Admission,
    tls: ssl.SSLContext | None = None,
    timeouts: Timeouts | None = None,
    most: int | None = None,
) -> AsyncIterator[Server]:
    """Serve on a bound socket; at the end, requests in flight are answered.

    Args:
        answer: the application.
        listener: the socket; it is closed at the end.
        admission: which requests are answered, and by when.
        tls: for https; a certificate that is loaded into it later counts for later connections.
        timeouts: how long callers are waited for.
        most: how many connections may be open at once; by default what the open-file limit allows.

    Raises:
        OSError: another process listens on the port.
    """
    shared = Shared(admission, most or connection_limit(), timeouts or Timeouts())
    listener.listen(2048)  # here, since not every event loop says if it cannot
    config = uvicorn.Config(
        answer,
        http=partial(Connection, shared),  # type: ignore[arg-type]
        ssl_context_factory=None if tls is None else lambda *_: tls,
        interface="asgi3",
        lifespan="off",
        loop="none",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=math.ceil(shared.timeouts.idle),
        timeout_graceful_shutdown=math.ceil(shared.timeouts.graceful),
    )
    # What it says of single requests would fill the log at an attacker's wish.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = Server(config, shared)
    spare = listener.dup()
    task = asyncio.create_task(server.serve(sockets=[listener]))
    checking = asyncio.create_task(_check_times(server, shared))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0)  # at the next turn: requests are answered already
        yield server
    finally:
        checking.cancel()
        await _end(server, shared, spare)
        await task


async def _check_times(server: uvicorn.Server, shared: Shared) -> None:
    """Close connections that take too long, forever."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(shared.timeouts.interval)
        for n, connection in enumerate([*server.server_state.connections]):
            connection.check_time(loop.time())  # type: ignore[union-attr]
            if n % 1000 == 999:
                await asyncio.sleep(0)


async def _end(server: uvicorn.Server, shared: Shared, spare: socket) -> None:
    """Stop listening, answer what waited to be accepted, and let uvicorn end the connections.

    Closing a listener resets the connections that wait in its queue, so these are accepted first.
    """
    shared.closing = True
    shared.resting.release_all()
    for listening in server.servers:
        listening.close()
    loop, config = asyncio.get_running_loop(), server.config
    made: Any = config.http_protocol_class
    state = server.server_state
    spare.setblocking(False)
    waiting = []
    with contextlib.suppress(BlockingIOError):
        while True:
            waiting.append(spare.accept()[0])
    spare.close()
    for one in waiting:
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(
                lambda: made(config=config, server_state=state, app_state={}, _loop=loop),
                one,
                ssl=config.ssl,
            )
    server.should_exit = True
