"""Where events are stored: a file (SQLite), or a server that replicas share (PostgreSQL).

A storage is one file here, called as its URLs begin, with two functions: `storage_at` makes it, and
`check` says what would keep a service from starting on it.
"""

import pkgutil
from importlib import import_module
from types import ModuleType

from lexbandit.errors import InvalidInput
from lexbandit.service.storage.base import Storage, StorageFailed, StorageInUse

__all__ = ["Storage", "StorageFailed", "StorageInUse", "check_storage", "make_storage", "schemes"]

_OTHER_NAMES = {"postgres": "postgresql"}


def schemes() -> list[str]:
    """Return how the URLs of storages may begin."""
    names = {module.name for module in pkgutil.iter_modules(__path__)}
    return sorted(name for name in names - {"base"} if not name.startswith("_"))


def module_of(url: str) -> ModuleType:
    """Return the module of a URL's storage. Errors show how it begins: it may hold secrets."""
    scheme = url.partition(":")[0]
    scheme = _OTHER_NAMES.get(scheme, scheme)
    if scheme not in schemes():
        known = ", ".join(f"{one}:" for one in schemes())
        raise InvalidInput(
            f"storage must be a URL, such as sqlite:FILE, and begin with one of {known} "
            f"got one that begins with {scheme[:20]!r}."
        )
    return import_module(f"{__name__}.{scheme}")


def make_storage(url: str, *, reading: bool = False) -> Storage:
    """Return the storage of a URL: sqlite:FILE, or postgresql://USER:PASSWORD@HOST/DATABASE.

    `reading`: the log is read only, so another process may be serving it.
    """
    made: Storage = module_of(url).storage_at(url, reading=reading)
    return made


async def check_storage(url: str) -> None:
    """Raise what would keep a service from starting on the storage of a URL; nothing is written."""
    await module_of(url).check(url)
