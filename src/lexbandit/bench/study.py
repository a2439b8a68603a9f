"""Read and check studies, which are TOML files. An error names the line of the key.

name = "experiment-1"                    seeds derive from it
title = "Experiment 1: synthetic data"
horizon = 100_000                        rounds in each run
runs = 100                               replications
objectives = ["clicks", "savings"]       names, in order of priority
seed = 0                                 optional, as are all that follow here
checkpoints = 60                         how many, or a list of numbers of rounds
tolerances = [0.02, 0]                   how much less of each objective is as good, in the units of
                                         rewards; by default what the environment says, if it does
worlds_from = 1000                       run n plays world = 1000 + n of the environment
paper = 1                                which experiment of the paper this is
about = "..."                            one line for `lexbandit list studies`

[environment]
name = "synthetic"                       and its parameters

[grid]
scale = ["1", "1/5"]                     any parameter; every policy that takes it runs at each

[[policies]]
name = "moc-mab"                         and its parameters, or a [policies.grid] of its own
label = "moc-mab (KL)"                   optional: tells variants of one policy apart

[series]                                 optional: studies to be seen together, see `series.py`
"""

import hashlib
import importlib
import importlib.util
import inspect
import itertools
import logging
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from lexbandit import checks, environments, policies
from lexbandit._internal.toml_file import TomlFile
from lexbandit.bench.series import StudySeries, series_from
from lexbandit.environments import make_environment
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.policies import make_policy
from lexbandit.policies.registry import renamed

log = logging.getLogger("lexbandit")

_REGISTRIES: dict[str, Any] = {
    "policy": policies.REGISTRY,
    "environment": environments.REGISTRY,
}
_MAKERS: dict[str, Callable[..., Any]] = {"policy": make_policy, "environment": make_environment}

# What every policy is given of the problem; a user's policy is given those of them it takes.
PROBLEM = ("arms", "dimension", "objectives", "horizon", "seed")


@dataclass(frozen=True)
class Component:
    """A policy or environment that any machine can build: `source` is the text of a user's file.

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
        """Return what identifies it: its name, and a hash of a user's file."""
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
                raise InvalidInput(f"{given} is given to {self.name} by the study; leave it out.")
            if not self.takes(given):
                raise unknown_name(f"parameter of {self.name}", given, self.parameters())
        known = {key: value for key, value in (problem or {}).items() if self.takes(key)}
        built = _builder(self)(**known, **parameters)
        wanted = policies.Policy if self.kind == "policy" else environments.Environment
        if not isinstance(built, wanted):
            raise InvalidInput(
                f"{self.name} gave {type(built).__name__}, not a lexbandit {wanted.__name__}."
            )
        return built


def find_component(kind: str, name: str, folder: Path, inner: object = None) -> Component:
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


def component_names(kind: str) -> dict[str, str]:
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
    """Run a user's file as a module; like a script it can import from its folder."""
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


@dataclass(frozen=True)
class Entry:
    """One policy at one point of the grid: `label` is unique in its study."""

    policy: Component
    label: str
    scale: float | None
    parameters: dict[str, Any]

    @property
    def variant(self) -> str:
        """What its points of the grid have in common: the label up to the "@"."""
        return self.label.partition("@")[0]


def number(value: Any) -> Any:
    """Return a parameter: fractions such as "1/15" as floats, all else as it is."""
    if isinstance(value, str) and "/" in value:
        try:
            return float(Fraction(value))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{value!r} is not a fraction such as '1/15'.") from None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def tunable(policy: Component) -> list[str]:
    """Return the parameters that a study may set."""
    return [key for key in policy.parameters() if key not in PROBLEM]


def points(
    policy: Component,
    fixed: Mapping[str, Any],
    grid: Mapping[str, list[Any]],
    label: str | None = None,
) -> Iterator[Entry]:
    """Return one entry for each point of the grid. A grid of scales alone gives "moc-mab@1/15"."""
    short = label or policy.short
    for values in itertools.product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        parts = [f"{value}" if key == "scale" else f"{key}={value}" for key, value in point.items()]
        parameters = {**fixed, **{key: number(value) for key, value in point.items()}}
        scale = parameters.get("scale")
        whole = f"{short}@{','.join(parts)}" if parts else short
        # A scale that is no number is refused when the policy is tried.
        yield Entry(
            policy, whole, float(scale) if isinstance(scale, int | float) else None, parameters
        )


CHECKPOINTS = 60

_REQUIRED = ("name", "horizon", "runs", "objectives", "environment", "policies")
_KEYS = (
    *(*_REQUIRED, "title", "about", "data", "seed", "checkpoints", "paper", "grid", "series"),
    *("tolerances", "worlds_from"),
)


@dataclass(frozen=True)
class Study:
    """A checked study."""

    name: str
    title: str
    about: str
    data: str
    horizon: int
    runs: int
    objectives: tuple[str, ...]
    seed: int
    checkpoints: int | tuple[int, ...]
    paper: int | None
    environment: Component
    environment_parameters: dict[str, Any]
    entries: tuple[Entry, ...] = field(repr=False)
    series: StudySeries | None = None
    tolerances: tuple[float, ...] | None = None
    worlds_from: int | None = None


def packaged_studies() -> dict[str, Path]:
    """Return the studies that come with lexbandit, by name."""
    installed = Path(__file__).parents[1] / "studies"
    folder = installed if installed.is_dir() else Path(__file__).parents[3] / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def descriptions() -> dict[str, str]:
    """Return what the studies that come with lexbandit are about; they are not checked."""
    return {n: str(TomlFile(path).table.get("about", "")) for n, path in packaged_studies().items()}


def read_study(path: Path) -> Study:
    """Read and check a study file."""
    return _StudyReader(TomlFile(path)).study()


class _StudyReader:
    """Turns a TOML file into a study; what it refuses has the line of its key."""

    def __init__(self, file: TomlFile) -> None:
        self.file = file

    def study(self) -> Study:
        table = self.file.table
        for key in table:
            if key not in _KEYS:
                self._refuse((key,), unknown_name("key", key, _KEYS))
        for key in _REQUIRED:
            if key not in table:
                raise InvalidInput(f"{self.file.path}: the key {key!r} is missing.")
        environment, parameters = self._environment(table)
        with self.file.at("horizon"):
            horizon = checks.whole("horizon", table["horizon"], least=1)
        with self.file.at("runs"):
            runs = checks.whole("runs", table["runs"], least=1)
        with self.file.at("seed"):
            seed = checks.whole("seed", table.get("seed", 0), least=0)
        with self.file.at("paper"):
            paper = checks.whole("paper", table["paper"], least=1) if "paper" in table else None
        name = self._text(table, "name")
        if not name or not all(c.isalnum() or c in "-_" for c in name):
            self._refuse(("name",), f"name may hold letters, digits, - and _, got {name!r}.")
        objectives = self._objectives(table["objectives"])
        problem = {"objectives": len(objectives), "horizon": horizon}
        title = self._text(table, "title", name)
        series = series_from(table["series"], title, self._refuse) if "series" in table else None
        entries = tuple(self._entries(table, problem))
        labels = [entry.label for entry in entries]
        if series and series.baseline is not None and series.baseline not in labels:
            unknown = unknown_name("label of these policies", series.baseline, labels)
            self._refuse(("series", "baseline"), unknown)
        return Study(
            name=name,
            title=title,
            about=self._text(table, "about", ""),
            data=self._text(table, "data", ""),
            horizon=horizon,
            runs=runs,
            objectives=objectives,
            seed=seed,
            checkpoints=self._checkpoints(table.get("checkpoints", CHECKPOINTS)),
            paper=paper,
            environment=environment,
            environment_parameters=parameters,
            entries=entries,
            series=series,
            tolerances=self._tolerances(table, len(objectives)),
            worlds_from=self._worlds_from(table, environment, parameters),
        )

    def _environment(self, table: Mapping[str, Any]) -> tuple[Component, dict[str, Any]]:
        given = self._table(table["environment"], "environment")
        component = self._component("environment", given, "environment")
        parameters = {key: value for key, value in given.items() if key != "name"}
        for key, value in parameters.items():
            if not component.takes(key):
                known = ["name", *component.parameters()]
                self._refuse(("environment", key), unknown_name("key", key, known))
            if key == "path" and isinstance(value, str):
                path = self.file.folder / value
                if not path.is_file():
                    self._refuse(("environment", key), f"there is no file {path}.")
                parameters[key] = str(path)
        return component, parameters

    def _tolerances(self, table: Mapping[str, Any], objectives: int) -> tuple[float, ...] | None:
        if "tolerances" not in table:
            return None
        with self.file.at("tolerances"):
            return tuple(checks.tolerances(table["tolerances"], objectives).tolist())

    def _worlds_from(
        self, table: Mapping[str, Any], environment: Component, parameters: Mapping[str, Any]
    ) -> int | None:
        if "worlds_from" not in table:
            return None
        with self.file.at("worlds_from"):
            if not environment.takes("world") or "world" in parameters:
                raise InvalidInput(
                    f"worlds_from sets the parameter 'world' of {environment.name}, which "
                    + ("is given in [environment] too." if "world" in parameters else "has none.")
                )
            return checks.whole("worlds_from", table["worlds_from"], least=0)

    def _entries(self, table: Mapping[str, Any], problem: dict[str, Any]) -> Iterator[Entry]:
        listed = table["policies"]
        if not isinstance(listed, list) or not listed:
            self._refuse(("policies",), "policies are one or more [[policies]].")
        shared = self._grid(table.get("grid", {}), "grid")
        seen: set[str] = set()
        used: set[str] = set()
        for n, one in enumerate(listed):
            written = self._table(one, "policies", n)
            policy = self._component("policy", written, "policies", n)
            given = self._with_todays_names(policy, written, n)
            fixed = {
                key: self._number(value, "policies", n, key)
                for key, value in given.items()
                if key not in ("name", "grid", "label")
            }
            own = self._grid(given.get("grid", {}), "policies", n, "grid")
            grid = {k: v for k, v in shared.items() if policy.takes(k) and k not in fixed} | own
            used |= {key for key in shared if policy.takes(key)}
            for key in (*fixed, *own):
                if not policy.takes(key):
                    place = ("policies", n, key) if key in fixed else ("policies", n, "grid", key)
                    known = ["name", "grid", "label", *tunable(policy)]
                    self._refuse(place, unknown_name(f"key for {policy.name}", key, known))
            for entry in points(policy, fixed, grid, self._label(given, n)):
                if entry.label in seen:
                    twice = f"{entry.label!r} stands here a second time"
                    self._refuse(("policies", n), f"{twice}: give one a label of its own.")
                seen.add(entry.label)
                self._try(entry, problem, n)
                yield entry
        for key in shared.keys() - used:
            taken = {k for given in listed for k in tunable(self._component("policy", given))}
            self._refuse(("grid", key), unknown_name("parameter of these policies", key, taken))

    def _label(self, given: Mapping[str, Any], n: int) -> str | None:
        label = given.get("label")
        if label is not None and (not isinstance(label, str) or not label or "@" in label):
            wrong = f"label must be text without '@', got {label!r}."
            self._refuse(("policies", n, "label"), wrong)
        return label

    def _try(self, entry: Entry, problem: dict[str, Any], n: int) -> None:
        """Build the policy once, to refuse a wrong value now and not in every run."""
        if entry.policy.named:
            # The smallest dimension that has all visible features.
            visible = entry.parameters.get("visible", ())
            numbers = [j for j in visible if isinstance(j, int)] if entry.policy.inner else []
            trial = {"arms": 2, "dimension": max(numbers, default=0) + 1, **problem}
            try:
                entry.policy.build(entry.parameters, trial)
            except (InvalidInput, TypeError) as error:
                self._refuse(("policies", n), error)

    def _with_todays_names(
        self, policy: Component, given: Mapping[str, Any], n: int
    ) -> Mapping[str, Any]:
        """Return a policy's table with former names of its parameters replaced."""
        if not policy.named:
            return given

        def tell(message: str) -> None:
            log.warning("%s: in policy %d: %s", self.file.path, n + 1, message)

        try:
            now = renamed(policy.name, given, policy.inner, tell=tell)
            if isinstance(now.get("grid"), dict):
                now["grid"] = renamed(policy.name, now["grid"], policy.inner, tell=tell)
        except InvalidInput as error:
            self._refuse(("policies", n), error)
        return now

    def _component(self, kind: str, given: Mapping[str, Any], *place: str | int) -> Component:
        if not isinstance(given.get("name"), str):
            self._refuse(place, f"the {kind} needs a name, such as name = '...'.")
        try:
            return find_component(kind, given["name"], self.file.folder, given.get("policy"))
        except InvalidInput as error:
            self._refuse((*place, "name"), error)

    def _grid(self, given: Any, *place: str | int) -> dict[str, list[Any]]:
        grid = self._table(given, *place)
        for key, values in grid.items():
            if not isinstance(values, list) or not values:
                wrong = f"{key} must be a list of at least one value, got {values!r}."
                self._refuse((*place, key), wrong)
            for value in values:
                self._number(value, *place, key)
        return dict(grid)

    def _number(self, value: Any, *place: str | int) -> Any:
        try:
            return number(value)
        except ValueError as error:
            self._refuse(place, f"{place[-1]}: {error}")

    def _objectives(self, given: Any) -> tuple[str, ...]:
        fine = isinstance(given, list) and given and all(isinstance(name, str) for name in given)
        if not fine or len(set(given)) != len(given):
            wrong = f"objectives must be a list of different names, got {given!r}."
            self._refuse(("objectives",), wrong)
        return tuple(given)

    def _checkpoints(self, given: Any) -> int | tuple[int, ...]:
        with self.file.at("checkpoints"):
            if not isinstance(given, list):
                return checks.whole("checkpoints", given, least=1)
            marks = [checks.whole(f"checkpoints[{j}]", t, least=1) for j, t in enumerate(given)]
            if not marks or any(b <= a for a, b in itertools.pairwise(marks)):
                raise InvalidInput(f"checkpoints must increase, got {given!r}.")
            return tuple(marks)

    def _text(self, table: Mapping[str, Any], key: str, default: str = "") -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._refuse((key,), f"{key} must be text, got {value!r}.")
        return str(value)

    def _table(self, given: Any, *place: str | int) -> Mapping[str, Any]:
        if not isinstance(given, dict):
            self._refuse(place, f"{place[0]} must be a table, got {given!r}.")
        return dict(given)

    def _refuse(self, place: tuple[str | int, ...], wrong: Exception | str) -> NoReturn:
        """Raise for what is wrong at a place; text becomes an `InvalidInput`."""
        error = InvalidInput(wrong) if isinstance(wrong, str) else wrong
        raise self.file.refusal(place, error) from error
