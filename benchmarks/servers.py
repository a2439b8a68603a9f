"""Released HTTP servers under the service's application: speed, and what an attacker can do.

    pip install granian hypercorn aiohttp
    python -m benchmarks.servers [--seconds 3] [--turns 2] [NAME ...]

"ours" is uvicorn with the bounds of `service/http/server.py`. Of the attacks of `tests/service`:
memory after unfinished heads (6,000 connections, four times), how many ambiguous requests are not
refused, and how many of 50 heads that drip are closed within 40 seconds. Servers that are not
installed are skipped.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.loader import Load, load
from benchmarks.service import CONFIG, CORES, PATH, bodies, cpu_of, free_port, running
from lexbandit.service import process as server
from lexbandit.service.config.file import Config, read_config
from lexbandit.service.engine.engine import Engine
from lexbandit.service.http.app import App
from lexbandit.service.http.server import Request
from lexbandit.service.storage import make_storage

Stop = Callable[[], Awaitable[Any]]


def asgi(app: App) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Return the application as an ASGI application."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        headers = dict(scope["headers"])
        path, query = scope["raw_path"], scope["query_string"]
        status, body, media, more_headers = await app(
            Request(scope["method"], path, query, headers, body)
        )
        about = ((b"content-type", media), (b"content-length", b"%d" % len(body)))
        head = {"status": status, "headers": (*about, *more_headers)}
        await send({"type": "http.response.start", **head})
        await send({"type": "http.response.body", "body": body})

    return application


async def uvicorn(app: App, port: int, stop: Stop) -> None:
    """Serve by uvicorn, with httptools."""
    made = importlib.import_module("uvicorn")
    config = made.Config(asgi(app), port=port, http="httptools", lifespan="off", ws="none",
                         log_config=None, access_log=False, timeout_keep_alive=75)  # fmt: skip
    serving = made.Server(config)
    task = asyncio.create_task(serving.serve())
    await stop()
    serving.should_exit = True
    await task


async def granian(app: App, port: int, stop: Stop) -> None:
    """Serve by granian in this process, with its own interface and bounds on heads."""
    embed = importlib.import_module("granian.server.embed")
    http = importlib.import_module("granian.http")

    async def rsgi(scope: Any, protocol: Any) -> None:
        headers = {name.encode(): value.encode() for name, value in scope.headers.items()}
        path, query = scope.path.encode(), scope.query_string.encode()
        reply = await app(Request(scope.method, path, query, headers, await protocol()))
        about = [("content-type", reply.media.decode())]
        about += [(name.decode(), value.decode()) for name, value in reply.headers]
        protocol.response_bytes(reply.status, about, reply.body)

    limits = http.HTTP1Settings(header_read_timeout=10_000, max_buffer_size=16_384)
    serving = embed.Server(rsgi, port=port, http1_settings=limits, backlog=4096,
                           backpressure=20_000, websockets=False, log_enabled=False)  # fmt: skip
    task = asyncio.create_task(serving.serve())
    await stop()
    serving.stop()
    await task


async def hypercorn(app: App, port: int, stop: Stop) -> None:
    """Serve by hypercorn."""
    config = importlib.import_module("hypercorn.config").Config()
    config.bind, config.errorlog = [f"127.0.0.1:{port}"], None
    made = importlib.import_module("hypercorn.asyncio")
    await made.serve(asgi(app), config, shutdown_trigger=stop)


async def aiohttp(app: App, port: int, stop: Stop) -> None:
    """Serve by aiohttp."""
    web = importlib.import_module("aiohttp.web")

    async def handler(request: Any) -> Any:
        headers = {name.lower(): value for name, value in request.raw_headers}
        url = request.rel_url
        path, query = url.raw_path.encode(), url.raw_query_string.encode()
        body = await request.read()
        reply = await app(Request(request.method, path, query, headers, body))
        about = {name.decode(): value.decode() for name, value in reply.headers}
        about["content-type"] = reply.media.decode()
        return web.Response(status=reply.status, body=reply.body, headers=about)

    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await stop()
    await runner.cleanup()


SERVERS = {"uvicorn": uvicorn, "granian": granian, "hypercorn": hypercorn, "aiohttp": aiohttp}


async def serve(config: Config, name: str) -> None:
    """Serve a configuration by one of the servers, until SIGTERM."""
    engine = await Engine.start(config.points, make_storage(config.storage))
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    await SERVERS[name](server.make_app(engine, config, no_auth=True), config.port, told.wait)
    await engine.stop()


def measured(name: str, seconds: float) -> tuple[float, float]:
    """Return decisions a second and the processor time of each in µs, server and loader apart."""
    with started(name, str(CORES[0])) as (port, pid):
        before = cpu_of(pid)
        answered = load(Load(port, PATH, bodies(), seconds=seconds, core=CORES[-1]))
        used = cpu_of(pid) - before
    return answered.per_second, 1e6 * used / (answered.per_second * (seconds + 1))


@contextlib.contextmanager
def started(name: str, core: str) -> Any:
    """Run a server in a process of its own; returns its port and process id."""
    with tempfile.TemporaryDirectory(prefix="lexbandit-servers-") as folder:
        port, config = free_port(), Path(folder) / "service.toml"
        config.write_text(CONFIG.format(storage=f"sqlite:{folder}/log.db", port=port))
        module = ["benchmarks.served"] if name == "ours" else ["benchmarks.servers", "--serve"]
        rest = [str(config), core] if name == "ours" else [str(config), name]
        with running([sys.executable, "-m", *module, *rest], port) as pid:
            yield port, pid


def attacked(name: str) -> str:
    """Return what the attacks of the tests do to a server."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    attacks = importlib.import_module("service.attacks")
    attacks.room_for(6000)

    def memory(pid: int) -> int:
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) // 1024

    with started(name, str(CORES[0])) as (port, pid):
        rooms = [memory(pid)]
        for _ in range(4):
            attacks.unfinished_heads(port, 6000)
            rooms.append(memory(pid))
        head = b"POST %b HTTP/1.1\r\n%b%b" % (attacks.DECISIONS, attacks.HOST, attacks.JSON)
        inner = b"\r\nGET /v1 HTTP/1.1\r\n" + attacks.HOST + b"Connection: close\r\n\r\n"
        taken = [kind for kind, lines in attacks.SMUGGLED.items()
                 if b" 400 " not in attacks.asked(port, head + lines + b"\r\n" + attacks.BODY + inner)[:14]]  # noqa: E501  # fmt: skip
        begin = b"GET /health HTTP/1.1\r\n" + attacks.HOST
        closed = attacks.dripped(port, begin, b"X: y\r\n", 50, 40)
    return f"memory {rooms} MB; not refused: {taken or 'none'}; {closed} of 50 dripping closed"


def main() -> None:
    """Measure all, in turns."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("names", nargs="*", default=["ours", *SERVERS])
    asked.add_argument("--seconds", type=float, default=3.0)
    asked.add_argument("--turns", type=int, default=2)
    given = asked.parse_args()
    names = [name for name in given.names if name == "ours" or importlib.util.find_spec(name)]
    for _ in range(given.turns):
        for name in names:
            rate, cpu = measured(name, given.seconds)
            print(f"{name}: {rate:,.0f} decisions/s, CPU {cpu:.0f} µs each", flush=True)
    for name in names:
        print(f"{name}: {attacked(name)}", flush=True)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        found = read_config(Path(sys.argv[2]), {})
        server.run(serve(found, sys.argv[3]), found)
    else:
        main()
