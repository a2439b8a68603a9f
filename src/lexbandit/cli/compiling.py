"""What a verb says while it compiles: else it would be silent for up to a minute."""

import contextlib
import logging
from collections.abc import Iterator

import click


class _Aloud(logging.Handler):
    """Says to people what the log says of compiling."""

    def __init__(self, err: bool) -> None:
        super().__init__()
        self._err = err

    def emit(self, record: logging.LogRecord) -> None:
        told = record.getMessage()
        click.echo(f"{told[:1].upper()}{told[1:]}.", err=self._err)


@contextlib.contextmanager
def told_of_compiling(*, err: bool) -> Iterator[None]:
    """Say on standard error, or output, when kernels are compiled inside; the log does not."""
    log = logging.getLogger("lexbandit.compile")
    before = log.level, log.propagate
    aloud = _Aloud(err)
    log.addHandler(aloud)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(aloud)
        log.setLevel(before[0])
        log.propagate = before[1]
