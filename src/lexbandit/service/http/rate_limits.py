"""How much is taken: requests a second for each key."""

from collections.abc import Callable

from lexbandit.service.http.problems import TOO_MANY, Problem


class RateLimits:
    """A bucket for each key: it holds one second's requests, and refills steadily."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, rate: float) -> None:
        """Count a request of a key; refuse it if the bucket is empty."""
        now = self._clock()
        full = max(rate, 1.0)
        tokens, since = self._buckets.get(name, (full, now))
        tokens = min(full, tokens + (now - since) * rate)
        if tokens < 1.0:
            self._buckets[name] = (tokens, now)
            seconds = max(1, round((1.0 - tokens) / rate + 0.5))
            raise Problem(
                TOO_MANY,
                f"the key {name!r} may send {rate:g} requests a second; try again in {seconds} s.",
                {b"retry-after": str(seconds).encode()},
            )
        self._buckets[name] = (tokens - 1.0, now)

    def spend(self, name: str, rows: int) -> None:
        """Count more rows of a request that was taken; later ones wait until they are made up."""
        tokens, since = self._buckets[name]
        self._buckets[name] = (tokens - rows, since)
