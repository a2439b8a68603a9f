"""Objectives in their own units."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit import Chooser, InvalidInput, Number, Objective, UnknownName, Vector

numbers = st.floats(-1e6, 1e6)


@given(
    low=numbers,
    span=st.floats(1e-3, 1e6),
    share=st.floats(0, 1),
    goal=st.sampled_from(["max", "min"]),
)
def test_value_is_the_inverse_of_share(low: float, span: float, share: float, goal: Any) -> None:
    objective = Objective("x", goal=goal, range=(low, low + span))
    assert objective.share(objective.value(share)) == pytest.approx(share, abs=1e-6)


def test_the_best_end_is_one() -> None:
    cost = Objective("cost", goal="min", range=(0, 0.05))
    assert [cost.share(x) for x in (0.0, 0.05, 0.01)] == pytest.approx([1.0, 0.0, 0.8])
    clicks = Objective("clicks", range=(10, 20))
    assert (clicks.share(10), clicks.share(20), clicks.share(99), clicks.share(-1)) == (0, 1, 1, 0)
    np.testing.assert_allclose(clicks.shares(np.array([15.0, math.nan, 99.0])), [0.5, math.nan, 1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "name of an objective"),
        ({"name": 3}, "name of an objective"),
        ({"goal": "mini"}, "did you mean 'min'"),
        ({"range": (1, 0)}, "the lower first"),
        ({"range": (0, math.inf)}, "the lower first"),
        ({"range": 3}, "the lower first"),
        ({"tolerance": -0.1}, "tolerance of objective 'x'"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"tolerance": 2}, "must be at most 1, the length of its range from 0 to 1"),
        ({"tolerance": 0.3, "range": (0.1, 0.3)}, "must be at most 0.2, the length"),
        ({"outside": "ignore"}, "outside of objective"),
        ({"default": math.nan}, "must lie in its range from 0 to 1, got nan"),
        ({"default": 3, "outside": "refuse"}, "must lie in its range from 0 to 1, got 3"),
        ({"default": 3}, "must lie in its range from 0 to 1"),
    ],
)
def test_wrong_objectives_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Objective(**{"name": "x", **given})


def test_a_tolerance_may_be_as_long_as_the_range() -> None:
    assert Objective("x", range=(0.1, 0.3), tolerance=0.2).tolerance == 0.2


def test_an_unknown_goal_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        Objective("x", goal="up")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((-1.7e308, 1.7e308), r"at most 1e\+100 in size"),
        ((1e300, 1.0000001e300), r"at most 1e\+100 in size"),
        ((1.0, 1.0 + 1e-15), "too near to each other"),
        ((0.0, 1e-200), "too near to each other"),
    ],
)
def test_a_range_can_be_computed_with(ends: tuple[float, float], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Objective("quality", range=ends)
    with pytest.raises(InvalidInput, match=words):
        Number("tokens", *ends)
    with pytest.raises(InvalidInput, match=words):
        Vector("embedding", 2, *ends)


@pytest.mark.parametrize("ends", [(-1e100, 1e100), (1.7e9, 1.7e9 + 1), (0.0, 1e-90)])
def test_ranges_at_the_limit(ends: tuple[float, float]) -> None:
    chooser = Chooser(objectives=Objective("value", range=ends), arms=["a", "b"])
    for share in (0.0, 0.25, 1.0):
        value = ends[0] + share * (ends[1] - ends[0])
        for arm in chooser.arms:
            chooser.reward(chooser.choose(allowed=[arm]), value=value)
    for told in chooser.explain().arms:
        estimate = told.estimates["value"]
        assert estimate.low is not None
        assert estimate.high is not None
        assert ends[0] <= estimate.low <= estimate.high <= ends[1]
    mean = chooser.summary().received["value"].value
    assert mean == pytest.approx(ends[0] + 1.25 / 3 * (ends[1] - ends[0]), rel=1e-9)
