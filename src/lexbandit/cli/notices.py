"""Print when kernels are compiled: a command would be silent for up to a minute otherwise."""

import contextlib
import logging
from collections.abc import Iterator

import click


class _EchoHandler(logging.Handler):
    """Prints the messages of a logger for people."""

    def __init__(self, err: bool) -> None:
        super().__init__()
        self._err = err

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        click.echo(f"{message[:1].upper()}{message[1:]}.", err=self._err)


@contextlib.contextmanager
def compile_notices(*, err: bool) -> Iterator[None]:
    """Print when kernels are compiled inside this block, in place of the log.

    To standard error if `err`, else to standard output.
    """
    log = logging.getLogger("lexbandit.compile")
    before = log.level, log.propagate
    handler = _EchoHandler(err)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]
