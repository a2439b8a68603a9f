"""Report a package that is not installed, or an error of a storage, in one line."""

import contextlib
from collections.abc import Iterator

from lexbandit._internal.redaction import without_password
from lexbandit.errors import InvalidInput


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a missing package into a line that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(error, extra) from None


def missing(error: ModuleNotFoundError, extra: str) -> Exception:
    """Return an error that says how to install a missing package."""
    if error.name is None or error.name.startswith("lexbandit"):
        return error
    package = error.name.partition(".")[0]
    return InvalidInput(f"this needs the package {package!r}: {install(extra)}.")


def install(extra: str) -> str:
    """Return how an optional part is installed."""
    return f"pip install 'lexbandit[{extra}]', or '.[{extra}]' in a checkout"


@contextlib.contextmanager
def storage_words() -> Iterator[None]:
    """Turn an error of a storage into one line without passwords."""
    from lexbandit.service.events import CorruptLog  # noqa: PLC0415
    from lexbandit.service.storage import StorageFailed, StorageInUse  # noqa: PLC0415

    try:
        yield
    except (CorruptLog, StorageFailed, StorageInUse) as error:
        raise InvalidInput(without_password(str(error))) from None
