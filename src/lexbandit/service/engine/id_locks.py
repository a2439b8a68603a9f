"""Locks by id: requests about the same decision wait for each other, others go on."""

import asyncio
from collections.abc import Hashable, Iterable


class IdLocks:
    """Lets one request at a time be under way about an id; requests about others go on."""

    def __init__(self) -> None:
        self._busy: dict[Hashable, asyncio.Future[None]] = {}

    def hold(self, ids: Iterable[Hashable]) -> "HeldIds":
        """Return a context that begins when no other request holds any of these ids."""
        return HeldIds(self._busy, list(ids))


class HeldIds:
    """While it lasts, others wait who ask for one of its ids."""

    def __init__(self, busy: "dict[Hashable, asyncio.Future[None]]", ids: list[Hashable]) -> None:
        self._busy = busy
        self._ids = ids

    async def __aenter__(self) -> None:
        while busy := [self._busy[one] for one in self._ids if one in self._busy]:
            await asyncio.wait(busy)
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy.update(dict.fromkeys(self._ids, self._done))

    async def __aexit__(self, *_: object) -> None:
        for one in self._ids:
            del self._busy[one]
        self._done.set_result(None)
