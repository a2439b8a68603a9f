import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.metrics import Tally, Truth
from lexbandit.theory import MocMabTheory, finer_cells


def test_theorem_1_by_hand() -> None:
    """Every term of ε_1 and ε_2 for T = 10^5, d = 2, K = 4 (m = 10), β = 1, written out."""
    theory = MocMabTheory(arms=4, dimension=2, horizon=10**5, largest_gaps=(0.5, 0.8))
    t = 1000.0
    A = 1 + 2 * math.log(4 * 4 * 100 * 10**7.5)
    v = math.sqrt(2) / 10
    B = 2 * math.sqrt(2 * A)
    first = 100 * 4 * 0.5 + 2 * B * math.sqrt(4 * 100 * t) + 2 * 3 * v * t
    second = (
        100 * 4 * 0.8 + 100 * 0.8 * 4 * (2 * A / v**2) + 2 * B * math.sqrt(4 * 100 * t) + 2 * v * t
    )
    np.testing.assert_allclose(theory.high_probability(t), [first, second])
    assert theory.exponent == pytest.approx(4 / 5)


@given(
    T=st.integers(1, 10**8),
    d=st.integers(1, 4),
    K=st.integers(1, 50),
    L=st.floats(0.1, 10),
    alpha=st.sampled_from([0.25, 0.5, 1.0]),
    beta=st.floats(0.05, 3),
    gaps=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    lam=st.floats(0, 3),
)
def test_theorem_2_follows_from_theorem_1(
    T: int, d: int, K: int, L: float, alpha: float, beta: float, gaps: list[float], lam: float
) -> None:
    """The proof: E[Reg^i(T)] ≤ ε_i(T) + C^i_max, then m ≤ 2 T^(1/(3α+d))."""
    theory = MocMabTheory(
        arms=K, dimension=d, horizon=T, L=L, alpha=alpha, beta=beta, lam=lam,
        objectives=len(gaps), largest_gaps=tuple(gaps),
    )  # fmt: skip
    high = theory.high_probability(T)
    for i, expected in enumerate(theory.expected()):
        assert high[i] + gaps[i] <= expected * (1 + 1e-9)


def test_bounds_grow_and_average_out() -> None:
    theory = MocMabTheory(arms=4, dimension=2, horizon=10**6)
    curve = theory.high_probability(np.arange(0, 10**6, 1000))
    assert (np.diff(curve, axis=0) > 0).all()
    averages = [
        max(MocMabTheory(arms=2, dimension=1, horizon=10**k).expected()) / 10.0**k
        for k in (4, 8, 12, 16)
    ]
    assert averages == sorted(averages, reverse=True)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "horizon", "runs"), [("synthetic", 100_000, 5), ("multichannel", 100_000, 3)]
)
def test_measured_regret_stays_under_the_bounds(name: str, horizon: int, runs: int) -> None:
    """moc-mab at scale 1, at every checkpoint of every run, Pareto regret too.

    At these horizons the bounds exceed the number of rounds, so this guards only against errors in
    the bounds; `test_theorem_1_where_it_says_something` has a horizon long enough for more.

    The synthetic means have slopes up to sqrt(2/0.6)·e^(−1/2) = 1.11, so L = 1.2 makes the theorem
    apply. The multichannel means are steeper near SNR 0 than any L used with them: there the
    theorem promises nothing, and the bounds hold all the same.
    """
    environment = lexbandit.make_environment(name)
    L = {"synthetic": 1.2, "multichannel": 1.0}[name]
    theory = MocMabTheory(
        arms=environment.arms, dimension=environment.dimension, horizon=horizon, L=L
    )
    checkpoints = np.unique(np.geomspace(100, horizon, 30).astype(int))
    bounds = theory.high_probability(checkpoints)
    finals = []
    for run in range(runs):
        policy = lexbandit.make_policy(
            "moc-mab", arms=environment.arms, dimension=2, horizon=horizon, L=L, seed=run
        )
        tally = Tally(checkpoints, objectives=2)
        for block in environment.stream(horizon, seed=run):
            tally.add(Truth(block.means), policy.replay(block))
        assert (tally.regret < bounds).all()
        assert (tally.pareto_regret < bounds[:, 0]).all()
        finals.append(tally.regret[-1])
    assert (np.mean(finals, axis=0) <= theory.expected()).all()


def regrets_on_a_line(name: str, horizon: int, beta: float) -> np.ndarray:
    """Both regrets per round with d = 1, K = 2 and 1-Lipschitz means with gaps up to 1."""
    random = np.random.default_rng(0)
    policy = lexbandit.make_policy(
        name, arms=2, dimension=1, horizon=horizon, beta=beta, seed=1, cells_per_side=None
    )
    tally = Tally([horizon], objectives=2)
    for _ in range(horizon // 100_000):
        x = random.random((100_000, 1))
        means = np.zeros((100_000, 2, 2))
        means[:, 0, 0] = 0.5 + 0.5 * x[:, 0]  # the first arm is ahead by up to 1
        means[:, 1, 0] = 0.5 - 0.5 * x[:, 0]
        means[:, 0, 1] = 0.9
        means[:, 1, 1] = 0.0
        outcomes = (random.random(means.shape) < means).astype(float)
        rounds = lexbandit.Rounds(x, outcomes, means)
        tally.add(Truth(means), policy.replay(rounds))
    return np.asarray(tally.regret[0] / horizon)


@pytest.mark.slow
@pytest.mark.compiled
def test_theorem_1_where_it_says_something() -> None:
    """At T = 10^7 the bound on Reg² is below what a random policy loses; MOC-MAB keeps it."""
    horizon, beta = 10**7, 4.0
    theory = MocMabTheory(arms=2, dimension=1, horizon=horizon, beta=beta)
    bound = theory.high_probability(horizon) / horizon
    assert (bound < 0.5).all()
    assert (regrets_on_a_line("moc-mab", horizon, beta) < bound).all()
    assert regrets_on_a_line("random", horizon, beta)[1] > 0.44


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"horizon": 0}, "horizon must be"),
        ({"beta": 0}, "beta must be"),
        ({"arms": 0}, "arms must be"),
        ({"alpha": 2}, "alpha must be"),
        ({"largest_gaps": (1.0,)}, "largest_gaps must be 2 numbers"),
        ({"largest_gaps": (1.0, math.nan)}, "largest_gaps must be 2 numbers"),
        ({"cells_per_side": 0}, "cells_per_side must be"),
        ({"objectives": 0}, "objectives must be"),
        ({"objectives": 3, "largest_gaps": (1.0, 1.0)}, "largest_gaps must be 3 numbers"),
        ({"lam": -1}, "lam must be a finite number of at least 0, got -1"),
        ({"lam": math.nan}, "lam must be"),
        ({"lam": math.inf}, "lam must be"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    good: dict[str, object] = {"arms": 2, "dimension": 1, "horizon": 100}
    with pytest.raises(InvalidInput, match=words):
        MocMabTheory(**{**good, **parameters})  # type: ignore[arg-type]


def test_what_does_not_apply_is_refused() -> None:
    theory = MocMabTheory(arms=2, dimension=1, horizon=100, cells_per_side=50)
    with pytest.raises(InvalidInput, match="t must lie between 0 and the horizon 100"):
        theory.high_probability(101)


def test_noise_of_another_size_changes_the_constants_only() -> None:
    """The paper's footnote: R-sub-Gaussian noise puts R² A in the place of A."""
    one, two = (
        MocMabTheory(arms=3, dimension=2, horizon=10_000, beta=0.5, R=R, largest_gaps=(0.8, 0.6))
        for R in (1.0, 2.0)
    )
    assert (two.m, two.margin, two.A, two.exponent) == (one.m, one.margin, one.A, one.exponent)
    cells, t = one.m**2, 4_000
    learning = 2 * 2 * math.sqrt(2 * one.A) * math.sqrt(3 * cells * t)
    unsure = cells * 3 * 0.6 * 2 * one.A / (0.5 * one.margin) ** 2
    difference = two.high_probability(t) - one.high_probability(t)
    assert difference == pytest.approx([learning, learning + 3 * unsure])
    assert two.plays_to_confidence == pytest.approx(4 * one.plays_to_confidence)
    assert one.unsure_rounds == pytest.approx(3 * (2 * one.A / (0.5 * one.margin) ** 2 + 1))


def test_a_finer_grid_trades_the_second_regret_for_the_first() -> None:
    """m = ⌈T^(1/(2α+d))⌉: the first bound grows as T^((α+d)/(2α+d)), the second as T."""

    def growth(finer: bool) -> list[float]:
        bounds = []
        for T in (10**18, 10**21):
            m = finer_cells(horizon=T, dimension=1) if finer else None
            theory = MocMabTheory(arms=2, dimension=1, horizon=T, cells_per_side=m)
            bounds.append(theory.expected())
        return [math.log10(b / a) / 3 for a, b in zip(*bounds, strict=True)]

    assert finer_cells(horizon=10**6, dimension=1) == 100
    assert growth(finer=True) == pytest.approx([2 / 3, 1.0], abs=0.03)
    assert growth(finer=False) == pytest.approx([3 / 4, 3 / 4], abs=0.03)


def test_for_any_number_of_cells_the_expectation_is_the_proofs_first_line() -> None:
    theory = MocMabTheory(arms=2, dimension=1, horizon=100, cells_per_side=50)
    assert theory.expected() == pytest.approx(theory.high_probability(100) + 1.0)
