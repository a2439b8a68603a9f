"""The zooming policies: arm by arm against their twins, and what must hold of balls."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.metrics import Truth, pareto_regret
from lexbandit.policies.balls.base import BallPolicy
from lexbandit.rounds import Rounds
from naive import run
from support import as_lists, some_rounds
from twins.zooming import ContextualZooming, ParetoZooming, RememberingParetoZooming

NAMES = ["contextual-zooming", "pareto-zooming"]
HORIZON = 1000


def zooming(name: str, **parameters: Any) -> BallPolicy:
    values = {"arms": 4, "dimension": 2, "horizon": HORIZON, "scale": 0.15, **parameters}
    policy = lexbandit.make_policy(name, **values)
    assert isinstance(policy, BallPolicy)
    return policy


def twin(name: str, arms: int, **parameters: Any) -> ContextualZooming | ParetoZooming:
    if name == "contextual-zooming":
        return ContextualZooming(arms, HORIZON, **parameters)
    return ParetoZooming(arms, HORIZON, delta=1 / HORIZON, **parameters)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.3, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_arms_and_balls_are_the_twins(name: str, scale: float, seed: int) -> None:
    arms = 3 + seed
    rounds = some_rounds(HORIZON, arms=arms, seed=seed)[:600]  # the twin takes its time
    metric: dict[str, Any] = [{}, {"L": 2.5}, {"alpha": 0.5}][seed]
    policy = zooming(name, arms=arms, scale=scale, seed=seed, **metric)
    plain = twin(name, arms, scale=scale, seed=seed, **metric)
    np.testing.assert_array_equal(policy.replay(rounds), run(plain, *as_lists(rounds)))
    state = policy.state()
    assert policy.balls == len(plain.balls)
    assert state["radii"].tolist() == [ball.radius for ball in plain.balls]
    assert state["owners"].tolist()[1:] == [ball.arm for ball in plain.balls[1:]]
    assert state["counts"].tolist() == [ball.n for ball in plain.balls]
    assert policy.balls > (1 if scale == 1.0 else 10)


@pytest.mark.parametrize("name", NAMES)
def test_missing_rewards_are_the_twins(name: str) -> None:
    rounds = some_rounds(HORIZON)
    outcomes = rounds.outcomes.copy()
    outcomes[np.random.default_rng(0).random(outcomes.shape) < 0.2] = math.nan
    holey = Rounds(rounds.contexts, outcomes)
    policy = zooming(name, seed=3)
    plain = twin(name, 4, scale=0.15, seed=3)
    np.testing.assert_array_equal(policy.replay(holey), run(plain, *as_lists(holey)))


@pytest.mark.parametrize("name", NAMES)
def test_indices_are_explained(name: str) -> None:
    """The widths and indices of `explain` are the definitions' at the ball that would learn."""
    rounds = some_rounds(HORIZON)
    policy = zooming(name, seed=5)
    plain = twin(name, 4, scale=0.15, seed=5)
    policy.replay(rounds)
    run(plain, *as_lists(rounds))
    for context in [(0.2, 0.9), (0.5, 0.5), (0.0, 1.0)]:
        for report in policy.explain(context).arms:
            ball = plain.credited(context, report.arm)
            assert report.observations == tuple(ball.n)
            np.testing.assert_allclose(
                report.index, [plain.indices([ball], i)[0] for i in range(2)]
            )
            np.testing.assert_allclose(report.width, [plain.width(ball, i) for i in range(2)])


@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.03, 0.1, 0.3]), L=st.floats(0.3, 4))
def test_balls_of_one_size_are_packed(name: str, seed: int, scale: float, L: float) -> None:
    """Their centres are farther apart than the radius, and every play is in one ball."""
    rounds = some_rounds(600, seed=seed, binary=True)
    policy = zooming(name, scale=scale, L=L, seed=seed)
    policy.replay(rounds)
    state = policy.state()
    assert state["plays"].sum() == 600
    for arm in range(4):
        for radius in np.unique(state["radii"][1:]):
            same = (state["owners"] == arm) & (state["radii"] == radius)
            centres = state["centres"][same]
            gaps = np.linalg.norm(centres[:, np.newaxis] - centres, axis=2)
            np.fill_diagonal(gaps, np.inf)
            assert (np.minimum(1.0, L * gaps) > radius).all()


@pytest.mark.parametrize("name", NAMES)
def test_contexts_on_a_lattice_end_in_ever_smaller_balls(name: str) -> None:
    """Repeated contexts: distances of exactly a radius, and balls with one centre."""
    random = np.random.default_rng(0)
    contexts = random.integers(0, 5, (HORIZON, 2)) / 4
    outcomes = random.random((HORIZON, 3, 2))
    rounds = Rounds(contexts, outcomes)
    policy = zooming(name, arms=3, scale=0.05, seed=1)
    plain = twin(name, 3, scale=0.05, seed=1)
    np.testing.assert_array_equal(policy.replay(rounds), run(plain, *as_lists(rounds)))
    assert policy.state()["radii"].min() <= 1 / 16


@pytest.mark.compiled
def test_zooming_spends_its_balls_where_it_plays() -> None:
    """Where arms are alike it splits what it plays; a hopeless arm keeps few, large balls."""
    random = np.random.default_rng(1)
    contexts = random.random((20_000, 1))
    means = np.stack([0.9 - 0.8 * contexts[:, 0], 0.1 + 0.8 * contexts[:, 0], 0 * contexts[:, 0]])
    outcomes = (random.random((3, 20_000)) < means).astype(float).T[:, :, np.newaxis]
    policy = zooming(
        "contextual-zooming", arms=3, dimension=1, objectives=1, horizon=20_000, scale=0.1
    )
    arms = policy.replay(Rounds(contexts, outcomes))
    late = np.arange(20_000) > 10_000
    best = np.where(contexts[:, 0] < 0.5, 0, 1)
    assert (arms == best)[late].mean() > 0.9
    owners, radii = policy.state()["owners"], policy.state()["radii"]
    assert (owners == 2).sum() < (owners == 0).sum() / 2
    assert radii[owners == 2].min() >= 4 * radii.min()


@pytest.mark.parametrize("name", NAMES)
def test_zooming_is_the_same_from_its_state(name: str) -> None:
    rounds = some_rounds(HORIZON, binary=True)
    policy, restored = zooming(name, seed=1), zooming(name, seed=2)
    policy.replay(rounds[:700])
    restored.load_state(policy.state())
    np.testing.assert_array_equal(policy.replay(rounds[700:]), restored.replay(rounds[700:]))
    for key, array in policy.state().items():
        np.testing.assert_array_equal(array, restored.state()[key])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("radii"), "no array 'radii'"),
        (lambda s: s.update(extra=s["plays"]), "unknown state array 'extra'"),
        (lambda s: s.update(radii=s["radii"] * 0.75), "the first radius is 1"),
        (lambda s: s.update(owners=s["owners"] + 4), "the first owner is -1"),
        (lambda s: s.update(owners=s["owners"] * 9), "the first owner is -1"),
        (lambda s: s.update(metric=s["metric"] * 2), "means something else"),
        (lambda s: s.update(plays=-s["plays"]), "at least 0"),
        (lambda s: s.update(counts=s["counts"] + 1), "counts go from 0"),
        (lambda s: s.update(sums=s["sums"] * math.nan), "finite"),
        (lambda s: s.update(centres=s["centres"] + 2), "must lie in"),
        (lambda s: s.update(centres=s["centres"][:, :1]), "shape"),
        (lambda s: s.update({k: v[:0] for k, v in s.items() if len(v) > 2}), "no ball"),
    ],
)
def test_a_state_that_cannot_be_is_refused(name: str, change: Any, words: str) -> None:
    policy = zooming(name)
    policy.replay(some_rounds(300))
    state, before = policy.state(), policy.state()
    change(state)
    with pytest.raises(InvalidInput, match=words):
        policy.load_state(state)
    for key, array in policy.state().items():
        np.testing.assert_array_equal(array, before[key])


@pytest.mark.parametrize("delta", [0, -1, 1.5, "x"])
def test_a_wrong_delta_is_refused(delta: Any) -> None:
    with pytest.raises(InvalidInput, match=r"delta must be"):
        zooming("pareto-zooming", delta=delta)


def test_delta_widens() -> None:
    wide, narrow = zooming("pareto-zooming", delta=1e-6), zooming("pareto-zooming", delta=0.5)
    for policy in (wide, narrow):
        policy.update([0.5, 0.5], 0, [0.5, 0.5])
    assert wide.explain([0.5, 0.5]).arms[0].width > narrow.explain([0.5, 0.5]).arms[0].width


@pytest.mark.slow
@pytest.mark.compiled
def test_crediting_by_index_costs_no_pareto_regret() -> None:
    """PCZ credits the ball it drew; ours the highest index of the arm's. Paired over 10 streams."""
    environment = lexbandit.make_environment("synthetic")
    gaps = []
    for seed in range(10):
        rounds = environment.rounds(HORIZON, seed=seed)
        truth = Truth(rounds.means)
        letter = RememberingParetoZooming(4, HORIZON, delta=1 / HORIZON, scale=0.1, seed=seed)
        ours = zooming("pareto-zooming", scale=0.1, seed=seed).replay(rounds)
        theirs = np.array(run(letter, *as_lists(rounds)))
        gaps.append(pareto_regret(truth, ours) - pareto_regret(truth, theirs))
    assert abs(np.mean(gaps)) < 3 * np.std(gaps, ddof=1) / math.sqrt(len(gaps))
