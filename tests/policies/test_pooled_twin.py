"""lex-thompson against its plain twin: the same arms, and the same means and deviations."""

from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.kernels import pooled, pooled_prediction, pooled_rules
from lexbandit.policies.linear import credible
from lexbandit.policies.linear.pooled import PooledPolicy
from lexbandit.rounds import Rounds
from twins.pooled import Constants, LexThompson, Prior

pytestmark = pytest.mark.compiled

CONSTANTS = Constants(
    first_noise=pooled.FIRST_NOISE,
    pseudo_rewards=pooled._PSEUDO_REWARDS,
    fading=pooled._FADING,
    pooled_noise=pooled._POOLED_NOISE,
    pooled_share=pooled.POOLED_SHARE,
    even_share=pooled.EVEN_SHARE,
    common_width=pooled.COMMON_WIDTH,
    rounding=pooled._ROUNDING,
    least_noise=pooled._LEAST_NOISE,
    least_penalty=pooled.LEAST_PENALTY,
    least_scale=pooled._LEAST_SCALE,
    learn_from=pooled._LEARN_FROM,
    constant_weights=pooled._CONSTANT_WEIGHTS,
    constant_scale=pooled._CONSTANT_SCALE,
    block_weights=pooled._BLOCK_WEIGHTS,
    block_scale=pooled._BLOCK_SCALE,
    steps=pooled._STEPS,
    steps_anew=pooled._STEPS_ANEW,
    growth=pooled._GROWTH,
    most_apart=pooled._MOST_APART,
    surprise=pooled._SURPRISE,
    unlike=pooled_prediction.UNLIKE,
)

LAYOUTS: dict[str, list[tuple[str, int]]] = {
    "number": [("number", 1)],
    "numbers": [("number", 2)],
    "categories": [("category", 3), ("category", 2)],
    "mixed": [("number", 1), ("category", 3)],
    "vector": [("category", 2), ("vector", 4)],
}


def pair(K: int, D: int, layout: Any, **settings: Any) -> tuple[PooledPolicy, LexThompson]:
    """A policy and its twin, which reads the policy's settings."""
    policy = lexbandit.make_policy(
        "lex-thompson",
        arms=K,
        objectives=D,
        dimension=sum(size for _, size in layout),
        layout=layout,
        **settings,
    )
    assert isinstance(policy, PooledPolicy)
    rule = policy._settings
    twin = LexThompson(
        K,
        D,
        policy.features.apply,
        Prior(*policy.features.prior()),
        CONSTANTS,
        benefit=rule[pooled_rules.BENEFIT],
        binary=rule[pooled_rules.BINARY],
        simple=rule[pooled_rules.SIMPLE],
        few=rule[pooled_rules.FEW],
        draws=rule[pooled_rules.DRAWS],
        floor=rule[pooled_rules.FLOOR],
        steady=rule[pooled_rules.STEADY],
        ties=rule[pooled_rules.EXACT],
        tolerances=policy.tolerances,
        seed=settings.get("seed", 0),
    )
    return policy, twin


def contexts_of(layout: Any, n: int, random: np.random.Generator) -> np.ndarray:
    """Numbers in [0, 1], and one value of every category, sometimes none."""
    parts = []
    for kind, size in layout:
        if kind == "category":
            rows = np.vstack([np.eye(size), np.zeros(size)])
            parts.append(rows[random.choice(size + 1, n, p=[*[0.95 / size] * size, 0.05])])
        else:
            parts.append(random.random((n, size)))
    return np.hstack(parts)


def rounds_of(
    layout: Any, n: int, K: int, D: int, *, seed: int, binary: bool = False, hidden: float = 0.0
) -> Rounds:
    """Means that bend with the context; arms 0 and 1 are tied in all objectives but the last."""
    random = np.random.default_rng(seed)
    contexts = contexts_of(layout, n, random)
    slopes = random.normal(0.0, 1.0, (D, K, contexts.shape[1]))
    slopes[:-1, 1] = slopes[:-1, 0]
    means = 0.5 + 0.4 * np.sin(np.einsum("nd,iad->nai", contexts, slopes) + np.arange(D))
    drawn = random.random(means.shape)
    outcomes = (drawn < means).astype(float) if binary else means + 0.4 * (drawn - 0.5)
    outcomes[random.random(means.shape) < hidden] = np.nan
    return Rounds(contexts, outcomes)


def compare(policy: PooledPolicy, twin: LexThompson, rounds: Rounds, every: int = 50) -> None:
    """The same arm in every round; now and then, the same means and both kinds of deviations."""
    for t in range(len(rounds)):
        context = rounds.contexts[t]
        mask = None if rounds.allowed is None else rounds.allowed[t]
        arm = policy.select(context, mask).arm
        assert arm == twin.select(context, mask), t
        policy.update(context, arm, rounds.outcomes[t, arm])
        twin.update(context, arm, rounds.outcomes[t, arm])
        if t % every == every - 1 or t < 12:
            same_estimates(policy, twin, rounds.contexts[(t + 1) % len(rounds)])


def same_estimates(policy: PooledPolicy, twin: LexThompson, context: np.ndarray) -> None:
    means, deviations = policy.predict(context)
    theirs, fully = twin.predict(context)
    np.testing.assert_allclose(means, theirs, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(deviations, fully, rtol=1e-8, atol=1e-8)
    reaches = [report.index for report in policy.explain(context).arms]
    expected = [twin.reaches(i, twin.phi(context)) for i in range(twin.D)]
    np.testing.assert_allclose(np.transpose(reaches), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("layout", "K", "D", "tolerance"),
    [
        ("number", 2, 1, 0.0),
        ("numbers", 3, 2, 0.05),
        ("mixed", 4, 3, [0.1, 0.0, 0.0]),
        ("categories", 6, 2, 0.0),
        ("vector", 5, 2, 0.1),
    ],
)
def test_same_arms_and_estimates(layout: str, K: int, D: int, tolerance: Any, binary: bool) -> None:
    policy, twin = pair(K, D, LAYOUTS[layout], tolerance=tolerance, seed=K)
    compare(policy, twin, rounds_of(LAYOUTS[layout], 300, K, D, seed=D, binary=binary))


@pytest.mark.parametrize("layout", ["numbers", "mixed"])
def test_missing_rewards_and_masks(layout: str) -> None:
    """Two thirds of the rewards are seen, and some arms are not allowed in every round."""
    rounds = rounds_of(LAYOUTS[layout], 300, 4, 2, seed=7, hidden=0.33)
    random = np.random.default_rng(8)
    allowed = random.random((300, 4)) < 0.6
    allowed[np.arange(300), random.integers(4, size=300)] = True
    policy, twin = pair(4, 2, LAYOUTS[layout], tolerance=0.05, seed=2)
    compare(policy, twin, Rounds(rounds.contexts, rounds.outcomes, allowed=allowed))


@pytest.mark.parametrize("layout", ["mixed", "categories", "numbers"])
def test_what_judges_untried_categories_counts_arms_unlike_the_others(layout: str) -> None:
    """Its variance is that of the posterior and the twin's `unlike`, which numbers have not."""
    policy, twin = pair(3, 2, LAYOUTS[layout], seed=3)
    rounds = rounds_of(LAYOUTS[layout], 40, 3, 2, seed=6)
    compare(policy, twin, rounds)
    among = policy.features.unlike()
    for context in rounds.contexts[:10]:
        phi = twin.phi(context)
        averages = np.ascontiguousarray(np.broadcast_to(phi, (3, 2, len(phi))))
        means, deviations = policy._predict_averages(averages)
        usual, posterior = policy.predict(context)
        unlike = [
            [one.unlike(one.arms[a], phi, among) for one in twin.objectives] for a in range(3)
        ]
        np.testing.assert_allclose(means, usual, rtol=1e-8)
        np.testing.assert_allclose(deviations**2, posterior**2 + unlike, rtol=1e-7)
        assert (np.array(unlike) > 0).all() == (layout != "numbers")


@pytest.mark.parametrize("layout", ["mixed", "categories", "vector"])
def test_intervals_are_of_arms_that_vary_more(layout: str) -> None:
    policy, twin = pair(3, 2, LAYOUTS[layout], seed=3)
    rounds = rounds_of(LAYOUTS[layout], 40, 3, 2, seed=6)
    compare(policy, twin, rounds)
    among = policy.features.unlike()
    for context in rounds.contexts[:10]:
        phi = twin.phi(context)
        found = credible.loosened(policy._model, phi, among)
        wanted = [[one.loosened(arm, phi, among) for arm in one.arms] for one in twin.objectives]
        np.testing.assert_allclose(np.stack(found, axis=2), wanted, rtol=1e-7)
        usual, posterior = policy.predict(context)
        for arm, report in enumerate(policy.explain(context).arms):
            for i, (low, high) in enumerate(report.interval):
                assert low <= min(usual[arm, i], wanted[i][arm][0])
                assert high >= max(usual[arm, i], wanted[i][arm][0])
                assert high - low > 2 * posterior[arm, i]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_noise_that_depends_on_the_context(layout: str) -> None:
    """By squared errors: as the twin has them, in a replay and after a merge."""
    policy, twin = pair(3, 2, LAYOUTS[layout], seed=3)
    rounds = rounds_of(LAYOUTS[layout], 60, 3, 2, seed=6)
    compare(policy, twin, rounds)
    model = policy._model
    for context in rounds.contexts[:10]:
        phi = twin.phi(context)
        found = credible.noise_here(model, model.matrices[:, :, pooled.INVERSE] @ phi, np.zeros(1))
        wanted = [[one.noisier(arm, phi) for arm in one.arms] for one in twin.objectives]
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.max(wanted) > 1.0
    errors = model.vectors[:, :, pooled.ERRORS].copy()
    policy.merge(policy.state())
    np.testing.assert_allclose(policy._model.vectors[:, :, pooled.ERRORS], 2.0 * errors)


def test_a_prior_is_no_noise() -> None:
    """It counts in Σφφᵀ and not in the squared errors."""
    layout = LAYOUTS["mixed"]
    policy, twin = pair(2, 2, layout, tolerance=0.05, seed=3)
    first, second = policy.features.expectations()
    policy.add_arm(([0.95, 0.9], 50))
    twin.add_arm([0.95, 0.9], 50, first, second)
    rounds = rounds_of(layout, 90, 3, 2, seed=4)
    compare(policy, twin, rounds)
    model = policy._model
    apart = []
    for context in rounds.contexts[:30]:
        phi = twin.phi(context)
        products = model.matrices[:, :, pooled.INVERSE] @ phi
        wanted = [[one.noisier(arm, phi) for arm in one.arms] for one in twin.objectives]
        np.testing.assert_allclose(credible.noise_here(model, products, first), wanted, rtol=1e-6)
        apart.append(np.abs(credible.noise_here(model, products, np.zeros(1)) - wanted).max())
    assert max(apart) > 0.1


def test_every_setting_counts() -> None:
    """Away from the defaults: a setting that were ignored would show."""
    own = {"caution": 3.0, "draw_width": 1.4, "tolerance": 0.15, "seed": 5}
    policy, twin = pair(3, 2, LAYOUTS["number"], **own)
    usual, _ = pair(3, 2, LAYOUTS["number"], tolerance=0.15, seed=5)
    for place in (pooled_rules.BENEFIT, pooled_rules.DRAWS):
        assert policy._settings[place] != usual._settings[place]
    compare(policy, twin, rounds_of(LAYOUTS["number"], 300, 3, 2, seed=9))


def test_rewards_that_stop_being_binary() -> None:
    """From the first reward between 0 and 1 on, the noise is that of the residuals."""
    policy, twin = pair(3, 2, LAYOUTS["number"], seed=1)
    compare(policy, twin, rounds_of(LAYOUTS["number"], 100, 3, 2, seed=3, binary=True))
    compare(policy, twin, rounds_of(LAYOUTS["number"], 100, 3, 2, seed=4))


def test_an_arm_with_a_prior_and_one_without() -> None:
    layout = LAYOUTS["mixed"]
    policy, twin = pair(2, 2, layout, tolerance=0.05, seed=3)
    expected = policy.features.expectations()
    for K, (means, weight) in enumerate([([0.7, 0.2], 20), ([0.0, 0.0], 0)], start=2):
        compare(policy, twin, rounds_of(layout, 80, K, 2, seed=K))
        policy.add_arm((means, weight) if weight else None)
        twin.add_arm(means, weight, *expected)
        same_estimates(policy, twin, rounds_of(layout, 1, 2, 2, seed=0).contexts[0])
    compare(policy, twin, rounds_of(layout, 80, 4, 2, seed=9))


@pytest.mark.parametrize("binary", [False, True])
def test_merged(binary: bool) -> None:
    """Everything is computed from the sums, and play goes on from there."""
    layout = LAYOUTS["numbers"]
    policies, twins = zip(*(pair(3, 2, layout, seed=seed) for seed in (1, 2)), strict=True)
    for part, (policy, twin) in enumerate(zip(policies, twins, strict=True)):
        compare(policy, twin, rounds_of(layout, 120, 3, 2, seed=part, binary=binary))
    policies[0].merge(policies[1].state())
    twins[0].merge(twins[1])
    compare(policies[0], twins[0], rounds_of(layout, 120, 3, 2, seed=5, binary=binary))


def test_the_comparison_reaches_the_last_level() -> None:
    """It would say little if one level decided always, or if the estimates settled nothing."""
    policy, _ = pair(4, 3, LAYOUTS["mixed"], tolerance=[0.1, 0.0, 0.0], seed=4)
    rounds = rounds_of(LAYOUTS["mixed"], 600, 4, 3, seed=3)
    policy.replay(rounds)
    explanations = [policy.explain(context) for context in rounds.contexts[:100]]
    left = np.array([[len(level.arms) for level in each.levels] for each in explanations])
    assert (left[:, -1] > 1).mean() > 0.1  # found: .2
    assert (left[:, 0] < 4).mean() > 0.2
