"""Messages of several commands: a missing package, a storage that failed, kernels being compiled.

This file needs no other package, as it also says which one is missing.
"""

import contextlib
import logging
import sys
from collections.abc import Iterator

from lexbandit.errors import InvalidInput, without_password


class _EchoHandler(logging.Handler):
    """Prints the messages of a logger for people."""

    def __init__(self, err: bool) -> None:
        super().__init__()
        self._err = err

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        stream = sys.stderr if self._err else sys.stdout
        print(f"{message[:1].upper()}{message[1:]}.", file=stream, flush=True)


@contextlib.contextmanager
def compile_notices(*, err: bool) -> Iterator[None]:
    """Print when kernels are compiled inside this block: it would be silent for a while otherwise.

    To standard error if `err`, else to standard output; in place of the log.
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


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a missing package into a line that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(error, extra) from None


def missing(error: ModuleNotFoundError, extra: str, *, without: str = "") -> Exception:
    """Return an error that says how to install a missing package.

    `without` is an option of the command that does without it.
    """
    if error.name is None or error.name.startswith("lexbandit"):
        return error
    package = error.name.partition(".")[0]
    other = f"; or do without it: {without}" if without else ""
    return InvalidInput(f"this needs the package {package!r}: {install(extra)}{other}.")


def install(extra: str) -> str:
    """Return how an optional part is installed."""
    return f"pip install 'lexbandit[{extra}]', or '.[{extra}]' in a checkout"


@contextlib.contextmanager
def storage_words() -> Iterator[None]:
    """Turn an error of a storage into one line without passwords."""
    from lexbandit.service.events import CorruptLog  # noqa: PLC0415
    from lexbandit.service.storage import StorageFailed  # noqa: PLC0415

    try:
        yield
    except (CorruptLog, StorageFailed) as error:
        raise InvalidInput(without_password(str(error))) from None
