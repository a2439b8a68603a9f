"""Cache answers of the dashboard: the more work one took, the longer it stays."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

# An answer is cached for at least so many seconds, and for so many times the processor time that it
# took. Not the time of the clock: on a busy machine that is mostly others' work, and a viewer would
# look at an old answer for long.
_LEAST, _TIMES = 1.5, 50.0
# How many answers the cache holds: a viewer who tries many maps does not fill the memory.
_CAPACITY = 16


class CachedAnswer(NamedTuple):
    """An answer, the last event it includes, and until when it may be out of date."""

    seq: int
    until: float
    answer: Any


class AnswerCache:
    """Answers by key; one that is out of date is served for `most` seconds at most."""

    def __init__(
        self,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._most = most
        self._clock = clock
        self._spent = spent
        self._answers: OrderedDict[Any, CachedAnswer] = OrderedDict()

    async def get(self, key: Any, seq: int, make: Callable[[], Awaitable[Any]]) -> CachedAnswer:
        """Return the cached answer if nothing happened since, or if it is young; else a new one."""
        cached = self._answers.get(key)
        if cached is None or (cached.seq != seq and self._clock() >= cached.until):
            before = self._spent()
            answer = await make()
            young = min(max(_LEAST, _TIMES * (self._spent() - before)), self._most)
            cached = self._answers[key] = CachedAnswer(seq, self._clock() + young, answer)
            self._answers.move_to_end(key)
            if len(self._answers) > _CAPACITY:
                self._answers.popitem(last=False)
        return cached
