"""Costly answers are kept for a while, so that watching costs little however many watch."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

# An answer is kept for at least so many seconds, and for so many times as long as it took: making
# it takes at most a fiftieth of the process's time.
_LEAST, _TIMES = 1.5, 50.0
# So many answers are kept: a viewer who tries many maps does not fill the memory.
_ROOM = 16


class Kept(NamedTuple):
    """An answer, and the place in the log it was made at."""

    seq: int
    until: float
    answer: Any


class Fresh:
    """Answers by key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Any, Kept] = OrderedDict()

    async def get(self, key: Any, seq: int, make: Callable[[], Awaitable[Any]]) -> Kept:
        """Return an answer: the kept one if nothing happened since, or if it is young."""
        kept = self._kept.get(key)
        begin = self._clock()
        if kept is None or (kept.seq != seq and begin >= kept.until):
            answer = await make()
            now = self._clock()
            kept = self._kept[key] = Kept(seq, now + max(_LEAST, _TIMES * (now - begin)), answer)
            self._kept.move_to_end(key)
            if len(self._kept) > _ROOM:
                self._kept.popitem(last=False)
        return kept
