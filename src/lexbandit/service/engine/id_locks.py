"""Requests about the same thing take turns, so that each sees what the one before it did."""

import asyncio
from collections.abc import Hashable, Iterable


class Turns:
    """Lets one request at a time be under way about a thing; requests about others go on."""

    def __init__(self) -> None:
        self._busy: dict[Hashable, asyncio.Future[None]] = {}

    def about(self, things: Iterable[Hashable]) -> "Turn":
        """Return a turn: it begins when nothing is under way about these things."""
        return Turn(self._busy, list(things))


class Turn:
    """While it lasts, others wait who ask about its things."""

    def __init__(
        self, busy: "dict[Hashable, asyncio.Future[None]]", things: list[Hashable]
    ) -> None:
        self._busy = busy
        self._things = things

    async def __aenter__(self) -> None:
        while busy := [self._busy[one] for one in self._things if one in self._busy]:
            await asyncio.wait(busy)
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy.update(dict.fromkeys(self._things, self._done))

    async def __aexit__(self, *_: object) -> None:
        for one in self._things:
            del self._busy[one]
        self._done.set_result(None)
