"""Environments as Gymnasium's, and Gymnasium's as ours."""

from typing import Any

import numpy as np
import pytest

from lexbandit import InvalidInput, make_environment, make_policy
from lexbandit.environments import REGISTRY

gymnasium: Any = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: the extra gym"
)
lexgym: Any = pytest.importorskip("lexbandit.gym")

# A recording of a file that is not in the package is made with its path.
NAMES = [name for name in REGISTRY.names() if name != "display-advertising"]


def test_every_environment_is_registered() -> None:
    ids = lexgym.register_all()
    assert len(ids) == len(REGISTRY.names())
    assert "lexbandit/Multichannel-v1" in ids
    assert lexgym.gym_id("display-advertising") == "lexbandit/DisplayAdvertising-v1"
    assert set(ids) <= set(gymnasium.registry)
    assert lexgym.register_all() == ids  # once is enough


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rounds", [1, 20])
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasiums_checker_passes(name: str, rounds: int) -> None:
    """On the most important reward alone, since it wants a single number."""
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(lexgym.gym_id(name), rounds=rounds)
    first = gymnasium.wrappers.TransformReward(env, lambda reward: float(reward[0]))
    check_env(first, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_it_is_an_environment_of_mo_gymnasium(name: str) -> None:
    """As MO-Gymnasium checks its own: Gymnasium's checker on a weighted sum of the rewards."""
    mo_gymnasium = pytest.importorskip(
        "mo_gymnasium", reason="mo-gymnasium is not installed: the extra dev"
    )
    from gymnasium.utils.env_checker import check_env

    env = mo_gymnasium.make(lexgym.gym_id(name))
    check_env(mo_gymnasium.wrappers.LinearReward(env), skip_render_check=True)
    env.reset(seed=1)
    _, reward, _, _, _ = env.step(env.action_space.sample())
    assert env.unwrapped.reward_space.contains(reward)
    assert env.unwrapped.reward_dim == len(reward)


@pytest.mark.parametrize("name", NAMES)
def test_the_rounds_are_those_of_the_stream(name: str) -> None:
    environment = make_environment(name)
    rounds = environment.rounds(30, seed=7)
    env = gymnasium.make(lexgym.gym_id(name), rounds=10)
    random = np.random.default_rng(0)
    seen, _ = env.reset(seed=7)
    for t in range(30):
        np.testing.assert_array_equal(seen, rounds.contexts[t])
        arm = int(random.integers(environment.arms))
        seen, reward, terminated, truncated, info = env.step(arm)
        np.testing.assert_array_equal(reward, rounds.outcomes[t, arm])
        assert rounds.means is not None
        np.testing.assert_array_equal(info["means"], rounds.means[t])
        assert (terminated, truncated) == (False, t % 10 == 9)
        if truncated and t < 29:
            seen, _ = env.reset()


def test_one_round_ends_an_episode() -> None:
    env = gymnasium.make("lexbandit/Synthetic-v1")
    env.reset(seed=0)
    assert env.step(0)[2:4] == (True, False)
    with pytest.raises(InvalidInput, match=r"call reset\(\) before step"):
        env.unwrapped.step(0)


def test_parameters_and_objects() -> None:
    env = gymnasium.make("lexbandit/Planted-v1", arms=3, dimension=4, objectives=5)
    assert env.action_space.n == 3
    assert env.observation_space.shape == (4,)
    assert env.unwrapped.reward_space.shape == (5,)
    given = lexgym.BanditEnv(make_environment("planted", arms=7))
    assert given.action_space.n == 7
    with pytest.raises(InvalidInput, match="environment by name"):
        lexgym.BanditEnv(make_environment("planted"), arms=7)
    with pytest.raises(InvalidInput, match="did you mean 'planted'"):
        lexgym.BanditEnv("plantd")
    with pytest.raises(InvalidInput, match="rounds"):
        lexgym.BanditEnv("planted", rounds=0)
    given.reset(seed=0)
    for wrong in (7, -1, "a", None):
        with pytest.raises(InvalidInput, match="action must be a whole number from 0 to 6"):
            given.step(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str) -> None:
    ours = lexgym.FromGymnasium(gymnasium.make(lexgym.gym_id(name)))
    original = make_environment(name)
    assert (ours.arms, ours.objectives, ours.dimension) == (
        original.arms,
        original.objectives,
        original.dimension,
    )
    rounds = ours.rounds(40, seed=3)
    assert rounds.means is None
    again = np.concatenate([part.outcomes for part in ours.stream(40, seed=3, block=7)])
    np.testing.assert_array_equal(rounds.outcomes, again)
    assert (ours.rounds(40, seed=4).contexts != rounds.contexts).any()
    policy = make_policy(
        "moc-mab", arms=ours.arms, dimension=ours.dimension, objectives=ours.objectives, horizon=40
    )
    assert len(policy.replay(rounds)) == 40
    with pytest.raises(InvalidInput, match="not known"):
        ours.means(rounds.contexts)


class Machine(gymnasium.Env):  # type: ignore[misc]
    """A stranger: one step, observations from −5 to 5, two rewards."""

    observation_space = gymnasium.spaces.Box(-5.0, 5.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3, start=1)
    reward_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    steps = 1
    forgetful = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=None if self.forgetful else seed)
        self.at = self.np_random.uniform(-5, 5, 2).astype(np.float32)
        return self.at, {}

    def step(self, action: Any) -> Any:
        reward = np.array([action / 3, self.np_random.random()], np.float32)
        return self.at, reward, self.steps == 1, False, {}


def test_a_strangers_environment() -> None:
    ours = lexgym.FromGymnasium(Machine())
    rounds = ours.rounds(50, seed=0)
    assert (ours.arms, ours.objectives, ours.dimension) == (3, 2, 2)
    np.testing.assert_allclose(rounds.outcomes[:, :, 0], np.tile([1 / 3, 2 / 3, 1], (50, 1)), 1e-6)
    # Every arm is tried at the same point, with the same luck.
    assert (np.ptp(rounds.outcomes[:, :, 1], axis=1) == 0).all()
    assert 0.3 < rounds.contexts.mean() < 0.7


def test_what_is_no_bandit_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"must be a gymnasium\.Env"):
        lexgym.FromGymnasium("CartPole-v1")
    with pytest.raises(InvalidInput, match="must be Discrete"):
        lexgym.FromGymnasium(gymnasium.make("Pendulum-v1"))
    with pytest.raises(InvalidInput, match="finite bounds"):
        lexgym.FromGymnasium(gymnasium.make("CartPole-v1"))
    machine = Machine()
    machine.steps = 2
    with pytest.raises(InvalidInput, match="only episodes of one step"):
        lexgym.FromGymnasium(machine).rounds(1, seed=0)
    machine = Machine()
    machine.forgetful = True
    with pytest.raises(InvalidInput, match="does not depend on its seed alone"):
        lexgym.FromGymnasium(machine).rounds(1, seed=0)
    with pytest.raises(InvalidInput, match="shape"):
        lexgym.FromGymnasium(Machine(), objectives=3).rounds(1, seed=0)


@pytest.mark.parametrize("rounds", [1, 3])
def test_environments_work_vectorised(rounds: int) -> None:
    name = lexgym.gym_id("multichannel")
    many = gymnasium.make_vec(name, num_envs=3, rounds=rounds)
    single = [gymnasium.make(name, rounds=rounds) for _ in range(3)]
    contexts, _ = many.reset(seed=5)
    expected = [env.reset(seed=5 + n)[0] for n, env in enumerate(single)]
    for _ in range(7):
        np.testing.assert_array_equal(contexts, expected)
        actions = [0, 1, 2]
        contexts, rewards, ended, cut, _ = many.step(actions)
        assert rewards.shape == (3, 2)
        for n, env in enumerate(single):
            context, reward, *over, _ = env.step(actions[n])
            np.testing.assert_array_equal(rewards[n], reward)
            assert [ended[n], cut[n]] == over
            expected[n] = env.reset()[0] if any(over) else context
    with pytest.raises(InvalidInput, match="3 environments, got 2 actions"):
        many.step([0, 1])
