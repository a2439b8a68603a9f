"""Admit requests while they can be answered in time, and refuse the others at once."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# The time that requests may take on average besides the storage's own, in seconds. It is half of
# what the slowest in a hundred are to take.
_TARGET = 0.05
# The bounds of the limit, and where it begins.
_LEAST, _MOST, _FIRST = 128.0, 8192.0, 256.0
# The limit is looked at again after so many answers and seconds.
_ANSWERS, _SECONDS = 20, 0.1


@dataclass
class Admission:
    """Limits the requests under way, by how long those before them took.

    Every 0.1 seconds it is divided by how many times longer than they may requests took, 2 at most;
    when it was reached and they did not, it rises by a tenth.

    deadline   a request that is not answered after so many seconds is answered with 503
    refused    is called with the status of what was refused before the application saw it
    reading    returns how many requests wait for their callers, and so cost nothing now
    storing    returns how long the storage takes for itself, in seconds
    limit      so many requests may be under way
    """

    deadline: float
    refused: Callable[[int], None]
    reading: Callable[[], int] = lambda: 0
    storing: Callable[[], float] = lambda: 0.0
    clock: Callable[[], float] = time.monotonic
    limit: float = _FIRST
    _reached: bool = False
    _answers: int = 0
    _taken: float = 0.0
    _since: float = field(default=-math.inf)

    def full(self, under_way: int) -> bool:
        """Tell whether one more request than these is too many."""
        if under_way < self.limit or under_way - self.reading() < self.limit:
            return False
        self._reached = True
        return True

    def note(self, seconds: float) -> None:
        """Take in how long a request took, from its last byte to its answer."""
        self._answers += 1
        self._taken += seconds
        if self._answers < _ANSWERS or (now := self.clock()) < self._since + _SECONDS:
            return
        # A group is written while the one before it is, so a request waits for two at most.
        excess = self._taken / self._answers / (_TARGET + 2 * self.storing())
        if excess > 1.0:
            self.limit = max(_LEAST, self.limit / min(excess, 2.0))
        elif self._reached:
            self.limit = min(_MOST, self.limit * 1.1)
        self._reached, self._answers, self._taken, self._since = False, 0, 0.0, now
