"""Memory goes back to the system when many connections have ended."""

import asyncio

import pytest

from lexbandit.service import process


def test_memory_is_given_back_when_many_connections_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = iter([10, 600, 150, 90, 80, 700, 700, 0, 0])
    trimmed: list[int] = []
    at: list[int] = []

    def connections() -> int:
        at.append(next(seen))
        return at[-1]

    monkeypatch.setattr(process, "trim_memory", lambda: trimmed.append(len(at)))

    async def run() -> None:
        with pytest.raises(RuntimeError):  # the numbers are over
            await process.give_back_memory(connections, every=0.0)

    asyncio.run(run())
    assert trimmed == [4, 8]  # 600 to 90, then 700 to 0


def test_free_memory_can_be_given_back() -> None:
    process.trim_memory()
