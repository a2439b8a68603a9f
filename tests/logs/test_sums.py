"""Sums of blocks: the same for any parts of a log, and bad rows are named."""

import itertools
from typing import Any

import numpy as np
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.logs.sums import BLOCK, BadRow, Sums, blocks, merge, sum_block
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
    ("action", 4, r"action\[3\] is 4; arms go from 0 to 3"),
    ("propensity", 0.0, r"propensity\[3\] is 0.0; a propensity is above 0"),
    ("propensity", 25.0, r"divide percentages by 100"),
    ("propensity", np.nan, r"propensity\[3\] is nan"),
    ("candidate", [0.5, 0.5, 0.5, 0.0], r"candidate\[3\] is .*sum to 1"),
    ("candidate", [1.5, -0.5, 0.0, 0.0], r"candidate\[3\] is .*not negative"),
    ("candidate", [np.nan, 1.0, 0.0, 0.0], r"candidate\[3\] is"),
    ("baseline", [0.5, 0.0, 0.0, 0.0], r"baseline\[3\] is"),
    ("reward", [0.5, 1.5], r"reward\[3\] is \[0.5, 1.5\]; rewards are shares"),
    ("predicted", [[0.5, 1.5]] * 4, r"predicted\[3\] is"),
]


@pytest.mark.parametrize(("column", "value", "message"), BAD)
def test_bad_rows_are_named(column: str, value: Any, message: str) -> None:
    log = some_log(20)
    log["reward"] = np.nan_to_num(log["reward"], nan=0.5)
    log[column][3] = value
    with pytest.raises(BadRow, match=message) as caught:
        sum_block(64, **log)
    assert (caught.value.row, caught.value.column) == (3, column)


def test_arms_that_were_not_allowed() -> None:
    log = some_log(20)
    allowed = np.ones((20, 4), np.bool_)
    allowed[5, log["action"][5]] = False
    with pytest.raises(BadRow, match="cannot have been played"):
        sum_block(64, **log, allowed=allowed)
    other = (log["action"][5] + 1) % 4
    allowed[5] = True
    allowed[5, other] = False
    with pytest.raises(BadRow, match="a candidate has no probability"):
        sum_block(64, **log, allowed=allowed)
    log["candidate"][5] = np.eye(4)[log["action"][5]]
    with pytest.raises(BadRow, match="a baseline has no probability"):
        sum_block(64, **log, allowed=allowed)
    log["baseline"][5] = np.eye(4)[log["action"][5]]
    found = sum_block(64, **log, allowed=allowed)
    assert found.arms[0, other, 3] == 19
