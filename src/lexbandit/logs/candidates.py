"""Candidates: policies that a log is asked about, each as probabilities of the arms in its rows.

A kind of candidate is one function with the decorator `kind`, in this file: it is given what the
caller gave and the log, and returns a `Candidate`, or None if what was given is of another kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.chooser import Chooser
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.logs.log import Log
from lexbandit.logs.rows import Rows, list_of, strings_of
from lexbandit.logs.tables import pl
from lexbandit.policies import REGISTRY

_SAME_ROWS = (
    "The candidate has learned before. If it was from these rows, the verdict is too good: evaluate"
    " it on later rows, or a policy by name with train_until."
)

# Probabilities of a row may miss 1 by rounding.
_ROUNDING = 1e-6


class Candidate(ABC):
    """A policy that a log is asked about.

    name      what reports call it
    features  the features of contexts that it reads
    extra     the columns of the table that it reads besides
    learns    whether it goes on learning from the log, so its rows must come in order
    arms      the names of its arms, if they are not those of the log
    doubt     what a reader should know of it, a sentence
    """

    name: str
    features: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    learns: bool = False
    arms: tuple[str, ...] = ()
    doubt: str = ""

    @abstractmethod
    def probabilities(self, rows: Rows) -> Floats | None:
        """Return the probability of every arm in each row, float[n, K]; None: what was logged."""

    def rewritten(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return what `sum_block` is given, for a candidate that is scored otherwise."""
        return arrays


class Asked(NamedTuple):
    """What a caller gave as a candidate, for which log, and until when it may learn from it."""

    given: Any
    log: Log
    train_until: Any

    def after(self, prefix: str) -> str | None:
        """Return what follows a prefix; None if the candidate is not text that begins so."""
        text = self.given if isinstance(self.given, str) else ""
        return text.removeprefix(prefix) if text.startswith(prefix) else None


Kind = Callable[[Asked], Candidate | None]
_KINDS: list[Kind] = []


def kind(make: Kind) -> Kind:
    """Add a kind of candidate; kinds are asked in the order in which they stand here."""
    _KINDS.append(make)
    return make


def candidate_of(given: Any, log: Log, train_until: Any = None) -> Candidate:
    """Return the candidate that `given` means for a log."""
    if isinstance(given, Candidate):
        return given
    for make in _KINDS:
        made = make(Asked(given, log, train_until))
        if made is not None:
            return made
    raise InvalidInput(
        f"a candidate is 'logged', 'always:ARM', a Chooser or the file of a saved one, a policy's "
        f"name such as 'lex-thompson' with train_until=, 'column:NAME', 'replay:POLICY', "
        f"'dr-replay:POLICY', or a function of contexts, got {given!r}."
    )


def checked_probabilities(candidate: Candidate, rows: Rows, arms: tuple[str, ...]) -> Floats | None:
    """Return a candidate's probabilities; what is no distribution over allowed arms is refused."""
    shares = candidate.probabilities(rows)
    if shares is None:
        return None
    if shares.shape != (len(rows), len(arms)):
        raise InvalidInput(
            f"the candidate {candidate.name} must give a probability for each of {len(arms)} arms "
            f"in each of {len(rows)} rows, got an array of shape {shares.shape}."
        )
    rows.refuse(
        np.isnan(shares).any(axis=1),
        None,
        f"the candidate {candidate.name} has no exact probabilities (NaN), so it cannot be "
        "evaluated on a log.",
    )
    if rows.allowed is not None:  # where one arm only was allowed, there was nothing to decide
        forced = rows.allowed.sum(axis=1) == 1
        shares = np.where(forced[:, np.newaxis], rows.allowed, shares).astype(np.float64)
    totals = shares.sum(axis=1)
    rows.refuse(
        (np.abs(totals - 1.0) > _ROUNDING) | (shares < 0.0).any(axis=1),
        None,
        lambda row: (
            f"the probabilities of the candidate {candidate.name} must be at least 0 and add up to "
            f"1, got {shares[row].tolist()}."
        ),
    )
    if rows.allowed is not None:
        outside = (shares > 0.0) & ~rows.allowed
        rows.refuse(
            outside.any(axis=1),
            rows.columns.allowed,
            lambda row: (
                f"the candidate {candidate.name} gives probability to "
                f"{arms[int(np.argmax(outside[row]))]!r}, which was not allowed. Let it choose "
                "among the allowed arms, as 'always:A,B' takes the first allowed of these."
            ),
        )
    return shares


class _Logged(Candidate):
    name = "logged"

    def probabilities(self, rows: Rows) -> None:
        return None


@kind
def logged(asked: Asked) -> Candidate | None:
    """Read "logged": what decided when the log was written."""
    return _Logged() if isinstance(asked.given, str) and asked.given == "logged" else None


class _Always(Candidate):
    def __init__(self, arms: list[int], of: int, name: str) -> None:
        self.name = name
        self._arms, self._of = arms, of

    def probabilities(self, rows: Rows) -> Floats:
        shares = np.zeros((len(rows), self._of))
        if rows.allowed is None:
            shares[:, self._arms[0]] = 1.0
            return shares
        # The first allowed one of the list; the first of all where none is, which is refused later.
        first = np.argmax(rows.allowed[:, self._arms], axis=1)
        shares[np.arange(len(rows)), np.array(self._arms)[first]] = 1.0
        return shares


@kind
def always(asked: Asked) -> Candidate | None:
    """Read "always:ARM", or "always:ARM,ARM": the first of these that is allowed."""
    log, named = asked.log, asked.after("always:")
    if named is None:
        return None
    names = [named] if named in log.arms else [name.strip() for name in named.split(",")]
    for name in names:
        if name not in log.arms:
            raise unknown_name("arm", name, log.arms)
    return _Always([log.arms.index(name) for name in names], len(log.arms), asked.given)


class _Frozen(Candidate):
    """A chooser as it stands: it learns nothing more."""

    def __init__(self, chooser: Chooser, log: Log, name: str) -> None:
        self.name = name
        self.features = tuple(chooser.contexts.names)
        self._chooser = chooser
        arms = chooser._arms.names
        for arm in arms:
            if arm not in log.arms:
                raise InvalidInput(
                    f"the candidate {name} has an arm {arm!r} that the log does not know; add it: "
                    f"Log(..., arms={[*log.arms, arm]})."
                )
        for feature in chooser.contexts.features:
            if log.column_of(feature.name) is None and feature.missing == "refuse":
                raise InvalidInput(
                    f"the candidate {name} needs the context feature {feature.name!r}, and the log "
                    "has no column of it: its contexts are of another definition."
                )
        self._columns = np.array([log.arms.index(arm) for arm in arms])
        self._of = len(log.arms)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_chooser": self._chooser.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_chooser": Chooser.from_bytes(state["_chooser"])}

    def probabilities(self, rows: Rows) -> Floats:
        chooser = self._chooser
        points = rows.points(chooser.contexts)
        masks = None
        if rows.allowed is not None:
            masks = rows.allowed[:, self._columns] & chooser._arms.active
            masks[rows.allowed.sum(axis=1) == 1] = True  # see `checked_probabilities`
            rows.refuse(
                ~masks.any(axis=1),
                rows.columns.allowed,
                f"the candidate {self.name} has none of the arms that were allowed.",
            )
        shares = np.zeros((len(rows), self._of))
        shares[:, self._columns] = chooser._propensities_many(points, masks)
        return shares


def _copy(chooser: Chooser) -> Chooser:
    """Return a chooser as it stands now, whatever the first one learns meanwhile."""
    if chooser._policy_name is None:
        return chooser
    return Chooser.from_bytes(chooser.to_bytes())


@kind
def frozen(asked: Asked) -> Candidate | None:
    """Read a live chooser, or the path of a saved one."""
    given, log = asked.given, asked.log
    if isinstance(given, Chooser):
        return _frozen_chooser(given, _copy(given), log, repr(given))
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".lexbandit")):
        chooser = Chooser.load(given)
        return _frozen_chooser(chooser, chooser, log, str(given))
    return None


def _frozen_chooser(chooser: Chooser, copy: Chooser, log: Log, name: str) -> Candidate:
    """Return a copy of a chooser as a candidate; it may have learned from the rows of the log."""
    made = _Frozen(copy, log, name)
    if any(chooser._ledger.plays):
        made.doubt = _SAME_ROWS
    return made


@kind
def tolerant(asked: Asked) -> Candidate | None:
    """Read {"chooser": …, "tolerance": {"quality": 0.05}}: what it knows, with other tolerances."""
    given, log = asked.given, asked.log
    if not isinstance(given, Mapping) or "chooser" not in given:
        return None
    for key in given:
        if key not in ("chooser", "tolerance"):
            raise unknown_name("key of a candidate:", key, ("chooser", "tolerance"))
    base = given["chooser"]
    chooser = base if isinstance(base, Chooser) else Chooser.load(base)
    tolerances = dict(given.get("tolerance", {}))
    made = with_tolerances(chooser, tolerances)
    said = ", ".join(f"{name} {value:g}" for name, value in tolerances.items())
    return _frozen_chooser(chooser, made, log, f"tolerance of {said}")


def with_tolerances(chooser: Chooser, tolerances: Mapping[str, float]) -> Chooser:
    """Return a copy of a chooser with other tolerances, by objective; what it learned stays."""
    names = [objective.name for objective in chooser.objectives]
    for name in tolerances:
        if name not in names:
            raise unknown_name("objective", name, names)
    if chooser._policy_name is None:
        raise InvalidInput("a chooser with a policy object cannot be copied with other tolerances.")
    copy = Chooser(
        objectives=[
            replace(objective, tolerance=tolerances.get(objective.name, objective.tolerance))
            for objective in chooser.objectives
        ],
        arms=chooser._arms.names,
        context=chooser.contexts.features,
        policy=chooser._policy_name,
        explore=chooser._explore,
        horizon=chooser._horizon,
        seed=chooser._seed,
        **chooser._settings,
    )
    copy.policy.load_state(chooser.policy.state())
    copy._arms.active = chooser._arms.active
    return copy


@kind
def trained(asked: Asked) -> Candidate | None:
    """Read a policy's name, or {"policy": name, …settings}: trained on the earlier rows."""
    given, log, train_until = asked
    if isinstance(given, str) and given in REGISTRY:
        given = {"policy": given}
    if not isinstance(given, Mapping) or "policy" not in given:
        return None
    if train_until is None:
        raise InvalidInput(
            f"the policy {given['policy']!r} has to learn before it is evaluated: give train_until "
            "(--train-until), a share of the rows such as 0.5, or a time; or evaluate it as it "
            f"learns: 'dr-replay:{given['policy']}'."
        )
    last = row_until(log, train_until)
    chooser = chooser_for(log, given)
    chooser.learn(log.part(0, last))
    return _Frozen(chooser, log, f"{given['policy']} trained on {last:,} rows")


def chooser_for(log: Log, given: Mapping[str, Any]) -> Chooser:
    """Return a chooser that knows nothing, of a log's definition, by {"policy": name, …}."""
    settings = {"horizon": log.rows, **given}
    return Chooser(
        objectives=log.objectives, arms=log.arms, context=log.contexts.features, **settings
    )


def row_until(log: Log, until: Any) -> int:
    """Return how many rows come before a share of the log, or before a time."""
    if isinstance(until, float | int) and until in (0, 1):
        raise InvalidInput(
            f"train_until as a share of the rows must lie strictly between 0 and 1, got {until!r}: "
            "some rows are to learn from, and the others to evaluate on."
        )
    if isinstance(until, float | int) and not isinstance(until, bool) and 0 < until < 1:
        last = int(until * log.rows)
    elif isinstance(until, date):
        last = log.row_at(_seconds(until.isoformat()))
    elif isinstance(until, str):
        last = log.row_at(_seconds(until))
    else:
        last = log.row_at(checks.seconds("train_until", until))
    if not 0 < last < log.rows:
        raise InvalidInput(
            f"train_until must leave rows to learn from and rows to evaluate on, got {until!r}: "
            f"{last:,} of {log.rows:,} rows come before it."
        )
    return last


def _seconds(text: str) -> float:
    """Return the seconds of a time such as 2026-01-31 or 2026-01-31T12:00+01:00; UTC if unsaid."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"train_until must be a share of the rows such as 0.5, or a time such as 2026-01-31 or "
            f"2026-01-31T12:00, got {text!r}."
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


class _Column(Candidate):
    def __init__(self, column: str, arms: tuple[str, ...]) -> None:
        self.name = f"column:{column}"
        self.extra = (column,)
        self._arms = arms

    def probabilities(self, rows: Rows) -> Floats:
        given = rows.table[self.extra[0]]
        if given.dtype == pl.String and (given[0] or "").startswith("["):
            given = self._decoded(rows, given)
        if given.dtype.is_nested():
            return self._listed(rows, given)
        names = strings_of(given, self._arms).to_list()
        numbers = {arm: k for k, arm in enumerate(self._arms)}
        found = np.array([numbers.get(name, -1) for name in names])
        rows.refuse(
            found < 0,
            self.extra[0],
            lambda row: f"unknown arm {names[row]!r}; known are {', '.join(self._arms)}.",
        )
        shares = np.zeros((len(rows), len(self._arms)))
        shares[np.arange(len(rows)), found] = 1.0
        return shares

    def _decoded(self, rows: Rows, given: pl.Series) -> pl.Series:
        """Return texts in JSON as lists, as a file without types has them."""
        lists = [list_of(text) for text in given.to_list()]
        rows.refuse(
            np.array([one is None for one in lists]),
            self.extra[0],
            lambda row: f"a list of numbers in JSON is wanted, got {given[row]!r}.",
        )
        return pl.Series(lists, dtype=pl.List(pl.Float64))

    def _listed(self, rows: Rows, given: pl.Series) -> Floats:
        """Return the probabilities of a column of lists."""
        lists, count = given.to_list(), len(self._arms)
        rows.refuse(
            np.array([one is None or len(one) != count or None in one for one in lists]),
            self.extra[0],
            lambda row: (
                f"a list with a probability for each of {count} arms ({', '.join(self._arms)}) is "
                f"wanted, got {lists[row]}."
            ),
        )
        return checks.numbers(f"column {self.extra[0]!r}", lists)


@kind
def column(asked: Asked) -> Candidate | None:
    """Read "column:NAME": a column of arms, or of lists with a probability for each arm."""
    log, name = asked.log, asked.after("column:")
    if name is None:
        return None
    if name not in log.source.schema():
        raise unknown_name("column of the log:", name, log.source.schema())
    return _Column(name, log.arms)


class _Function(Candidate):
    def __init__(self, function: Callable[[Any], Any], log: Log) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.features = tuple(log.contexts.names)
        self._function = function

    def probabilities(self, rows: Rows) -> Floats:
        return checks.numbers(f"what {self.name} returned", self._function(rows.contexts()))


@kind
def function(asked: Asked) -> Candidate | None:
    """Read a function of a frame of contexts: it returns float[n, K], a column for each arm."""
    return _Function(asked.given, asked.log) if callable(asked.given) else None
