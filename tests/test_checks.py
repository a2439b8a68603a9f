"""The doors: messages that a person can read."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit import checks
from lexbandit.contexts import time_feature
from lexbandit.errors import InvalidInput


@pytest.mark.parametrize(
    ("array", "told"),
    [(np.array([0.5, 1.5]), "1.5"), (np.array([0, 7]), "7"), (np.array([True, False]), "False")],
)
def test_a_refused_value_is_told_as_it_would_be_typed(array: np.ndarray, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checks.refuse_first("rewards", array, np.array([False, True]), "not so")
    assert str(caught.value) == f"rewards[1] is {told}; not so."


def test_nothing_wrong_is_not_refused() -> None:
    checks.refuse_first("rewards", np.array([0.5]), np.array([False]), "not so")


def test_a_number_of_at_least_zero_may_have_a_largest() -> None:
    assert checks.at_least_zero("strays", 1, most=1.0) == 1.0
    with pytest.raises(InvalidInput, match=r"strays must be .* at least 0 and at most 1, got 1.5"):
        checks.at_least_zero("strays", 1.5, most=1.0)
    with pytest.raises(InvalidInput, match=r"lam must be a finite number of at least 0, got -1"):
        checks.at_least_zero("lam", -1)


@pytest.mark.compiled
def test_an_infinite_width_has_no_mean_beside_it() -> None:
    """SupLinUCB may have seen an arm in another stage only: there is no estimate in this one."""
    policy = lb.make_policy("suplinucb", arms=4, dimension=2, horizon=20_000)
    policy.replay(lb.make_environment("synthetic").rounds(20_000, seed=1))
    told = policy.explain([0.8, 0.5])
    report = told.arms[3]
    assert report.observations[0] > 0
    assert report.width[0] == np.inf
    assert str(told).splitlines()[5].split()[2:5] == ["-", "∞", "∞"]
    assert not report.knows(0)
    assert told.arms[0].knows(0)


def test_what_is_masked_is_not_observed() -> None:
    policy, other = (lb.make_policy("moc-mab", arms=2, dimension=2, horizon=99) for _ in range(2))
    hidden, nan = np.ma.array([[0.3, 0.8]], mask=[[True, False]]), [[np.nan, 0.8]]
    policy.update([0.5, 0.5], 1, hidden[0])
    policy.update_many([[0.5, 0.5]], [0], hidden)
    policy.replay(lb.Rounds(np.full((1, 2), 0.5), np.ma.array([hidden[0], hidden[0]])[None]))
    other.update([0.5, 0.5], 1, nan[0])
    other.update_many([[0.5, 0.5]], [0], nan)
    other.replay(lb.Rounds(np.full((1, 2), 0.5), np.array([[nan[0], nan[0]]])))
    assert all((policy.state()[name] == array).all() for name, array in other.state().items())


def test_what_must_be_known_may_not_be_masked() -> None:
    policy = lb.make_policy("moc-mab", arms=2, dimension=2, horizon=99)
    hidden, mask = np.ma.array([0.5, 0.5], mask=[False, True]), np.ma.array([True, True], mask=True)
    arms = np.ma.array([0, 1], mask=[False, True])
    state = {**policy.state(), "random": np.ma.array(policy.state()["random"], mask=True)}
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: policy.select(hidden), r"context\[1\] is nan"),
        (lambda: policy.select_many(hidden[None]), r"contexts\[0, 1\] is nan"),
        (lambda: policy.select([0.5, 0.5], mask), r"allowed\[0\] is masked"),
        (
            lambda: policy.update_many(np.full((2, 2), 0.5), arms, np.ones((2, 2))),
            r"arms\[1\] is m",
        ),
        (lambda: lb.Rounds(hidden[None], np.ones((1, 2, 2))), r"contexts\[0, 1\] is nan"),
        (lambda: policy.load_state(state), "is masked"),
        (lambda: time_feature(np.ma.array([1, 2], mask=[False, True]), 3), r"t\[1\] is nan"),
    ]
    for call, words in calls:
        with pytest.raises(lb.InvalidInput, match=words):
            call()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "wrong",
    [
        [1j, 0],
        np.array([1j, 0]),
        [np.complex64(1), None],
        ["0.5", "x"],
        ["0.5", "0.5"],
        ["0.5", None],
        np.array(["0.5", "0.5"], object),
        np.array([0.5, b"0.5"], object),
        np.array([np.str_("0.5"), 0.5], object),
        np.array([np.bytes_(b"0.5"), 0.5], object),
        np.array([bytearray(b"0.5"), 0.5], object),
    ],
)
def test_numbers_are_neither_complex_nor_texts(wrong: Any) -> None:
    policy = lb.make_policy("lex-linucb", arms=2, dimension=2, objectives=2)
    for call in (lambda: policy.select(wrong), lambda: policy.update([0.5, 0.5], 0, wrong)):
        with pytest.raises(lb.InvalidInput, match="must be an array of numbers"):
            call()
    chooser = lb.Chooser(
        objectives=lb.Objective("q"), arms=["a", "b"], context=[lb.Vector("v", length=2)]
    )
    with pytest.raises(lb.InvalidInput, match="'v' must be an array of numbers"):
        chooser.choose({"v": wrong})


def test_objects_that_are_numbers_are_taken() -> None:
    given = np.array([Decimal("0.5"), Fraction(1, 4), np.float32(0.125), 1, None, True], object)
    expected = [0.5, 0.25, 0.125, 1.0, np.nan, 1.0]
    np.testing.assert_array_equal(checks.numbers("them", given), expected)


def test_a_layout_is_pairs_that_add_up_to_the_dimension() -> None:
    given = [["number", 1], ("category", np.int64(3)), ("vector", 4)]
    assert checks.layout(given, 8) == (("number", 1), ("category", 3), ("vector", 4))
    assert checks.layout([], 8) == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (5, "layout must be a list of .* add up to the 4 coordinates of a context, got 5"),
        ([("number", 1)], "add up to the 4 coordinates"),
        ([("numbr", 4)], r"layout\[0\] must be a pair of a kind \(number, category, vector\)"),
        ([("number", 1), 3], r"layout\[1\] must be a pair .* got 3"),
        ([("number", 0), ("category", 4)], r"layout\[0\]\[1\] must be a whole number"),
    ],
)
def test_wrong_layouts(given: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        lb.make_policy("random", arms=2, dimension=4, layout=given)


@pytest.mark.parametrize("arm", [-1, 3])
def test_an_arm_that_is_none_is_refused_with_its_place(arm: int) -> None:
    with pytest.raises(InvalidInput, match=rf"arms\[1\] is {arm}; arms go from 0 to 2"):
        checks.arms_of([0, arm], rounds=2, arms_known=3)
