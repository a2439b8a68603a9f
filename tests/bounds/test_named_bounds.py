"""Every bound by its name: how intervals lie, what changes them, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.bounds import (
    REGISTRY,
    AnytimeKLBound,
    Bound,
    CentredBound,
    EmpiricalBernsteinBound,
    KLBound,
    SubGaussianBound,
    UCB1Bound,
    UniformBound,
    make_bound,
)
from lexbandit.errors import InvalidInput, UnknownName
from twins.bounds import kl_upper

EVERY = REGISTRY.names()
PROBLEM: dict[str, Any] = {"arms": 4, "objectives": 2, "cells": 100, "horizon": 10**5}
UNIFORM = [name for name in EVERY if isinstance(make_bound(name, **PROBLEM), UniformBound)]
UNIT = [name for name in EVERY if make_bound(name, **PROBLEM).rewards == (0.0, 1.0)]
CENTRED = [name for name in EVERY if isinstance(make_bound(name, **PROBLEM), CentredBound)]

every_bound = pytest.mark.parametrize("name", EVERY)
reward_lists = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
ROUNDING = 1e-14


def centred(name: str, **changes: Any) -> CentredBound:
    bound = make_bound(name, **{**PROBLEM, **changes})
    assert isinstance(bound, CentredBound)
    return bound


def inside(inner: tuple[float, float], outer: tuple[float, float]) -> bool:
    return outer[0] <= inner[0] + ROUNDING and inner[1] <= outer[1] + ROUNDING


@every_bound
def test_has_a_line_of_description(name: str) -> None:
    assert REGISTRY.describe(name).endswith((".", ")."))
    assert isinstance(make_bound(name, **PROBLEM), Bound)


@every_bound
@given(rewards=reward_lists)
def test_the_interval_contains_the_mean(name: str, rewards: list[float]) -> None:
    low, high = make_bound(name, **PROBLEM).interval(rewards, rounds=100)
    assert low <= np.mean(rewards) + ROUNDING
    assert high >= np.mean(rewards) - ROUNDING
    if "kl" in name:
        assert low >= 0.0
        assert high <= 1.0


@every_bound
@given(rewards=reward_lists)
def test_rewards_mirrored_mirror_the_interval(name: str, rewards: list[float]) -> None:
    """No side is preferred: 1 − reward has the interval 1 − it."""
    low, high = make_bound(name, **PROBLEM).interval(rewards, rounds=100)
    mirrored = make_bound(name, **PROBLEM).interval([1 - reward for reward in rewards], rounds=100)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@every_bound
@given(rewards=reward_lists, scale=st.floats(0.01, 1.0))
def test_a_smaller_scale_gives_an_interval_inside(
    name: str, rewards: list[float], scale: float
) -> None:
    shrunk = make_bound(name, **PROBLEM, scale=scale).interval(rewards, rounds=100)
    assert inside(shrunk, make_bound(name, **PROBLEM).interval(rewards, rounds=100))


@pytest.mark.parametrize("name", UNIFORM)
@given(rewards=reward_lists, delta=st.floats(1e-9, 0.5), factor=st.floats(0.01, 1.0))
def test_intervals_are_nested_in_delta(
    name: str, rewards: list[float], delta: float, factor: float
) -> None:
    likely = make_bound(name, **PROBLEM, delta=delta).interval(rewards)
    assert inside(likely, make_bound(name, **PROBLEM, delta=delta * factor).interval(rewards))


@pytest.mark.parametrize("name", CENTRED)
@given(n=st.integers(1, 10**9), rounds=st.integers(1, 10**9))
def test_widths_fall_with_observations(name: str, n: int, rounds: int) -> None:
    bound = centred(name)
    assert bound.width(n + 1, rounds) <= bound.width(n, rounds)
    assert bound.width(2 * n, rounds) < bound.width(n, rounds) or rounds == 1


@pytest.mark.parametrize("name", ["holder", *UNIFORM])
def test_more_arms_cells_or_objectives_give_wider_intervals(name: str) -> None:
    rewards = [0.2, 0.9, 0.4]
    bound = make_bound(name, **PROBLEM)
    interval = bound.interval(rewards)
    for wider in (
        bound.with_arms(9),
        bound.with_cells(900),
        make_bound(name, **{**PROBLEM, "objectives": 5}),
    ):
        low, high = wider.interval(rewards)
        assert low < interval[0]
        assert high > interval[1]
    assert bound.with_arms(9) == make_bound(name, **{**PROBLEM, "arms": 9})
    assert bound.with_cells(900) == make_bound(name, **{**PROBLEM, "cells": 900})
    assert bound.with_arms(9).with_arms(4) == bound


@every_bound
def test_a_bound_given_to_a_policy_gets_its_number_of_arms(name: str) -> None:
    bound = make_bound(name, **PROBLEM)
    assert make_bound(bound, arms=9, scale=0.5) == bound.with_arms(9)
    assert make_bound(bound) == bound


@pytest.mark.parametrize("name", ["ucb1", "kl-ucb"])
def test_cells_are_nothing_to_a_bound_that_does_not_depend_on_them(name: str) -> None:
    assert make_bound(name, arms=4).with_cells(7) == make_bound(name, arms=4)


def test_one_delta_stands_for_arms_objectives_and_cells_together() -> None:
    """D K m^d intervals at δ each, or one at δ/(D K m^d): the same."""
    for name in UNIFORM:
        many = make_bound(name, arms=4, objectives=3, cells=10, horizon=50, delta=0.12)
        one = make_bound(name, arms=1, objectives=1, horizon=50, delta=0.12 / 120)
        assert many.interval([0.1, 0.7]) == pytest.approx(one.interval([0.1, 0.7]), abs=1e-11)


def test_without_delta_it_is_one_over_the_horizon() -> None:
    for name in set(UNIFORM) - {"anytime"}:
        given_delta = make_bound(name, arms=4, horizon=1000, delta=1e-3)
        assert make_bound(name, arms=4, horizon=1000).interval([0.3]) == pytest.approx(
            given_delta.interval([0.3]), abs=1e-11
        )
    assert make_bound("anytime", arms=4, horizon=1000) == make_bound("anytime", arms=4, delta=0.05)


@given(n=st.integers(1, 10**6), R=st.floats(0.1, 5))
def test_the_sub_gaussian_formula(n: int, R: float) -> None:
    bound = SubGaussianBound(arms=4, objectives=3, cells=10, delta=0.1, R=R)
    log = math.log(3 * 4 * 10 * math.sqrt(1 + n) / 0.1)
    assert bound.width(n) == pytest.approx(R * math.sqrt((1 + n) / n**2 * 2 * log))


def test_the_kl_formulas() -> None:
    rewards = [1.0, 0.0, 0.0, 0.5, 1.0]
    bound = KLBound(arms=4, objectives=3, cells=10, horizon=1000)
    assert bound.level == pytest.approx(math.log(2 * 3 * 4 * 10 * 1000**2))
    high = kl_upper(0.5, bound.level / 5)
    assert bound.interval(rewards) == pytest.approx((1 - high, high), abs=1e-10)
    stitched = AnytimeKLBound(arms=4, objectives=3, cells=10, delta=0.1, scale=0.5)
    zeta = 3.10554728
    epochs = 1 + math.log(5) / math.log(1.1)
    level = 1.1 * math.log(2 * zeta * 3 * 4 * 10 / 0.1 * epochs**1.4)
    high = kl_upper(0.5, 0.25 * level / 5)
    assert stitched.interval(rewards) == pytest.approx((1 - high, high), abs=1e-8)
    growing = make_bound("kl-ucb", arms=4).interval(rewards, rounds=70)
    high = kl_upper(0.5, math.log(70) / 5)
    assert growing == pytest.approx((1 - high, high), abs=1e-10)


def test_the_tight_width_is_about_a_third_of_the_papers() -> None:
    """Experiment 1: K = 4, m^d = 100, T = 10⁵; the ratio after 10, 100, 1000 and 10⁴ plays."""
    paper, tight = centred("holder"), centred("sub-gaussian")
    ratios = [tight.width(n) / paper.width(n) for n in (10, 100, 1000, 10_000)]
    assert ratios == pytest.approx([0.326, 0.321, 0.328, 0.337], abs=6e-4)


def test_where_rewards_vary_little_other_bounds_are_shorter() -> None:
    """After 2,000 observations: 2 % ones, nearly constant ones, and a fair coin's."""

    def half(name: str, rewards: Any) -> float:
        low, high = make_bound(name, **PROBLEM).interval(rewards)
        return (high - low) / 2

    rare = (np.arange(2000) % 50 == 0).astype(float)
    for name in ("kl", "anytime-kl", "empirical-bernstein"):
        assert half(name, rare) < 0.7 * half("sub-gaussian", rare)
    steady = np.full(2000, 0.5) + 0.01 * (-1.0) ** np.arange(2000)
    assert half("empirical-bernstein", steady) < 0.6 * half("sub-gaussian", steady)
    coin = (np.arange(2000) % 2).astype(float)
    for name in ("kl", "anytime-kl", "empirical-bernstein"):
        assert half("sub-gaussian", coin) < half(name, coin)


@pytest.mark.parametrize("name", UNIT)
@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_an_interval_of_rewards_that_the_bound_is_not_valid_for(name: str, wrong: float) -> None:
    with pytest.raises(InvalidInput, match="rewards must lie between 0 and 1"):
        make_bound(name, **PROBLEM).interval([0.5, wrong])


def test_a_bound_instead_of_a_name_is_for_the_arms_at_hand() -> None:
    assert make_bound(UCB1Bound(arms=3, scale=0.5), arms=7) == UCB1Bound(arms=7, scale=0.5)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: make_bound("sub-gausian", arms=2), "did you mean 'sub-gaussian'?"),
        (lambda: make_bound("bernstein", arms=2), "did you mean 'empirical-bernstein'?"),
        (lambda: make_bound(7, arms=2), "unknown bound 7"),  # type: ignore[arg-type]
        (lambda: make_bound("ucb1", arms=2, scael=1), "did you mean 'scale'?"),
    ],
)
def test_unknown_names_suggest_the_nearest(build: Any, words: str) -> None:
    with pytest.raises(UnknownName) as caught:
        build()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: make_bound("kl", arms=2), "the bound kl needs horizon"),
        (lambda: make_bound("kl", arms=2, horizon=None), "the bound kl needs horizon"),
        (lambda: make_bound("holder", horizon=9), "the bound holder needs arms"),
        (lambda: KLBound(arms=2, delta=0.1), "needs a horizon T"),
        (lambda: make_bound("sub-gaussian", arms=2), "needs a horizon T, or delta"),
        (lambda: make_bound("anytime-kl", arms=2), "needs a horizon T, or delta"),
        (lambda: EmpiricalBernsteinBound(arms=2), "needs a horizon T, or delta"),
        (lambda: make_bound("anytime", arms=2, delta=0), "delta must be"),
        (lambda: make_bound("anytime", arms=2, delta=1.5), "delta must be"),
        (lambda: make_bound("anytime", arms=2, R=-1), "R must be"),
        (lambda: make_bound("kl", arms=2, horizon=0), "horizon must be"),
        (lambda: make_bound("kl", arms=2, horizon=5, cells=0), "cells must be"),
        (lambda: make_bound("kl", arms=2, horizon=5, objectives=0), "objectives must be"),
    ],
)
def test_bad_parameters(build: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        build()
