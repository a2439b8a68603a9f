"""Sums of blocks: the same for any parts of a log, and bad rows are named."""

import itertools
from typing import Any

import numpy as np
import pytest

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import estimation as kernel
from lexbandit.logs.sums import BLOCK, EXPLORES, Sums, _largest, blocks, merge, sum_block
from logs.test_estimators import some_log


def parts(log: dict[str, Any], start: int, stop: int) -> list[Sums]:
    return [
        sum_block(first, **{name: array[first:last] for name, array in log.items()})
        for first, last in blocks(start, stop)
    ]


def test_blocks_depend_on_row_numbers_alone() -> None:
    assert list(blocks(0, 11)) == [(0, 1), (1, 2), (2, 4), (4, 8), (8, 11)]
    assert list(blocks(BLOCK, 3 * BLOCK + 5))[-1] == (3 * BLOCK, 3 * BLOCK + 5)
    whole = list(blocks(0, 4 * BLOCK + 7))
    for cut in (64, 4096, BLOCK, 3 * BLOCK):
        assert list(blocks(0, cut)) + list(blocks(cut, 4 * BLOCK + 7)) == whole
    assert all(last - first <= BLOCK for first, last in whole)


@pytest.mark.parametrize("start", [3, 63, 96, 192, BLOCK + 64, 3 * BLOCK // 2])
def test_other_rows_are_no_edges(start: int) -> None:
    with pytest.raises(InvalidInput, match="a block begins"):
        list(blocks(start, start + 10))


def test_any_parts_in_any_order_give_the_same_sums() -> None:
    n = 4 * BLOCK + 1234
    log = some_log(n, arms=3)
    del log["baseline"], log["predicted"]
    whole = merge(parts(log, 0, n))
    random = np.random.default_rng(0)
    for count in (2, 8):
        edges = [0, BLOCK, 64, 1024, 128, 2 * BLOCK, 3 * BLOCK, 4 * BLOCK][:count]
        cuts = [*sorted(edges), n]
        pieces = [merge(parts(log, a, b)) for a, b in itertools.pairwise(cuts)]
        random.shuffle(pieces)
        for one, other in zip(merge(pieces), whole, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_part_that_is_there_twice_is_refused() -> None:
    log = some_log(100)
    with pytest.raises(InvalidInput, match="row 0 is there twice"):
        merge([*parts(log, 0, 100), *parts(log, 0, 64)])
    with pytest.raises(InvalidInput, match="no rows"):
        merge([])


def test_a_block_is_not_too_long() -> None:
    with pytest.raises(InvalidInput, match="at most 64 rows, got 65"):
        sum_block(64, **some_log(65))


BAD: list[tuple[str, Any, str]] = [
    ("action", 4, r"arms\[3\] is 4; arms go from 0 to 3"),
    ("propensity", 0.0, r"propensity\[3\] is 0.0; it is above 0"),
    ("propensity", 25.0, r"divide percentages by 100"),
    ("propensity", np.nan, r"propensity\[3\] is nan"),
    ("candidate", [0.5, 0.5, 0.5, 0.0], r"sum of candidate\[3\] is 1.5; .*sum to 1"),
    ("candidate", [1.5, -0.5, 0.0, 0.0], r"candidate\[3, 1\] is -0.5; .*not negative"),
    ("candidate", [np.nan, 1.0, 0.0, 0.0], r"candidate\[3, 0\] is nan"),
    ("baseline", [0.5, 0.0, 0.0, 0.0], r"sum of baseline\[3\] is 0.5"),
    ("reward", [0.5, 1.5], r"reward\[3, 1\] is 1.5; shares of"),
    ("predicted", [[0.5, 1.5]] * 4, r"predicted\[3, 0, 1\] is 1.5"),
]


@pytest.mark.parametrize(("column", "value", "message"), BAD)
def test_bad_rows_are_named(column: str, value: Any, message: str) -> None:
    log = some_log(20)
    log["reward"] = np.nan_to_num(log["reward"], nan=0.5)
    log[column][3] = value
    with pytest.raises(InvalidInput, match=message):
        sum_block(64, **log)


def test_arms_that_were_not_allowed() -> None:
    log = some_log(20)
    allowed = np.ones((20, 4), np.bool_)
    allowed[5, log["action"][5]] = False
    with pytest.raises(InvalidInput, match=r"action\[5\] .*cannot have been played"):
        sum_block(64, **log, allowed=allowed)
    other = (log["action"][5] + 1) % 4
    allowed[5] = True
    allowed[5, other] = False
    with pytest.raises(InvalidInput, match=r"candidate\[5, \d\] is .*has no probability"):
        sum_block(64, **log, allowed=allowed)
    log["candidate"][5] = np.eye(4)[log["action"][5]]
    with pytest.raises(InvalidInput, match=r"baseline\[5, \d\] is .*has no probability"):
        sum_block(64, **log, allowed=allowed)
    log["baseline"][5] = np.eye(4)[log["action"][5]]
    found = sum_block(64, **log, allowed=allowed)
    assert found.arms[0, other, 3] == 19


def plain_fields(log: dict[str, Any], i: int) -> list[float]:
    """The sums of an objective from their definitions, over whole columns of rows with a reward."""
    seen = ~np.isnan(log["reward"][:, i])
    rows = np.arange(seen.sum())
    y, a, p = log["reward"][seen, i], log["action"][seen], log["propensity"][seen]
    candidate = log["candidate"][seen]
    q = np.zeros(candidate.shape)
    if log["predicted"] is not None:
        q = log["predicted"][seen, :, i]
    logged = log["baseline"] is None
    baseline = candidate if logged else log["baseline"][seen]
    w, e, error = candidate[rows, a] / p, (candidate * q).sum(axis=1), y - q[rows, a]
    v = np.ones(len(y)) if logged else baseline[rows, a] / p
    base_e = q[rows, a] if logged else (baseline * q).sum(axis=1)
    moved = np.maximum(candidate - baseline, 0.0).sum(axis=1)

    def ends(ratio: Floats) -> tuple[Floats, Floats]:
        if logged:
            return ratio * y, ratio * (y - 1)
        up, down = np.maximum(ratio, 0.0), np.maximum(-ratio, 0.0)
        return up * y + down * (1 - y) - moved, moved - up * (1 - y) - down * y

    others = []
    for change, model in (
        (lambda x: np.where(x <= 10.0, x, 0.0), True),
        (lambda x: 100.0 * x / (x**2 + 100.0), True),
        (lambda x: np.minimum(x, 10.0), False),
    ):
        s, base_s = change(w), v if logged else change(v)
        rest = error if model else y
        score = (e - base_e if model else 0.0) + (s - base_s) * rest
        others += [s * rest, base_s * rest, score**2]
    low, high = ends(w - v)
    robust, gain = e - base_e + (w - v) * error, (w - v) * y
    sums = [np.ones(len(y)), y, e, base_e, w * y, v * y, w, v, w * error, v * error, *others]
    sums += [low, high, robust, low**2, low * robust, robust**2, high**2, high * robust]
    sums += [w * w, v * v, w * v, gain**2, gain * w, gain * v, robust * w, robust * v]
    sums += [(e - (y if logged else base_e)) ** 2]
    sampled = np.flatnonzero(seen) // kernel.CHUNK % 8 == 0
    sums.append(sampled)
    for explore in EXPLORES:
        weight = ((1 - explore) * p + explore / candidate.shape[1]) / p
        low, high = ends(w / weight - 1 if logged else (w - v) / weight)
        sums += [(low**2 * weight)[sampled], (high**2 * weight)[sampled]]
    return [float(column.sum()) for column in sums]


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("rows", "objectives"), [(1, 1), (33, 3), (600, 2)])
def test_sums_equal_their_definitions(
    rows: int, objectives: int, *, paired: bool, model: bool
) -> None:
    log = some_log(rows, arms=5, objectives=objectives, seed=rows)
    if rows == 1:
        log["reward"][:] = 0.25
    log["baseline"] = log["baseline"] if paired else None
    log["predicted"] = log["predicted"] if model else None
    found = sum_block(1024, **log)
    for i in range(objectives):
        wanted = plain_fields(log, i)
        np.testing.assert_allclose(found.objectives[0, i], wanted, rtol=1e-12, atol=1e-12)
    weights = log["candidate"][np.arange(rows), log["action"]] / log["propensity"]
    wanted = [rows, weights.sum(), (weights**2).sum()]
    np.testing.assert_allclose(found.policies[0, 0, :3], wanted, rtol=1e-12)
    assert found.policies[0, 0, kernel.LARGEST] == pytest.approx(weights.max(), rel=1e-14)
    for k in range(5):
        played = log["action"] == k
        inverse, arm = 1 / log["propensity"][played], found.arms[0, k]
        wanted = [played.sum(), inverse.sum(), (inverse**2).sum(), rows]
        wanted += [log["candidate"][:, k].sum(), log["baseline"][:, k].sum() if paired else 0.0]
        np.testing.assert_allclose(arm[: kernel.LEAST], wanted, rtol=1e-12)
        assert arm[kernel.LEAST] == log["propensity"][played].min(initial=np.inf)
        rewards = (~np.isnan(log["reward"][played])).sum(axis=0)
        assert arm[kernel.ARM_FIELDS :].tolist() == rewards.tolist()


@pytest.mark.parametrize("kind", ["different", "few values", "all equal", "ascending", "periodic"])
def test_the_largest_weights_are_all_found(kind: str) -> None:
    random = np.random.default_rng(3)
    weights = {
        "different": random.pareto(1.0, 20_000),
        "few values": random.integers(0, 3, 20_000).astype(float),
        "all equal": np.ones(20_000),
        "ascending": np.arange(20_000.0),
        "periodic": np.where(np.arange(20_000) % 16 == 0, 5.0, random.random(20_000)),
    }[kind]
    np.testing.assert_array_equal(_largest(weights, 500)[0], np.sort(weights)[::-1][:500])
