"""Connect to a Dask cluster, or start one; no other module imports Dask."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from lexbandit.bench.run import Run
from lexbandit.errors import InvalidInput

try:
    from distributed import Client, LocalCluster, as_completed
except ImportError as error:  # pragma: no cover
    raise InvalidInput("a cluster needs Dask: pip install 'lexbandit[cluster]'.") from error

Ended = Callable[[Callable[[Run], Any], Sequence[Run]], Iterator[tuple[Run, Any]]]

_SECONDS_TO_CONNECT = 15


@contextmanager
def connected(address: str, workers: int) -> Iterator[Ended]:
    """Connect to a cluster, or start one here, and give a function that plays runs on it."""
    with _client(address, workers) as client:
        yield lambda task, runs: _ended(client, task, runs)


@contextmanager
def executor(address: str, workers: int) -> Iterator[Executor]:
    """Connect to a cluster, or start one here, and give an executor whose tasks run on it.

    A task whose worker dies is done again by another, up to Dask's `allowed-failures`.
    """
    with _client(address, workers) as client:
        yield client.get_executor(pure=False)


@contextmanager
def _client(address: str, workers: int) -> Iterator[Client]:
    cluster = None
    if address == "local":
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    try:
        client = Client(cluster or address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {address!r} (such as tcp://127.0.0.1:8786): {error}"
        ) from error
    try:
        yield client
    finally:
        with _hushed():
            client.close()
            if cluster is not None:
                cluster.close()


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep Dask from logging each connection that ends because the cluster does."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _ended(
    client: Client, task: Callable[[Run], Any], runs: Sequence[Run]
) -> Iterator[tuple[Run, Any]]:
    futures = {client.submit(task, run, pure=False): run for run in runs}
    try:
        for future in as_completed(list(futures), loop=client.loop, raise_errors=False):
            error = future.exception()
            yield futures[future], future.result() if error is None else error
            future.release()
    finally:
        client.cancel([future for future in futures if not future.done()], force=True)
