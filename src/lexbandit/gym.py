"""Gymnasium environments with vector rewards from lexbandit environments, and the reverse.

Importing this module registers every environment of the registry with Gymnasium:

    import gymnasium
    import lexbandit.gym
    env = gymnasium.make("lexbandit/Multichannel-v1")

They follow MO-Gymnasium: the reward is a vector in `reward_space`. It needs the extra `gym`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lexbandit.checks import Floats, floats, unmasked, whole
from lexbandit.environments import REGISTRY, Environment, make_environment
from lexbandit.errors import InvalidInput
from lexbandit.rounds import Rounds

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector.utils import batch_space
except ImportError as error:  # pragma: no cover
    raise InvalidInput(
        'lexbandit.gym needs gymnasium, which is not installed: pip install "lexbandit[gym]".'
    ) from error

_BLOCK = 1024
_FOREVER = 2**50
_SEEDS = 2**31


class BanditEnv(gymnasium.Env[Floats, Any]):
    """A lexbandit environment as a Gymnasium environment.

    environment   a registered name, or an `Environment`
    rounds        how many rounds an episode has; with 1 every step ends it
    parameters    those of the environment by name

    The observation is the context, a point of [0,1]^d; the action is the arm; the reward has one
    number for each objective, in order of priority. Actions have no influence on later contexts.
    After a `reset` with a seed the rounds are those of `environment.stream(seed=...)`;
    without one the stream goes on. `step` tells in its info the means, where they are known, of the
    round that was played.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        environment: str | Environment,
        *,
        rounds: int = 1,
        render_mode: str | None = None,
        **parameters: Any,
    ) -> None:
        if isinstance(environment, Environment):
            if parameters:
                raise InvalidInput(
                    f"{', '.join(parameters)}: parameters are for an environment by name."
                )
            self.environment = environment
        else:
            self.environment = make_environment(environment, **parameters)
        self.rounds = whole("rounds", rounds, least=1)
        self.render_mode = render_mode
        shape = (self.environment.dimension,)
        self.observation_space = spaces.Box(0.0, 1.0, shape, np.float64)
        self.action_space = spaces.Discrete(self.environment.arms)
        self.reward_dim = self.environment.objectives
        self.reward_space = spaces.Box(-np.inf, np.inf, (self.reward_dim,), np.float64)
        self._stream: Iterator[Rounds] | None = None
        self._block: Rounds | None = None
        self._at = 0
        self._left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Return the context of the next round; with a seed, of the first round of its stream."""
        super().reset(seed=seed)
        if seed is not None:
            self._begin(seed)
        elif self._stream is None:
            self._begin(int(self.np_random.integers(_SEEDS)))
        elif self._left:  # the last context of an unfinished episode was seen, so it is skipped
            self._at += 1
        self._left = self.rounds
        return self._context(), {}

    def step(self, action: Any) -> tuple[Floats, Any, bool, bool, dict[str, Any]]:
        """Play an arm; returns the next context, the arm's rewards, and whether the episode ends.

        An episode of one round is over by itself, a longer one is cut off.
        """
        if self._left == 0 or self._block is None:
            raise InvalidInput("the episode is over: call reset() before step().")
        if not self.action_space.contains(action):
            raise InvalidInput(
                f"action must be a whole number from 0 to {self.environment.arms - 1}, "
                f"got {action!r}."
            )
        block, at = self._block, self._at
        rewards = block.outcomes[at, int(action)].copy()
        info = {} if block.means is None else {"means": block.means[at].copy()}
        self._at += 1
        self._left -= 1
        over = self._left == 0
        return self._context(), rewards, over and self.rounds == 1, over and self.rounds > 1, info

    def _begin(self, seed: int) -> None:
        horizon = self.environment.rows or _FOREVER
        self._stream = self.environment.stream(horizon, seed=seed, block=min(_BLOCK, horizon))
        self._block, self._at = None, 0

    def _context(self) -> Floats:
        """Return the context of the present round; a recording begins anew at its end."""
        if self._block is None or self._at == len(self._block):
            assert self._stream is not None
            self._block = next(self._stream, None)
            if self._block is None:
                self._begin(0)
                assert self._stream is not None
                self._block = next(self._stream)
            self._at = 0
        context: Floats = self._block.contexts[self._at].copy()
        return context


class BanditVectorEnv(gymnasium.vector.VectorEnv[Floats, Any, Any]):
    """Several `BanditEnv` at once, as `gymnasium.make_vec` makes them; rewards are [num_envs, D].

    Gymnasium's own vector environments take one number as a reward. An episode that ends begins
    anew in the same step: the observation is already the next context.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as Gymnasium declares it
        "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP
    }

    def __init__(self, environment: str | Environment, *, num_envs: int = 1, **given: Any) -> None:
        self.num_envs = whole("num_envs", num_envs, least=1)
        self.envs = [BanditEnv(environment, **given) for _ in range(self.num_envs)]
        first = self.envs[0]
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.reward_dim = first.reward_dim
        self.reward_space = batch_space(first.reward_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Return the contexts of all; with a number as the seed they have seed, seed + 1, ..."""
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + n for n in range(self.num_envs)]
        else:
            seeds = list(seed)
        pairs = zip(self.envs, seeds, strict=True)
        return np.stack([env.reset(seed=one, options=options)[0] for env, one in pairs]), {}

    def step(self, actions: Any) -> tuple[Floats, Any, Any, Any, dict[str, Any]]:
        """Play an arm in each; returns contexts, rewards [num_envs, D] and which episodes ended."""
        played = list(actions)
        if len(played) != self.num_envs:
            raise InvalidInput(
                f"there are {self.num_envs} environments, got {len(played)} actions."
            )
        steps = [env.step(action) for env, action in zip(self.envs, played, strict=True)]
        contexts, rewards, ended, cut, infos = (list(part) for part in zip(*steps, strict=True))
        over = np.array(ended) | np.array(cut)
        info: dict[str, Any] = {}
        if all("means" in one for one in infos):
            info["means"] = np.stack([one["means"] for one in infos])
        if over.any():
            info |= {"final_obs": np.stack(contexts), "_final_obs": over}
            contexts = [
                env.reset()[0] if done else context
                for env, context, done in zip(self.envs, contexts, over, strict=True)
            ]
        return np.stack(contexts), np.stack(rewards), np.array(ended), np.array(cut), info


def gym_id(name: str) -> str:
    """Return an environment's Gymnasium id, such as lexbandit/DisplayAdvertising-v1."""
    return f"lexbandit/{''.join(part.capitalize() for part in name.split('-'))}-v1"


def register_all() -> list[str]:
    """Register every environment with Gymnasium, once; returns their ids."""
    ids = []
    for name in REGISTRY.names():
        ids.append(gym_id(name))
        if ids[-1] not in gymnasium.registry:
            gymnasium.register(
                ids[-1],
                entry_point="lexbandit.gym:BanditEnv",
                vector_entry_point="lexbandit.gym:BanditVectorEnv",
                kwargs={"environment": name},
                disable_env_checker=True,  # Gymnasium's own wants one number as the reward
            )
    return ids


class FromGymnasium(Environment):
    """A one-step Gymnasium environment with vector rewards as a lexbandit environment.

    env         every episode must end with its first step, and depend on the seed of `reset` alone
    objectives  how many rewards there are; read from `env.reward_space` where it has one

    Each arm is tried in every round: `reset` with one seed and `step` with each action in turn. So
    all policies see the same rounds. The actions are Discrete, observations are flattened and
    scaled to [0,1] by their bounds. The means are not known.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any]", *, objectives: int | None = None) -> None:
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput(f"env must be a gymnasium.Env, got {env!r}.")
        if not isinstance(env.action_space, spaces.Discrete):
            raise InvalidInput(f"the action space must be Discrete, got {env.action_space!r}.")
        flat = spaces.flatten_space(env.observation_space)
        if not isinstance(flat, spaces.Box) or not flat.is_bounded() or flat.shape == (0,):
            raise InvalidInput(
                f"the observation space must have finite bounds, got {env.observation_space!r}; "
                "gymnasium.wrappers.RescaleObservation can give it some."
            )
        self.env = env
        self.arms = int(env.action_space.n)
        self.dimension = int(flat.shape[0])
        self._low = flat.low.astype(np.float64)
        self._span = np.maximum(flat.high.astype(np.float64) - self._low, 1e-300)
        space = getattr(env.unwrapped, "reward_space", None)
        declared = int(np.prod(space.shape)) if space is not None else 1
        self.objectives = (
            declared if objectives is None else whole("objectives", objectives, least=1)
        )

    def _blocks(
        self, left: int, block: int, contexts: np.random.Generator, rewards: np.random.Generator
    ) -> Iterator[Rounds]:
        while left > 0:
            n = min(block, left)
            points = np.empty((n, self.dimension))
            outcomes = np.empty((n, self.arms, self.objectives))
            for t, seed in enumerate(contexts.integers(_SEEDS, size=n).tolist()):
                points[t] = self._tried(seed, outcomes[t])
            yield Rounds(points, outcomes)
            left -= n

    def _tried(self, seed: int, outcomes: Floats) -> Floats:
        """Write the rewards of every arm in the round of a seed; returns its context."""
        start = int(getattr(self.env.action_space, "start", 0))
        first: Floats | None = None
        for arm in range(self.arms):
            observed, _ = self.env.reset(seed=seed)
            point = self._point(observed)
            if first is not None and not np.array_equal(point, first):
                raise InvalidInput("the environment's reset does not depend on its seed alone.")
            first = point
            _, reward, terminated, truncated, _ = self.env.step(start + arm)
            if not (terminated or truncated):
                raise InvalidInput(
                    "the environment goes on after a step; only episodes of one step are rounds."
                )
            given = np.atleast_1d(np.asarray(unmasked(reward)))
            outcomes[arm] = floats("the reward", given, (self.objectives,))
        assert first is not None
        return first

    def _point(self, observed: Any) -> Floats:
        flat = np.asarray(spaces.flatten(self.env.observation_space, observed), np.float64)
        return np.clip((flat - self._low) / self._span, 0.0, 1.0)

    def _means(self, contexts: Floats) -> Floats:
        raise InvalidInput("the means of a Gymnasium environment are not known.")

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        raise NotImplementedError("its rounds are drawn by the Gymnasium environment")

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        raise NotImplementedError("its rounds are drawn by the Gymnasium environment")


register_all()
