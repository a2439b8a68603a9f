"""How listening ends: what is under way is answered, also over TLS, and nobody idle waited for."""

import asyncio
import logging
import resource
import socket
import ssl
import subprocess
import sys
import threading

import pytest
import uvloop

from lexbandit.service import connections
from lexbandit.service import listening as listening_module
from lexbandit.service.listening import listening, room_for_connections
from lexbandit.service.messages import HttpRequest, Reply
from service.callers import MB, Server, chunked, echo, on, post


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
        assert "1 request under way given up" in caplog.text
        assert await caller.ended()
        await cancelled.wait()

    on(work, never, patience=0.1)


def test_what_is_no_http_does_not_hold_the_end_up() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(chunked(b"body", 2)[:-12])
        await asyncio.sleep(0.05)
        stopping = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0.05)
        caller.send(b"zz\r\n")
        await asyncio.wait_for(stopping, 10)
        assert stopping.done()

    on(work)


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
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


def test_over_tls_too_a_slow_reader_is_waited_for(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_IDLE", 3.0)

    async def large(_request: HttpRequest) -> Reply:
        return Reply(200, b"z" * 20 * MB)

    async def work(one: Server) -> None:
        caller = await one.call(limit=65_536, ssl=tls[1])
        caller.send(post(b""))
        got = 0
        while got < 20 * MB:
            got += len(await caller.reader.readexactly(min(MB, 20 * MB - got)))
            await asyncio.sleep(0.2)
        assert got == 20 * MB

    on(work, large, tls=tls[0])


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

    on(work, tls=tls[0], patience=20)


def test_who_does_not_begin_with_tls_is_not_waited_for_for_ever(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening_module, "_HANDSHAKE", 0.5)

    async def work(one: Server) -> None:
        assert await (await one.call()).ended()

    on(work, tls=tls[0])


@pytest.mark.parametrize(
    ("limit", "room"), [(500, 436), (64, 1), (resource.RLIM_INFINITY, sys.maxsize)]
)
def test_there_is_room_for_as_many_connections_as_descriptors_but_a_few(
    monkeypatch: pytest.MonkeyPatch, limit: int, room: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    assert room_for_connections() == room


def test_who_comes_while_it_ends_is_sent_away(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def slow(request: HttpRequest) -> Reply:
        await asyncio.sleep(1.0)
        return await echo(request)

    connected, stopping = threading.Event(), threading.Event()

    def late(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            connected.set()
            stopping.wait(20)
            with tls[1].wrap_socket(plain, server_hostname="127.0.0.1") as one:
                try:
                    one.sendall(post(b"late"))
                    return one.recv(65_536)
                except (ConnectionError, ssl.SSLError):
                    return b""

    async def work(one: Server) -> None:
        busy = await one.call(ssl=tls[1])
        busy.send(post(b"busy"))
        saying = asyncio.create_task(asyncio.to_thread(late, one.port))
        await asyncio.to_thread(connected.wait, 20)
        await asyncio.sleep(0.2)
        ending = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0.1)
        stopping.set()
        assert await saying == b""
        assert (await busy.echoed())[4] == "busy"
        await ending

    on(work, slow, tls=tls[0])


def test_a_port_that_another_listens_on_is_an_error() -> None:
    async def work() -> None:
        with socket.socket() as first, socket.socket() as second:
            for one in (first, second):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            first.bind(("127.0.0.1", 0))
            second.bind(first.getsockname())
            async with listening(echo, first, refused=print):
                with pytest.raises(OSError, match="in use"):
                    async with listening(echo, second, refused=print):
                        pass

    for run in (asyncio.run, uvloop.run):
        run(work())
