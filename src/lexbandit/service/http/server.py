"""Serve HTTP/1.1 by uvicorn, with bounds on what a connection may send, hold and wait for.

uvicorn bounds neither the size of a head (request line and headers) nor the time in which a head or
a body must arrive; `Connection` adds that. See docs/decisions/0022.
"""

import asyncio
import contextlib
import logging
import math
import re
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from socket import socket
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from lexbandit.errors import counted
from lexbandit.service.http.admission import Admission
from lexbandit.service.http.messages import SAFE, Answer, Reply, asgi, refusal
from lexbandit.service.http.problems import (
    HEAD,
    LATE,
    MALFORMED,
    MEDIA_TYPE,
    OVERLOADED,
    Kind,
    Problem,
)

log = logging.getLogger("lexbandit.service")

LARGEST_HEAD, MOST_HEADERS = 16_384, 100
# File descriptors that are left for the storage and everything else.
_RESERVE = 64
# Paths of requests that take no longer than their turn and a commit: they tell how long that is.
_QUICK = (b"/decisions", b"/rewards")
_LENGTH = re.compile(rb"\r\ncontent-length: ?(\d{1,9})\r\n", re.IGNORECASE)
# The least number of seconds between two log lines that say that there is no room.
_SAID = 60.0


@dataclass
class Patience:
    """How long a connection may take, in seconds; a check every `look` seconds closes it after.

    idle   without a request. Proxies keep connections for up to a minute; they should close first
    head   from the first byte of a request to the end of its headers
    body   from there to the end of its body, and for reading a reply
    late   for the rest of a body that was refused already
    part   at the end, for a request that the caller may just be sending on an idle connection
    end    at the end, for what is under way
    """

    idle: float = 75.0
    head: float = 10.0
    body: float = 60.0
    late: float = 5.0
    part: float = 1.0
    end: float = 30.0
    look: float = 0.5


@dataclass
class Shared:
    """What the connections of a server share.

    admission   decides which requests the application sees, and hears of those that it does not
    most        connections may be open at once
    closing     every reply is the last one of its connection
    """

    admission: Admission
    most: int
    patience: Patience
    closing: bool = False
    _said: float = -math.inf

    def say_full(self, now: float) -> None:
        """Log that there is no room for more connections, once a minute at most."""
        if now >= self._said + _SAID:
            self._said = now
            log.warning(
                "%s open, as many as the limit of file descriptors has room for: further ones are "
                "closed. Raise it (ulimit -n, LimitNOFILE), or look for who holds them.",
                counted(self.most, "connection"),
            )


class Connection(HttpToolsProtocol):
    """A connection of uvicorn's whose heads are bounded in size, and which is bounded in time.

    in_head, in_body   a request has begun, its headers are complete; neither: none is being read
    since              when the last of these changed, or a reply was last read
    unread             bytes since the last complete head, part of a body or request
    problem            why nothing more is read
    running            the request that is being answered, or was last
    shed               the request that is being read is refused: there are too many
    """

    def __init__(self, shared: Shared, **settings: Any) -> None:
        super().__init__(**settings)
        self.shared = shared
        self.in_head = self.in_body = False
        self.unread = self.unsent = 0
        self.since = self.loop.time()
        self.problem: Problem | None = None
        self.running: RequestResponseCycle | None = None
        self.shed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > self.shared.most:
            self.shared.say_full(self.since)
            transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer what came whole: a caller that has no more to say may still listen."""
        waits = self.under_way and not self.in_body and self.transport.can_write_eof()
        if waits:
            self.cycle.keep_alive = False
        return waits

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def under_way(self) -> bool:
        """Whether a request is being answered."""
        return self.running is not None and not self.running.response_complete

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it is more of a head than there may be."""
        if self.problem is not None or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        if self.shared.admission.full(len(self.tasks)) and self._is_plain(data):
            self._answer_shed()
            return
        self.unread += len(data)
        try:
            while data:
                data = self._feed(data)
            if self.unread > LARGEST_HEAD:
                raise _too_large()
        except Problem as problem:
            self._refuse(problem)
        except httptools.HttpParserError as error:
            known = error.__context__
            said = "its URL cannot be read" if known else f"this is not HTTP/1.1: {error}"
            self._refuse(known if isinstance(known, Problem) else Problem(MALFORMED, f"{said}."))

    def _is_plain(self, data: bytes) -> bool:
        """Tell whether data are one whole request, of the usual form, and nothing else.

        To refuse such a one without parsing it costs a tenth, and that is what counts when there
        are too many.
        """
        if self.in_head or self.in_body or self.under_way or not data.startswith(b"POST /v1/"):
            return False
        end, length = data.find(b"\r\n\r\n"), _LENGTH.search(data)
        return length is not None and 0 < length.end() <= end + 2 == len(data) - int(length[1]) - 2

    def _answer_shed(self) -> None:
        self.since = self.loop.time()
        self.shared.admission.refused(503)
        self.transport.write(_SHED)

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
            kept = [one for one in self.headers if one[0] not in (b"connection", b"upgrade")]
            kept.append((b"connection", b"keep-alive" if parser.should_keep_alive() else b"close"))
            lines = b"".join(b"%b: %b\r\n" % header for header in kept)
            version = parser.get_http_version().encode()
            line = b"%b %b HTTP/%b\r\n" % (parser.get_method(), self.url, version)
            self.parser = httptools.HttpRequestParser(self)
            return line + lines + b"\r\n" + data[upgrade.args[0] :]
        return b""

    def _refuse(self, problem: Problem) -> None:
        """Reply to what cannot be read, after the requests before it, and close."""
        self.problem = problem
        self.flow.pause_reading()
        if self.in_body and not self.shed:  # this request will never be complete
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle is self.running:
                self._close_with(problem)
                return
            self.pipeline.popleft()
        if not self.under_way:
            self._close_with(problem)

    def _close_with(self, problem: Problem) -> None:
        self.shared.admission.refused(problem.kind.status)
        self.transport.write(written(refusal(problem)))
        self.transport.close()

    def on_response_complete(self) -> None:
        """Go on with what came after the request that was answered."""
        if self.url.endswith(_QUICK):
            self.shared.admission.note(self.loop.time() - self.since)
        last = not self.pipeline
        super().on_response_complete()
        if last and self.problem is not None and not self.transport.is_closing():
            self._close_with(self.problem)

    # --- what the parser calls -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.in_head, self.since = True, self.loop.time()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        if self.unread > LARGEST_HEAD and _size(self.url, self.headers) > LARGEST_HEAD:
            raise _too_large()
        if len(self.headers) > MOST_HEADERS:
            raise Problem(HEAD, f"a request may have {MOST_HEADERS} headers.")
        if self.parser.should_upgrade():
            return
        if self.shared.admission.full(len(self.tasks)) and self._may_be_shed():
            self.shed = True
        else:
            super().on_headers_complete()
        self.in_head, self.in_body, self.unread = False, True, 0
        self.headers = []  # trailers are no headers of the request
        if self.shared.closing and not self.shed:
            self.cycle.keep_alive = False

    def _may_be_shed(self) -> bool:
        """Tell whether the request can be refused without an order among replies to be kept."""
        return (
            self.url.startswith(b"/v1")
            and not self.under_way
            and self.parser.get_method() != b"HEAD"
            and self.parser.should_keep_alive()
        )

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body."""
        self.unread = 0
        if not self.shed:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        if self.in_body:
            self.in_body, self.unread, self.since = False, 0, self.loop.time()
            if self.shed:
                self.shed = False
                self._answer_shed()
            else:
                super().on_message_complete()

    # --- time ------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Close the connection if it is the caller's turn and took too long; else, answer late."""
        patience = self.shared.patience
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent != self.unsent:  # the caller reads, however slowly
            self.since = now
        self.unsent = unsent
        waited = now - self.since
        if unsent:
            late = waited > patience.body
        elif self.in_head:
            late = waited > patience.head
        elif self.in_body:
            late = waited > (patience.body if self.under_way else patience.late)
        else:
            late = waited > patience.idle and not self.under_way
            if self.under_way and waited > self.shared.admission.deadline - patience.look:
                self._give_up()
        if late:
            self.transport.abort()

    def _give_up(self) -> None:
        """Answer that there is no answer yet; what the application says later is not sent.

        It goes on: what waits for the storage may be written, and keeps its place until then.
        """
        cycle = self.running
        if cycle is None or cycle.response_started:
            return
        self.shared.admission.refused(503)
        self.transport.write(_LATE)
        cycle.disconnected = cycle.response_started = cycle.response_complete = True
        if cycle.keep_alive:
            self.on_response_complete()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """End: after what is under way, and after what the caller may be sending just now."""
        if self.under_way:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(self.shared.patience.part, self._part)

    def _part(self) -> None:
        if not self.under_way:
            self.transport.close()
            # TLS waits for the caller's goodbye
            self.loop.call_later(self.shared.patience.part, self.transport.abort)


def _too_large() -> Problem:
    return Problem(HEAD, f"a request's line and headers may have {LARGEST_HEAD:,} bytes together.")


def _size(url: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """Return how many bytes a head has at least."""
    return len(url) + sum(len(name) + len(value) + 4 for name, value in headers)


def unavailable(kind: Kind, detail: str) -> Reply:
    """Return the reply to a request that can be answered in a second."""
    again = (b"retry-after", b"1")
    return Reply(503, Problem(kind, detail).body(), MEDIA_TYPE, (*SAFE, again))


def written(reply: Reply) -> bytes:
    """Return a reply as it is sent."""
    lines = [
        (b"content-type", reply.media),
        (b"content-length", b"%d" % len(reply.body)),
        *reply.headers,
    ]
    head = b"".join(b"%b: %b\r\n" % line for line in lines)
    return b"%b%b\r\n%b" % (STATUS_LINE[reply.status], head, reply.body)


_SHED = written(unavailable(OVERLOADED, "there are more requests than can be answered in time."))
_LATE = written(unavailable(LATE, "it was not answered in time; it may have been written."))


def room_for_connections() -> int:
    """Return how many connections may be open at once: the open-file limit minus a reserve."""
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(limit - _RESERVE, 1)


class _Server(uvicorn.Server):
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
    patience: Patience | None = None,
    most: int | None = None,
) -> AsyncIterator[uvicorn.Server]:
    """Serve on a bound socket; at the end, requests that are under way are answered.

    Args:
        answer: the application.
        listener: the socket; it is closed at the end.
        admission: which requests are answered, and by when.
        tls: for https; a certificate that is loaded into it later counts for later connections.
        patience: how long callers are waited for.
        most: how many connections may be open at once; by default what the open-file limit allows.

    Raises:
        OSError: another process listens on the port.
    """
    shared = Shared(admission, most or room_for_connections(), patience or Patience())
    listener.listen(2048)  # here, since not every event loop says if it cannot
    config = uvicorn.Config(
        asgi(answer),
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
        timeout_keep_alive=math.ceil(shared.patience.idle),
        timeout_graceful_shutdown=math.ceil(shared.patience.end),
    )
    # What it says of single requests would fill the log at an attacker's wish.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = _Server(config)
    spare = listener.dup()
    task = asyncio.create_task(server.serve(sockets=[listener]))
    looking = asyncio.create_task(_look(server, shared))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        yield server
    finally:
        looking.cancel()
        await _end(server, shared, spare)
        await task


async def _look(server: uvicorn.Server, shared: Shared) -> None:
    """Close connections that take too long, forever."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(shared.patience.look)
        for n, connection in enumerate([*server.server_state.connections]):
            connection.look(loop.time())  # type: ignore[union-attr]
            if n % 1000 == 999:
                await asyncio.sleep(0)


async def _end(server: uvicorn.Server, shared: Shared, spare: socket) -> None:
    """Stop listening, answer what waited to be accepted, and let uvicorn end the connections.

    Closing a listener resets the connections that wait in its queue, so these are accepted first.
    """
    shared.closing = True
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
