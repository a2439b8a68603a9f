"""Learn from a log that may be larger than memory.

What most policies learn is a sum over rows, so each block is learned by a policy of its own and the
sums are added in the order of the log. Neither the number of parts nor who reads them matters: the
result is the same to the last bit. A policy whose state is no sum learns the rows one by one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser import Chooser
from lexbandit.chooser.policy import policy_for
from lexbandit.contexts import Contexts
from lexbandit.errors import InvalidInput
from lexbandit.logs.description import outside_of
from lexbandit.logs.parts import map_parts
from lexbandit.logs.reward_model import RewardModel
from lexbandit.logs.rows import Rows
from lexbandit.logs.sums import BLOCK
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

Weigh = Literal["propensity", "doubly-robust"]
WEIGHTS = ("propensity", "doubly-robust")

# Blocks of rows that one task learns.
_BLOCKS = 16
# A row is learned at most so often, weighed by 1/propensity.
_MOST_COPIES = 10_000


class Readable(Protocol):
    """What is learned from: a `Log`."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """The objectives, in order of priority."""

    @property
    def arms(self) -> Sequence[str]:
        """The names of all arms."""

    @property
    def contexts(self) -> Contexts:
        """The features of contexts."""

    @property
    def span(self) -> Any:
        """The times of the rows; bad logs are refused."""

    def batches(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        origin: int = 0,
        features: Iterable[str] | None = None,
        extra: Iterable[str] = (),
        propensities: bool = True,
    ) -> Iterator[Rows]:
        """Yield rows in blocks."""

    def reading(self, features: Iterable[str]) -> "Readable":
        """Return the log with the columns of these features found."""

    def column_of(self, name: str) -> str | None:
        """Return the column of a feature."""

    def reward_model(self) -> RewardModel:
        """Return a model of the rewards that knows nothing yet."""


class _Lesson(NamedTuple):
    """What a worker needs to learn a part of a log."""

    log: Readable
    start: int
    stop: int
    definition: Mapping[str, Any]
    numbers: Integers
    weigh: str | None

    def policy(self) -> tuple[Policy, Contexts]:
        """Return a policy that knows nothing, and the contexts as it sees them."""
        return policy_for(**self.definition, warn=False)

    def no_counts(self) -> "_Counts":
        """Return counts of no rows."""
        arms, objectives = self.definition["arms"], len(self.log.objectives)
        return _Counts(0, np.zeros(arms, np.int64), np.zeros(objectives, np.int64), Counter())

    def batches(self, start: int, stop: int) -> Iterator[Rows]:
        features = [feature.name for feature in self.definition["context"]]
        if self.weigh == "doubly-robust":
            features += self.log.contexts.names
        return self.log.batches(
            start,
            stop,
            origin=self.start,
            features=features,
            propensities=self.weigh is not None,
        )


class _Counts(NamedTuple):
    """What is counted of the rows of a log.

    rows     those with a reward
    plays    int[K]: what the policy learned of each arm
    outside  int[D]: rewards outside their range
    notes    by feature and reason, values outside their range, missing or unknown
    """

    rows: int
    plays: Integers
    outside: Integers
    notes: "Counter[tuple[str, str]]"

    def plus(self, other: "_Counts") -> "_Counts":
        """Return the counts of these rows and others."""
        return _Counts(
            self.rows + other.rows,
            self.plays + other.plays,
            self.outside + other.outside,
            self.notes + other.notes,
        )

    def enter(self, chooser: Chooser) -> None:
        """Add the counts to those of a chooser."""
        chooser._ledger.add_rows_of_log(self.plays)
        chooser.contexts.count(tuple((*key, count) for key, count in self.notes.items()))
        for i, count in enumerate(self.outside.tolist()):
            chooser._ledger.count_outside(i, count)


class _Learned(NamedTuple):
    """What was learned from a part of a log: the state of a policy, and counts."""

    state: dict[str, np.ndarray]
    counts: _Counts


class _Plays(NamedTuple):
    """What a policy learns of a block, and the counts of its rows."""

    points: Floats
    arms: Integers
    rewards: Floats
    allowed: Booleans | None
    counts: _Counts


def learn(
    chooser: Chooser,
    log: Readable,
    start: int,
    stop: int,
    *,
    weigh: Weigh | None = None,
    executor: Executor | None = None,
) -> int:
    """Learn rows of a log; nothing is learned if anything is wrong. Returns the rows learned.

    weigh     None learns rows as they are. "propensity" learns a row about 1/(k·propensity) times,
              with k the allowed arms, as if arms had been drawn uniformly. "doubly-robust" learns
              for each row one arm, drawn uniformly: what a model of the rewards says of it,
              corrected by the reward where it was played
    executor  learns the parts, as in `evaluate`
    """
    if weigh is not None:
        checks.one_of("weigh:", weigh, WEIGHTS)
    log.span  # noqa: B018  (refuses an empty log, repeated ids and rows out of order)
    lesson = _lesson(chooser, log, start, stop, weigh)
    with chooser._lock:
        before = chooser.policy.state()
    if _adds_up(lesson, before):
        state, counts = _added(lesson, executor)
        _refuse_none(counts.rows, log)
        with chooser._lock:
            chooser.policy.merge(state)
            counts.enter(chooser)
        return counts.rows
    with chooser._lock:
        try:
            counts = _learn(lesson, chooser.policy, chooser.contexts, start, stop)
            _refuse_none(counts.rows, log)
        except BaseException:
            chooser.policy.load_state(before)
            raise
        counts.enter(chooser)
    return counts.rows


def _refuse_none(rows: int, log: Readable) -> None:
    if not rows:
        names = ", ".join(objective.name for objective in log.objectives)
        raise InvalidInput(f"the log holds no reward of any objective ({names}).")


def _lesson(chooser: Chooser, log: Readable, start: int, stop: int, weigh: str | None) -> _Lesson:
    mine = [objective.name for objective in chooser.objectives]
    if [objective.name for objective in log.objectives] != mine:
        raise InvalidInput(
            f"the log has the objectives {[o.name for o in log.objectives]}, the chooser {mine}: "
            "make the log with like=chooser."
        )
    log = log.reading(chooser.contexts.names)
    for feature in chooser.contexts.features:
        if log.column_of(feature.name) is None and feature.missing == "refuse":
            raise InvalidInput(f"the log has no column of the context feature {feature.name!r}.")
    definition = {
        "policy": chooser._policy_name or chooser.policy,
        "objectives": chooser.objectives,
        "arms": len(chooser._arms),
        "context": chooser.contexts.features,
        "horizon": chooser._horizon,
        "seed": chooser._seed,
        "settings": chooser._settings,
    }
    numbers = np.array([chooser._arms.number(arm) for arm in log.arms])
    return _Lesson(log, start, stop, definition, numbers, weigh)


def _adds_up(lesson: _Lesson, state: Mapping[str, Any]) -> bool:
    """Tell whether what the policy learns is a sum, to which that of a fresh one can be added."""
    if isinstance(lesson.definition["policy"], Policy):
        return False
    policy, _ = lesson.policy()
    try:
        policy.merge(state)
    except InvalidInput:
        return False
    return True


def _added(lesson: _Lesson, executor: Executor | None) -> _Learned:
    """Learn parts side by side and add what they learned, in order."""
    start, stop = lesson.start, lesson.stop
    size = _BLOCKS * BLOCK
    parts = [(first, min(first + size, stop)) for first in range(start, stop, size)]
    if lesson.weigh == "doubly-robust":  # its model learns from all earlier rows
        parts = [(start, stop)]
    policy, _ = lesson.policy()
    counts = lesson.no_counts()
    for state, more in map_parts(_learn_part, lesson, parts, executor):
        policy.merge(state)
        counts = counts.plus(more)
    return _Learned(policy.state(), counts)


def _learn_part(lesson: _Lesson, part: tuple[int, int]) -> _Learned:
    policy, contexts = lesson.policy()
    counts = lesson.no_counts()
    for plays in _plays(lesson, contexts, *part):
        block, _ = lesson.policy()
        block.update_many(plays.points, plays.arms, plays.rewards, plays.allowed)
        policy.merge(block.state())
        counts = counts.plus(plays.counts)
    return _Learned(policy.state(), counts)


def _learn(lesson: _Lesson, policy: Policy, contexts: Contexts, start: int, stop: int) -> _Counts:
    counts = lesson.no_counts()
    for plays in _plays(lesson, contexts, start, stop):
        policy.update_many(plays.points, plays.arms, plays.rewards, plays.allowed)
        counts = counts.plus(plays.counts)
    return counts


def _plays(lesson: _Lesson, contexts: Contexts, start: int, stop: int) -> Iterator[_Plays]:
    """Yield what a policy is to learn of each block: rows with a reward, weighed if asked."""
    log = lesson.log
    model = log.reward_model()
    for rows in lesson.batches(start, stop):
        shares = rows.shares(log.objectives)
        arms, copies = rows.arms, np.ones(len(rows), np.int64)
        rewarded = ~np.isnan(shares).all(axis=1)
        choices = len(log.arms) if rows.allowed is None else rows.allowed.sum(axis=1)
        if lesson.weigh == "propensity":
            weights = 1.0 / (choices * rows.propensities)
            rows.refuse(
                weights > _MOST_COPIES,
                rows.columns.propensity,
                f"with so small a propensity the row would be learned more than {_MOST_COPIES:,} "
                "times: leave it out, or learn with weigh='doubly-robust'.",
            )
            copies = np.floor(weights + _uniform(rows, 0)).astype(np.int64)
        elif lesson.weigh == "doubly-robust":
            arms, shares = _pseudo(rows, shares, model, log.contexts)
        repeated = np.repeat(np.arange(len(rows)), np.where(rewarded, copies, 0))
        masks = None
        if rows.allowed is not None:
            masks = np.zeros((len(repeated), lesson.definition["arms"]), np.bool_)
            masks[:, lesson.numbers] = rows.allowed[repeated]
        points, notes = rows.encoded(contexts)
        played = lesson.numbers[arms[repeated]]
        counts = _Counts(
            int(rewarded.sum()),
            np.bincount(played, minlength=lesson.definition["arms"]),
            outside_of(rows.rewards, log.objectives),
            Counter({(name, note): count for name, note, count in notes}),
        )
        yield _Plays(points[repeated], played, shares[repeated], masks, counts)


def _pseudo(
    rows: Rows, shares: Floats, model: RewardModel, contexts: Contexts
) -> tuple[Integers, Floats]:
    """Return an arm for each row, drawn uniformly, and its doubly robust pseudo-reward."""
    points = rows.points(contexts)
    predicted = model.predict(points)
    model.learn(points, rows.arms, shares)
    every, played = np.arange(len(rows)), rows.arms
    allowed = np.ones(predicted.shape[:2], np.bool_) if rows.allowed is None else rows.allowed
    rank = (_uniform(rows, 1) * allowed.sum(axis=1)).astype(np.int64)
    drawn = np.argmax(np.cumsum(allowed, axis=1) > rank[:, np.newaxis], axis=1)
    correction = (shares - predicted[every, played]) / rows.propensities[:, np.newaxis]
    pseudo = predicted[every, drawn]
    return drawn, np.where((drawn == played)[:, np.newaxis], pseudo + correction, pseudo)


def _uniform(rows: Rows, stream: int) -> Floats:
    """Return a number from 0 to below 1 for each row that follows from its place in the log."""
    return uniform(np.arange(rows.start, rows.start + len(rows)), stream)


def uniform(rows: Integers, stream: int) -> Floats:
    """Return pseudo-random numbers of rows, which depend on nothing else (splitmix64)."""
    z = rows.astype(np.uint64) * np.uint64(2) + np.uint64(stream)
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 2.0**53
