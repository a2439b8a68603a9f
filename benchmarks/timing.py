"""How things are timed: the best of several, taken in turns, since the machine is noisy."""

import time
from collections.abc import Callable


def best_of(
    turns: int,
    jobs: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the least seconds of each job; the jobs take turns, so noise falls on all alike."""
    least = dict.fromkeys(jobs, float("inf"))
    for _ in range(turns):
        for name, job in jobs.items():
            start = clock()
            job()
            least[name] = min(least[name], clock() - start)
    return least
