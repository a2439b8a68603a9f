"""HTTP/1.1 on real sockets: when a connection ends, and who is waited for."""

import asyncio
import logging
import socket
from contextlib import suppress

import pytest

from lexbandit.service import connections
from lexbandit.service.messages import CLOSE, ClientGone, HttpRequest, Reply
from service.callers import LARGEST, MB, Caller, Server, chunked, echo, on, post


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
        assert refused.headers["connection"] == "close"
        assert await caller.ended()

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


def test_connections_on_which_nothing_comes_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 1.0)

    async def slow(request: HttpRequest) -> Reply:
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
        assert gone.is_set()

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
    monkeypatch.setattr(connections, "_IDLE", 1.5)

    async def large(_request: HttpRequest) -> Reply:
        return Reply(200, b"z" * 20 * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536)
        caller.send(post(b""))
        got = 0
        while got < 20 * MB:
            got += len(await caller.reader.readexactly(min(MB, 20 * MB - got)))
            await asyncio.sleep(0.12)
        assert got == 20 * MB

    on(work, large)


def test_a_connection_is_idle_since_its_last_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 1.5)

    async def slow(request: HttpRequest) -> Reply:
        if request.path == b"/slow":
            await asyncio.sleep(2.85)
        return await echo(request)

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"slow", b"/slow"))
        assert (await caller.echoed())[4] == "slow"
        await asyncio.sleep(0.3)  # it is looked at after 1.5 and 3 seconds
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


def test_who_sends_all_before_reading_hears_why_it_was_refused() -> None:
    """As http.client does, and nginx: a reset would take the answer away from them."""

    def send_then_read(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(post(b"x" * 3 * LARGEST))
            said = b""
            while part := one.recv(65_536):
                said += part
            return said

    async def work(one: Server) -> None:
        said = await asyncio.to_thread(send_then_read, one.port)
        assert said.startswith(b"HTTP/1.1 413")

    on(work)


def test_who_never_stops_sending_is_cut_off() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"x" * 100 * MB))
        assert (await caller.seen()).status == 413
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(caller.writer.drain(), 20)

    on(work)


@pytest.mark.parametrize("whole", [True, False])
def test_who_has_said_all_may_still_listen(whole: bool) -> None:
    async def slow(request: HttpRequest) -> Reply:
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


def test_a_head_that_trickles_in_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.3)

    async def work(one: Server) -> None:
        caller = await one.call()
        began = asyncio.get_running_loop().time()
        with suppress(ConnectionError):
            for byte in b"GET /a HTTP/1.1\r\nHost: me" + b"x" * 1000:
                caller.send(bytes([byte]))
                await caller.writer.drain()
                await asyncio.sleep(0.02)
                if caller.reader.at_eof():
                    break
        assert asyncio.get_running_loop().time() - began < 10

    on(work)


def test_who_leaves_in_the_middle_of_a_large_answer_leaves_nothing_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def large(_request: HttpRequest) -> Reply:
        return Reply(200, b"z" * 20 * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536)
        caller.send(post(b""))
        await caller.reader.readexactly(1000)
        caller.writer.transport.abort()
        await asyncio.sleep(0.1)
        await one.stop()
        assert "given up" not in caplog.text

    on(work, large, patience=3)


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
    monkeypatch: pytest.MonkeyPatch, path: bytes, fields: bytes, drop: bytes
) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.5)
    monkeypatch.setattr(connections, "_LINGER", 0.5)
    head = b"POST %b HTTP/1.1\r\nHost: me\r\n%b\r\n\r\n" % (path, fields)

    async def work(one: Server) -> None:
        assert await dripped(await one.call(), head, drop) < 15

    on(work)


def test_a_large_body_may_take_longer_as_long_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_IDLE", 5.0)

    async def work(one: Server) -> None:
        caller = await one.call()
        whole = post(b"x" * MB)
        for n in range(0, len(whole), 65_536):
            caller.send(whole[n : n + 65_536])
            await asyncio.sleep(0.4)
        assert (await caller.echoed())[4] == "x" * MB

    on(work)


def test_an_answer_before_the_body_came_ends_the_connection() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"whole", b"/early") + post(b"not whole", b"/early")[:-3])
        first, second = await caller.seen(), await caller.seen()
        assert (first.status, second.status) == (401, 401)
        assert "connection" not in first.headers
        assert second.headers["connection"] == "close"
        assert await caller.ended()

    on(work)


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
        monkeypatch.setattr(connections, "_SAID", 0.0)
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
