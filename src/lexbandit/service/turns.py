"""Requests about the same thing take turns, so that each sees what the one before it did."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable
from contextlib import asynccontextmanager


class Turns:
    """Lets one request at a time be under way about a thing; requests about others go on."""

    def __init__(self) -> None:
        self._busy: dict[Hashable, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def about(self, things: Iterable[Hashable]) -> AsyncIterator[None]:
        """Wait until nothing is under way about these things; then others wait for us."""
        mine = list(things)
        while busy := [self._busy[one] for one in mine if one in self._busy]:
            await asyncio.wait(busy)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy.update(dict.fromkeys(mine, done))
        try:
            yield
        finally:
            for one in mine:
                del self._busy[one]
            done.set_result(None)
