import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.environments.planted import Planted
from lexbandit.environments.waves import Cosines
from lexbandit.errors import InvalidInput
from lexbandit.kernels.planting import weigh
from lexbandit.metrics import Truth, regret


def make(name: str = "planted", **parameters: object) -> Planted:
    environment = lexbandit.make_environment(name, **parameters)
    assert isinstance(environment, Planted)
    return environment


def gains_and_losses(environment: Planted, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For objectives from the second: what each arm gains there, and its largest loss before."""
    means = environment.means(contexts)
    optimal = environment.optimal_arms(means)
    best = np.stack([row[mask][0] for row, mask in zip(means, optimal, strict=True)])[:, np.newaxis]
    losses = np.maximum.accumulate(best - means, axis=2)[:, :, :-1]
    return (means - best)[:, :, 1:], losses


shapes = {
    "arms": st.integers(1, 7),
    "objectives": st.integers(1, 5),
    "dimension": st.integers(1, 4),
    "plan": st.integers(0, 1000),
}


@given(**shapes, lam=st.sampled_from([0.0, 0.3, 1.0, 4.0]), frequency=st.sampled_from([0.3, 3.0]))
def test_the_assumption_holds(
    arms: int, objectives: int, dimension: int, plan: int, lam: float, frequency: float
) -> None:
    for name in ("planted", "linear"):
        more = {"frequency": frequency} if name == "planted" else {}
        environment = make(
            name, arms=arms, objectives=objectives, dimension=dimension, plan=plan,
            assumption=lam, **more,
        )  # fmt: skip
        contexts = np.random.default_rng(plan).random((300, dimension))
        means = environment.means(contexts)
        assert ((means > 0) & (means < 1)).all()
        gains, losses = gains_and_losses(environment, contexts)
        assert (gains <= lam * losses + 1e-12).all()


@pytest.mark.parametrize("lam", [0.4, 2.0, math.inf])
@pytest.mark.parametrize("objectives", [1, 2, 4])
def test_means_are_what_the_class_says(lam: float, objectives: int) -> None:
    """The plain twin: level with the best, behind by the gap, then ahead and behind in turn."""
    environment = make(arms=5, objectives=objectives, assumption=lam)
    contexts = np.random.default_rng(0).random((20, 2))
    waves = environment._waves(contexts)
    last = objectives - 1
    for t, means in enumerate(environment.means(contexts)):
        best = [0.6 + 0.09 * waves[t, i] for i in range(last)]
        best.append(0.5 + 0.19 * waves[t, last + int(np.argmax(environment.levels))])
        for arm, level in enumerate(environment.levels):
            own = waves[t, last + arm]
            gap = 0.05 * (1 + own) if lam == math.inf else 0.2 + 0.1 * own
            gain = 0.3 if lam == math.inf else min(lam, 1) * gap
            expected = best[:level]
            if level == last:
                expected.append(0.5 + 0.19 * own)
            else:
                expected.append(best[level] - gap)
                for i in range(level + 1, objectives):
                    expected.append(best[i] + gain if (i - level) % 2 else best[i] - gain)
            np.testing.assert_allclose(means[arm], expected)


@pytest.mark.parametrize("lam", [0.25, 1.0])
def test_the_assumption_holds_for_no_smaller_number(lam: float) -> None:
    environment = make(assumption=lam)
    gains, losses = gains_and_losses(environment, np.random.default_rng(0).random((100, 2)))
    needed = np.where(losses > 0, gains, 0) / np.where(losses > 0, losses, 1)
    assert needed.max() == pytest.approx(lam)


@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize("objectives", [3, 4])
def test_without_it_every_number_fails_somewhere(dimension: int, objectives: int) -> None:
    """Nearer and nearer to where a gap vanishes, its arm still gains 0.3 on the next level."""
    environment = make(dimension=dimension, objectives=objectives, assumption=math.inf)
    waves = environment._waves
    assert isinstance(waves, Cosines)
    arm = int(np.argmin(environment.levels))
    centre = waves.centres[:, objectives - 1 + arm]
    for distance, at_least in [(1e-2, 1e2), (1e-4, 1e6), (1e-6, 1e10)]:
        direction = waves._directions[:, objectives - 1 + arm] / waves.slope
        gains, losses = gains_and_losses(environment, (centre + distance * direction)[np.newaxis])
        assert gains[0, arm, 0] == pytest.approx(0.3)
        assert 0 < losses[0, arm, 0] < gains[0, arm, 0] / at_least
    # And everywhere the gaps are small and the later loss is large, as in the example that shows
    # that no policy can do without the assumption.
    gains, losses = gains_and_losses(environment, np.random.default_rng(1).random((200, dimension)))
    assert (losses[:, arm, 0] <= 0.1).all()
    assert (gains[:, arm, 1] <= -0.3 + 1e-9).all()


@given(**shapes)
def test_ties_are_exact_and_every_level_is_needed(
    arms: int, objectives: int, dimension: int, plan: int
) -> None:
    environment = make(arms=arms, objectives=objectives, dimension=dimension, plan=plan)
    means = environment.means(np.random.default_rng(plan).random((50, dimension)))
    for i in range(objectives - 1):
        level = environment.levels > i
        assert level.sum() == min(arms, objectives - i)
        still = environment.levels >= i
        best = means[:, still, i].max(axis=1)
        assert ((means[:, :, i] == best[:, np.newaxis]) | ~still == level | ~still).all()
    assert (environment.optimal_arms(means).sum(axis=1) == 1).all()
    assert not environment.optimal_arms(means)[:, environment.levels < objectives - 1].any()


def test_the_optimum_depends_on_the_context() -> None:
    environment = make()
    optimal = environment.optimal_arms(environment.means(np.random.default_rng(0).random((500, 2))))
    assert (optimal.mean(axis=0) > 0.1).sum() == 2


@pytest.mark.parametrize(
    ("ties", "levels"),
    [(3, [0, 0, 2, 2, 2]), ([4, 2], [0, 1, 1, 2, 2]), ([1, 1], [0, 0, 0, 0, 2]), (5, [2] * 5)],
)
def test_numbers_of_tied_arms(ties: object, levels: list[int]) -> None:
    environment = make(arms=5, ties=ties)
    assert sorted(environment.levels) == levels


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["planted", "linear"])
@pytest.mark.parametrize("parameters", [{}, {"dimension": 5}, {"objectives": 1}, {"ties": 1}])
@pytest.mark.parametrize("lam", [0.5, 2.0, math.inf])
def test_lipschitz(name: str, parameters: dict[str, object], lam: float) -> None:
    """No difference quotient of near points exceeds it; one along a wave comes near."""
    if name == "linear" and lam == math.inf:
        return
    environment = make(name, assumption=lam, **parameters)
    d = environment.dimension
    random = np.random.default_rng(0)
    steepest = 0.0
    for scale in (1e-5, 0.1, 1.0):
        x = random.random((5000, d))
        y = np.clip(x + scale * random.standard_normal((5000, d)), 0, 1)
        change = np.abs(environment.means(x) - environment.means(y)).max(axis=(1, 2))
        steepest = max(steepest, float((change / np.sqrt(((x - y) ** 2).sum(1))).max()))
    assert 0.4 * environment.lipschitz < steepest <= environment.lipschitz * (1 + 1e-6)


@pytest.mark.compiled
def test_the_assumption_decides_whether_every_objective_is_learned() -> None:
    """staged-lex with λ = 1/2: under the assumption all regrets fall, without it one is linear."""
    late = {}
    for lam, horizon in itertools.product((0.5, math.inf), (30_000, 300_000)):
        environment = make(arms=4, dimension=1, ties=2, assumption=lam)
        policy = lexbandit.make_policy(
            "staged-lex", arms=4, objectives=3, dimension=1, horizon=horizon, lam=0.5,
            L=environment.lipschitz, scale=0.2,
        )  # fmt: skip
        rounds = environment.rounds(horizon, seed=3)
        late[lam, horizon] = regret(Truth(rounds.means), policy.replay(rounds)) / horizon
    assert (late[0.5, 300_000] < 0.03).all()
    assert (late[0.5, 300_000][[0, 2]] < 0.5 * late[0.5, 30_000][[0, 2]]).all()
    assert late[math.inf, 300_000][1] < -0.25
    assert late[math.inf, 300_000][2] > 0.25
    assert late[math.inf, 30_000][2] > 0.25


@pytest.mark.compiled
def test_at_scale_1_every_regret_falls_under_the_assumption_and_one_stays_without() -> None:
    """The studies `rates-*` at two of their horizons: λ = ¼ told to all, and true or not."""
    regrets = {}
    rules = ("moc-mab", "staged-lex", "lex-tree")
    for lam, horizon in itertools.product((0.25, math.inf), (100_000, 1_000_000)):
        ties = 2 if lam == math.inf else None
        environment = make(arms=4, dimension=1, assumption=lam, noise=0.1, ties=ties)
        assert environment.lipschitz <= 1.0  # so the default L is true
        rounds = environment.rounds(horizon, seed=1)
        truth = Truth(rounds.means)
        for name in rules:
            planned = {} if name == "lex-tree" else {"horizon": horizon}
            policy = lexbandit.make_policy(
                name, arms=4, objectives=3, dimension=1, lam=0.25, R=0.1, **planned
            )
            regrets[name, lam, horizon] = regret(truth, policy.replay(rounds)) / horizon
    for name in rules:
        early, late = (regrets[name, 0.25, T] for T in (100_000, 1_000_000))
        assert (late > 0).all()
        assert (late < 10**-0.2 * early)[:2].all()  # an exponent below 0.8
        assert late[2] < early[2]
        early, late = (regrets[name, math.inf, T] for T in (100_000, 1_000_000))
        assert late[2] > early[2] > 0.2  # the third loses as much in every round, or more


@given(noise=st.sampled_from([0.01, 0.3]), **shapes)
def test_noise_of_a_given_size(
    arms: int, objectives: int, dimension: int, plan: int, noise: float
) -> None:
    environment = make(
        arms=arms, objectives=objectives, dimension=dimension, plan=plan, noise=noise
    )
    rounds = environment.rounds(200, seed=plan)
    assert rounds.means is not None
    signs = (rounds.outcomes - rounds.means) / noise
    np.testing.assert_allclose(np.abs(signs), 1.0, atol=1e-9)
    assert abs(signs.mean()) < 5 / math.sqrt(signs.size)


def test_contexts_in_clusters_leave_the_means_as_they_are() -> None:
    plain, gathered = make(plan=3), make(plan=3, clusters=2, spread=0.01, strays=0.1)
    points = np.random.default_rng(0).random((50, 2))
    np.testing.assert_array_equal(plain.means(points), gathered.means(points))
    assert gathered.clusters is not None
    contexts = gathered.rounds(5000, seed=1).contexts
    away = np.abs(contexts[:, np.newaxis] - gathered.clusters.centres).max(axis=2).min(axis=1)
    assert (away < 0.05).mean() == pytest.approx(0.9, abs=0.02)


def test_frequency_makes_it_rough() -> None:
    assert make(frequency=10).lipschitz == pytest.approx(20 * make(frequency=0.5).lipschitz)


def test_linear_means_are_linear() -> None:
    environment = make("linear", dimension=50, arms=5, objectives=3)
    random = np.random.default_rng(3)
    x, y = random.random((2, 100, 50))
    middle = environment.means((x + y) / 2)
    np.testing.assert_allclose(middle, (environment.means(x) + environment.means(y)) / 2)
    assert environment.means(x).std(axis=0).max() > 0.02  # the context matters, also in 50 features


def test_the_plan_decides_the_functions_and_the_seed_the_stream() -> None:
    x = np.random.default_rng(0).random((20, 2))
    np.testing.assert_array_equal(make(plan=3).means(x), make(plan=3).means(x))
    assert not np.isclose(make(plan=3).means(x), make(plan=4).means(x)).all()
    first, second = (make(plan=plan).rounds(20, seed=5).contexts for plan in (3, 4))
    np.testing.assert_array_equal(first, second)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["planted", "linear"])
def test_fifty_features_are_quick_and_do_not_depend_on_blocks(name: str) -> None:
    environment = make(name, dimension=50)
    whole = environment.rounds(40, seed=1)
    assert whole.means is not None
    parts = list(environment.stream(40, seed=1, block=3))
    np.testing.assert_array_equal(np.concatenate([p.means for p in parts]), whole.means)
    started = time.process_time()
    environment.rounds(20_000, seed=1)
    assert time.process_time() - started < 2.0  # about 0.04 s


def test_weigh_is_the_product() -> None:
    random = np.random.default_rng(0)
    x, w = random.random((5, 7)), random.random((7, 3))
    np.testing.assert_allclose(weigh(x, w), x @ w)


WRONG: list[tuple[dict[str, object], str]] = [
    ({"arms": 0}, "arms must be"),
    ({"objectives": 0}, "objectives must be"),
    ({"dimension": 0}, "dimension must be"),
    ({"ties": 0}, "ties must be a whole number of at least 1, got 0"),
    ({"ties": 9}, "ties must be a whole number of at least 1 and at most 6, got 9"),
    ({"ties": [3]}, "ties must be 2 numbers, one for each objective but the last"),
    ({"ties": [2, 3]}, "ties cannot grow"),
    ({"ties": [3, 0]}, r"ties\[1\] must be"),
    ({"assumption": -0.1}, "assumption must be a λ of at least 0, or inf for none, got -0.1"),
    ({"assumption": math.nan}, "assumption must be"),
    ({"assumption": True}, "assumption must be"),
    ({"assumption": "1"}, "assumption must be"),
    ({"plan": -1}, "plan must be"),
]


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        *(("planted", *wrong) for wrong in WRONG),
        ("planted", {"frequency": 0}, "frequency must be"),
        ("planted", {"noise": 0}, "noise must be a finite number above 0, got 0"),
        ("planted", {"noise": -0.1}, "noise must be"),
        ("planted", {"clusters": -1}, "clusters must be"),
        ("planted", {"clusters": 2, "spread": 0}, "spread must be"),
        ("planted", {"clusters": 2, "strays": 2}, "strays must be .* and at most 1, got 2"),
        (
            "linear",
            {"assumption": math.inf},
            "assumption must be a finite λ of at least 0, got inf",
        ),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        lexbandit.make_environment(name, **parameters)


def test_where_two_objectives_decide() -> None:
    """The degenerate case A*_2 = A*_D: never where arms tie in both, always where none do."""
    for ties, share in (([3, 2], 0.0), ([2, 1], 1.0), ([1, 1], 1.0)):
        environment = make(arms=4, objectives=3, dimension=1, ties=ties)
        means = environment.rounds(500, seed=1).means
        assert environment.degenerate(means).mean() == share
    means = np.array(
        [
            [[1, 1, 0], [1, 1, 0.5], [0, 0, 1], [1, 0, 1]],
            [[1, 1, 0.5], [1, 1, 0.5], [0, 0, 1], [1, 0, 1]],
        ]
    )
    assert environment.degenerate(means).tolist() == [False, True]
