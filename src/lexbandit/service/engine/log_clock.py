"""The time of a log: it never goes back, and it is not moved by the clock on the wall."""

import time
from collections.abc import Callable


class LogClock:
    """Seconds since 1970 at its start, moved on by the monotonic clock.

    The wall clock is read once: if it is set while the process runs, nothing happens here. If it
    was set back between two runs, time stands where the log ended and goes on from there.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()
        self._last = 0.0

    def not_before(self, last: float) -> None:
        """Go on from the time of the log's last event if the wall clock was behind it."""
        self._last = max(self._last, last)
        self._offset = max(self._offset, last - self._monotonic())

    def now(self) -> float:
        """Return the time, never less than before."""
        self._last = max(self._last, self._monotonic() + self._offset)
        return self._last
