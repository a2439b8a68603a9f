"""A run notes what its policies did: the same as going round by round."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.studies import MINE, OWN, SMALL, WORLDS, small
from lexbandit import InvalidInput, make_environment, make_policy
from lexbandit.bench import run as running
from lexbandit.bench.run import MAP_SIDE, Played, Run, Stopped, plan, play
from lexbandit.metrics import tolerance_regret


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(running, "BLOCK", 700)  # so that checkpoints fall within blocks
    return plan(small(tmp_path))[1]


def same(one: Played, other: Played) -> bool:
    names = ("regret", "pareto_regret", "reward", "expected_reward", "arm_share", "played")
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.curves, other.curves, strict=True)
        for name in names
    )


def test_everything_is_as_counted_round_by_round(run: Run) -> None:
    played = play(run)
    environment = make_environment("synthetic")
    rounds = environment.rounds(run.horizon, seed=run.stream_seed)
    assert rounds.means is not None
    best = environment.optimal_arms(rounds.means)
    t = np.arange(run.horizon)
    marks = np.array(run.checkpoints) - 1
    for entry, curve in zip(run.entries, played.curves, strict=True):
        policy = make_policy(
            entry.policy.name,
            arms=4,
            dimension=2,
            horizon=run.horizon,
            seed=run.policy_seed(entry),
            **entry.parameters,
        )
        arms = policy.replay(rounds)
        reward = np.cumsum(rounds.outcomes[t, arms], axis=0)
        expected = np.cumsum(rounds.means[t, arms], axis=0)
        optimum = np.cumsum(rounds.means[t, best.argmax(axis=1)], axis=0)
        plays = np.cumsum(arms[:, None] == np.arange(4), axis=0)
        assert np.allclose(curve.reward, reward[marks], atol=1e-9)
        assert curve.regret is not None
        assert curve.expected_reward is not None
        assert curve.pareto_regret is not None
        assert curve.played is not None
        assert np.allclose(curve.expected_reward, expected[marks], atol=1e-9)
        assert np.allclose(curve.regret, (optimum - expected)[marks], atol=1e-9)
        assert np.allclose(curve.arm_share, (plays / (t[:, None] + 1))[marks])
        assert (np.diff(curve.pareto_regret) >= 0).all()
        assert (np.diff(curve.seconds) >= 0).all()
        later = t >= run.horizon // 2
        cells = np.minimum((rounds.contexts * MAP_SIDE).astype(int), MAP_SIDE - 1)
        counts = np.zeros((MAP_SIDE**2, 4), int)
        np.add.at(counts, (cells[later, 0] * MAP_SIDE + cells[later, 1], arms[later]), 1)
        assert np.array_equal(curve.played, counts)
    assert played.optimal is not None
    assert played.optimal.sum() == run.horizon - run.horizon // 2
    optimal = np.zeros((MAP_SIDE**2, 4), int)
    places = (cells[later, 0] * MAP_SIDE + cells[later, 1], best.argmax(axis=1)[later])
    np.add.at(optimal, places, 1)
    assert np.array_equal(played.optimal, optimal)


def test_neither_blocks_nor_threads_change_a_thing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play(run)
    assert same(first, play(run, threads=3))
    monkeypatch.setattr(running, "BLOCK", 5000)
    again = play(run)
    # Totals are added up in another order by no more than rounding.
    for a, b in zip(first.curves, again.curves, strict=True):
        assert np.array_equal(a.arm_share, b.arm_share)
        assert np.allclose(a.reward, b.reward)


def test_runs_differ(tmp_path: Path) -> None:
    one, two, _ = plan(small(tmp_path))
    assert not same(play(one), play(two))


def test_progress_is_told_in_policy_rounds(run: Run) -> None:
    told: list[int] = []
    play(run, progress=told.append)
    assert sum(told) == run.policy_rounds == 3000 * 5
    assert len(told) > 1


def test_a_run_can_be_stopped(run: Run) -> None:
    told: list[int] = []
    with pytest.raises(Stopped):
        play(run, progress=told.append, stop=lambda: len(told) >= 2)
    assert sum(told) < run.policy_rounds


def test_a_users_policy_and_environment(tmp_path: Path) -> None:
    stubborn, _ = play(plan(small(tmp_path, OWN))[0]).curves
    assert np.array_equal(stubborn.arm_share[-1], [0.0, 1.0])
    assert stubborn.regret is not None
    assert np.allclose(stubborn.regret[-1], 0.3 * 2000)
    assert stubborn.played is None  # contexts of one feature have no map


def test_objectives_must_be_as_many_as_the_environment_has(run: Run) -> None:
    with pytest.raises(InvalidInput, match="names 3 objectives, synthetic has 2"):
        play(replace(run, objectives=3))


def test_means_may_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lexbandit.environments.synthetic import Synthetic
    from lexbandit.rounds import Rounds

    class Recorded(Synthetic):
        def stream(self, horizon, *, seed, block=65_536):  # type: ignore[no-untyped-def]
            for rounds in super().stream(horizon, seed=seed, block=block):
                yield Rounds(rounds.contexts, rounds.outcomes)

    run = plan(small(tmp_path))[0]
    known = play(run)
    run = replace(run, entries=run.entries[:2])
    from lexbandit.bench import study

    monkeypatch.setitem(study._MAKERS, "environment", lambda _: Recorded())
    unknown = play(run)
    for a, b in zip(known.curves, unknown.curves, strict=False):
        assert b.regret is None
        assert b.pareto_regret is None
        assert b.expected_reward is None
        assert np.array_equal(a.reward, b.reward)


def test_a_recording_that_ends_early_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from lexbandit.bench import study
    from lexbandit.environments.synthetic import Synthetic

    class Short(Synthetic):
        def stream(self, horizon, *, seed, block=65_536):  # type: ignore[no-untyped-def]
            return super().stream(1000, seed=seed, block=block)

    monkeypatch.setitem(study._MAKERS, "environment", lambda _: Short())
    with pytest.raises(InvalidInput, match="ended after 1000 rounds, the horizon is 3000"):
        play(run)


def test_tolerance_regret_is_that_of_the_metrics(tmp_path: Path) -> None:
    """By the environment's tolerances, which the policies are told with the layout."""
    run = plan(small(tmp_path, WORLDS))[1]
    environment = make_environment("tolerance", kind="interactions", world=1001)
    rounds = environment.rounds(1000, seed=run.stream_seed)
    played = play(run)
    for entry, curve in zip(run.entries, played.curves, strict=True):
        policy = make_policy(
            entry.policy.name,
            arms=environment.arms,
            dimension=environment.dimension,
            tolerance=environment.tolerances,
            layout=environment.layout,
            seed=run.policy_seed(entry),
        )
        arms = policy.replay(rounds)
        expected = tolerance_regret(rounds.means, arms, environment.tolerances, [300, 1000])
        assert curve.tolerance_regret is not None
        np.testing.assert_allclose(curve.tolerance_regret, expected, atol=1e-9)


def test_without_tolerances_there_is_no_tolerance_regret(run: Run) -> None:
    assert all(curve.tolerance_regret is None for curve in play(run).curves)


def test_tolerances_of_a_study_count_before_the_environment_s(tmp_path: Path) -> None:
    """Told to a user's policy too; with a tolerance of 1 nothing is lost beyond it."""
    (tmp_path / "told.py").write_text(
        MINE + "\n\ndef told(*, arms, dimension, objectives, tolerance, layout):\n"
        "    assert tuple(tolerance) == (1.0, 0.5)\n"
        "    assert sum(size for _, size in layout) == dimension\n"
        "    return Stubborn(arms=arms, dimension=dimension, objectives=objectives)\n"
    )
    text = WORLDS.replace("runs = 3", "runs = 3\ntolerances = [1, 0.5]")
    text = text.replace('name = "random"', 'name = "told.py:told"')
    for curve in play(plan(small(tmp_path, text))[0]).curves:
        assert curve.tolerance_regret is not None
        assert (curve.tolerance_regret[:, 0] == 0).all()
        assert (curve.tolerance_regret[:, 1] > 0).all()


def test_a_policy_may_be_given_a_tolerance_of_its_own(tmp_path: Path) -> None:
    text = WORLDS.replace('name = "lex-linucb"', 'name = "lex-linucb"\ntolerance = 0.3')
    own, _ = play(plan(small(tmp_path, text))[0]).curves
    told, _ = play(plan(small(tmp_path, WORLDS))[0]).curves
    assert not np.array_equal(own.arm_share, told.arm_share)


def test_worlds_of_their_own_have_no_common_map(tmp_path: Path) -> None:
    text = WORLDS.replace('"interactions"', '"smooth"')
    assert play(plan(small(tmp_path, text))[0]).optimal is None
    text = SMALL.replace('name = "synthetic"', 'name = "tolerance"\nkind = "smooth"')
    assert play(plan(small(tmp_path, text))[0]).optimal is not None
