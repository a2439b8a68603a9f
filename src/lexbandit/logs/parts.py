"""Work on the parts of a log in parallel: on threads, or on what an executor runs on."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeVar

Work = TypeVar("Work")
Part = TypeVar("Part")
Result = TypeVar("Result")


def map_parts(
    task: Callable[[Work, Part], Result],
    work: Work,
    parts: Sequence[Part],
    executor: Executor | None,
) -> Iterator[Result]:
    """Yield task(work, part) for every part, in their order.

    Without an executor, threads do it: compiled code and the reading of files let others run.
    """
    if executor is not None:
        yield from _in_order(task, work, parts, executor)
        return
    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        yield from (task(work, part) for part in parts)
        return
    with ThreadPoolExecutor(workers) as threads:
        yield from _in_order(task, work, parts, threads)


def _in_order(
    task: Callable[[Work, Part], Result],
    work: Work,
    parts: Sequence[Part],
    executor: Executor,
) -> Iterator[Result]:
    futures = [executor.submit(task, work, part) for part in parts]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
