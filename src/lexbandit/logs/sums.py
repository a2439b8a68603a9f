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

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lexbandit.checks import Floats, Integers

# Rows in a block, and in the first one: from there on they double until they reach BLOCK.
BLOCK = 65_536
FIRST = 64


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
    """Yield (first, last) of the blocks between two rows: 0-64, 64-128, 128-256, …, 65,536-131,072.

    `start` must be an edge: 0, 64, 128, …, 32,768 or a multiple of 65,536. `stop` may be any row.
    """
    raise NotImplementedError


def sum_block(
    start: int,
    *,
    reward: Floats,
    action: Integers,
    propensity: Floats,
    candidate: Floats,
    baseline: Floats | None = None,
    predicted: Floats | None = None,
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

    Rows of a block may be left out (a segment): pass those that stay, with the same `start`.
    """
    raise NotImplementedError


def merge(parts: Iterable[Sums]) -> Sums:
    """Return the blocks of all parts, in the order of the log."""
    raise NotImplementedError
