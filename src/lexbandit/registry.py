"""Registries of builders by name, which are found in the files of a package.

The file that is called like a name is imported first; only if it does not have the name, or if all
names are asked for, every file is imported. So a new file is found, and one name is found quickly.

Entry points of installed packages are found too, in the group named like the package. They are
loaded on first use, so one that needs an optional dependency costs nothing before.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions
from typing import Any, Generic, TypeVar

from lexbandit.errors import InvalidInput, unknown_name

T = TypeVar("T")
B = TypeVar("B", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Builders of one kind, by name, from the files of `package`."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._builders: dict[str, Callable[..., T]] = {}
        self._complete = False

    def register(self, name: str) -> Callable[[B], B]:
        """Enter the decorated builder, a class or a function, under `name`."""

        def enter(builder: B) -> B:
            ours = getattr(builder, "__module__", "").startswith(f"{self.package}.")
            if name in self._builders or (not ours and self._find(name)):
                raise ValueError(f"two builders for the {self.kind} {name!r}")
            self._builders[name] = builder
            return builder

        return enter

    def names(self) -> list[str]:
        """Return every name, sorted."""
        self._gather()
        return sorted({*self._builders, *self._installed()})

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._find(name) or name in self._installed())

    def builder(self, name: str) -> Callable[..., T]:
        """Return the builder of `name`; an unknown name is an error that suggests the nearest."""
        if name not in self:
            raise unknown_name(self.kind, name, self.names())
        return self._builders[name] if name in self._builders else self._loaded(name)

    def origin(self, name: str) -> str | None:
        """Return the source and version of another package's entry; None for our own."""
        point = self._installed().get(name)
        if point is None or point.value.startswith("lexbandit."):
            return None
        return f"{point.value} {point.dist.version if point.dist else '?'}"

    def _loaded(self, name: str) -> Callable[..., T]:
        try:
            builder: Callable[..., T] = self._installed()[name].load()
        except ImportError as error:
            extra = ': pip install "lexbandit[bench]"' if self.origin(name) is None else ""
            raise InvalidInput(
                f"the {self.kind} {name!r} needs {error.name or error}, "
                f"which is not installed{extra}."
            ) from error
        return builder

    def parameters(self, name: str) -> dict[str, inspect.Parameter]:
        """Return the parameters that the builder of `name` takes."""
        return dict(inspect.signature(self.builder(name)).parameters)

    def describe(self, name: str) -> str:
        """Return the first line of the builder's docstring."""
        return (inspect.getdoc(self.builder(name)) or "").partition("\n")[0]

    def _find(self, name: str) -> bool:
        """Tell whether a file of the package has `name`; import the one that is called like it."""
        if name not in self._builders:
            self._gather(name.replace("-", "_"))
        if name not in self._builders:
            self._gather()
        return name in self._builders

    def _gather(self, file: str | None = None) -> None:
        """Import all files of the package, or those of a name."""
        if not self._complete:
            package = importlib.import_module(self.package)
            for module in pkgutil.walk_packages(package.__path__, f"{self.package}."):
                if file is None or module.name.endswith(f".{file}"):
                    importlib.import_module(module.name)
            self._complete = file is None

    def _installed(self) -> dict[str, EntryPoint]:
        return _entries_of(self.package, tuple(sys.path))


@lru_cache(maxsize=32)
def _entries_of(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Return the entry points of a group in the packages of `path`, the first of a name."""
    found: dict[str, EntryPoint] = {}
    for package in distributions(path=list(path)):
        for point in package.entry_points.select(group=group):
            found.setdefault(point.name, point)
    return found
