"""Policies and environments by name: the package's own, an installed package's, or a user's file.

"moc-mab"             lexbandit's own
"my-policy"           an entry point of an installed package, in the group lexbandit.policies
                      (or lexbandit.environments)
"mine.py:MyPolicy"    a class or function in a Python file beside the study
"package:MyPolicy"    the same in a module that can be imported
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lexbandit import environments, policies
from lexbandit.environments import make_environment
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.policies import make_policy

_REGISTRIES: dict[str, Any] = {
    "policy": policies.REGISTRY,
    "environment": environments.REGISTRY,
}
_MAKERS: dict[str, Callable[..., Any]] = {"policy": make_policy, "environment": make_environment}

# What every policy is told of the problem; one's own policy is given those of them it takes.
PROBLEM = ("arms", "dimension", "objectives", "horizon", "seed")


@dataclass(frozen=True)
class Component:
    """A policy or environment that can be built anywhere: `source` travels with a user's file.

    `inner` is the name of the policy that a wrapper wraps.
    """

    kind: str
    name: str
    file: str | None = None
    source: str | None = None
    inner: str | None = None

    @property
    def named(self) -> bool:
        """Whether it is known by its name, of lexbandit or of an installed package."""
        return ":" not in self.name

    @property
    def short(self) -> str:
        """Its name without the module of a user's file; a wrapper's with what it wraps."""
        name = self.name.partition(":")[2] or self.name
        return f"{name}({self.inner})" if self.inner else name

    def identity(self) -> dict[str, str | None]:
        """Return what tells it from any other: for a user's file, what the file says."""
        digest = hashlib.sha256(self.source.encode()).hexdigest() if self.source else None
        return {"kind": self.kind, "name": self.name, "source": digest}

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters its builder takes."""
        if self.named and self.kind == "policy":
            return policies.parameters_of(self.name, self.inner)
        if self.named:
            return dict(_REGISTRIES[self.kind].parameters(self.name))
        return dict(inspect.signature(_builder(self)).parameters)

    def takes(self, parameter: str) -> bool:
        """Tell whether the builder has a use for `parameter`."""
        taken = self.parameters()
        anything = any(p.kind is p.VAR_KEYWORD for p in taken.values())
        return parameter in taken or anything

    def build(self, parameters: Mapping[str, Any], problem: Mapping[str, Any] | None = None) -> Any:
        """Build it with its parameters and those of `problem` it takes."""
        if self.named:
            return _MAKERS[self.kind](self.name, **(problem or {}), **parameters)
        for given in parameters:
            if problem and given in problem:
                raise InvalidInput(f"{given} is told to {self.name} by the study; leave it out.")
            if not self.takes(given):
                raise unknown_name(f"parameter of {self.name}", given, self.parameters())
        told = {key: value for key, value in (problem or {}).items() if self.takes(key)}
        built = _builder(self)(**told, **parameters)
        wanted = policies.Policy if self.kind == "policy" else environments.Environment
        if not isinstance(built, wanted):
            raise InvalidInput(
                f"{self.name} gave {type(built).__name__}, not a lexbandit {wanted.__name__}."
            )
        return built


def find(kind: str, name: str, folder: Path, inner: object = None) -> Component:
    """Return the policy or environment that `name` means in a study that lies in `folder`.

    `inner` is what the study says of the policy to wrap, if anything.
    """
    if ":" not in name:
        return _find_by_name(kind, name, inner)
    module, _, attribute = name.partition(":")
    if not module.endswith(".py"):
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        beside = folder / f"{module.replace('.', '/')}.py"
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            path = Path(spec.origin)
        elif beside.is_file():
            path = beside
        else:
            raise InvalidInput(f"{kind} {name!r}: there is no module {module!r}, nor {beside}.")
    else:
        path = folder / module
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{kind} {name!r}: cannot read {path}: {error.strerror}.") from error
    component = Component(kind, f"{path.stem}:{attribute}", str(path.resolve()), source)
    _builder(component)
    return component


def _find_by_name(kind: str, name: str, inner: object) -> Component:
    registry = _REGISTRIES[kind]
    registry.builder(name)  # refuses an unknown name
    wrapped = None
    if kind == "policy" and inner is not None and policies.wraps(name):
        policies.parameters_of(name, inner)  # refuses what cannot be wrapped
        wrapped = str(inner)
    # The version stands in for the source: an installed package is found on the worker too.
    return Component(kind, name, None, registry.origin(name), wrapped)


def names(kind: str) -> dict[str, str]:
    """Return every known name of a kind with one line of explanation."""
    registry = _REGISTRIES[kind]
    return {name: registry.describe(name) for name in registry.names()}


@lru_cache(maxsize=256)
def _builder(component: Component) -> Callable[..., Any]:
    assert component.file is not None  # only a user's file has no name of its own
    attribute = component.name.partition(":")[2]
    module = _module(component.file, component.source or "")
    if not callable(getattr(module, attribute, None)):
        public = [n for n, value in vars(module).items() if callable(value) and n[0] != "_"]
        raise unknown_name(f"name in {component.file}", attribute, public)
    return getattr(module, attribute)  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def _module(file: str, source: str) -> types.ModuleType:
    """Run a user's file as a module; its folder can be imported from, as for a script."""
    folder = str(Path(file).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    module = types.ModuleType(Path(file).stem)
    module.__file__ = file
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except Exception as error:
        raise InvalidInput(f"{file} fails: {type(error).__name__}: {error}") from error
    return module
