"""Sum a log block by block: all that estimators, intervals and diagnostics need of its rows.

Rewards are *shares*: 0 for the worst end of an objective's range, 1 for the best
(`Objective.shares`), so more is better in every objective, and every result in shares times
`Objective.span` is in the objective's own units, positive = better. NaN is a missing reward.

Rows are summed in blocks whose edges depend on the number of a row in the log alone (`blocks`). Two
parts of a log that begin at an edge have the blocks that the whole log has, so `merge` of their
sums is equal, bit for bit, to the sums of the whole: for any number of parts, in any order.

    parts = []
    for first, last in blocks(0, rows):                    # or from any other edge of a block
        predicted = model.predict(points[first:last])      # fitted on rows before `first` only
        parts.append(sum_block(first, reward=..., action=..., propensity=..., candidate=...,
                               baseline=None, predicted=predicted))
        model.learn(points[first:last], action[first:last], reward[first:last])
    sums = merge(parts)
    found = differences(sums, objectives, alpha=0.05, least_propensity=0.0)   # logs.differences
    report = diagnose(sums, arms)                                             # logs.diagnostics
    verdict = decide(found, objectives, report)                               # logs.verdict
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels import estimation as kernel

# Rows in a block, at most: the first has one row, and from there on they double.
BLOCK = 65_536
# How many of the largest weights are stored of a block.
TAIL = 1_024
# The values of `explore` that a projection of needed rows is made for; 0 is the log as it is.
EXPLORES = (0.0, 0.05, 0.1, 0.2, 0.5)
# The sums of an objective.
FIELDS = kernel.EXPLORED + 2 * len(EXPLORES)


class Sums(NamedTuple):
    """Sums of m blocks of a log; arrays of one kind stand side by side, a row a block.

    starts      int64[m]: the number of the first row of each block, ascending
    objectives  float64[m, D, fields]: over rows with a reward in the objective
    policies    float64[m, 2, fields]: weights of the candidate and of the baseline
    arms        float64[m, K, fields]: plays, propensities and probabilities of each arm
    tails       float64[m, TAIL]: the largest weights of the candidate, descending, then zeros
    """

    starts: Integers
    objectives: Floats
    policies: Floats
    arms: Floats
    tails: Floats


def blocks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of the blocks between two rows: 0-1, 1-2, 2-4, 4-8, …, 65,536-131,072.

    `start` must be an edge: 0, 1, 2, 4, …, 32,768 or a multiple of 65,536. `stop` may be any row.
    """
    first = _edge(start)
    while first < stop:
        last = min(_next_edge(first), stop)
        yield first, last
        first = last


def _next_edge(edge: int) -> int:
    return max(1, 2 * edge) if edge < BLOCK else edge + BLOCK


def _edge(start: int) -> int:
    first = checks.whole("start", start, least=0)
    if first % BLOCK and not (first < BLOCK and first & (first - 1) == 0):
        raise InvalidInput(
            f"start must be a row at which a block begins: 0, 1, 2, 4, … , {BLOCK // 2} or a "
            f"multiple of {BLOCK}, got {start}."
        )
    return first


def sum_block(
    start: int,
    *,
    reward: Floats,
    action: Integers,
    propensity: Floats,
    candidate: Floats,
    baseline: Floats | None = None,
    predicted: Floats | None = None,
    allowed: Booleans | None = None,
    threshold: float = 10.0,
    shrinkage: float = 100.0,
    clip: float = 10.0,
    tail: int = TAIL,
) -> Sums:
    """Sum one block that begins at row `start`.

    Args:
        start: the number of the block's first row in the log, an edge of `blocks`.
        reward: float[n, D], shares in [0, 1], NaN where missing.
        action: int64[n], the arm that was played.
        propensity: float[n], the probability that the log gives it, in (0, 1].
        candidate: float[n, K], the candidate's probability of every arm; 0 where not allowed.
        baseline: float[n, K], those of the policy to compare with; None: what was logged.
        predicted: float[n, K, D], the reward model's shares, fitted on rows before `start` only
            (or on none of these rows, where the log is declared not adaptive); None: 0.
        allowed: bool[n, K], the arms that were allowed; None: all.
        threshold: the weight from which on Switch-DR trusts the model.
        shrinkage: λ of DR with optimistic shrinkage.
        clip: the largest weight of clipped IPS.
        tail: how many of the largest weights are stored.

    Rows of a block may be left out (a segment): pass those that stay, with the same `start`.
    """
    first = _edge(start)
    given = _checked(reward, action, propensity, candidate, baseline, predicted, allowed)
    rows, count = given["reward"].shape
    if rows > _next_edge(first) - first:
        raise InvalidInput(
            f"the block at row {first} has at most {_next_edge(first) - first} rows, got {rows}: "
            "split rows by `blocks`."
        )
    settings = np.array(
        [
            checks.positive("threshold", threshold),
            checks.positive("shrinkage", shrinkage),
            checks.positive("clip", clip),
        ]
    )
    size = given["candidate"].shape[1]
    objectives = np.zeros((1, count, FIELDS))
    policies = np.zeros((1, 2, kernel.POLICY_FIELDS))
    arms = np.zeros((1, size, kernel.ARM_FIELDS + count))
    arms[:, :, kernel.LEAST] = math.inf
    weights = np.empty(rows)
    found = [objectives[0], policies[0], arms[0], weights]
    fine = kernel.sum_rows(*[*given.values(), settings, np.array(EXPLORES), *found])
    if fine < rows:
        _refuse_bad_row(given)
    return Sums(np.array([first]), objectives, policies, arms, _largest(weights, tail))


def _checked(
    reward: Any,
    action: Any,
    propensity: Any,
    candidate: Any,
    baseline: Any,
    predicted: Any,
    allowed: Any,
) -> dict[str, Any]:
    """Return the arrays of a block in the order of the kernel; without rows what is not given."""
    values = checks.floats("reward", reward, (None, None))
    rows, count = values.shape
    probabilities = checks.floats("candidate", candidate, (rows, None))
    size = probabilities.shape[1]
    return {
        "reward": values,
        "action": checks.arms_of(action, rounds=rows, arms_known=size),
        "propensity": checks.floats("propensity", propensity, (rows,)),
        "candidate": probabilities,
        "baseline": np.empty((0, size))
        if baseline is None
        else checks.floats("baseline", baseline, (rows, size)),
        "predicted": np.empty((0, size, count))
        if predicted is None
        else checks.floats("predicted", predicted, (rows, size, count)),
        "allowed": np.empty((0, size), np.bool_)
        if allowed is None
        else checks.booleans("allowed", allowed, (rows, size)),
    }


def _largest(weights: Floats, size: int) -> Floats:
    """Return the largest weights, descending, then zeros: float[1, size].

    Of many weights, only those above a number that some of them suggest are sorted out.
    """
    found = np.zeros((1, size))
    count = min(len(weights), size)
    if 16 <= count < len(weights) // 16:
        some = weights[::16]
        least = np.partition(some, len(some) - count // 8)[len(some) - count // 8]
        large = weights[weights >= least]
        weights = large if len(large) >= count else weights
    if count:
        found[0, :count] = np.sort(np.partition(weights, len(weights) - count)[-count:])[::-1]
    return found


def _refuse_bad_row(given: dict[str, Any]) -> None:
    """Raise for the first value that the kernel refused; the place is one in the block."""
    refuse = checks.refuse_first
    played, chances, allowed = given["action"], given["propensity"], given["allowed"]
    if len(allowed):
        forbidden = ~allowed[np.arange(len(played)), played]
        refuse("action", played, forbidden, "an arm that was not allowed cannot have been played")
    wrong = ~((chances > 0.0) & (chances <= 1.0))
    refuse("propensity", chances, wrong, "it is above 0 and at most 1 (divide percentages by 100)")
    for name in ("candidate", "baseline"):
        shares = given[name]
        refuse(name, shares, ~(shares >= 0.0), "probabilities are not negative")
        sums = shares.sum(axis=1)
        wrong = ~(np.abs(sums - 1.0) <= kernel.ROUNDING)
        refuse(f"the sum of {name}", sums, wrong, "probabilities of a row sum to 1")
        if len(allowed) and len(shares):
            outside = (shares > 0.0) & ~allowed
            refuse(name, shares, outside, "an arm that was not allowed has no probability")
    reward, predicted = given["reward"], given["predicted"]
    allowed_shares = "shares of the objective's range go from 0 to 1"
    refuse("reward", reward, (reward < 0.0) | (reward > 1.0), allowed_shares)
    refuse("predicted", predicted, ~((predicted >= 0.0) & (predicted <= 1.0)), allowed_shares)
    raise AssertionError("the kernel refused a row, and nothing is wrong with it")


def merge(parts: Iterable[Sums]) -> Sums:
    """Return the blocks of all parts, in the order of the log."""
    every = list(parts)
    if not every:
        raise InvalidInput("there are no sums to merge: the log has no rows.")
    starts = np.concatenate([part.starts for part in every])
    order = np.argsort(starts, kind="stable")
    repeated = np.flatnonzero(np.diff(starts[order]) == 0)
    if len(repeated):
        raise InvalidInput(
            f"the block at row {starts[order][repeated[0]]} is there twice: "
            "parts of a log must not overlap."
        )
    return Sums(*(np.concatenate(arrays)[order] for arrays in zip(*every, strict=True)))
