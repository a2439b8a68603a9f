"""A study: what a TOML file says, checked. A wrong key or value is refused with its line.

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

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from lexbandit import checks
from lexbandit._internal.toml_file import line_of, table_of
from lexbandit.bench import components
from lexbandit.bench.components import Component
from lexbandit.bench.entries import Entry, number, points, tunable
from lexbandit.bench.series import Series, series_from
from lexbandit.errors import InvalidInput, unknown_name

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
    series: Series | None = None
    tolerances: tuple[float, ...] | None = None
    worlds_from: int | None = None


def packaged_studies() -> dict[str, Path]:
    """Return the studies that come with lexbandit, by name."""
    installed = Path(__file__).parents[1] / "studies"
    folder = installed if installed.is_dir() else Path(__file__).parents[3] / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_study(path: Path) -> Study:
    """Read and check a study file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not a text file in UTF-8.") from error
    except OSError as error:
        raise InvalidInput(f"cannot read the study {path}: {error.strerror}.") from error
    return _Reader(path, text).study()


class _Reader:
    """Turns the text of one file into a study; knows which line a key stands on."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.folder = path.resolve().parent

    def study(self) -> Study:
        table = table_of(self.text, self.path)
        for key in table:
            if key not in _KEYS:
                self._refuse((key,), unknown_name("key", key, _KEYS))
        for key in _REQUIRED:
            if key not in table:
                raise InvalidInput(f"{self.path}: the key {key!r} is missing.")
        environment, parameters = self._environment(table)
        with self._at("horizon"):
            horizon = checks.whole("horizon", table["horizon"], least=1)
        with self._at("runs"):
            runs = checks.whole("runs", table["runs"], least=1)
        with self._at("seed"):
            seed = checks.whole("seed", table.get("seed", 0), least=0)
        with self._at("paper"):
            paper = checks.whole("paper", table["paper"], least=1) if "paper" in table else None
        name = self._text(table, "name")
        if not name or not all(c.isalnum() or c in "-_" for c in name):
            wrong = f"name may hold letters, digits, - and _, got {name!r}."
            self._refuse(("name",), InvalidInput(wrong))
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
                path = self.folder / value
                if not path.is_file():
                    self._refuse(("environment", key), InvalidInput(f"there is no file {path}."))
                parameters[key] = str(path)
        return component, parameters

    def _tolerances(self, table: Mapping[str, Any], objectives: int) -> tuple[float, ...] | None:
        if "tolerances" not in table:
            return None
        with self._at("tolerances"):
            return tuple(checks.tolerances(table["tolerances"], objectives).tolist())

    def _worlds_from(
        self, table: Mapping[str, Any], environment: Component, parameters: Mapping[str, Any]
    ) -> int | None:
        if "worlds_from" not in table:
            return None
        with self._at("worlds_from"):
            if not environment.takes("world") or "world" in parameters:
                raise InvalidInput(
                    f"worlds_from sets the parameter 'world' of {environment.name}, which "
                    + ("is given in [environment] too." if "world" in parameters else "has none.")
                )
            return checks.whole("worlds_from", table["worlds_from"], least=0)

    def _entries(self, table: Mapping[str, Any], problem: dict[str, Any]) -> Iterator[Entry]:
        listed = table["policies"]
        if not isinstance(listed, list) or not listed:
            self._refuse(("policies",), InvalidInput("policies are one or more [[policies]]."))
        shared = self._grid(table.get("grid", {}), "grid")
        seen: set[str] = set()
        used: set[str] = set()
        for n, given in enumerate(listed):
            policy = self._component("policy", self._table(given, "policies", n), "policies", n)
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
                    twice = InvalidInput(
                        f"{entry.label!r} stands here a second time: give one a label of its own."
                    )
                    self._refuse(("policies", n), twice)
                seen.add(entry.label)
                self._try(entry, problem, n)
                yield entry
        for key in shared.keys() - used:
            taken = {k for given in listed for k in tunable(self._component("policy", given))}
            self._refuse(("grid", key), unknown_name("parameter of these policies", key, taken))

    def _label(self, given: Mapping[str, Any], n: int) -> str | None:
        label = given.get("label")
        if label is not None and (not isinstance(label, str) or not label or "@" in label):
            wrong = InvalidInput(f"label must be text without '@', got {label!r}.")
            self._refuse(("policies", n, "label"), wrong)
        return label

    def _try(self, entry: Entry, problem: dict[str, Any], n: int) -> None:
        """Build the policy once, so that a wrong value is met now and not in every run."""
        if entry.policy.named:
            # As few context features as the policy can be shown.
            visible = entry.parameters.get("visible", ())
            numbers = [j for j in visible if isinstance(j, int)] if entry.policy.inner else []
            trial = {"arms": 2, "dimension": max(numbers, default=0) + 1, **problem}
            try:
                entry.policy.build(entry.parameters, trial)
            except (InvalidInput, TypeError) as error:
                self._refuse(("policies", n), error)

    def _component(self, kind: str, given: Mapping[str, Any], *place: str | int) -> Component:
        if not isinstance(given.get("name"), str):
            self._refuse(place, InvalidInput(f"the {kind} needs a name, such as name = '...'."))
        try:
            return components.find(kind, given["name"], self.folder, given.get("policy"))
        except InvalidInput as error:
            self._refuse((*place, "name"), error)

    def _grid(self, given: Any, *place: str | int) -> dict[str, list[Any]]:
        grid = self._table(given, *place)
        for key, values in grid.items():
            if not isinstance(values, list) or not values:
                wrong = f"{key} must be a list of at least one value, got {values!r}."
                self._refuse((*place, key), InvalidInput(wrong))
            for value in values:
                self._number(value, *place, key)
        return dict(grid)

    def _number(self, value: Any, *place: str | int) -> Any:
        try:
            return number(value)
        except ValueError as error:
            self._refuse(place, InvalidInput(f"{place[-1]}: {error}"))

    def _objectives(self, given: Any) -> tuple[str, ...]:
        fine = isinstance(given, list) and given and all(isinstance(name, str) for name in given)
        if not fine or len(set(given)) != len(given):
            wrong = f"objectives must be a list of different names, got {given!r}."
            self._refuse(("objectives",), InvalidInput(wrong))
        return tuple(given)

    def _checkpoints(self, given: Any) -> int | tuple[int, ...]:
        with self._at("checkpoints"):
            if not isinstance(given, list):
                return checks.whole("checkpoints", given, least=1)
            marks = [checks.whole(f"checkpoints[{j}]", t, least=1) for j, t in enumerate(given)]
            if not marks or any(b <= a for a, b in itertools.pairwise(marks)):
                raise InvalidInput(f"checkpoints must increase, got {given!r}.")
            return tuple(marks)

    def _text(self, table: Mapping[str, Any], key: str, default: str = "") -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._refuse((key,), InvalidInput(f"{key} must be text, got {value!r}."))
        return str(value)

    def _table(self, given: Any, *place: str | int) -> Mapping[str, Any]:
        if not isinstance(given, dict):
            self._refuse(place, InvalidInput(f"{place[0]} must be a table, got {given!r}."))
        return dict(given)

    def _refuse(self, place: tuple[str | int, ...], error: Exception) -> NoReturn:
        line = line_of(self.text, place)
        where = f"{self.path}, line {line}" if line else f"{self.path}"
        raise InvalidInput(f"{where}: {error}") from error

    def _at(self, key: str) -> "_Place":
        return _Place(self, key)


class _Place:
    """Gives an error raised inside it the line of a key."""

    def __init__(self, reader: _Reader, key: str) -> None:
        self.reader = reader
        self.key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InvalidInput):
            self.reader._refuse((self.key,), error)
