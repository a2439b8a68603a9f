"""The HTTP application on a real engine and a real file, without a network in between."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx

from lexbandit.service.dashboard.pages import Pages
from lexbandit.service.engine.engine import Engine
from lexbandit.service.http.access import Access, ApiKey, Keys, Role, Sessions, hash_of
from lexbandit.service.http.app import App
from lexbandit.service.http.server import Request
from service.world import engine_on

CONTEXT = {"tokens": 900, "task": "code", "hour": 14.5}
URL = "http://localhost"


class _Straight(httpx.AsyncBaseTransport):
    """Hands requests to the application, as a connection does."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path, _, query = request.url.raw_path.partition(b"?")
        headers = {name.lower(): value for name, value in request.headers.raw}
        given = Request(request.method, path, query, headers)

        async def feed() -> None:
            async for part in cast(AsyncIterable[bytes], request.stream):
                given.feed(part)
            given.finish(0.0)

        feeding = asyncio.ensure_future(feed())
        try:
            reply = await self._app(given)
        finally:
            feeding.cancel()
        told = [(b"content-type", reply.media), (b"x-request-id", given.id), *reply.headers]
        return httpx.Response(reply.status, headers=told, content=reply.body)


class Served(NamedTuple):
    """An engine, the application, and a client of it."""

    engine: Engine
    app: App
    http: httpx.AsyncClient

    async def decide(self, **fields: Any) -> Any:
        """Ask for a decision and return the answer."""
        body = {"context": CONTEXT, **fields}
        reply = await self.http.post("/v1/router/decisions", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    @property
    def state(self) -> str:
        """What the point's state comes down to."""
        return self.engine.points["router"].digest()


def key(name: str, *roles: Role, rate: float | None = None) -> ApiKey:
    """Return a key whose secret is `secret-<name>`."""
    return ApiKey(name, frozenset(roles), bytes.fromhex(hash_of(f"secret-{name}")), rate)


def bearer(name: str) -> dict[str, str]:
    """Return the header of a key."""
    return {"Authorization": f"Bearer secret-{name}"}


@asynccontextmanager
async def served(
    folder: Path, keys: Sequence[ApiKey] | None = None, *, body: int = 100_000, **settings: Any
) -> AsyncIterator[Served]:
    """Serve a point from a file in `folder`; without keys everybody is let in."""
    folder.mkdir(exist_ok=True)
    async with engine_on(folder / "log.db", **settings) as engine:
        known = None if keys is None else Keys(keys)
        sessions = None if known is None else Sessions(known)
        access = Access(known, sessions)
        app = App(engine, access, body, Pages(engine, access, secure=False))
        async with httpx.AsyncClient(transport=_Straight(app), base_url=URL) as http:
            yield Served(engine, app, http)


def detail_of(reply: httpx.Response, status: int) -> str:
    """Return the detail of a problem, which must be one, of this status."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    told = reply.json()
    assert set(told) == {"type", "title", "status", "detail"}
    assert told["status"] == status
    assert told["type"].startswith("urn:lexbandit:")
    return str(told["detail"])
