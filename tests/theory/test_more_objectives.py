"""The bounds of docs/theory.md: any number of objectives, the staged rule, periods, the tree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.metrics import Tally, Truth
from lexbandit.theory import MocMabTheory, StagedTheory, TreeTheory, periodic_theory


def test_three_objectives_by_hand() -> None:
    """Every term for T = 10^5, d = 2, K = 4 (m = 10), β = 1/2, λ = 2, written out."""
    theory = MocMabTheory(
        arms=4, dimension=2, horizon=10**5, objectives=3, lam=2.0, beta=0.5,
        largest_gaps=(0.5, 0.8, 0.9),
    )  # fmt: skip
    t, v = 1000.0, math.sqrt(2) / 10
    A = 1 + 2 * math.log(2 * 3 * 4 * 100 * 10**7.5)
    learning = 2 * 2 * math.sqrt(2 * A) * math.sqrt(4 * 100 * t)
    unsure = 2 * A / (0.5 * v) ** 2
    expected = [
        400 * 0.5 + learning + 5 * v * t,
        400 * 0.8 + 400 * 0.8 * unsure + learning + (5 + 6 * 2) * v * t,
        400 * 0.9 + 400 * 0.9 * unsure + learning + 2 * v * t,
    ]
    np.testing.assert_allclose(theory.high_probability(t), expected)
    four = MocMabTheory(arms=4, dimension=2, horizon=10**5, objectives=4, lam=2.0, beta=0.5)
    assert list(four.blur) == [5.0, 5 + 6 * 2, 5 + 6 * (2 + 4), 2.0]
    one = MocMabTheory(arms=4, dimension=2, horizon=10**5, objectives=1)
    assert list(one.blur) == [2.0]
    assert one.high_probability([1.0, 2.0]).shape == (2, 1)


def test_two_objectives_need_no_lambda() -> None:
    plain, other = (MocMabTheory(arms=3, dimension=1, horizon=10**4, lam=x) for x in (0.0, 5.0))
    np.testing.assert_array_equal(plain.high_probability(100), other.high_probability(100))
    assert plain.expected() == other.expected()


def test_staged_by_hand() -> None:
    """T = 10^4, d = 2, α = 1: m = 10; K = 3, D = 3, λ = 1/2."""
    theory = StagedTheory(
        arms=3, dimension=2, horizon=10**4, objectives=3, lam=0.5, L=2.0,
        largest_gaps=(0.3, 0.6, 1.0),
    )  # fmt: skip
    assert theory.m == 10
    assert list(theory.growth) == [1.0, 1.5, 1.75]
    assert theory.exponent == pytest.approx(3 / 4)
    t, v = 500.0, 2 * math.sqrt(2) / 10
    A = 1 + 2 * math.log(2 * 3 * 3 * 100 * 10**6)
    learning = 4 * 2 * math.sqrt(2 * A) * math.sqrt(3 * 100 * t)
    expected = [
        300 * 0.3 + learning + 8 * v * t,
        300 * 0.6 + 1.5 * learning + 12 * v * t,
        300 * 1.0 + 1.75 * learning + 7 * v * t,
    ]
    np.testing.assert_allclose(theory.high_probability(t), expected)


@given(
    T=st.integers(1, 10**8),
    d=st.integers(1, 4),
    K=st.integers(1, 50),
    L=st.floats(0.1, 10),
    alpha=st.sampled_from([0.25, 0.5, 1.0]),
    gaps=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    lam=st.floats(0, 3),
)
def test_expected_bound_of_the_staged_rule_follows(
    T: int, d: int, K: int, L: float, alpha: float, gaps: list[float], lam: float
) -> None:
    theory = StagedTheory(
        arms=K, dimension=d, horizon=T, L=L, alpha=alpha, lam=lam,
        objectives=len(gaps), largest_gaps=tuple(gaps),
    )  # fmt: skip
    high = theory.high_probability(T)
    for i, expected in enumerate(theory.expected()):
        assert high[i] + gaps[i] <= expected * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("kind", [MocMabTheory, StagedTheory])
def test_bounds_grow_by_the_exponent(
    kind: type[MocMabTheory] | type[StagedTheory], alpha: float, dimension: int
) -> None:
    """From T = 10^40 to 10^44, logarithms and rounding of m aside; staged is the better rate."""
    theories = [
        kind(arms=3, dimension=dimension, alpha=alpha, horizon=10**power, objectives=3, lam=0.5)
        for power in (40, 44)
    ]
    low, high = (np.array(theory.expected()) for theory in theories)
    np.testing.assert_allclose(np.log10(high / low) / 4, theories[0].exponent, atol=0.02)
    staged = StagedTheory(arms=3, dimension=dimension, alpha=alpha, horizon=100)
    assert (
        staged.exponent
        < MocMabTheory(arms=3, dimension=dimension, alpha=alpha, horizon=100).exponent
    )


def test_staged_refuses_what_does_not_apply() -> None:
    with pytest.raises(InvalidInput, match="this bound holds for cells_per_side=5, got 7"):
        StagedTheory(arms=2, dimension=1, horizon=100, cells_per_side=7).expected()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["moc-mab", "staged-lex", "lex-tree"])
def test_measured_regret_stays_under_the_bounds(name: str) -> None:
    """Three objectives at scale 1 on `planted`, where every assumption is true; Pareto regret too.

    The bounds are far above what is measured: this guards against errors in them.
    """
    horizon = 100_000
    environment = lexbandit.make_environment(
        "planted", arms=4, objectives=3, dimension=1, assumption=0.5
    )
    common = {"arms": 4, "objectives": 3, "dimension": 1, "lam": 0.5, "L": 0.95}
    assert environment.lipschitz < 0.95  # type: ignore[attr-defined]
    theories: dict[str, MocMabTheory | StagedTheory | TreeTheory] = {
        "moc-mab": MocMabTheory(horizon=horizon, **common),  # type: ignore[arg-type]
        "staged-lex": StagedTheory(horizon=horizon, **common),  # type: ignore[arg-type]
        "lex-tree": TreeTheory(**common),  # type: ignore[arg-type]
    }
    checkpoints = np.unique(np.geomspace(100, horizon, 30).astype(int))
    bounds = theories[name].high_probability(checkpoints)
    policy = lexbandit.make_policy(name, horizon=horizon, seed=1, **common)
    tally = Tally(checkpoints, objectives=3)
    for block in environment.stream(horizon, seed=1):
        tally.add(Truth(block.means), policy.replay(block))
    assert (tally.regret < bounds).all()
    assert (tally.pareto_regret < bounds[:, 0]).all()


def test_a_period_is_one_dimension_more() -> None:
    theory = periodic_theory(arms=4, dimension=2, horizon=10**6, L=2.0, beta=0.5)
    assert theory == MocMabTheory(arms=4, dimension=3, horizon=10**6, L=2.0, beta=0.5)
    assert theory.exponent == pytest.approx((2 + 3) / (3 + 3))
    assert theory.m == 10
    assert theory.margin == pytest.approx(2 * math.sqrt(3) / 10)
    with pytest.raises(InvalidInput, match="dimension must be"):
        periodic_theory(arms=4, dimension=0, horizon=10**6)


def test_tree_by_hand() -> None:
    """d = 1, A_0 = 2: n = 2, 16, 128; in 20 rounds levels 0 to 2 have at most 1, 2 and 2 cells."""
    theory = TreeTheory(
        arms=2, dimension=1, split_after=2.0, delta=0.1, R=0.5, largest_gaps=(0.5, 0.25)
    )
    assert [theory.full(level) for level in range(3)] == [2, 16, 128]
    assert [theory.cells(level, 20) for level in range(4)] == [1, 2, 2, 0]
    first = second = 0.0
    for level, cells, rounds, v in [(0, 1, 2, 1.0), (1, 2, 20, 0.5), (2, 2, 20, 0.25)]:
        among = 2 * 2 * 2**level * (level + 1) * (level + 2)
        A = 2 * 0.5**2 * math.log(among * math.sqrt(1 + [2, 16, 128][level]) / 0.1)
        learning = 2 * 2 * math.sqrt(2 * A) * math.sqrt(2 * cells * rounds)
        first += cells * 2 * 0.5 + learning + 6 * v * rounds
        second += cells * 2 * 0.25 * (1 + 2 * A / v**2) + learning + 2 * v * rounds
    np.testing.assert_allclose(theory.high_probability(20), [first, second])
    assert theory.high_probability([[20, 5]]).shape == (1, 2, 2)


@pytest.mark.parametrize(("d", "d_c"), [(1, 1.0), (2, 2.0), (3, 1.0), (4, 0.5)])
def test_the_tree_adapts_to_the_dimension_of_the_contexts(d: int, d_c: float) -> None:
    theory = TreeTheory(arms=3, dimension=d, context_dimension=d_c, split_after=10.0)
    low, high = theory.high_probability([1e40, 1e46])
    np.testing.assert_allclose(np.log10(high / low) / 6, theory.exponent, atol=0.03)
    assert theory.exponent == pytest.approx((2 + d_c) / (3 + d_c))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"arms": 0}, "arms"), ({"split_after": 0}, "split_after"), ({"lam": -1}, "lam"),
     ({"context_dimension": 3}, "context_dim"), ({"context_dimension": math.nan}, "context_dim"),
     ({"alpha": 2}, "alpha"), ({"largest_gaps": (1.0,)}, "largest_gaps"), ({"cover": -1}, "cover"),
     ({"delta": 1.5}, "delta"), ({"R": 0}, "R")],
)  # fmt: skip
def test_bad_trees(parameters: dict[str, object], words: str) -> None:
    good: dict[str, object] = {"arms": 2, "dimension": 2}
    with pytest.raises(InvalidInput, match=f"{words}.* must"):
        TreeTheory(**{**good, **parameters})  # type: ignore[arg-type]


@pytest.mark.parametrize("t", [-1, math.nan, math.inf])
def test_bad_rounds_of_a_tree(t: float) -> None:
    with pytest.raises(InvalidInput, match="t must be a finite number of rounds"):
        TreeTheory(arms=2, dimension=2).high_probability(t)
