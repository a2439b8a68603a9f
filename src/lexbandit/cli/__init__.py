"""The command line: one file a verb."""

import sys
from collections.abc import Callable

from lexbandit.cli.extras import install

__all__ = ["main"]


def _without(package: str) -> Callable[..., None]:
    """Return the command line of an installation that has none: it says what is missing."""
    words = (
        f"error: the command line needs the package {package!r}: {install('bench')}; for the "
        "service, 'service' in place of 'bench'."
    )
    return lambda *_: sys.exit(words)


try:
    from lexbandit.cli.main import main
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    main = _without(error.name)
