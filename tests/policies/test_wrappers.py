"""Policies in phases, and policies that wrap another one."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.policies import parameters_of, wraps
from lexbandit.policies.related.query_ad_clustering import phase_cells
from lexbandit.policies.wrappers.phases import PhasedPolicy
from lexbandit.policies.wrappers.projected import ProjectedPolicy, _seen_layout
from lexbandit.rounds import Rounds
from naive import run
from support import EVERY_POLICY, OWN, as_lists, assert_same_state, some_rounds, step
from twins.phases import DoublingMocMab, QueryAdClustering

PHASED: dict[str, dict[str, Any]] = {
    "doubling": {"policy": "moc-mab", "first": 3},
    "query-ad-clustering": {},
}


def phased(name: str, **parameters: Any) -> PhasedPolicy:
    values = {"arms": 4, "dimension": 2, "scale": 0.1, **PHASED[name], **parameters}
    policy = lexbandit.make_policy(name, **values)
    assert isinstance(policy, PhasedPolicy)
    return policy


def projected(visible: Any, **parameters: Any) -> ProjectedPolicy:
    values = {"policy": "moc-mab", "arms": 4, "dimension": 2, "horizon": 500, **parameters}
    policy = lexbandit.make_policy("projected", visible=visible, **values)
    assert isinstance(policy, ProjectedPolicy)
    return policy


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.05])
@pytest.mark.parametrize("first", [1, 100])
def test_doubling_plays_the_twins_arms(first: int, scale: float, seed: int) -> None:
    arms = 3 + seed
    rounds = some_rounds(1400, arms=arms, seed=seed)
    policy = phased("doubling", arms=arms, first=first, scale=scale, seed=seed)
    twin = DoublingMocMab(arms, 2, first=first, scale=scale, seed=seed)
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))
    assert policy.phase == twin.phase


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_query_ad_clustering_plays_the_twins_arms(scale: float, seed: int) -> None:
    arms = 3 + seed
    rounds = some_rounds(1500, arms=arms, seed=seed)
    policy = phased("query-ad-clustering", arms=arms, scale=scale, seed=seed)
    twin = QueryAdClustering(arms, 2, scale=scale, seed=seed)
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))
    assert policy.phase == twin.phase == 10


@given(
    phase=st.integers(0, 24),
    dimension=st.integers(1, 6),
    L=st.floats(0.1, 10),
    alpha=st.floats(0.1, 1),
)
def test_cells_have_the_diameter_that_the_phase_asks_for(
    phase: int, dimension: int, L: float, alpha: float
) -> None:
    side = phase_cells(phase=phase, dimension=dimension, L=L, alpha=alpha)
    wanted = 2 ** (-phase / (dimension / alpha + 2))
    assert L * (math.sqrt(dimension) / side) ** alpha <= wanted * (1 + 1e-9)
    if side > 1:
        assert L * (math.sqrt(dimension) / (side - 1)) ** alpha > wanted * (1 - 1e-9)


@pytest.mark.parametrize("name", PHASED)
@given(cuts=st.lists(st.integers(0, 200), max_size=6), seed=st.integers(0, 3))
def test_blocks_and_single_rounds_cross_phases_alike(name: str, cuts: list[int], seed: int) -> None:
    rounds = some_rounds(200, seed=seed, binary=True)
    whole, parts, single = (phased(name, seed=seed) for _ in range(3))
    places = [0, *sorted(cuts), 200]
    pieces = [rounds[a:b] for a, b in pairwise(places)]
    arms = np.concatenate([parts.replay(piece) for piece in pieces])
    np.testing.assert_array_equal(whole.replay(rounds), arms)
    np.testing.assert_array_equal(step(single, rounds), arms)
    assert_same_state(whole, parts)
    assert_same_state(whole, single)


@pytest.mark.parametrize("name", PHASED)
@pytest.mark.parametrize("cut", [0, 1, 3, 9, 20, 21, 22, 31, 63, 100])
def test_a_state_is_of_its_phase(name: str, cut: int) -> None:
    rounds = some_rounds(200, binary=True)
    policy, restored = phased(name, seed=1), phased(name, seed=2)
    restored.replay(rounds[50:130])
    policy.replay(rounds[:cut])
    restored.load_state(policy.state())
    assert restored.phase == policy.phase
    assert_same_state(policy, restored)
    np.testing.assert_array_equal(policy.replay(rounds[cut:]), restored.replay(rounds[cut:]))
    assert_same_state(policy, restored)


@pytest.mark.parametrize("name", PHASED)
@pytest.mark.parametrize(
    "clock",
    [np.zeros(3, np.uint64), np.zeros(2), np.array([2**60, 0], np.uint64), [[1], [1, 2]], None],
)
def test_a_wrong_clock_is_refused(name: str, clock: Any) -> None:
    policy = phased(name)
    policy.replay(some_rounds(10))
    state = policy.state() | {"phases": clock}
    with pytest.raises(InvalidInput, match="phases"):
        policy.load_state(state)
    with pytest.raises(InvalidInput, match=r"what state\(\) returns"):
        policy.load_state(7)  # type: ignore[arg-type]


def test_a_state_of_another_phase_than_it_says_is_refused() -> None:
    policy = phased("doubling")
    policy.replay(some_rounds(2000))
    state = policy.state()
    state["phases"][0] = 1
    with pytest.raises(InvalidInput, match="means something else"):
        policy.load_state(state)


def test_nothing_changes_when_a_later_phase_cannot_be_made() -> None:
    """A grid with more than 2^63 cells: met before the first of these rounds is learned."""
    random = np.random.default_rng(0)
    rounds = Rounds(random.random((40, 70)), random.random((40, 2, 2)))
    policy = phased("doubling", arms=2, dimension=70, first=1)
    before = policy.state()
    with pytest.raises(InvalidInput, match="too fine"):
        policy.replay(rounds)
    for key, array in policy.state().items():
        np.testing.assert_array_equal(array, before[key])


@pytest.mark.parametrize("name", PHASED)
def test_an_added_arm_stays_in_later_phases(name: str) -> None:
    policy = phased(name, arms=3)
    policy.replay(some_rounds(30, arms=3))
    assert policy.add_arm() == 3
    arms = policy.replay(some_rounds(500, seed=1))
    assert policy.inner.arms == policy.arms == 4
    assert (arms[100:] == 3).any()


def test_the_explanation_says_where_the_phase_is() -> None:
    policy = phased("doubling")
    policy.replay(some_rounds(25))
    assert policy.explain([0.5, 0.5]).reason.startswith("Phase 3, round 5 of 24. ")


def test_seeds_of_phases_differ() -> None:
    policy = phased("doubling", first=4, cells_per_side=1)
    starts = [policy.inner.state()["random"][1]]
    rounds = some_rounds(60)
    policy.replay(rounds[:4])
    starts.append(policy.inner.state()["random"][1])
    policy.replay(rounds[4:12])
    starts.append(policy.inner.state()["random"][1])
    assert len(set(starts)) == 3


@pytest.mark.parametrize("visible", [[0], [1], [1, 0], (0, 1), np.array([1])])
def test_projected_is_the_policy_on_what_it_sees(visible: Any) -> None:
    rounds = some_rounds(500, binary=True)
    policy = projected(visible, scale=0.1, seed=4)
    seen = Rounds(rounds.contexts[:, list(visible)], rounds.outcomes, rounds.means)
    alone = lexbandit.make_policy(
        "moc-mab", arms=4, dimension=len(visible), horizon=500, scale=0.1, seed=4
    )
    np.testing.assert_array_equal(policy.replay(rounds), alone.replay(seen))
    assert (
        policy.explain([0.2, 0.9]).arms == alone.explain(np.array([0.2, 0.9])[list(visible)]).arms
    )


def test_an_unseen_feature_must_be_a_context_all_the_same() -> None:
    policy = projected([0])
    with pytest.raises(InvalidInput, match=r"context\[1\] is .*1.5"):
        policy.select([0.5, 1.5])


@pytest.mark.parametrize(
    ("visible", "words"),
    [
        ([], "at least one"),
        ([0, 0], "none twice"),
        ([2], r"visible\[0\] must be a whole number of at least 0 and at most 1, got 2"),
        ([0, -1], r"visible\[1\]"),
        ([0.5], r"visible\[0\]"),
        ([True], r"visible\[0\]"),
        ("01", "list of numbers"),
        (1, "list of numbers"),
    ],
)
def test_wrong_visible_features_are_refused(visible: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        projected(visible)


def test_a_state_of_other_features_is_refused() -> None:
    with pytest.raises(InvalidInput, match="means something else"):
        projected([0]).load_state(projected([1]).state())


@pytest.mark.parametrize("wrapper", ["doubling", "projected"])
def test_wrappers_take_what_the_inner_policy_takes_and_nothing_else(wrapper: str) -> None:
    given: dict[str, Any] = {"arms": 4, "dimension": 2, "horizon": 100}
    if wrapper == "projected":
        given["visible"] = [0]
    weights = [[1.0, 0.0]]
    policy = lexbandit.make_policy(wrapper, policy="cs-ucb1", weights=weights, **given)
    assert policy.inner.weights.tolist() == weights  # type: ignore[attr-defined]
    with pytest.raises(UnknownName, match=r"parameter of \w+ 'weihgts'; did you mean 'weights'"):
        lexbandit.make_policy(wrapper, policy="cs-ucb1", weihgts=weights, **given)
    with pytest.raises(UnknownName, match=r"parameter of \w+ 'weights'"):
        lexbandit.make_policy(wrapper, policy="moc-mab", weights=weights, **given)
    with pytest.raises(UnknownName, match=r"unknown policy 'mocmab'; did you mean 'moc-mab'"):
        lexbandit.make_policy(wrapper, policy="mocmab", **given)
    with pytest.raises(UnknownName, match="unknown policy 3"):
        lexbandit.make_policy(wrapper, policy=3, **given)
    with pytest.raises(InvalidInput, match=f"{wrapper} cannot wrap doubling"):
        lexbandit.make_policy(wrapper, policy="doubling", **given)
    with pytest.raises(InvalidInput, match=f"{wrapper} needs policy"):
        lexbandit.make_policy(wrapper, **given)


INNER = [name for name in EVERY_POLICY if not wraps(name) and name != "oracle"]


@pytest.mark.parametrize("name", [n for n in INNER if "horizon" in parameters_of(n)])
def test_doubling_takes_every_policy_with_a_horizon(name: str) -> None:
    """From a phase of one round on, one at a time as in one replay."""
    rounds = some_rounds(130, binary=True)
    inner = {**OWN.get(name, {}), "policy": name}
    one, other = (phased("doubling", first=1, **inner) for _ in range(2))
    np.testing.assert_array_equal(one.replay(rounds), step(other, rounds))
    assert_same_state(one, other)


@pytest.mark.parametrize("name", INNER)
def test_projected_takes_every_policy(name: str) -> None:
    rounds = some_rounds(130, binary=True)
    inner = {**OWN.get(name, {}), "policy": name}
    one, other = (projected([1], **inner) for _ in range(2))
    np.testing.assert_array_equal(one.replay(rounds), step(other, rounds))
    assert_same_state(one, other)


def test_doubling_needs_a_horizon_to_double() -> None:
    with pytest.raises(InvalidInput, match="random has no use for a horizon"):
        phased("doubling", policy="random")
    for first in (0, 1.5, "x"):
        with pytest.raises(InvalidInput, match="first must be a whole number"):
            phased("doubling", first=first)


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        ([0, 1, 2, 3, 4], [("number", 1), ("category", 3), ("number", 1)]),
        ([4, 1, 2, 3], [("number", 1), ("category", 3)]),
        ([1, 2, 4], [("number", 1)] * 3),
        ([3, 2, 1], [("number", 1)] * 3),
    ],
)
def test_a_feature_that_is_seen_in_part_is_numbers(
    visible: list[int], seen: list[tuple[str, int]]
) -> None:
    assert _seen_layout((("number", 1), ("category", 3), ("number", 1)), visible) == seen
    assert _seen_layout((), visible) == []
