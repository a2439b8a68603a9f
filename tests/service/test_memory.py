"""Memory goes back to the system when many connections have ended."""

import asyncio
import socket

import pytest

from lexbandit.service import process
from lexbandit.service.http.server import Admission, serving
from service.callers import echo


def test_memory_is_given_back_when_many_connections_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = iter([10, 400, 600, 650, 6600, 6600, 7050, 7100])
    trimmed: list[int] = []
    at: list[int] = []

    def ended() -> int:
        at.append(next(seen))
        return at[-1]

    monkeypatch.setattr(process, "trim_memory", lambda: trimmed.append(at[-1]))

    async def run() -> None:
        with pytest.raises(RuntimeError):  # the numbers are over
            await process.give_back_memory(ended, every=0.0)

    asyncio.run(run())
    assert trimmed == [600, 6600, 7100]


def test_connections_that_come_and_go_at_once_count_as_ended() -> None:
    """6,000 of them within two seconds left 110 MB behind: nobody had seen them."""

    async def run() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        async with serving(echo, listener, admission=Admission(5.0, print)) as server:
            for _ in range(3):
                _, writer = await asyncio.open_connection(*address)
                writer.close()
            async with asyncio.timeout(20):
                while server.shared.ended < 3:
                    await asyncio.sleep(0.01)
            assert not server.server_state.connections

    asyncio.run(run())


def test_free_memory_can_be_given_back() -> None:
    process.trim_memory()
