"""Costly answers are kept for a while, so that watching costs little however many watch."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

# An answer is kept for at least so many seconds, and for so many times the processor's time that it
# took. Not the time of the clock: on a busy machine that is mostly others' work, and a viewer would
# look at an old answer for long.
_LEAST, _TIMES = 1.5, 50.0
# So many answers are kept: a viewer who tries many maps does not fill the memory.
_ROOM = 16


class Kept(NamedTuple):
    """An answer, and the place in the log it was made at."""

    seq: int
    until: float
    answer: Any


class Fresh:
    """Answers by key. None is kept for longer than `most` seconds once something happened."""

    def __init__(
        self,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._most = most
        self._clock = clock
        self._spent = spent
        self._kept: OrderedDict[Any, Kept] = OrderedDict()

    async def get(self, key: Any, seq: int, make: Callable[[], Awaitable[Any]]) -> Kept:
        """Return an answer: the kept one if nothing happened since, or if it is young."""
        kept = self._kept.get(key)
        if kept is None or (kept.seq != seq and self._clock() >= kept.until):
            before = self._spent()
            answer = await make()
            young = min(max(_LEAST, _TIMES * (self._spent() - before)), self._most)
            kept = self._kept[key] = Kept(seq, self._clock() + young, answer)
            self._kept.move_to_end(key)
            if len(self._kept) > _ROOM:
                self._kept.popitem(last=False)
        return kept
