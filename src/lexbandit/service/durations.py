"""How long things took, counted in buckets: cheap enough for the path of every request."""

from bisect import bisect_left

ENDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper ends of the buckets, in seconds; one more bucket has what took longer."""


class Times:
    """A histogram of seconds."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(ENDS) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count something that took so long."""
        self.counts[bisect_left(ENDS, seconds)] += 1
        self.total += seconds

    def cumulated(self) -> list[tuple[str, float]]:
        """Return the buckets as Prometheus wants them: how many took at most so long."""
        so_far = 0
        buckets = []
        for end, count in zip([*map(str, ENDS), "+Inf"], self.counts, strict=True):
            so_far += count
            buckets.append((end, float(so_far)))
        return buckets
