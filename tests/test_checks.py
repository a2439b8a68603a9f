"""The doors: messages that a person can read."""

import numpy as np
import pytest

import lexbandit
from lexbandit import checks
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
    policy = lexbandit.make_policy("suplinucb", arms=4, dimension=2, horizon=20_000)
    policy.replay(lexbandit.make_environment("synthetic").rounds(20_000, seed=1))
    told = policy.explain([0.8, 0.5])
    report = told.arms[3]
    assert report.observations[0] > 0
    assert report.width[0] == np.inf
    assert str(told).splitlines()[5].split()[2:5] == ["-", "∞", "∞"]
    assert not report.knows(0)
    assert told.arms[0].knows(0)
