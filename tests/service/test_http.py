"""HTTP/1.1 on real sockets: what is answered, in which order, and when a connection ends."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.service import connections
from lexbandit.service.connections import Answer, listening
from lexbandit.service.messages import CLOSE, ClientGone, HttpRequest, Reply
from lexbandit.service.problems import Problem

MB = 1 << 20
LARGEST = 2 * MB


class Seen(NamedTuple):
    """An answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


async def echo(request: HttpRequest) -> Reply:
    """Answer with what was asked; /early does not wait for the body, /nobody has none."""
    headers = {name.decode(): value.decode() for name, value in request.headers.items()}
    if request.path == b"/early":
        return Reply(401, b"early")
    if request.path == b"/nobody":
        return Reply(304, b"", b"", ((b"etag", b"x"),))
    try:
        body = await request.body(LARGEST)
    except Problem as problem:
        return Reply(problem.kind.status, problem.body(), headers=(*problem.headers.items(),))
    told = [request.method, request.path.decode(), request.query.decode(), headers, body.decode()]
    return Reply(200, msgspec.json.encode(told))


class Caller:
    """One connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def seen(self, *, empty: bool = False) -> Seen:
        """Return the next answer; `empty`: it is one without a body, whatever its length says."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 20)
        line, *lines = head.decode().splitlines()[:-1]
        headers = dict(one.split(": ", 1) for one in lines)
        length = 0 if empty else int(headers.get("content-length", 0))
        return Seen(int(line.split()[1]), headers, await self.reader.readexactly(length))

    async def echoed(self) -> list[Any]:
        seen = await self.seen()
        assert seen.status == 200, seen
        return list(msgspec.json.decode(seen.body))

    async def ended(self) -> bool:
        """Wait until the other side ends the connection; tells whether it said nothing more."""
        try:
            return await asyncio.wait_for(self.reader.read(), 20) == b""
        except ConnectionResetError:
            return True


class Server:
    """A server that listens."""

    def __init__(self, port: int, stop: Callable[[], Awaitable[Any]]) -> None:
        self.port, self.stop = port, stop
        self.callers: list[Caller] = []

    async def call(self, **options: Any) -> Caller:
        caller = Caller(*await asyncio.open_connection("127.0.0.1", self.port, **options))
        self.callers.append(caller)
        return caller


@asynccontextmanager
async def server(answer: Answer = echo, **options: Any) -> AsyncIterator[Server]:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    opened = listening(answer, bound, **options)
    await opened.__aenter__()
    stopped: list[bool] = []

    async def stop() -> None:
        if not stopped:
            stopped.append(True)
            await opened.__aexit__(None, None, None)

    made = Server(bound.getsockname()[1], stop)
    try:
        yield made
    finally:
        await stop()
        for caller in made.callers:
            caller.writer.close()
            with suppress(ConnectionError):
                await caller.writer.wait_closed()


def on(work: Callable[[Server], Awaitable[None]], answer: Answer = echo, **options: Any) -> None:
    async def run() -> None:
        async with server(answer, **options) as one:
            await work(one)

    asyncio.run(asyncio.wait_for(run(), 60))


def post(body: bytes, path: bytes = b"/a", more: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: me\r\n%bContent-Length: %d\r\n\r\n"
    return head % (path, more, len(body)) + body


def chunked(body: bytes, cut: int, trailers: bytes = b"") -> bytes:
    head = b"POST /a HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = [body[n : n + cut] for n in range(0, len(body), cut)]
    coded = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return head + coded + b"0\r\n" + trailers + b"\r\n"


BODIES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200)


@settings(max_examples=40, deadline=None)
@given(
    bodies=st.lists(st.tuples(BODIES, st.integers(0, 60)), min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
)
def test_requests_are_answered_in_order_however_they_are_cut(
    bodies: list[tuple[str, int]], cuts: list[int]
) -> None:
    whole = b"".join(
        post(body.encode()) if cut == 0 else chunked(body.encode(), cut) for body, cut in bodies
    )
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})

    async def work(one: Server) -> None:
        caller = await one.call()
        for begin, end in pairwise(places):
            caller.send(whole[begin:end])
            await asyncio.sleep(0.001)
        for body, _ in bodies:
            assert (await caller.echoed())[4] == body

    on(work)


def test_path_query_and_headers_are_as_they_were_sent() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(b"GET /a%2Fb?c=%20d HTTP/1.1\r\nHost: me\r\nX-Y:  z \r\n\r\n")
        assert await caller.echoed() == ["GET", "/a%2Fb", "c=%20d", {"host": "me", "x-y": "z"}, ""]
        caller.send(b"GET http://me/whole?x=1 HTTP/1.1\r\nHost: me\r\n\r\n")
        assert (await caller.echoed())[1:3] == ["/whole", "x=1"]

    on(work)


def test_trailers_are_no_headers() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(chunked(b"{}", 1, b"Host: other\r\nAuthorization: me\r\n") + post(b"next"))
        first, second = await caller.echoed(), await caller.echoed()
        assert first[3] == {"host": "me", "transfer-encoding": "chunked"}
        assert first[4] == "{}"
        assert second[3] == {"host": "me", "content-length": "4"}

    on(work)


@pytest.mark.parametrize(
    "last",
    [
        b"GET /a HTTP/1.0\r\nHost: me\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n",
    ],
)
def test_the_connection_ends_when_the_caller_says_so(last: bytes) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"1") + last + post(b"nothing after it is answered"))
        first, second = await caller.seen(), await caller.seen()
        assert "connection" not in first.headers
        assert second.status == 200
        assert second.headers["connection"] == "close"
        assert await caller.ended()

    on(work)


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nContent-Length: x\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"CONNECT me:80 HTTP/1.1\r\nHost: me\r\n\r\n",
    ],
)
def test_what_is_no_http_is_told_after_what_came_before(wrong: bytes) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"1") + post(b"2") + wrong)
        assert [(await caller.echoed())[4] for _ in range(2)] == ["1", "2"]
        refused = await caller.seen()
        assert refused.status == 400
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["connection"] == "close"
        assert msgspec.json.decode(refused.body)["type"] == "urn:lexbandit:malformed"
        assert await caller.ended()

    on(work)


def test_a_body_that_waits_to_be_asked_for_is() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        head, _, body = post(b"{}", more=b"Expect: 100-continue\r\n").partition(b"{}")
        caller.send(head)
        assert (await caller.seen()).status == 100
        caller.send(b"{}" + body)
        assert (await caller.echoed())[4] == "{}"

    on(work)


def test_who_asks_for_another_protocol_goes_on_with_this_one() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
        caller.send(post(b"first", more=asked) + post(b"second"))
        first = await caller.echoed()
        assert first[4] == "first"
        assert first[3] == {"host": "me", "http2-settings": "AAMA", "content-length": "5"}
        assert (await caller.echoed())[4] == "second"
        caller.send(b"GET /a?b HTTP/1.1\r\nHost: me\r\n" + asked + b"\r\n" + post(b"third"))
        assert (await caller.echoed())[:3] == ["GET", "/a", "b"]
        assert (await caller.echoed())[4] == "third"

    on(work)


def test_an_answer_before_the_body_is_whole_leaves_the_connection_usable() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        large = post(b"x" * MB, b"/early")
        caller.send(large[:1000])
        assert (await caller.seen()).status == 401
        caller.send(large[1000:] + post(b"next"))
        assert (await caller.echoed())[4] == "next"

    on(work)


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_refused_and_not_read(announced: bool) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        body = b"x" * (LARGEST + 1)
        caller.send(post(body)[:100] if announced else chunked(body, 60_000))
        refused = await caller.seen()
        assert refused.status == 413
        assert refused.headers["connection"] == "close"
        assert await caller.ended()

    on(work)


def test_the_largest_body_is_taken() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"y" * LARGEST))
        assert len((await caller.echoed())[4]) == LARGEST

    on(work)


def test_who_does_not_read_gets_no_more_answers_until_they_do() -> None:
    answered = 0

    async def large(_request: HttpRequest) -> Reply:
        nonlocal answered
        answered += 1
        return Reply(200, b"z" * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536)
        caller.send(b"GET /a HTTP/1.1\r\nHost: me\r\n\r\n" * 100)
        await asyncio.sleep(0.5)
        assert 0 < answered < 40  # what the sockets hold, and one more
        for _ in range(100):
            assert len((await caller.seen()).body) == MB
        assert answered == 100

    on(work, large)


def test_answers_without_a_body() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(b"HEAD /a HTTP/1.1\r\nHost: me\r\n\r\n")
        head = await caller.seen(empty=True)
        assert head.status == 200
        assert int(head.headers["content-length"]) > 0
        caller.send(b"GET /nobody HTTP/1.1\r\nHost: me\r\n\r\n" + post(b"next"))
        nothing = await caller.seen()
        assert nothing == Seen(304, {"etag": "x"}, b"")
        assert (await caller.echoed())[4] == "next"

    on(work)


def test_an_answer_that_fails_ends_the_connection_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(_request: HttpRequest) -> Reply:
        raise ValueError("unforeseen")

    async def work(one: Server) -> None:
        caller = await one.call()
        with caplog.at_level(logging.ERROR):
            caller.send(post(b""))
            assert await caller.ended()
        assert "unforeseen" in caplog.text

    on(work, fails)


def test_the_end_answers_what_is_under_way_and_lets_a_body_come() -> None:
    go_on = asyncio.Event()

    async def slow(request: HttpRequest) -> Reply:
        await go_on.wait()
        return await echo(request)

    async def work(one: Server) -> None:
        idle, busy, coming = [await one.call() for _ in range(3)]
        busy.send(post(b"busy") + post(b"queued"))
        whole = post(b"coming")
        coming.send(whole[:-3])
        await asyncio.sleep(0.05)
        stopping = asyncio.ensure_future(one.stop())
        assert await idle.ended()
        with pytest.raises(ConnectionRefusedError):
            await one.call()
        assert not stopping.done()
        go_on.set()
        coming.send(whole[-3:])
        assert (await coming.echoed())[4] == "coming"
        assert (await busy.echoed())[4] == "busy"
        last = await busy.seen()
        assert last.headers["connection"] == "close"
        assert await busy.ended()
        await stopping

    on(work, slow)


def test_the_end_waits_for_what_is_under_way_though_its_caller_is_gone() -> None:
    done = False

    async def slow(_request: HttpRequest) -> Reply:
        nonlocal done
        await asyncio.sleep(0.3)
        done = True
        return Reply(200, b"")

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b""))
        await asyncio.sleep(0.05)
        caller.writer.transport.abort()
        await asyncio.sleep(0.05)
        await one.stop()
        assert done

    on(work, slow)


def test_the_end_does_not_wait_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    cancelled = asyncio.Event()

    async def never(_request: HttpRequest) -> Reply:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Reply(200, b"")

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b""))
        await asyncio.sleep(0.05)
        with caplog.at_level(logging.WARNING):
            await one.stop()
        assert "1 connections were given up" in caplog.text
        assert await caller.ended()
        await cancelled.wait()

    on(work, never, patience=0.1)


def test_connections_on_which_nothing_comes_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.3)

    async def slow(request: HttpRequest) -> Reply:
        reply = await echo(request)
        if request.path == b"/large":
            return Reply(200, b"z" * 20 * MB)
        await asyncio.sleep(0.9)
        return reply

    async def work(one: Server) -> None:
        silent, half, busy, deaf = [await one.call(limit=65_536) for _ in range(4)]
        half.send(post(b"body")[:-2])
        busy.send(post(b"busy"))
        deaf.send(post(b"", b"/large"))
        assert await silent.ended()
        assert await half.ended()
        assert (await busy.echoed())[4] == "busy"  # it was not the caller's turn
        assert await busy.ended()
        got = 0
        with suppress(ConnectionResetError):
            while part := await deaf.reader.read(65_536):
                got += len(part)
        assert got < 20 * MB

    on(work, slow)


def test_a_caller_who_goes_away_in_the_middle_of_a_body_is_noticed() -> None:
    gone = asyncio.Event()

    async def watches(request: HttpRequest) -> Reply:
        try:
            return Reply(200, await request.body(LARGEST))
        except ClientGone:
            gone.set()
            raise

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"body")[:-2])
        await asyncio.sleep(0.05)
        caller.writer.transport.abort()
        await asyncio.wait_for(gone.wait(), 20)

    on(work, watches)


@pytest.mark.parametrize("flood", [post(b"x") * 100_000, post(b"x" * 20 * MB)[:-1]])
def test_no_more_is_taken_in_than_is_answered(flood: bytes) -> None:
    go_on = asyncio.Event()

    async def slow(_request: HttpRequest) -> Reply:
        await go_on.wait()
        return Reply(200, b"")

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MB)
        caller.send(flood[: 20 * MB])
        await asyncio.sleep(0.5)
        left = caller.writer.transport.get_write_buffer_size()
        assert left > len(flood[: 20 * MB]) - 12 * MB  # the sockets hold some; nobody else does
        assert left > 0
        caller.writer.transport.abort()
        go_on.set()

    on(work, slow)


def test_who_reads_slowly_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.2)

    async def large(_request: HttpRequest) -> Reply:
        return Reply(200, b"z" * 20 * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536)
        caller.send(post(b""))
        got = 0
        while got < 20 * MB:
            got += len(await caller.reader.readexactly(min(MB, 20 * MB - got)))
            await asyncio.sleep(0.06)

    on(work, large)


def test_a_connection_is_idle_since_its_last_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.4)

    async def slow(request: HttpRequest) -> Reply:
        await asyncio.sleep(0.7)
        return await echo(request)

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"slow"))
        assert (await caller.echoed())[4] == "slow"
        await asyncio.sleep(0.25)
        caller.send(post(b"again"))
        assert (await caller.echoed())[4] == "again"

    on(work, slow)


def test_a_reply_may_end_the_connection() -> None:
    async def closes(_request: HttpRequest) -> Reply:
        return Reply(200, b"bye", headers=(CLOSE,))

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"1") + post(b"2"))
        assert (await caller.seen()).body == b"bye"
        assert await caller.ended()

    on(work, closes)
