"""lex-thompson's memory: sums, merges, priors, states, and what estimates fall back to."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.kernels import pooled
from lexbandit.policies.linear.pooled import PooledPolicy
from support import assert_same_state

pytestmark = pytest.mark.compiled

MIXED = (("number", 1), ("category", 3))

Stream = tuple[np.ndarray, np.ndarray, np.ndarray]


def make(
    *, arms: int = 4, layout: Any = MIXED, objectives: int = 2, **settings: Any
) -> PooledPolicy:
    policy = lexbandit.make_policy(
        "lex-thompson",
        arms=arms,
        objectives=objectives,
        dimension=sum(size for _, size in layout),
        layout=layout,
        **settings,
    )
    assert isinstance(policy, PooledPolicy)
    return policy


def stream(n: int, *, seed: int = 0, arms: int = 4, binary: bool = False) -> Stream:
    """Contexts of a number and a category, arms played at random, rewards that are in part missing.

    The first two arms are alike; rewards in [0, 1] that have two digits, so that sums are exact.
    """
    random = np.random.default_rng(seed)
    contexts = np.hstack(
        [random.integers(65, size=(n, 1)) / 64, np.eye(3)[random.integers(3, size=n)]]
    )
    slopes = np.random.default_rng(99).normal(0.0, 0.3, (2, arms, 4))
    slopes[:, 1] = slopes[:, 0]
    played = random.integers(arms, size=n)
    means = 0.5 + np.einsum("nd,iad->nai", contexts, slopes)[np.arange(n), played]
    rewards = np.round(64 * np.clip(means + 0.1 * random.normal(size=(n, 2)), 0.0, 1.0)) / 64
    if binary:
        rewards = (random.random((n, 2)) < means).astype(float)
    rewards[random.random((n, 2)) < 0.1] = math.nan
    return contexts, played, rewards


def points(n: int = 10) -> Iterator[np.ndarray]:
    """Contexts, the last one of a category never seen."""
    yield from stream(n, seed=77)[0]
    yield np.array([0.3, 0.0, 0.0, 0.0])


def assert_same_estimates(one: PooledPolicy, other: PooledPolicy, rtol: float = 1e-9) -> None:
    for point in points():
        np.testing.assert_allclose(one.predict(point), other.predict(point), rtol=rtol, atol=rtol)
        for mine, theirs in zip(one.explain(point).arms, other.explain(point).arms, strict=True):
            assert (mine.plays, mine.observations) == (theirs.plays, theirs.observations)
            np.testing.assert_allclose(mine.index, theirs.index, rtol=rtol, atol=rtol)


def learned(data: Stream, **settings: Any) -> PooledPolicy:
    policy = make(**settings)
    policy.update_many(*data)
    return policy


def cut(data: Stream, part: slice) -> Stream:
    contexts, arms, rewards = data
    return contexts[part], arms[part], rewards[part]


def sums(state: Any) -> dict[str, np.ndarray]:
    """All that adds up, of a state."""
    fields = [pooled.COUNT, pooled.TOTAL, pooled.SQUARE]
    return {
        "plays": state["plays"],
        "rounds": state["rounds"],
        "tallies": state["tallies"][:, :, fields],
        "moments": state["vectors"][:, :, pooled.MOMENT],
        "grams": state["matrices"][:, :, pooled.GRAM],
        "facts": state["facts"][:, [pooled.SEEN, pooled.OTHER]],
    }


# Merging.


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("at", [0, 1, 250, 600])
def test_merged_sums_are_those_of_the_whole(at: int, binary: bool) -> None:
    """Exactly where the rewards are multiples of 1/64, as here, apart from products of features."""
    data = stream(600, binary=binary)
    first, second = learned(cut(data, slice(at))), learned(cut(data, slice(at, None)), seed=5)
    before = [sums(policy.state()) for policy in (first, second)]
    random = first.state()["random"]
    first.merge(second.state())
    merged, whole = sums(first.state()), sums(learned(data).state())
    for name, found in merged.items():
        np.testing.assert_array_equal(found, before[0][name] + before[1][name], err_msg=name)
        np.testing.assert_allclose(found, whole[name], rtol=1e-13, atol=1e-13, err_msg=name)
    for name in ("plays", "rounds", "tallies", "facts"):
        np.testing.assert_array_equal(merged[name], whole[name], err_msg=name)
    np.testing.assert_array_equal(first.state()["random"], random)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("at", [0, 5, 250, 600])
def test_estimates_after_a_merge_depend_on_the_sums_alone(at: int, binary: bool) -> None:
    """first + second, second + first and nothing + everything agree."""
    data = stream(600, binary=binary)
    one, other = learned(cut(data, slice(at))), learned(cut(data, slice(at, None)))
    backwards, everything = learned(cut(data, slice(at, None))), make()
    backwards.merge(one.state())
    everything.merge(learned(data).state())
    one.merge(other.state())
    assert_same_estimates(one, backwards)
    assert_same_estimates(one, everything)


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 300), min_size=2, max_size=4), seed=st.integers(0, 99))
def test_any_number_of_parts_in_any_order(cuts: list[int], seed: int) -> None:
    data = stream(300, seed=seed)
    edges = [0, *sorted(cuts), 300]
    parts = [cut(data, slice(a, b)) for a, b in pairwise(edges)]
    forwards, backwards = make(), make()
    for part in parts:
        forwards.merge(learned(part).state())
    for part in parts[::-1]:
        backwards.merge(learned(part).state())
    assert_same_estimates(forwards, backwards)


def test_a_merge_is_near_what_was_learned_in_turn() -> None:
    """Scales and noise come from other steps to the same sums: estimates within .3 deviations."""
    data = stream(2000)
    whole, first = learned(data), learned(cut(data, slice(900)))
    first.merge(learned(cut(data, slice(900, None))).state())
    for point in points():
        (means, deviations), (others, wide) = whole.predict(point), first.predict(point)
        assert (np.abs(means - others) / deviations).max() < 0.3
        np.testing.assert_allclose(deviations, wide, rtol=0.2)


def test_merged_priors_count_once() -> None:
    """Also when an arm came later, and a merged policy goes on as any other."""
    data = stream(400)
    one, other, whole = (make(arms=3) for _ in range(3))
    for policy in (one, other, whole):
        policy.add_arm(([0.7, 0.2], 25))
    one.update_many(*cut(data, slice(150)))
    other.update_many(*cut(data, slice(150, None)))
    whole.update_many(*data)
    one.merge(other.state())
    mine, wanted = one.state(), whole.state()
    for field in (pooled.WEIGHT, pooled.MEAN, pooled.COUNT):
        np.testing.assert_array_equal(mine["tallies"][..., field], wanted["tallies"][..., field])
    for name, found in sums(mine).items():
        np.testing.assert_allclose(found, sums(wanted)[name], rtol=1e-11, atol=1e-11)
    assert one.explain([0.5, 1, 0, 0]).arms[3].prior == 25
    other.load_state(mine)
    assert_same_state(one, other)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"layout": (("number", 4),)}, "shape"),
        ({"layout": (("category", 3), ("number", 1))}, "features"),
        ({"arms": 3}, "shape"),
        ({"objectives": 3}, "shape"),
        ({"features": "raw"}, "shape|features"),
    ],
)
def test_other_definitions_are_not_merged_or_loaded(other: dict[str, Any], words: str) -> None:
    policy = learned(stream(50))
    before = make()
    before.load_state(policy.state())
    state = make(**other).state()
    for act in (policy.merge, policy.load_state):
        with pytest.raises(InvalidInput, match=words):
            act(state)
    assert_same_state(policy, before)


def test_other_priors_are_not_merged() -> None:
    one, other = make(arms=3), make(arms=3)
    one.add_arm(([0.5, 0.5], 3))
    for prior in (None, ([0.5, 0.4], 3), ([0.5, 0.5], 4)):
        other = make(arms=3)
        other.add_arm(prior)
        with pytest.raises(InvalidInput, match="same priors"):
            one.merge(other.state())


@pytest.mark.parametrize("other", [{"caution": 2.0}, {"draw_width": 1.0}, {"tolerance": 0.1}])
def test_other_settings_are_merged_and_loaded(other: dict[str, Any]) -> None:
    """They say how to choose, not what was seen."""
    policy, loaded = learned(stream(100)), make(**other)
    loaded.load_state(policy.state())
    assert_same_state(policy, loaded)
    loaded.merge(policy.state())
    assert loaded.state()["rounds"] == 200


# States.


@pytest.mark.parametrize("n", [0, 1, 7, 200])
@pytest.mark.parametrize("binary", [False, True])
def test_a_state_goes_on_bit_by_bit(n: int, binary: bool) -> None:
    data = stream(400, binary=binary)
    policy, restored = learned(cut(data, slice(n)), seed=1), make(seed=9)
    restored.load_state(policy.state())
    for each in (policy, restored):
        each.update_many(*cut(data, slice(n, None)))
    assert_same_state(policy, restored)
    chosen = [[each.select(point) for point in points(20)] for each in (policy, restored)]
    assert chosen[0] == chosen[1]


def test_a_state_is_a_copy() -> None:
    policy, same = learned(stream(60)), learned(stream(60))
    for array in policy.state().values():
        array[...] = 7
    state = same.state()
    other = make()
    other.load_state(state)
    for array in state.values():
        array[...] = 7
    assert_same_state(policy, same)
    assert_same_state(other, same)


def damage(array: str, place: Any, act: Callable[[Any], Any]) -> Callable[[Any], None]:
    def change(state: dict[str, np.ndarray]) -> None:
        state[array][place] = act(state[array][place])

    return change


EVERY = np.s_[...]
DAMAGED = {
    "nan tallies": (damage("tallies", (0, 0, pooled.TOTAL), lambda _: math.nan), "finite"),
    "nan residual": (damage("tallies", (1, 0, pooled.RESIDUAL), lambda _: math.nan), "finite"),
    "infinite vectors": (damage("vectors", (0, 0, 0, 0), lambda _: math.inf), "finite"),
    "nan matrices": (damage("matrices", (0, 0, 0, 1, 1), lambda _: math.nan), "finite"),
    "nan shared": (damage("shared", (0, pooled.COMMON, 0), lambda _: math.nan), "finite"),
    "nan common": (damage("common", (1, 0, 0), lambda _: math.nan), "finite"),
    "nan facts": (damage("facts", (0, pooled.NOISE), lambda _: math.nan), "finite"),
    "skew gram": (damage("matrices", (0, 0, 0, 0, 1), lambda x: x + 1e-3), "symmetric"),
    "skew inverse": (damage("matrices", (0, 0, 1, 0, 1), lambda x: x + 1e-3), "symmetric"),
    "skew common": (damage("common", (0, 0, 1), lambda x: x + 1e-3), "symmetric"),
    "negative gram": (damage("matrices", np.s_[0, 0, 0], lambda x: -x), "not negative"),
    "other gram": (damage("matrices", np.s_[0, 0, 0], lambda x: 2 * x), "inverse of its sum"),
    "other inverse": (damage("matrices", np.s_[2, 1, 1], lambda x: 1.01 * x), "inverse of its sum"),
    "penalty of 0": (damage("shared", (0, pooled.PENALTY, 2), lambda _: 0.0), "above 0"),
    "negative scale": (damage("shared", (1, pooled.SCALE, 1), lambda x: -x), "above 0"),
    "other penalty": (damage("shared", (0, pooled.PENALTY), lambda x: 3 * x), "inverse of its sum"),
    "other own part": (damage("vectors", (0, 1, pooled.OWN), lambda x: 1.001 * x), "from the sums"),
    "other moment": (damage("vectors", (0, 1, pooled.MOMENT), lambda x: 1.1 * x), "from the sums"),
    "other common": (damage("common", EVERY, lambda x: 1.001 * x), "from the sums"),
    "negative common": (damage("common", EVERY, lambda x: -x), "covariances are not negative"),
    "other weighted": (damage("shared", (0, pooled.WEIGHTED), lambda x: x + 0.1), "from the sums"),
    "other mean of all": (damage("shared", (0, pooled.COMMON), lambda x: x + 0.1), "from the sums"),
    "other pull": (damage("shared", (1, pooled.PULL, 0), lambda x: x + 0.1), "from the sums"),
    "too many counts": (damage("tallies", (0, 0, pooled.COUNT), lambda x: x + 1000), "counts"),
    "negative counts": (damage("tallies", (0, 1, pooled.COUNT), lambda x: -x), "counts"),
    "half a count": (damage("tallies", (0, 0, pooled.COUNT), lambda x: x - 0.5), "counts"),
    "another count": (damage("tallies", (0, 0, pooled.COUNT), lambda x: x - 1), "counts"),
    "sums of nothing": (damage("tallies", (0, 0, pooled.COUNT), lambda _: 0), "without counts"),
    "negative squares": (damage("tallies", (0, 0, pooled.SQUARE), lambda x: -x), "mean square"),
    "too small squares": (damage("tallies", (0, 0, pooled.SQUARE), lambda x: x / 9), "mean square"),
    "negative residual": (damage("tallies", (0, 0, pooled.RESIDUAL), lambda _: -1.0), "at least 0"),
    "negative weight": (damage("tallies", np.s_[0, :, pooled.WEIGHT], lambda _: -1.0), "weights"),
    "a weight in one": (damage("tallies", (0, 1, pooled.WEIGHT), lambda _: 1.0), "counts are"),
    "a mean alone": (damage("tallies", (0, 0, pooled.MEAN), lambda _: 0.5), "without a weight"),
    "negative noise": (damage("facts", (0, pooled.NOISE), lambda x: -x), "noise is above 0"),
    "no noise": (damage("facts", (1, pooled.NOISE), lambda _: 0.0), "noise is above 0"),
    "fewer seen": (damage("facts", (0, pooled.SEEN), lambda x: x - 1), "all arms together"),
    "more other": (damage("facts", (0, pooled.OTHER), lambda x: x + 1000), "all arms together"),
    "negative other": (damage("facts", (0, pooled.OTHER), lambda _: -1.0), "all arms together"),
    "due before": (damage("facts", (0, pooled.DUE), lambda _: 1.0), "all arms together"),
    "due never": (damage("facts", (0, pooled.DUE), lambda _: 1e9), "all arms together"),
    "more plays": (damage("plays", 0, lambda x: x + 1), "every round plays one arm"),
    "negative plays": (damage("plays", 0, lambda _: -1), "at least 0"),
    "negative rounds": (damage("rounds", EVERY, lambda x: -x), "at least 0"),
    "other features": (damage("features", -1, lambda x: x + 1), "means something else"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_state_is_refused_and_nothing_changes(kind: str) -> None:
    change, words = DAMAGED[kind]
    policy, same = learned(stream(80)), learned(stream(80))
    state = policy.state()
    change(state)
    for act in (policy.load_state, policy.merge):
        with pytest.raises(InvalidInput, match=words):
            act(state)
    assert_same_state(policy, same)


@pytest.mark.parametrize("array", sorted(make().state()))
def test_arrays_are_of_their_shape_and_kind_and_none_is_missing(array: str) -> None:
    policy, same = learned(stream(80)), learned(stream(80))
    good = policy.state()
    wrong: list[dict[str, Any]] = [
        {name: value for name, value in good.items() if name != array},
        {**good, array: good[array][..., :-1]},
        {**good, array: good[array].astype("U9")},
        {**good, array: good[array] + 1j},
    ]
    for state in wrong:
        with pytest.raises(InvalidInput, match=array):
            policy.load_state(state)
    assert_same_state(policy, same)


# Priors, and what is common.


@pytest.mark.parametrize("layout", [MIXED, (("category", 1),), (("number", 2),), (("vector", 3),)])
def test_a_prior_counts_more_the_heavier_it_is(layout: Any) -> None:
    """Other arms have .9; a prior of .3 draws the new arm down to it, everywhere."""
    random = np.random.default_rng(0)
    size = sum(size for _, size in layout)
    contexts = random.random((300, size))
    if layout == MIXED:
        contexts = stream(300)[0]
    if layout == (("category", 1),):
        contexts[:] = 0.0  # how a chooser without features has it
    rewards = 0.9 + 0.05 * random.normal(size=(300, 2))
    distances, deviations = [], []
    for weight in (1, 10, 100, 1000, 10**5):
        policy = make(arms=2, layout=layout)
        policy.update_many(contexts, random.integers(2, size=300), rewards)
        policy.add_arm(([0.3, 0.3], weight))
        found = [policy.predict(point) for point in contexts[:20]]
        distances.append(np.mean([means[-1] - 0.3 for means, _ in found]))
        deviations.append(np.mean([wide[-1] for _, wide in found]))
        others = np.mean([means[:-1] for means, _ in found])
        assert abs(others - 0.9) < 0.03
    assert (np.diff(distances) < 0.001).all()
    assert 0.01 < distances[0] < 0.59
    assert distances[-1] < 0.01
    assert deviations[-1] < 0.1 * deviations[0]


@pytest.mark.parametrize("weight", [1, 10, 1000])
def test_a_prior_does_not_lower_the_noise(weight: int) -> None:
    policy = learned(stream(300), arms=4)
    before = policy.state()["facts"][:, pooled.NOISE]
    policy.add_arm(([0.5, 0.5], weight))
    assert (policy.state()["facts"][:, pooled.NOISE] >= 0.9 * before).all()


def test_a_prior_says_nothing_about_the_noise() -> None:
    """Rewards vary by .05 around .9; a prior of .3 is far off, which is no noise.

    Their variance is estimated at most half as large again: θ_0 moves, and rewards with it.
    """
    random = np.random.default_rng(0)
    contexts, arms, _ = stream(300)
    policy = make()
    policy.update_many(contexts, arms, 0.9 + 0.05 * random.normal(size=(300, 2)))
    before = policy.state()["facts"][:, pooled.NOISE]
    policy.add_arm(([0.3, 0.3], 20))
    after = policy.state()["facts"][:, pooled.NOISE]
    assert (after < 1.5 * before).all()


def test_a_new_arm_is_what_all_have_in_common() -> None:
    """Before anything is seen of it, it has the mean of all arms, less surely."""
    policy = learned(stream(2000))
    policy.add_arm()
    for point in list(points())[:-1]:
        means, deviations = policy.predict(point)
        assert np.abs(means[-1] - means[:-1].mean(axis=0)).max() < 0.05
        assert (deviations[-1] > 3 * deviations[:-1].max(axis=0)).all()


@pytest.mark.parametrize("noise", [0.0, 0.05, "binary"])
def test_an_unseen_category_has_what_all_categories_have(noise: Any) -> None:
    """All arms have .9 in the two categories that were seen, and so in the third and in none."""
    random = np.random.default_rng(1)
    contexts = np.hstack([random.random((1000, 1)), np.eye(3)[random.integers(2, size=1000)]])
    rewards = np.full((1000, 2), 0.9)
    if noise == "binary":
        rewards = (random.random((1000, 2)) < 0.9).astype(float)
    elif noise:
        rewards += noise * random.normal(size=(1000, 2))
    policy = make()
    policy.update_many(contexts, random.integers(4, size=1000), rewards)
    seen, deviations = policy.predict([0.5, 1, 0, 0])
    for point in ([0.5, 0, 0, 1], [0.5, 0, 0, 0]):
        means, wide = policy.predict(point)
        assert np.abs(means - 0.9).max() < 0.05
        assert np.abs(means - seen).max() < 0.05
        assert (wide > deviations).all()


def test_a_rare_category_is_drawn_to_what_is_common() -> None:
    """One reward of .2 where all else is .9 moves the estimate a little, and a few are believed.

    The fifth makes the model learn anew: it was told off by far more than it expects.
    """
    random = np.random.default_rng(1)
    contexts = np.hstack([random.random((400, 1)), np.eye(3)[random.integers(2, size=400)]])
    policy = make()
    rewards = 0.9 + 0.05 * random.normal(size=(400, 2))
    policy.update_many(contexts, random.integers(4, size=400), rewards)
    rare = [0.5, 0, 0, 1]
    found = []
    for _ in range(120):
        policy.update(rare, 0, [0.2, 0.2])
        found.append(policy.predict(rare)[0][0, 0])
    assert 0.25 < found[0] < 0.88
    assert (np.diff(found[:4]) < -0.02).all()
    np.testing.assert_allclose(found[7:], 0.2, atol=0.05)
    assert policy.predict([0.5, 1, 0, 0])[0][0, 0] == pytest.approx(0.9, abs=0.08)


# Invariances.


@settings(max_examples=15)
@given(order=st.permutations(range(4)), seed=st.integers(0, 99), binary=st.booleans())
def test_the_numbers_of_arms_mean_nothing(order: list[int], seed: int, binary: bool) -> None:
    """Other numbers, the same estimates and propensities, to rounding."""
    contexts, arms, rewards = stream(200, seed=seed, binary=binary)
    one, other = make(tolerance=0.05), make(tolerance=0.05)
    one.update_many(contexts, arms, rewards)
    other.update_many(contexts, np.array(order)[arms], rewards)
    for point in points(5):
        for mine, theirs in zip(one.predict(point), other.predict(point), strict=True):
            np.testing.assert_allclose(mine, theirs[order], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            one.propensities(point), other.propensities(point)[order], atol=1e-7
        )


@settings(max_examples=15)
@given(shift=st.floats(-3, 3), seed=st.integers(0, 99))
def test_a_constant_added_to_all_rewards_moves_the_estimates_by_it(shift: float, seed: int) -> None:
    """But for two pseudo rewards of ½: after 1,000 rewards, to a hundredth of a deviation.

    Deviations agree to a thousandth.
    """
    contexts, arms, rewards = stream(1000, seed=seed)
    one, other = learned((contexts, arms, rewards)), learned((contexts, arms, rewards + shift))
    for point in points(5):
        (means, deviations), (others, wide) = one.predict(point), other.predict(point)
        assert (np.abs(others - shift - means) / deviations).max() < 0.01
        np.testing.assert_allclose(wide, deviations, rtol=1e-3)


@settings(max_examples=15)
@given(factor=st.floats(0.1, 10), seed=st.integers(0, 99))
def test_other_units_scale_the_estimates(factor: float, seed: int) -> None:
    """Roughly: how much arms differ is expected in shares of the range, and then learned.

    After 1,000 rewards means agree to .6 deviations, and deviations to 15 %, or to 40 % in a
    category never seen, where it is more of what was expected.
    """
    contexts, arms, rewards = stream(1000, seed=seed)
    one, other = learned((contexts, arms, rewards)), learned((contexts, arms, rewards * factor))
    for point in points(5):
        (means, deviations), (others, wide) = one.predict(point), other.predict(point)
        assert (np.abs(others / factor - means) / deviations).max() < 0.6
        seen = point[1:].any()
        np.testing.assert_allclose(wide / factor, deviations, rtol=0.15 if seen else 0.4)


@settings(max_examples=15)
@given(seed=st.integers(0, 99), binary=st.booleans())
def test_the_order_of_rewards_does_not_matter_for_the_sums(seed: int, binary: bool) -> None:
    """Nor, once all is computed from the sums, for the estimates."""
    data = stream(200, seed=seed, binary=binary)
    order = np.random.default_rng(seed).permutation(200)
    one, other = learned(data), learned((data[0][order], data[1][order], data[2][order]))
    for name, found in sums(one.state()).items():
        np.testing.assert_allclose(found, sums(other.state())[name], rtol=1e-12, atol=1e-12)
    whole, shuffled = make(), make()
    whole.merge(one.state())
    shuffled.merge(other.state())
    assert_same_estimates(whole, shuffled)


@settings(max_examples=10)
@given(seed=st.integers(0, 99))
def test_objectives_do_not_disturb_each_other(seed: int) -> None:
    """What is learned of one does not depend on the rewards of another, to the last bit."""
    contexts, arms, rewards = stream(150, seed=seed)
    both = learned((contexts, arms, rewards))
    for i in range(2):
        alone = learned((contexts, arms, rewards[:, [i]]), objectives=1)
        for point in points(5):
            for mine, theirs in zip(both.predict(point), alone.predict(point), strict=True):
                np.testing.assert_array_equal(mine[:, i], theirs[:, 0])


@pytest.mark.parametrize("parts", ["together", "first", "second"])
def test_rewards_told_in_parts_are_the_same_rewards(parts: str) -> None:
    """`update` with one and `amend` with the other come to the same as both at once."""
    data = stream(60)
    one, other = make(), make()
    for context, arm, (first, second) in zip(*data, strict=True):
        one.update(context, int(arm), [first, second])
        if parts == "together":
            other.update(context, int(arm), [math.nan, math.nan])
            other.amend(context, int(arm), [first, second])
        else:
            early, late = [first, math.nan], [math.nan, second]
            if parts == "second":
                early, late = late, early
            other.update(context, int(arm), early)
            other.amend(context, int(arm), late)
    assert_same_state(one, other)


@pytest.mark.parametrize("layout", [MIXED, (("vector", 4),)])
def test_arrays_of_any_layout_are_read_right_by_compiled_calls(layout: Any) -> None:
    """Single decisions skip numba's look at types, so what comes in is copied first."""
    contexts, played, rewards = stream(60)
    wide = np.repeat(contexts, 2, axis=1)[:, ::2]  # strided: every second number in memory
    told = np.asfortranarray(rewards)
    usual, odd = make(layout=layout), make(layout=layout)
    for point, strided, arm, row, values in zip(contexts, wide, played, told, rewards, strict=True):
        assert odd._select_checked(strided, None) == usual.select(point)
        single: Any = np.asarray(point, np.float32)  # numbers that are exact in it
        assert odd._select_checked(single, None) == usual.select(point)
        odd._learn_checked(strided, int(arm), row, None, False)
        usual.update(point, int(arm), values)
    assert_same_state(odd, usual)
