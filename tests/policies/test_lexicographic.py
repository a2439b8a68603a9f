"""LexMOC for any number of objectives, its eliminating version and the tree: twins, survival."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.bounds import SubGaussianBound
from lexbandit.errors import InvalidInput
from lexbandit.kernels import lexicographic
from lexbandit.kernels.cells import MEAN, PLAIN_FIELDS, WIDTH
from lexbandit.partitions import AdaptiveTree
from lexbandit.policies.cells.moc_mab import LexicographicRule
from lexbandit.policies.cells.staged_lex import EliminatingRule
from lexbandit.policies.levels import levels_of
from lexbandit.rounds import Rounds
from naive import run
from support import as_lists, estimates
from twins.lexicographic import LexMoc, OnGrid, OnTree, StagedLex, Width, probabilities


def rounds_of(n: int, *, arms: int, objectives: int, seed: int) -> Rounds:
    """Continuous rewards; neighbouring arms differ little in the first objectives."""
    random = np.random.default_rng(seed)
    centres = 0.5 + 0.02 * random.standard_normal((arms, objectives))
    centres[:, -1] = 0.3 + 0.4 * random.random(arms)
    outcomes = centres + 0.3 * (random.random((n, arms, objectives)) - 0.5)
    return Rounds(random.random((n, 2)), outcomes)


def width_of(K: int, D: int, scale: float, log_cells: list[float], log_T: float) -> Width:
    """½ sqrt((1 + N)/N² · 2 ln(D K m^d T sqrt(1 + N))), with m^d of the cell's level."""

    def width(n: int, level: int) -> float:
        if n == 0:
            return math.inf
        log = math.log(D * K) + log_cells[level] + log_T + 0.5 * math.log(1 + n)
        return scale * 0.5 * math.sqrt((1 + n) / n**2 * 2 * log)

    return width


CASES = [
    (objectives, lam, seed) for objectives in (1, 2, 3, 4) for lam in (0.0, 0.5) for seed in (0, 1)
]


@pytest.mark.parametrize(("objectives", "lam", "seed"), CASES)
@pytest.mark.parametrize("name", ["moc-mab", "staged-lex"])
def test_arms_are_those_of_the_twin(name: str, objectives: int, lam: float, seed: int) -> None:
    n, arms, m, scale = 1500, 5, 2, 0.2
    rounds = rounds_of(n, arms=arms, objectives=objectives, seed=seed)
    policy = lexbandit.make_policy(
        name,
        arms=arms,
        dimension=2,
        objectives=objectives,
        horizon=n,
        cells_per_side=m,
        scale=scale,
        L=0.15,
        lam=lam,
        bound="sub-gaussian",
        tolerance=0.02,
        seed=seed,
    )
    width = width_of(arms, objectives, scale, [math.log(m**2)], math.log(n))
    grid = OnGrid(arms, objectives, 2, m, width, L=0.15)
    twin = {"moc-mab": LexMoc, "staged-lex": StagedLex}[name]
    expected = run(twin(grid, lam=lam, tolerance=0.02, seed=seed), *as_lists(rounds))
    np.testing.assert_array_equal(policy.replay(rounds), expected)
    explanation = policy.explain([0.2, 0.2])
    assert "To be played" in explanation.reason or objectives == 1
    # What the explanation says of candidates is what the arms played were drawn from.
    assert all(explanation.arms[arm].candidate for arm in explanation.likely)


@pytest.mark.parametrize(("name", "sides"), [("moc-mab", 7), ("staged-lex", 10)])
def test_the_grid_follows_from_the_horizon(name: str, sides: int) -> None:
    """m^(3α+d) ≥ T for MOC-MAB, m^(2α+d) ≥ T for the eliminating rule: 7⁵ and 10⁴."""
    policy: Any = lexbandit.make_policy(name, arms=2, dimension=2, horizon=10**4)
    assert policy.partition.cells_per_side == sides


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_tree_is_its_twin(seed: int) -> None:
    n, arms, objectives, scale, delta = 3000, 3, 3, 0.3, 0.05
    rounds = rounds_of(n, arms=arms, objectives=objectives, seed=seed)
    policy = lexbandit.make_policy(
        "lex-tree",
        arms=arms,
        dimension=2,
        objectives=objectives,
        scale=scale,
        delta=delta,
        lam=0.2,
        L=0.5,
        seed=seed,
    )
    log_cells = [math.log(4**level * (level + 1) * (level + 2)) for level in range(12)]
    width = width_of(arms, objectives, scale, log_cells, math.log(1 / delta))
    twin = LexMoc(OnTree(arms, objectives, 2, width, L=0.5), lam=0.2, seed=seed)
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))
    assert isinstance(policy, LexicographicRule)
    assert isinstance(twin.partition, OnTree)
    assert policy.visited_cells == len(twin.partition.nodes) > 20


steps = st.integers(0, 8).map(lambda k: k / 8)  # exact numbers, so that ties are common


@given(
    data=st.data(),
    objectives=st.integers(1, 4),
    arms=st.integers(1, 4),
    lam=st.sampled_from([0.0, 0.5]),
)
def test_probabilities_follow_every_tie(data: Any, objectives: int, arms: int, lam: float) -> None:
    grid = st.lists(st.lists(steps, min_size=arms, max_size=arms), min_size=objectives,
                    max_size=objectives)  # fmt: skip
    means, widths = data.draw(grid), data.draw(grid)
    blur = data.draw(steps)
    tolerances = data.draw(st.lists(steps, min_size=objectives, max_size=objectives))
    stats = np.zeros((1, arms, objectives, PLAIN_FIELDS))
    stats[0, :, :, MEAN], stats[0, :, :, WIDTH] = np.transpose(means), np.transpose(widths)
    known = estimates(stats, np.add(means, widths)[np.newaxis])
    ceilings = np.full((1, arms), np.inf)
    limits = np.array(tolerances), lexicographic.Limits(0.5, blur, lam)
    shares = lexicographic.shares_of_many(known, 0, ceilings, 0, *limits)
    if objectives <= 2:
        short = lexicographic.shares_of_two(known, 0, ceilings, 0, *limits)
        np.testing.assert_allclose(short, shares, rtol=1e-12)
    expected = probabilities(
        np.add(means, widths).tolist(),
        np.subtract(means, widths).tolist(),
        widths,
        0.5,
        np.maximum(tolerances, blur).tolist(),
        blur,
        lam,
        list(range(arms)),
    )
    np.testing.assert_allclose(shares, [expected.get(a, 0.0) for a in range(arms)], atol=1e-12)


def test_a_tolerance_makes_a_worse_arm_as_good() -> None:
    """Arm 1 is 0.1 worse in objective 1 and better in objective 2: it depends on the tolerance."""
    outcomes = np.tile([[0.6, 0.1], [0.5, 0.9]], (4000, 1, 1))
    rounds = Rounds(np.full((4000, 1), 0.5), outcomes)
    for tolerance, late in ((0.0, 0), ([0.15, 0.0], 1)):
        policy = lexbandit.make_policy(
            "moc-mab", arms=2, dimension=1, horizon=4000, cells_per_side=1, L=0.01, scale=0.01,
            beta=3.0, tolerance=tolerance,
        )  # fmt: skip
        assert (policy.replay(rounds)[-500:] == late).all()


@pytest.mark.parametrize("tolerance", [-0.1, [0.1], [0.1, -1], math.nan, "a"])
@pytest.mark.parametrize("name", ["moc-mab", "staged-lex", "lex-tree"])
def test_wrong_tolerances_are_refused(name: str, tolerance: Any) -> None:
    with pytest.raises(InvalidInput, match="tolerance"):
        lexbandit.make_policy(name, arms=2, dimension=1, horizon=100, tolerance=tolerance)


def test_rewards_must_have_as_many_entries_as_there_are_objectives() -> None:
    policy = lexbandit.make_policy("moc-mab", arms=2, dimension=1, objectives=3, horizon=100)
    with pytest.raises(InvalidInput, match=r"rewards must have shape \(3\), got \(2,\)"):
        policy.update([0.5], 0, [0.1, 0.2])


def _survival(policy: Any, environment: Any, contexts: np.ndarray) -> tuple[int, int, int]:
    """How often an optimal arm was dropped, of how many levels passed; and the deepest."""
    optimal = environment.optimal_arms(environment.means(contexts))
    dropped = passed = deepest = 0
    for context, best in zip(contexts, optimal, strict=True):
        slot = policy._memory.slot(policy.partition.locate(context))
        v = policy._margin(slot)
        if isinstance(policy, EliminatingRule):
            candidates = policy._reason(slot, policy._no_ceiling, np.ones(policy.arms))[0]
            opened = [np.flatnonzero(candidates).tolist()]
        else:
            limits = lexicographic.Limits(policy.beta * v, 2 * v, policy.lam)
            known, ceilings = policy._memory.cells, policy._no_ceiling
            opened = levels_of(known, slot, ceilings, policy.tolerances, limits).opened
        for arms in opened:
            passed += 1
            dropped += not set(np.flatnonzero(best)) <= set(arms)
        deepest = max(deepest, len(opened))
    return dropped, passed, deepest


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["moc-mab", "staged-lex"])
def test_the_optimal_arm_survives_every_level(name: str) -> None:
    """The theory: with probability 1 − 1/T it is never dropped. Here it never is, in 20 runs.

    One failure in 20 runs would have probability 20/T = 0.001. The levels are passed, so it could
    be dropped; and with widths a hundred times too small it is.
    """
    n = 20_000
    environment: Any = lexbandit.make_environment(
        "planted", arms=5, objectives=3, dimension=1, assumption=0.5
    )
    contexts = np.random.default_rng(0).random((60, 1))
    for scale, seeds in ((1.0, 20), (0.01, 3)):
        dropped = passed = deepest = 0
        for seed in range(seeds):
            policy = lexbandit.make_policy(
                name, arms=5, dimension=1, objectives=3, horizon=n, lam=0.5, cells_per_side=2,
                L=environment.lipschitz if scale == 1.0 else 1e-3, bound="sub-gaussian",
                scale=scale, seed=seed,
            )  # fmt: skip
            for block in environment.stream(n, seed=seed, block=4000):
                policy.replay(block)
                found = _survival(policy, environment, contexts)
                dropped, passed = dropped + found[0], passed + found[1]
                deepest = max(deepest, found[2])
        assert passed > 500
        assert (dropped == 0) == (scale == 1.0)
        assert deepest == (2 if name == "moc-mab" else 1)


class TestTree:
    def test_a_boundary_belongs_to_the_upper_half_and_one_to_the_last(self) -> None:
        tree = AdaptiveTree(1)
        tree.enter_all(np.array([[0.1]]))  # the root is full after one
        assert tree.assign([[0.0], [0.49999], [0.5], [1.0]]).tolist() == [0b10, 0b10, 0b11, 0b11]

    @given(
        st.lists(st.tuples(*[st.floats(0, 1)] * 2), min_size=1, max_size=200),
        st.floats(0.5, 3.0),
    )
    def test_one_at_a_time_and_a_block_give_the_same_tree(
        self, points: list[tuple[float, float]], rho: float
    ) -> None:
        contexts = np.array(points)
        block, single = AdaptiveTree(2, rho=rho), AdaptiveTree(2, rho=rho)
        keys = block.enter_all(contexts)
        for t, context in enumerate(contexts):
            assert single.locate(context) == keys[t]
            single.arrived(int(keys[t]))
        np.testing.assert_array_equal(block.assign(contexts), single.assign(contexts))

    def test_leaves_cover_the_cube_once(self) -> None:
        """Every leaf's key starts with no other leaf's key, and volumes of leaves sum to 1."""
        tree = AdaptiveTree(2)
        tree.enter_all(np.random.default_rng(0).random((3000, 2)) ** 2)
        side = np.linspace(0.0, 1.0, 129)[:-1] + 1 / 300
        points = np.array([[x, y] for x in side for y in side])
        keys, counts = np.unique(tree.assign(points), return_counts=True)
        volumes = [4.0 ** -tree.level_of(int(key)) for key in keys]
        np.testing.assert_allclose(counts / len(points), volumes, rtol=0.05)
        assert sum(volumes) == 1.0

    def test_the_confidence_sums_to_delta_over_all_levels(self) -> None:
        tree = AdaptiveTree(3)
        total = sum(2 ** (3 * level) / tree.cells_at(level) for level in range(10_000))
        assert total == pytest.approx(1.0, abs=1e-3)

    def test_widths_and_margins_follow_the_level(self) -> None:
        policy = lexbandit.make_policy("lex-tree", arms=2, dimension=1, seed=0, L=2.0)
        assert isinstance(policy, LexicographicRule)
        random = np.random.default_rng(0)
        policy.replay(Rounds(random.random((600, 1)), random.random((600, 2, 2))))
        key = policy.partition.locate(np.array([0.3]))
        level = policy.partition.level_of(key)
        assert level >= 2
        report = policy.explain([0.3]).arms[0]
        bound = SubGaussianBound(arms=2, cells=2**level * (level + 1) * (level + 2), delta=0.05)
        assert report.width[0] == pytest.approx(bound.width(report.plays))
        assert policy._margin(policy._memory.slot(key)) == 2.0 * 2.0**-level

    def test_a_state_with_a_leaf_whose_parent_is_missing_is_refused(self) -> None:
        policy = lexbandit.make_policy("lex-tree", arms=2, dimension=1)
        random = np.random.default_rng(0)
        policy.replay(Rounds(random.random((100, 1)), random.random((100, 2, 2))))
        state = policy.state()
        for array in ("cells", "plays", "counts", "sums"):
            state[array] = state[array][1:]  # without the root
        with pytest.raises(InvalidInput, match="below cells that were split"):
            policy.load_state(state)

    def test_many_features_are_one_cell(self) -> None:
        """62 features and more have no room for a level of keys; nothing breaks."""
        policy = lexbandit.make_policy("lex-tree", arms=2, dimension=70)
        random = np.random.default_rng(0)
        policy.replay(Rounds(random.random((50, 70)), random.random((50, 2, 2))))
        assert policy.state()["cells"].tolist() == [1]

    @pytest.mark.parametrize(("key", "value"), [("rho", 0), ("split_after", -1), ("dimension", 0)])
    def test_bad_parameters(self, key: str, value: float) -> None:
        with pytest.raises(InvalidInput, match=f"{key} must be"):
            AdaptiveTree(**{"dimension": 2, key: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["moc-mab", "lex-linucb"])
def test_a_top_arm_that_is_unknown_in_an_earlier_objective_is_played_and_told_so(name: str) -> None:
    """With rewards missing, the test of level 2 is on the widths u^1 and u^2 of its top arm.

    Arm 1 is known well in objectives 2 and 3 and hardly in objective 1. By u^2 alone the third
    objective would be considered, and would take arm 0.
    """
    own: dict[str, Any] = {"scale": 0.24, "L": 0.1, "horizon": 1000, "cells_per_side": 1}
    if name == "lex-linucb":
        own = {"features": "raw", "scale": 5, "start": 1}
    policy = lexbandit.make_policy(name, arms=2, dimension=1, objectives=3, **own)
    for _ in range(1500):
        policy.update([0.5], 0, [0.8, 0.3, 0.9])
        policy.update([0.5], 1, [math.nan, 0.5, 0.1])
    for _ in range(20):
        policy.update([0.5], 1, [0.38, 0.5, 0.1])
    explanation = policy.explain([0.5])
    first, second = explanation.arms
    limit = policy.margin if name == "moc-mab" else policy.tau  # type: ignore[attr-defined]
    assert max(*first.width, *second.width[1:]) <= limit < second.width[0]
    assert first.index[0] > second.index[0]  # so level 1 is passed by arm 0
    assert explanation.unsure
    assert [level.top for level in explanation.levels] == [0, 1]
    assert policy.select([0.5]).arm == 1
    why = f"highest index in objective 2, but its width {second.width[0]:.4g} in objective 1"
    assert why in explanation.reason
    assert "objective 3 is not considered yet" in explanation.reason
