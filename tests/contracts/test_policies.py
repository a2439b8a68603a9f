"""What every policy must do: walks the registry, so a new policy is checked by existing."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.policies import REGISTRY, Policy
from lexbandit.rounds import Rounds
from support import EVERY_POLICY, OWN, assert_same_state, make, on_cells, some_rounds, step

CONTEXT = np.array([0.4, 0.7])
every_policy = pytest.mark.parametrize("name", EVERY_POLICY)
every_policy_on_cells = pytest.mark.parametrize("name", [n for n in EVERY_POLICY if on_cells(n)])


def masked(rounds: Rounds, seed: int) -> Rounds:
    """The same rounds with random masks, at least one arm allowed in each."""
    random = np.random.default_rng(seed)
    allowed = random.random((len(rounds), rounds.arms)) < 0.5
    allowed[np.arange(len(rounds)), random.integers(rounds.arms, size=len(rounds))] = True
    return Rounds(rounds.contexts, rounds.outcomes, rounds.means, allowed)


def holey(rounds: Rounds, seed: int) -> Rounds:
    """The same rounds with a third of the rewards unobserved."""
    hidden = np.random.default_rng(seed).random(rounds.outcomes.shape) < 1 / 3
    outcomes = np.where(hidden, np.nan, rounds.outcomes)
    return Rounds(rounds.contexts, outcomes, rounds.means, rounds.allowed)


@every_policy
def test_has_a_line_of_description(name: str) -> None:
    assert REGISTRY.describe(name).endswith((".", ")."))
    assert make(name).name == name
    assert name in repr(make(name))


@every_policy
@pytest.mark.parametrize("kind", ["plain", "binary", "masked", "holey"])
def test_one_at_a_time_and_replay_are_identical(name: str, kind: str) -> None:
    rounds = some_rounds(300, binary=kind == "binary")
    if kind == "masked":
        rounds = masked(rounds, 1)
    if kind == "holey":
        rounds = holey(rounds, 1)
    slowly, quickly = make(name, seed=3), make(name, seed=3)
    np.testing.assert_array_equal(step(slowly, rounds), quickly.replay(rounds))
    assert_same_state(slowly, quickly)


@every_policy
def test_the_plain_loop_of_the_base_class_is_the_meaning(name: str) -> None:
    rounds = some_rounds(100, binary=True)
    plain, compiled = make(name, seed=1), make(name, seed=1)
    np.testing.assert_array_equal(Policy.replay(plain, rounds), compiled.replay(rounds))


@every_policy
@settings(max_examples=8)  # for each of many policies
@given(cut=st.integers(0, 200), seed=st.integers(0, 5))
def test_splitting_a_replay_changes_nothing(name: str, cut: int, seed: int) -> None:
    rounds = some_rounds(200, seed=seed, binary=True)
    whole, parts = make(name, seed=seed), make(name, seed=seed)
    arms = np.concatenate([parts.replay(rounds[:cut]), parts.replay(rounds[cut:])])
    np.testing.assert_array_equal(whole.replay(rounds), arms)
    assert_same_state(whole, parts)


@every_policy
def test_same_seed_same_arms_other_seed_other_arms(name: str) -> None:
    rounds = some_rounds(300, binary=True)
    first, again, other = (make(name, seed=s).replay(rounds) for s in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    if name != "oracle":  # its optimum is unique in these rounds
        assert (first != other).any()


@every_policy
def test_select_changes_only_the_random_state(name: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(100, binary=True))
    before = policy.state()
    for context in np.random.default_rng(0).random((50, 2)):
        policy.select(context)
        policy.explain(context)
    after = policy.state()
    for array in before:
        if array != "random":
            np.testing.assert_array_equal(before[array], after[array])


@pytest.mark.parametrize("name", [name for name in EVERY_POLICY if name != "oracle"])
def test_a_pickled_policy_decides_as_the_policy(name: str) -> None:
    """The oracle is made with a function of the test's own here, which cannot be pickled."""
    rounds = some_rounds(60, binary=True)
    policy = make(name)
    policy.replay(rounds)
    again = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(again.replay(rounds), policy.replay(rounds))


def test_a_policy_with_other_loops_for_three_objectives_is_pickled_too() -> None:
    random = np.random.default_rng(0)
    rounds = Rounds(random.random((60, 2)), random.random((60, 4, 3)))
    policy = lexbandit.make_policy("moc-mab", arms=4, dimension=2, objectives=3, horizon=200)
    policy.replay(rounds)
    again = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(again.replay(rounds), policy.replay(rounds))


@every_policy
@pytest.mark.parametrize("learned", [0, 40, 400])
@pytest.mark.parametrize("mask", [None, [True, False, True, True], [False, True, False, False]])
def test_propensities_are_exact(name: str, learned: int, mask: list[bool] | None) -> None:
    """They sum to 1, agree between select and explain, and match frequencies.

    Where they have no closed form they are NaN in both, and only candidates are played.

    Chi-square over 1,000 draws, or 300 with a mask, fixed seed; 27.9 is its 1 − 10⁻⁵ quantile at
    4 degrees of freedom or fewer.
    """
    policy = make(name, seed=11)
    policy.replay(some_rounds(400, binary=True)[:learned])
    shares = np.array([report.propensity for report in policy.explain(CONTEXT, mask).arms])
    if np.isnan(shares).any():
        likely = policy.explain(CONTEXT, mask).likely
        decisions = [policy.select(CONTEXT, mask) for _ in range(300)]
        assert all(math.isnan(propensity) for _, propensity in decisions)
        assert {arm for arm, _ in decisions} <= set(likely)
        assert mask is None or all(mask[arm] for arm in likely)
        return
    assert math.isclose(shares.sum(), 1.0, abs_tol=1e-12)
    if mask is not None:
        assert (shares[~np.array(mask)] == 0).all()
    draws = 1000 if mask is None else 300
    counts = np.zeros(4)
    for _ in range(draws):
        decision = policy.select(CONTEXT, mask)
        assert math.isclose(decision.propensity, shares[decision.arm], rel_tol=1e-12)
        counts[decision.arm] += 1
    possible = shares > 0
    assert counts[~possible].sum() == 0
    expected = draws * shares[possible]
    assert ((counts[possible] - expected) ** 2 / expected).sum() < 27.9


@every_policy
@settings(max_examples=8)
@given(order=st.permutations(range(4)), seed=st.integers(0, 3), learned=st.integers(0, 120))
def test_permuting_arms_permutes_decisions(
    name: str, order: list[int], seed: int, learned: int
) -> None:
    rounds = some_rounds(120, seed=seed, binary=True)
    arms = np.random.default_rng(seed).integers(4, size=120)
    policy, permuted = make(name, seed=seed), make(name, seed=seed)
    if name == "oracle":
        from support import flat_means

        permuted = lexbandit.make_policy(
            "oracle", arms=4, dimension=2, means=lambda x: flat_means(x)[:, np.argsort(order)]
        )
    for t in range(learned):
        policy.update(rounds.contexts[t], arms[t], rounds.outcomes[t, arms[t]])
        permuted.update(rounds.contexts[t], order[arms[t]], rounds.outcomes[t, arms[t]])
    for context in rounds.contexts[:10]:
        before = [report.propensity for report in policy.explain(context).arms]
        after = [report.propensity for report in permuted.explain(context).arms]
        np.testing.assert_allclose([after[order[a]] for a in range(4)], before, atol=1e-12)


@every_policy
def test_state_round_trip_goes_on_identically(name: str) -> None:
    rounds = some_rounds(400, binary=True)
    policy, restored = make(name, seed=1), make(name, seed=2)
    policy.replay(rounds[:200])
    restored.load_state(policy.state())
    assert_same_state(policy, restored)
    if name != "oracle":
        assert str(restored.explain(CONTEXT)) == str(policy.explain(CONTEXT))
    np.testing.assert_array_equal(policy.replay(rounds[200:]), restored.replay(rounds[200:]))


@every_policy
def test_state_is_a_copy(name: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    before, given = policy.state(), policy.state()
    for array in given.values():
        array[...] = 0
    for key, array in policy.state().items():
        np.testing.assert_array_equal(array, before[key])
    restored, given = make(name), policy.state()
    restored.load_state(given)
    for array in given.values():
        array[...] = 0
    for key, array in restored.state().items():
        np.testing.assert_array_equal(array, before[key])


@every_policy_on_cells
def test_plays_and_counts_add_up(name: str) -> None:
    rounds = holey(some_rounds(300), 4)
    policy = make(name)
    arms = policy.replay(rounds)
    state = policy.state()
    np.testing.assert_array_equal(state["plays"].sum(0), np.bincount(arms, minlength=4))
    received = rounds.outcomes[np.arange(300), arms]
    for i in range(2):
        seen = ~np.isnan(received[:, i])
        np.testing.assert_array_equal(
            state["counts"][:, :, i].sum(0), np.bincount(arms[seen], minlength=4)
        )
        assert math.isclose(state["sums"][:, :, i].sum(), received[seen, i].sum())


@every_policy
def test_only_allowed_arms_are_played(name: str) -> None:
    rounds = masked(some_rounds(500, binary=True), 9)
    arms = make(name).replay(rounds)
    assert rounds.allowed is not None
    assert rounds.allowed[np.arange(500), arms].all()


@every_policy
def test_an_added_arm_starts_unknown_and_is_tried(name: str) -> None:
    policy, larger = make(name, arms=3), make(name, arms=4)
    rounds = some_rounds(200, binary=True)
    chosen = np.random.default_rng(0).integers(3, size=200)
    for t in range(200):
        for one in (policy, larger):
            one.update(rounds.contexts[t], chosen[t], rounds.outcomes[t, chosen[t]])
    assert policy.add_arm() == 3
    assert policy.arms == 4
    if name == "oracle":
        return  # it is told its means when it is made
    old, new = policy.explain(CONTEXT), larger.explain(CONTEXT)
    for before, after in zip(old.arms, new.arms, strict=True):
        assert before.plays == after.plays
        np.testing.assert_allclose(before.mean, after.mean)
        np.testing.assert_allclose(before.width, after.width)
    arms = policy.replay(some_rounds(300, seed=1))
    assert (arms == 3).any()


@every_policy
def test_rewards_may_come_late_and_in_any_order(name: str) -> None:
    rounds = some_rounds(60)
    policy = make(name)
    decisions = [policy.select(context) for context in rounds.contexts]
    for t in np.random.default_rng(0).permutation(60):
        policy.update(rounds.contexts[t], decisions[t].arm, rounds.outcomes[t, decisions[t].arm])
    if on_cells(name):
        assert policy.state()["plays"].sum() == 60


@every_policy
def test_explanation_reads_well(name: str) -> None:
    policy = make(name)
    assert " - " in str(policy.explain(CONTEXT))  # no mean yet
    policy.replay(some_rounds(300))
    explanation = policy.explain(CONTEXT, [True, True, False, True])
    text = str(explanation)
    assert text.startswith(name)
    assert ("cell" in text.splitlines()[0]) == (explanation.cell is not None)
    assert explanation.reason[0].isupper()
    assert "not allowed" in text
    assert len(text.splitlines()) == 7
    assert explanation.likely
    assert all(explanation.arms[arm].candidate for arm in explanation.likely)
    assert text.endswith(explanation.reason)


WRONG_CONTEXTS: list[Any] = [
    [0.5], [0.5, 0.5, 0.5], [[0.5, 0.5]], [0.5, 1.5], [-0.1, 0.5], [math.nan, 0.5],
    [math.inf, 0.5], ["a", "b"], None, 0.5, [],
]  # fmt: skip
WRONG_REWARDS: list[Any] = [
    [0.5], [0.5, 0.5, 0.5], [math.inf, 0.5], [0.5, -math.inf], [1e101, 0], ["a", "b"], None, 0.5,
]  # fmt: skip
WRONG_ARMS: list[Any] = [-1, 4, 1.5, "0", None, 2**70]
WRONG_MASKS: list[Any] = [
    [True] * 3, [False] * 4, [1, 0, 1, 1], "all", [[True] * 4],
]  # fmt: skip


def refused(policy: Policy, act: Callable[[], Any]) -> str:
    """The message of a refusal that left the state as it was, random state and all."""
    before = policy.state()
    with pytest.raises(InvalidInput) as caught:
        act()
    after = policy.state()
    for array in before:
        np.testing.assert_array_equal(before[array], after[array])
    return str(caught.value)


@every_policy
def test_bad_input_is_refused_and_nothing_changes(name: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    for context in WRONG_CONTEXTS:
        assert "context" in refused(policy, lambda c=context: policy.select(c))  # type: ignore[misc]
        assert "context" in refused(policy, lambda c=context: policy.update(c, 0, [0, 0]))  # type: ignore[misc]
        assert "context" in refused(policy, lambda c=context: policy.explain(c))  # type: ignore[misc]
    for rewards in WRONG_REWARDS:
        assert "rewards" in refused(policy, lambda r=rewards: policy.update(CONTEXT, 0, r))  # type: ignore[misc]
    for arm in WRONG_ARMS:
        message = refused(policy, lambda a=arm: policy.update(CONTEXT, a, [0, 0]))  # type: ignore[misc]
        assert "from 0 to 3" in message
        assert repr(arm) in message
    for mask in WRONG_MASKS:
        assert "allowed" in refused(policy, lambda m=mask: policy.select(CONTEXT, m))  # type: ignore[misc]
    for rounds in (some_rounds(5, arms=3), "rounds"):
        refused(policy, lambda r=rounds: policy.replay(r))  # type: ignore[misc]


@every_policy_on_cells
def test_bad_input_in_a_cell_nobody_visited_leaves_it_unvisited(name: str) -> None:
    policy = make(name)
    refused(policy, lambda: policy.update(CONTEXT, 0, [math.inf, 0.0]))
    assert len(policy.state()["cells"]) == 0


@every_policy_on_cells
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("sums"), "no array 'sums'"),
        (lambda s: s.update(extra=s["plays"]), "unknown state array 'extra'"),
        (lambda s: s.update(plays=s["plays"][:, :2]), "shape"),
        (lambda s: s.update(plays=s["plays"] * 1.5), "int64"),
        (lambda s: s.update(plays=-s["plays"]), "at least 0"),
        (lambda s: s.update(counts=s["counts"] + 1), "counts"),
        (lambda s: s.update(sums=s["sums"] * math.nan), "finite"),
        (lambda s: s.update(counts=s["counts"] * 0), "0 without counts"),
        (lambda s: s.update(plays=s["plays"] + 2**60), "at most 2^53"),
        (
            lambda s: s.update(
                {
                    k: np.concatenate([v, v])
                    for k, v in s.items()
                    if k in ("cells", "plays", "counts", "sums", "spreads")
                }
            ),
            "twice",
        ),
        (lambda s: s.update(cells=s["cells"] + 10**9), "keys go from 0"),
        (lambda s: s.update(partition=s["partition"] + 1), "the state means something else"),
        (lambda s: s.update(random=np.zeros(3, np.uint64)), "shape"),
    ],
)
def test_a_wrong_state_is_refused(name: str, change: Any, words: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    state = policy.state()
    change(state)
    assert words in refused(policy, lambda: policy.load_state(state))


@every_policy
def test_any_state_with_an_array_missing_unknown_or_of_a_wrong_shape_is_refused(name: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    for array in policy.state():
        state = policy.state()
        del state[array]
        assert repr(array) in refused(policy, lambda s=state: policy.load_state(s))  # type: ignore[misc]
    state = policy.state() | {"extra": np.zeros(2)}
    assert "'extra'" in refused(policy, lambda: policy.load_state(state))
    state = policy.state() | {"random": np.zeros(3, np.uint64)}
    assert "shape" in refused(policy, lambda: policy.load_state(state))


@every_policy
def test_wrong_parameters_are_refused(name: str) -> None:
    good = {"arms": 3, "dimension": 2, "horizon": 100, **OWN.get(name, {})}
    for key, value in [
        ("horizon", 0), ("horizon", -5), ("horizon", 2.5), ("horizon", math.nan), ("scale", 0),
        ("scale", -1.0), ("scale", math.inf), ("arms", 0), ("dimension", 0), ("objectives", 0),
        ("alpha", 0), ("alpha", 1.5), ("L", 0), ("beta", 0), ("R", -1), ("seed", -1),
        ("seed", "x"), ("cells_per_side", 0), ("arms", True), ("lam", -0.5), ("delta", 0),
        ("delta", 2.0),
    ]:  # fmt: skip
        with pytest.raises(InvalidInput, match=f"{key} must be .* got {value!r}"):
            lexbandit.make_policy(name, **{**good, key: value})
    for value in (-1.0, "x", [0.1], [0.1, -1.0]):
        with pytest.raises(InvalidInput, match=r"tolerance.* must be .* got"):
            lexbandit.make_policy(name, **{**good, "tolerance": value})
    with pytest.raises(UnknownName, match="unknown bound 'holdr'; did you mean 'holder'"):
        lexbandit.make_policy(name, **{**good, "bound": "holdr"})
    with pytest.raises(UnknownName, match=r"'scael'; did you mean 'scale'\?"):
        lexbandit.make_policy(name, scael=1.0, **good)
    with pytest.raises(InvalidInput, match=f"{name} needs arms"):
        lexbandit.make_policy(name, dimension=2, horizon=100, **OWN.get(name, {}))


def test_an_unknown_policy_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"unknown policy 'mocmab'; did you mean 'moc-mab'\?"):
        lexbandit.make_policy("mocmab", arms=2, dimension=1, horizon=10)
