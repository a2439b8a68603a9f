"""What ran: the versions that a result can depend on."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Return the versions of lexbandit, of Python and of what computes."""
    found = {"python": platform.python_version()}
    for package in ("lexbandit", "numpy", "numba", "polars"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
