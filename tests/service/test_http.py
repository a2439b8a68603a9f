"""HTTP/1.1 on real sockets: what users see of the server, its bounds and its end."""

import asyncio
import logging
import resource
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.service.http import server as http_server
from lexbandit.service.http.server import (
    Admission,
    ClientGone,
    Connection,
    Reply,
    Request,
    Timeouts,
    connection_limit,
    serving,
)
from lexbandit.service.http.tls import TlsContext
from service.callers import LARGEST, MB, Caller, Server, chunked, echo, on, post

BODIES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200)


@settings(max_examples=15, deadline=None)  # each starts a server
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
        for _ in range(2):
            good = await caller.seen()
            assert good.status == 200
            assert "connection" not in good.headers  # there is more to come
        refused = await caller.seen()
        assert refused.status == 400
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["connection"] == "close"
        assert msgspec.json.decode(refused.body)["type"] == "urn:lexbandit:malformed"
        assert await caller.ended()
        assert heard == [400]

    heard: list[int] = []
    on(work, refused=heard.append)


def test_a_body_that_waits_to_be_asked_for_is() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        head, _, body = post(b"{}", more=b"Expect: 100-continue\r\n").partition(b"{}")
        caller.send(head)
        assert (await caller.seen()).status == 100
        caller.send(b"{}" + body)
        assert (await caller.echoed())[4] == "{}"

    on(work)


def test_a_caller_of_http_1_0_is_told_nothing_before_its_answer() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        asked = post(b"{}", more=b"Expect: 100-continue\r\n").replace(b"HTTP/1.1", b"HTTP/1.0")
        caller.send(asked[:-2])
        await asyncio.sleep(0.05)
        caller.send(asked[-2:])
        assert (await caller.echoed())[4] == "{}"

    on(work)


def test_who_asks_for_another_protocol_goes_on_with_this_one() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
        caller.send(post(b"first", more=asked) + post(b"second"))
        first = await caller.echoed()
        assert first[4] == "first"
        assert (await caller.echoed())[4] == "second"
        caller.send(b"GET /a?b HTTP/1.1\r\nHost: me\r\n" + asked + b"\r\n" + post(b"third"))
        assert (await caller.echoed())[:3] == ["GET", "/a", "b"]
        assert (await caller.echoed())[4] == "third"

    on(work)


def test_the_largest_body_is_taken() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"y" * LARGEST))
        assert len((await caller.echoed())[4]) == LARGEST

    on(work)


def test_answers_without_a_body() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(b"HEAD /a HTTP/1.1\r\nHost: me\r\n\r\n")
        head = await caller.seen(empty=True)
        assert head.status == 200
        assert int(head.headers["content-length"]) > 0
        caller.send(b"GET /nobody HTTP/1.1\r\nHost: me\r\n\r\n" + post(b"next"))
        nothing = await caller.seen()
        assert nothing.status == 304
        assert set(nothing.headers) == {"date", "etag"}
        assert (await caller.echoed())[4] == "next"

    on(work)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"GET /a HTTP/1.1\r\n\r\n", "Host is missing"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "host stands there twice"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nauthorization: y\r\n\r\n",
         "authorization stands there twice"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\nHost: b\r\n\r\n",
         "host stands there twice"),
        (b"GET http://a:99999/x HTTP/1.1\r\nHost: a\r\n\r\n", "URL cannot be read"),
        (b"GET /a HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/2.0 is not spoken here"),
        (b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
         "only chunked is spoken here"),
        (b"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.0 has no transfer codings"),
    ],
)  # fmt: skip
def test_what_can_be_meant_in_two_ways_is_refused(head: bytes, told: str) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"good") + head + post(b"never read"))
        assert (await caller.echoed())[4] == "good"
        refused = await caller.seen()
        assert refused.status == 400
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert told in msgspec.json.decode(refused.body)["detail"]
        assert await caller.ended()

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


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_refused_and_not_read(announced: bool) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        body = b"x" * (LARGEST + 1)
        caller.send(post(body)[:100] if announced else chunked(body, 60_000))
        refused = await caller.seen()
        assert refused.status == 413
        assert await caller.ended()

    on(work, timeouts=Timeouts(refused=0.3, idle=0.5, interval=0.1))


def test_who_does_not_read_gets_no_more_answers_until_they_do() -> None:
    answered = 0

    async def large(_request: Request) -> Reply:
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


def test_an_answer_that_fails_ends_the_connection_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(_request: Request) -> Reply:
        raise ValueError("unforeseen")

    async def work(one: Server) -> None:
        caller = await one.call()
        with caplog.at_level(logging.ERROR):
            caller.send(post(b""))
            assert (await caller.seen()).status == 500
            assert await caller.ended()
        assert "unforeseen" in caplog.text

    on(work, fails)


def test_connections_on_which_nothing_comes_are_closed() -> None:

    async def slow(request: Request) -> Reply:
        reply = await echo(request)
        if request.path == b"/large":
            return Reply(200, b"z" * 20 * MB)
        await asyncio.sleep(2.5)
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

    on(work, slow, timeouts=Timeouts(idle=1.0, head=1.0, body=1.0, interval=0.1))


def test_a_caller_who_goes_away_in_the_middle_of_a_body_is_noticed() -> None:
    gone = asyncio.Event()

    async def watches(request: Request) -> Reply:
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
        assert gone.is_set()

    on(work, watches)


@pytest.mark.parametrize("flood", [post(b"x") * 100_000, post(b"x" * 20 * MB)[:-1]])
def test_no_more_is_taken_in_than_is_answered(flood: bytes) -> None:
    go_on = asyncio.Event()

    async def slow(_request: Request) -> Reply:
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


def test_who_reads_slowly_is_not_cut_off() -> None:

    async def large(_request: Request) -> Reply:
        return Reply(200, b"z" * 20 * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536)
        caller.send(post(b""))
        got = 0
        while got < 20 * MB:
            got += len(await caller.reader.readexactly(min(MB, 20 * MB - got)))
            await asyncio.sleep(0.12)
        assert got == 20 * MB

    on(work, large, timeouts=Timeouts(idle=1.5, body=1.5, interval=0.1))


def test_who_sends_all_before_reading_hears_why_it_was_refused() -> None:
    """As http.client does, and nginx: a reset would take the answer away from them."""

    def send_then_read(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(post(b"x" * 3 * LARGEST))
            return one.recv(65_536)

    async def work(one: Server) -> None:
        said = await asyncio.to_thread(send_then_read, one.port)
        assert said.startswith(b"HTTP/1.1 413")

    on(work)


@pytest.mark.parametrize("whole", [True, False])
def test_who_has_said_all_may_still_listen(whole: bool) -> None:
    async def slow(request: Request) -> Reply:
        reply = await echo(request)
        await asyncio.sleep(0.1)
        return reply

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"all") if whole else post(b"all")[:-1])
        caller.writer.write_eof()
        if whole:
            assert (await caller.echoed())[4] == "all"
        assert await caller.ended()

    on(work, slow)


async def dripped(caller: Caller, head: bytes, drop: bytes) -> float:
    """Send a head and then drop after drop until the other side ends; returns the seconds."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    caller.send(head)
    with suppress(ConnectionError):
        while not caller.reader.at_eof() and loop.time() - began < 30:
            caller.send(drop)
            await caller.writer.drain()
            await asyncio.sleep(0.02)
    return loop.time() - began


@pytest.mark.parametrize("path", [b"/a", b"/early"])
@pytest.mark.parametrize(
    ("fields", "drop"),
    [(b"Content-Length: 10000", b"x"), (b"Transfer-Encoding: chunked", b"1\r\nx\r\n"),
     (b"Transfer-Encoding: chunked", b"0")],
    ids=["announced", "chunked", "one chunk's size"],
)  # fmt: skip
def test_a_body_that_trickles_in_is_not_waited_for_for_ever(
    path: bytes, fields: bytes, drop: bytes
) -> None:
    head = b"POST %b HTTP/1.1\r\nHost: me\r\n%b\r\n\r\n" % (path, fields)

    async def work(one: Server) -> None:
        assert await dripped(await one.call(), head, drop) < 15

    on(work, timeouts=Timeouts(body=0.5, refused=0.5, interval=0.1))


def test_who_finds_no_room_is_sent_away_and_that_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(one: Server) -> None:
        first, second = await one.call(), await one.call()
        for caller in (first, second):
            caller.send(post(b"in"))
            assert (await caller.echoed())[4] == "in"
        for _ in range(5):
            assert await (await one.call()).ended()
        assert caplog.text.count("2 connections open, as many as the limit of file") == 1
        monkeypatch.setattr(http_server, "_LOG_FULL", 0.0)
        assert await (await one.call()).ended()
        assert caplog.text.count("2 connections open") == 2
        second.send(b"GET /a HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n")
        await second.echoed()
        assert await second.ended()
        second.writer.close()
        while True:  # its place is free when the server has seen that it is gone
            third = await one.call()
            third.send(post(b"third"))
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                assert (await third.echoed())[4] == "third"
                break
        first.send(post(b"still"))
        assert (await first.echoed())[4] == "still"

    on(work, most=2)


@pytest.mark.parametrize("closed", [False, True])
def test_of_requests_in_one_piece_few_are_held_at_a_time(
    closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 were parsed before any was answered: 45 ms in which nobody else was, and 3 MB.

    Each of them reads its body, which lets no further ones in before their turn.
    """
    most, begin = 0, Connection._begin

    def counting(self: Connection) -> None:
        nonlocal most
        begin(self)
        most = max(most, len(self.queued))

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"x") * 12_000)
        if closed:
            caller.writer.write_eof()
        for _ in range(12_000):
            assert (await caller.echoed())[4] == "x"
        if not closed:
            caller.send(post(b"last"))
            assert (await caller.echoed())[4] == "last"
        assert not closed or await caller.ended()

    monkeypatch.setattr(Connection, "_begin", counting)
    on(work)
    assert 100 < most < 1000


def test_the_end_answers_what_is_under_way_and_lets_a_body_come() -> None:
    go_on = asyncio.Event()

    async def slow(request: Request) -> Reply:
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

    async def slow(_request: Request) -> Reply:
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

    async def never(_request: Request) -> Reply:
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
        assert "Cancel 1 running task" in caplog.text
        assert (await caller.seen()).status == 500
        assert await caller.ended()
        await cancelled.wait()

    on(work, never, timeouts=Timeouts(graceful=1))


def test_callers_who_do_not_read_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_UNREAD_REPLIES", 40 * MB)

    async def large(_: Request) -> Reply:
        return Reply(200, b"x" * (16 * MB))

    async def work(one: Server) -> None:
        idle = []
        for _ in range(6):
            caller = await one.call(limit=1024)
            caller.writer.write(post(b"1"))
            idle.append(caller)
            await asyncio.sleep(0.1)
        reader = await one.call()
        reader.writer.write(post(b"1"))
        assert len((await reader.seen()).body) == 16 * MB  # who reads gets all of it
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await idle[0].seen()  # who waited longest was cut off

    on(work, large)


@pytest.mark.parametrize(
    "ambiguous",
    [
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 50\r\n",
        b"content-length: 5\r\ncontent-length:5\r\n",
    ],
)
def test_a_body_whose_end_is_in_doubt_is_refused_under_overload_too(ambiguous: bytes) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.writer.write(b"POST /v1/x HTTP/1.1\r\nHost: me\r\n" + ambiguous + b"\r\n0\r\n\r\n")
        assert (await caller.seen()).status == 400
        assert await caller.ended()

    on(work, limit=0.0)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return how a server and its callers speak TLS."""
    cert, key = (tmp_path_factory.mktemp("tls") / name for name in ("cert.pem", "key.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    server = TlsContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


def test_over_tls_too_the_end_does_not_wait_for_idle_callers(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    def idle(port: int, answered: threading.Event, ended: threading.Event) -> None:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
            tls[1].wrap_socket(plain, server_hostname="127.0.0.1") as one,
        ):
            one.sendall(post(b"1"))
            one.recv(65_536)
            answered.set()
            ended.wait(20)  # it does not read, as a pool of connections does not

    async def work(one: Server) -> None:
        answered, ended = threading.Event(), threading.Event()
        thread = threading.Thread(target=idle, args=(one.port, answered, ended))
        thread.start()
        await asyncio.to_thread(answered.wait, 20)
        began = asyncio.get_running_loop().time()
        await one.stop()
        assert asyncio.get_running_loop().time() - began < 5
        assert "given up" not in caplog.text
        ended.set()
        await asyncio.to_thread(thread.join)

    on(work, tls=tls[0], timeouts=Timeouts(graceful=20))


@pytest.mark.parametrize("method", [b"GET", b"POST", b"DELETE", b"CONNECT"])
def test_http_spoken_to_the_https_port_is_told_to_use_https(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], method: bytes
) -> None:
    def ask(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(b"%b /ready HTTP/1.1\r\nhost: x\r\n\r\n" % method)
            found = b""
            while b"\n\r\n" not in found or not found.endswith(b"http://\n"):
                more = one.recv(65_536)
                if not more:
                    break
                found += more
            return found

    async def work(one: Server) -> None:
        found = await asyncio.to_thread(ask, one.port)
        assert found.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"connection: close\r\n" in found
        assert b"begins with https://" in found.partition(b"\r\n\r\n")[2]

    on(work, tls=tls[0])


@pytest.mark.parametrize(
    ("limit", "room"), [(500, 436), (64, 1), (resource.RLIM_INFINITY, sys.maxsize)]
)
def test_there_is_room_for_as_many_connections_as_descriptors_but_a_few(
    monkeypatch: pytest.MonkeyPatch, limit: int, room: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    assert connection_limit() == room


def test_a_port_that_another_listens_on_is_an_error() -> None:
    async def work() -> None:
        with socket.socket() as first, socket.socket() as second:
            for one in (first, second):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            first.bind(("127.0.0.1", 0))
            second.bind(first.getsockname())
            async with serving(echo, first, admission=Admission(9.0, print)):
                with pytest.raises(OSError, match="in use"):
                    async with serving(echo, second, admission=Admission(9.0, print)):
                        pass

    for run in (asyncio.run, uvloop.run):
        run(work())


def test_a_large_body_behind_another_request_is_read_to_its_end() -> None:
    """Both came at once, and more of the body than is parsed at a time."""

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"{}") + post(b"x" * 40_000) + post(b"[]"))
        bodies = [(await caller.echoed())[-1] for _ in range(3)]
        assert bodies == ["{}", "x" * 40_000, "[]"]

    on(work)
