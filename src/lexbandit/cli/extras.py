"""What is said when an optional part of lexbandit is not installed."""

import contextlib
from collections.abc import Iterator

from lexbandit.errors import InvalidInput


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a missing package into a line that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lexbandit"):
            raise
        raise InvalidInput(
            f"this needs the package {error.name!r}: pip install 'lexbandit[{extra}]'."
        ) from None
