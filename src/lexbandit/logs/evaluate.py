"""`evaluate`: what would another policy have done, by a log.

The log is read in blocks. The first rows are read in order, since the reward model learns from
them; the rest is read in parts, by threads or by other machines. The sums of blocks do not depend
on how they are shared out, so the result does not either.

On the log of a policy that did not learn, with an interval for such logs, the model is
cross-fitted: it learns from the first rows before anything is summed, and each row is predicted by
a model that learned from the rows of other units.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.contexts import noted
from lexbandit.errors import InvalidInput, counted, unknown_name
from lexbandit.kernels.estimation import LEAST, ROUNDING, ROWS, SQUARES, WEIGHTS
from lexbandit.logs import (
    bootstrap,
    replay,  # noqa: F401  (it adds kinds of candidates)
)
from lexbandit.logs.candidates import Candidate, candidate_of, checked_probabilities, row_until
from lexbandit.logs.description import outside_of, outside_words
from lexbandit.logs.diagnostics import Diagnostics, diagnose
from lexbandit.logs.differences import (
    Difference,
    Estimator,
    Interval,
    check_interval,
    differences,
    wider,
)
from lexbandit.logs.evaluation import Evaluation, Segment
from lexbandit.logs.log import Log
from lexbandit.logs.parts import map_parts
from lexbandit.logs.reward_model import FOLDS, CrossFitted, RewardModel
from lexbandit.logs.rows import Rows
from lexbandit.logs.segments import MOST_VALUES, Split, splits
from lexbandit.logs.sums import BLOCK, FIELDS, Sums, merge, sum_block
from lexbandit.logs.tables import pl
from lexbandit.logs.verdict import Verdict, decide

Progress = Callable[[int, int], None]

# Blocks that one task reads, at most: a task is done again if its machine is lost.
_BLOCKS = 16
# Rows by which the quartiles of numbers are found.
_FIRST = 4_096
# With fewer rewards that differ, approximate intervals are doubted.
_FEW = 30
# A smaller value of `explore` makes no interval narrower by much.
_LITTLE = 0.01
# Standard errors by which a mean weight may lie below 1 before a promise is doubted.
_CHANCE = 2.0
# A propensity below what is promised by at most this share of it is taken as rounded in a file, as
# 0.333 is for 1/3. The interval then uses that propensity in place of the promise.
_ROUNDED = 1e-3


def evaluate(
    log: Log,
    candidate: Any,
    against: Any = "logged",
    *,
    alpha: float = 0.05,
    train_until: Any = None,
    estimator: Estimator = "dr",
    interval: Interval = "anytime",
    segments: Sequence[str] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Say whether a candidate would have been better than what it is held against.

    log          a `Log`
    candidate    "always:ARM", a `Chooser` or the path of a saved one, a policy's name, "column:
                 NAME", "replay:POLICY", "dr-replay:POLICY", a function of contexts, or "logged"
    against      another candidate; by default what decided when the log was written
    alpha        how often the verdict may be wrong, at most
    train_until  a candidate that is a policy's name learns from the rows before this time, or from
                 this share of them. Every candidate is evaluated on the others
    estimator    of the differences, such as "dr" or "ips"
    interval     "anytime" holds on logs of policies that learn, and at every look; "asymptotic"
                 and "bootstrap" are narrower, and hold for one look at the log of a policy that
                 did not learn. The bootstrap, by unit, is for logs declared so: adaptive=False
    segments     names of context features to look at apart; by default all
    executor     runs the parts of the log, such as Dask's Client.get_executor(); by default threads
    progress     is called with the rows done, and the rows in all
    """
    if not isinstance(log, Log):
        raise InvalidInput(f"evaluate takes a Log, got {type(log).__name__}: lb.Log(frame, ...).")
    level = checks.probability("alpha", alpha)
    check_interval(interval, estimator)
    if interval == "bootstrap" and log.adaptive:
        raise InvalidInput(
            "interval='bootstrap' holds only on the log of a policy that did not learn as it went: "
            "declare such a log with Log(..., adaptive=False) or --not-adaptive, or ask for "
            "interval='anytime'."
        )
    log.span  # noqa: B018  (refuses an empty log, repeated ids and rows out of order)
    policy, baseline = (candidate_of(one, log, train_until) for one in (candidate, against))
    origin = 0 if train_until is None else row_until(log, train_until)
    log = log.reading(
        (*policy.features, *baseline.features), names=(*policy.extra, *baseline.extra)
    )
    crossed = not log.adaptive and interval != "anytime"
    work = _Work(
        log,
        policy,
        baseline,
        origin,
        _splits(log, origin, segments),
        None if crossed else log.reward_model(),
        log.cross_fitted_model() if crossed else None,
        interval == "bootstrap",
    )
    found = _sum_log(work, executor, progress)
    return _conclude(work, found, alpha=level, estimator=estimator, interval=interval)


def _conclude(work: "_Work", found: "_Summed", **settings: Any) -> Evaluation:
    """Return what follows from the sums of a log."""
    log, policy = work.log, work.candidate
    total, total_rows = merge(found.total), work.log.rows - work.origin
    names = [objective.name for objective in log.objectives]
    diagnostics = diagnose(total, policy.arms or log.arms, names)
    counts = zip(found.outside.tolist(), names, strict=True)
    clipped = [words for count, name in counts if (words := outside_words(count, name))]
    if taken := noted(found.contexts):
        clipped.append(taken)
    doubts = [one.doubt for one in (policy, work.baseline) if one.doubt]
    _refuse_no_overlap(diagnostics, policy, work.baseline)
    settings["least_propensity"] = 0.0 if policy.arms else _promise(log, total)
    each = _differences(total, log, units=found.units, **settings)
    decision = decide(each, log.objectives, diagnostics)
    if settings["interval"] != "anytime":
        doubts += _few_words(found.values, names)
    elif not policy.arms and settings["estimator"] == "dr":
        doubts += _promise_words(log, total, decision)
    said = (*diagnostics.sentences, *clipped, *_young_words(log, total_rows))
    said = (*said, *dict.fromkeys(doubts))
    diagnostics = replace(diagnostics, sentences=said)
    if settings["interval"] == "bootstrap":  # the units of a segment are not stored
        settings["interval"] = "asymptotic"
    segments = [
        Segment(
            split.feature,
            split.labels[n],
            rows,
            {one.objective: one for one in _differences(merge(parts), log, **settings)},
        )
        for split, segment in zip(work.splits, found.segments, strict=True)
        for n, (rows, parts) in sorted(segment.items())
        if rows < total_rows  # else it is the whole log
    ]
    return Evaluation(
        candidate=policy.name,
        against=work.baseline.name,
        objectives=log.objectives,
        rows=total_rows,
        trained=work.origin,
        differences={one.objective: one for one in each},
        decision=decision,
        diagnostics=diagnostics,
        segments=tuple(segments),
        outside_segments=tuple(_outside_words(work, found)),
        adaptive=log.adaptive,
    )


class _Work(NamedTuple):
    """What a worker needs to sum a part of the log.

    Of `model`, which learns from earlier rows, and `crossed`, which learns from other rows, there
    is one. `by_unit`: keep the sums of groups of units, for a bootstrap.
    """

    log: Log
    candidate: Candidate
    baseline: Candidate
    origin: int
    splits: tuple[Split, ...]
    model: RewardModel | None
    crossed: CrossFitted | None
    by_unit: bool

    def part(self, start: int, stop: int) -> Iterator[Rows]:
        features = (*self.log.contexts.names, *self.candidate.features, *self.baseline.features)
        extra = [*self.candidate.extra, *self.baseline.extra, *(s.column for s in self.splits)]
        unit = self.log.columns.unit
        if self.crossed is not None and unit is not None:
            extra.append(unit)
        return self.log.batches(start, stop, origin=self.origin, features=features, extra=extra)


class _Summed(NamedTuple):
    """Sums of blocks: of all rows, and of each segment of each split, with its rows.

    `units` has the sums of groups of units over all blocks, float[groups, D, fields], if they are
    asked for. `outside` has the number of rewards outside of each objective's range, int64[D].
    `values` has for each objective, of the rows that the candidate gives weight, how many have a
    reward, and how many of these are the worst and the best there is, int64[3, D]. `contexts`
    counts for each feature the values that were outside its range, missing or unknown.
    """

    total: list[Sums]
    segments: tuple[dict[int, tuple[int, list[Sums]]], ...]
    units: Floats | None
    outside: Integers
    values: Integers
    contexts: dict[str, Counter[str]]

    @classmethod
    def none(cls, work: _Work) -> "_Summed":
        """Return the sums of no rows."""
        units = None
        if work.by_unit:
            units = np.zeros((bootstrap.GROUPS, len(work.log.objectives), FIELDS))
        outside = np.zeros(len(work.log.objectives), np.int64)
        values = np.zeros((3, len(work.log.objectives)), np.int64)
        contexts = {name: Counter[str]() for name in work.log.contexts.names}
        return cls([], tuple({} for _ in work.splits), units, outside, values, contexts)

    def add(self, other: "_Summed") -> None:
        """Add the sums of other blocks."""
        self.total.extend(other.total)
        np.add(self.outside, other.outside, out=self.outside)
        np.add(self.values, other.values, out=self.values)
        for name, counts in other.contexts.items():
            self.contexts[name] += counts
        for mine, theirs in zip(self.segments, other.segments, strict=True):
            for n, (rows, parts) in theirs.items():
                before, joined = mine.get(n, (0, []))
                joined.extend(parts)
                mine[n] = (before + rows, joined)
        if self.units is not None and other.units is not None:
            np.add(self.units, other.units, out=self.units)


def _sum_log(work: _Work, executor: Executor | None, progress: Progress | None) -> _Summed:
    """Sum the log: in order while something learns from it, then in parts."""
    log, origin = work.log, work.origin
    found = _Summed.none(work)
    done = origin
    if work.crossed is not None:
        _cross_fit(work, work.crossed)

    def tell(row: int) -> None:
        if progress is not None:
            progress(row - origin, log.rows - origin)

    learns = work.candidate.learns or work.baseline.learns
    if learns or work.model is not None:
        for rows in work.part(origin, log.rows):
            found.add(_sum_rows(work, rows))
            done = rows.start + len(rows)
            tell(done)
            if not learns and (work.model is None or work.model.done):
                break
    size = _BLOCKS * BLOCK
    parts = [(first, min(first + size, log.rows)) for first in range(done, log.rows, size)]
    for (_, last), part in zip(parts, map_parts(_sum_part, work, parts, executor), strict=True):
        found.add(part)
        tell(last)
    return found


def _sum_part(work: _Work, part: tuple[int, int]) -> _Summed:
    """Sum the rows between two edges, with a reward model that learns no more."""
    found = _Summed.none(work)
    for rows in work.part(*part):
        found.add(_sum_rows(work, rows))
    return found


def _cross_fit(work: _Work, model: CrossFitted) -> None:
    """Let a model learn from the first rows, before any of them is summed."""
    for rows in work.part(work.origin, work.log.rows):
        shares = rows.shares(work.log.objectives)
        model.learn(rows.points(work.log.contexts), rows.arms, shares, _folds(rows))
        if model.done:
            return


def _folds(rows: Rows) -> Integers:
    """Return the part of each row in a cross-fit: rows of one unit are in one part."""
    return np.asarray(bootstrap.groups_of(rows) % FOLDS)


def _sum_rows(work: _Work, rows: Rows) -> _Summed:
    """Sum one block and its segments; a model that still learns then learns the block."""
    arms = work.log.arms
    points, notes = rows.encoded(work.log.contexts)
    shares = rows.shares(work.log.objectives)
    arrays: dict[str, Any] = {
        "reward": shares,
        "action": rows.arms,
        "propensity": rows.propensities,
        "candidate": _probabilities(work.candidate, rows, arms),
        "baseline": checked_probabilities(work.baseline, rows, arms),
        "predicted": _predicted(work, rows, points),
        "allowed": rows.allowed,
    }
    arrays = work.candidate.rewritten(arrays)
    start = rows.start - work.origin

    def some(labels: Integers, n: int) -> tuple[int, Sums]:
        inside = np.flatnonzero(labels == n)
        chosen: dict[str, Any] = {
            name: None if array is None else array[inside] for name, array in arrays.items()
        }
        return len(inside), sum_block(start, tail=0, **chosen)

    found = _Summed.none(work)
    found.total.append(sum_block(start, **arrays))
    np.add(found.outside, outside_of(rows.rewards, work.log.objectives), out=found.outside)
    for name, note, number in notes:
        found.contexts[name][note] += number
    weighed = arrays["candidate"][np.arange(len(rows)), arrays["action"]] > 0.0
    seen = arrays["reward"][weighed]
    for count, which in zip(found.values, (~np.isnan(seen), seen == 0.0, seen == 1.0), strict=True):
        np.add(count, which.sum(axis=0), out=count)
    for split, segments in zip(work.splits, found.segments, strict=True):
        labels = split.of(rows)
        for n in np.unique(labels[labels >= 0]).tolist():
            count, sums = some(labels, n)
            segments[n] = (count, [sums])
    if found.units is not None:
        groups = bootstrap.groups_of(rows)
        for n in np.unique(groups).tolist():
            found.units[n] = some(groups, n)[1].objectives[0]
    if work.model is not None:
        work.model.learn(points, rows.arms, shares)
    return found


def _predicted(work: _Work, rows: Rows, points: Floats) -> Floats:
    if work.crossed is not None:
        return work.crossed.predict(points, _folds(rows))
    assert work.model is not None
    return work.model.predict(points)


def _probabilities(candidate: Candidate, rows: Rows, arms: tuple[str, ...]) -> Floats:
    """Return a candidate's probabilities; "logged" is what was played, with its propensity."""
    shares = checked_probabilities(candidate, rows, arms)
    if shares is None:
        raise InvalidInput(
            "the candidate is what was logged: give another one, and against='logged'."
        )
    return shares


def _splits(log: Log, origin: int, names: Sequence[str] | None) -> tuple[Split, ...]:
    """Return how the log is split into segments, by its first rows."""
    if names is not None:
        given = [names] if isinstance(names, str) else checks.listed(names)
        if given is None:
            raise InvalidInput(f"segments are names of context features, got {names!r}.")
        names = given
    for name in names or ():
        if name not in log.contexts.names:
            raise unknown_name("context feature", name, log.contexts.names)
    features = [f for f in log.contexts.features if names is None or f.name in names]
    columns = [log.columns.features[feature.name] for feature in features]
    wanted = list(dict.fromkeys(c for c in [*columns, log.columns.group] if c is not None))
    if not wanted:
        return ()
    tables = list(log.source.tables(origin, min(origin + _FIRST, log.rows), wanted))
    return splits(features, log.columns, pl.concat(tables))


def _outside_words(work: "_Work", found: "_Summed") -> Iterator[str]:
    """Say of each split how many rows are in none of its segments."""
    for split, segments in zip(work.splits, found.segments, strict=True):
        left = work.log.rows - work.origin - sum(rows for rows, _ in segments.values())
        cut = f"the {MOST_VALUES} commonest values of the first {_FIRST:,} rows are shown; "
        if left:
            yield (
                f"Of {split.feature} {cut if split.cut else ''}{counted(left, 'row')} "
                f"{'has' if left == 1 else 'have'} another value, or none."
            )


def _promise(log: Log, sums: Sums) -> float:
    """Return the least propensity that `explore` promises; 0 if the log breaks the promise.

    A logged one that is smaller by rounding counts in its place: scores are made with what was
    logged, and none may lie further from 0 than the promise allows.
    """
    least, seen = log.explore / len(log.arms), float(sums.arms[:, :, LEAST].min())
    return min(least, seen) if seen >= least * (1.0 - _ROUNDED - 1e-9) else 0.0


def _promise_doubted(sums: Sums) -> bool:
    """Tell whether a policy's mean weight is below 1 by more than chance.

    It is where some rows gave no chance to an arm that the policy plays, such as rows that repeated
    an earlier arm. A promised `explore` was broken there, and no logged propensity shows it.
    """
    for rows, total, squares in sums.policies[:, :, [ROWS, WEIGHTS, SQUARES]].sum(axis=0).tolist():
        mean = total / rows
        error = math.sqrt(max(squares / rows - mean * mean, 0.0) / rows)
        if mean + _CHANCE * error < 1.0 - 1e-9:
            return True
    return False


def _differences(sums: Sums, log: Log, **settings: Any) -> tuple[Difference, ...]:
    """Return the differences; where a promise is doubted, the wider ends with and without it.

    Such ends hold whether the promise is true or not.
    """
    found = differences(sums, log.objectives, **settings)
    if not settings["least_propensity"] or not _promise_doubted(sums):
        return found
    without = differences(sums, log.objectives, **{**settings, "least_propensity": 0.0})
    return tuple(wider(one, other) for one, other in zip(found, without, strict=True))


def _promise_words(log: Log, sums: Sums, decision: Verdict) -> list[str]:
    """Say that what `explore` promises is not true, or that a promise would help."""
    seen = float(sums.arms[:, :, LEAST].min())
    if log.explore and not _promise(log, sums):
        return [
            f"explore = {log.explore:g} promises every arm a propensity of at least "
            f"{log.explore / len(log.arms):.9g}, but the log has one of {seen:.9g}: the promise is "
            "not kept and not used, so intervals are wider."
        ]
    if log.explore and _promise_doubted(sums):
        return [
            f"explore = {log.explore:g} promises every arm a chance in every row, but the mean "
            "weight is below 1: some rows may have given none to an arm that is compared. So the "
            "intervals are the wider ones of those with and without the promise. Where arms could "
            "not be played, say so in the column of allowed arms."
        ]
    if log.explore or decision.kind != "cannot tell" or seen * len(log.arms) < _LITTLE:
        return []
    return [
        "No explore is declared. If what decided drew a share of its decisions uniformly, say so "
        "by Log(..., explore=...) or --explore: intervals may become much narrower."
    ]


def _young_words(log: Log, rows: int) -> list[str]:
    """Say how many of the last rows have no rewards that count yet."""
    if not log.young:
        return []
    young = min(log.young, rows)
    return [
        f"{counted(young, 'row')} {'is' if young == 1 else 'are'} younger than the {log.wait:g} s "
        "in which rewards come, counted from the last row: rewards there do not count yet. If the "
        "log is finished, say so by Log(..., wait=0) or --wait 0."
    ]


def _few_words(values: Integers, names: Sequence[str]) -> list[str]:
    """Say which objectives have too few rewards that differ, for approximate intervals."""
    count, worst, best = values
    differ = (count - np.maximum(worst, best)).tolist()
    return [
        f"Of the rewards of {name} that count for the candidate {few:,} differ from the commonest "
        f"value, fewer than {_FEW}: approximate intervals cover the truth less often than they "
        "say, the fewer the less. Ask for interval='anytime', or log longer."
        for name, few in zip(names, differ, strict=True)
        if few < _FEW
    ]


def _refuse_no_overlap(diagnostics: Diagnostics, candidate: Candidate, baseline: Candidate) -> None:
    played = [arm.arm for arm in diagnostics.arms if arm.plays]
    if len(played) == 1:
        raise InvalidInput(
            f"column 'arm': every row played {played[0]!r}, so the log says nothing of other arms; "
            "let what decides explore, such as Chooser(..., explore=0.1), and log again."
        )
    if diagnostics.mean_weight == 0.0:
        arms = [arm.arm for arm in diagnostics.arms if arm.mass > 0.0]
        who = f"The candidate {candidate.name} plays {', '.join(arms)}"
    elif diagnostics.base_unsupported > 1.0 - ROUNDING:
        arms = list(diagnostics.base_missing_arms)
        who = f"The candidate is compared with {baseline.name}, which plays {', '.join(arms)}"
    else:
        return
    raise InvalidInput(
        f"column 'arm': there is no overlap. {who}, where no row did: the log says nothing of it. "
        "Let what decides explore these arms, such as Chooser(..., explore=0.1), and log again."
    )
