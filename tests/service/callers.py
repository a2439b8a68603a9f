"""A server of the service's own kind with any answer, and callers that speak raw HTTP to it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from lexbandit.service.http.problems import Problem
from lexbandit.service.http.server import Admission, Answer, Reply, Request, Timeouts, serving

MB = 1 << 20
LARGEST = 2 * MB


class Seen(NamedTuple):
    """An answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


async def echo(request: Request) -> Reply:
    """Answer with what was asked; /early does not wait for the body, /nobody has none."""
    headers = {name.decode(): value.decode() for name, value in request.headers.items()}
    if request.path == b"/early":
        return Reply(401, b"early")
    if request.path == b"/nobody":
        return Reply(304, b"", b"", ((b"etag", b"x"),))
    try:
        body = await request.body(LARGEST)
    except Problem as problem:
        return Reply(problem.kind.status, problem.body())
    told = [
        request.method,
        request.path.decode(),
        request.query_string.decode(),
        headers,
        body.decode(),
    ]
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
async def server(
    answer: Answer = echo, refused: Callable[[int], None] = print, **options: Any
) -> AsyncIterator[Server]:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    admission = Admission(options.pop("deadline", 60.0), refused)
    admission.limit = options.pop("limit", admission.limit)
    timeouts = replace(options.pop("timeouts", Timeouts()), last=0.05)
    opened = serving(answer, bound, admission=admission, timeouts=timeouts, **options)
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
