"""A rule on ridge regressions: what the models remember is shared, the rule says which arm."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, Decision, Explanation
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.features import FeatureMap
from lexbandit.kernels import linear as kernel
from lexbandit.kernels.random import seeded
from lexbandit.kernels.statistics import INDEX, MEAN, WIDTH
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.base import Policy
from lexbandit.policies.levels import Levels
from lexbandit.policies.linear_memory import LinearMemory
from lexbandit.rounds import Rounds

# Features are computed for so many numbers at a time: 8 MB.
_CHUNK = 2**20
_MOST_PLAYS = 2**53
# With it, widths are right to 10⁻⁵ after 5·10⁶ rounds of one and the same context.
LEAST_RIDGE = 0.001


def _ridge(value: object) -> float:
    """Return the ridge; without one the Gram matrix of a new arm is singular."""
    number = checks.at_least_zero("ridge", value)
    if number < LEAST_RIDGE:
        raise InvalidInput(
            f"ridge must be at least {LEAST_RIDGE}, got {value!r}: at 0 the Gram matrix of a new "
            "arm is singular, and with less than this its inverse is not accurate."
        )
    return number


class LinearPolicy(Policy):
    """A rule that decides by a ridge regression per arm on features φ(x) of the context.

    A = ridge·I + Σφφᵀ and b^i = Σ r^i φ over the rounds of the arm, θ^i = A⁻¹b^i; the mean at x is
    φᵀθ^i and its width a multiple of sqrt(φᵀA⁻¹φ). A is shared by the objectives until a reward is
    missing in some of them only. A subclass is a rule: it supplies `_look`, `_select`, `_replay`,
    `_shares` and `_reason`; with several `stages` an arm has one model a stage, see `_row`.
    """

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        ridge: float,
        seed: int,
        stages: int = 1,
    ) -> None:
        super().__init__(arms=arms, dimension=features.dimension, objectives=objectives)
        self.features = features
        self.ridge = _ridge(ridge)
        self.stages = stages
        self._random = seeded(checks.whole("seed", seed, least=0))
        self._plays: Floats = np.zeros(arms)
        self._clock: Integers = np.zeros(1, np.int64)
        self._memory = LinearMemory(
            rows=arms * stages, objectives=objectives, size=features.count, ridge=self.ridge
        )

    @abstractmethod
    def _look(self, features: Floats, ceilings: Floats) -> Floats:
        """Return means, widths and indices at features[1, F] as stats[1, D, fields, K]."""

    @abstractmethod
    def _select(self, features: Floats, ceilings: Floats) -> tuple[int, float]:
        """Return the arm to play at features[1, F] and its exact probability."""

    @abstractmethod
    def _replay(
        self, start: int, features: Floats, outcomes: Floats, ceilings: Floats, arms: Integers
    ) -> int:
        """Run the compiled loop from round `start` on, write the arms; returns where it stopped.

        It stops at the end, or at a round whose rewards are partly missing while one Gram matrix
        serves all objectives; that round's arm is written and not learned from.
        """

    @abstractmethod
    def _shares(self, features: Floats, ceilings: Floats, stats: Floats) -> Floats:
        """Return the exact probability of every arm; `stats` is from `_look`."""

    @abstractmethod
    def _reason(
        self, features: Floats, ceilings: Floats, stats: Floats, shares: Floats
    ) -> tuple[Booleans, str]:
        """Return which arms are candidates, and in a sentence why the likely ones are chosen."""

    def _row(self, features: Floats, arm: int) -> int:
        """Return the model that learns from `arm` at features[1, F]; −1 for none."""
        return arm

    def select(self, context: Any, allowed: Any = None) -> Decision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        features = self._features(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        return Decision._make(self._select(features, ceilings))

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under; linear policies have no use for it.
        """
        features = self._features(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._update(features, number, values)
        if answer == kernel.TOO_LARGE:
            too_large = np.abs(values) > checks.LARGEST_REWARD
            checks.refuse_first("rewards", values, too_large, checks.REWARDS_ALLOWED)
        if answer == kernel.PARTIAL:
            self._memory.split()
            self._update(features, number, values)

    def _update(self, features: Floats, arm: int, rewards: Floats) -> int:
        memory = self._memory
        return kernel.update(
            features,
            arm,
            self._row(features, arm),
            rewards.reshape(1, 1, -1),
            self._plays,
            self._clock,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
        )

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        checks.in_unit_cube("contexts", rounds.contexts)
        masks = self._no_ceiling if rounds.allowed is None else ceilings_of(rounds.allowed)
        arms = np.empty(len(rounds), np.int64)
        chunk = max(1, _CHUNK // self.features.count)
        for first in range(0, len(rounds), chunk):
            part = slice(first, first + chunk)
            ceilings = masks if rounds.allowed is None else masks[part]
            features = self.features.of_checked(rounds.contexts[part])
            outcomes, played = rounds.outcomes[part], arms[part]
            done = self._replay(0, features, outcomes, ceilings, played)
            while done < len(features):
                self._memory.split()
                arm = int(played[done])
                self._update(features[done : done + 1], arm, outcomes[done, arm])
                done = self._replay(done + 1, features, outcomes, ceilings, played)
        return arms

    def _features(self, context: Any) -> Floats:
        """Return φ(x) of a context, checked, as one row."""
        point = self._context(context)
        if not (point.min() >= 0.0 and point.max() <= 1.0):
            checks.in_unit_cube("context", point)
        return self.features.of_checked(point[np.newaxis])

    def explain(self, context: Any, allowed: Any = None) -> Explanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        features = self._features(context)
        ceilings = self._ceilings(allowed)
        stats = self._look(features, ceilings)
        shares = self._shares(features, ceilings, stats)
        candidates, reason = self._reason(features, ceilings, stats, shares)
        seen = self._memory.counts.reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        reports = tuple(
            ArmReport(
                arm=arm,
                allowed=bool(ceilings[0, arm] > 0),
                plays=int(self._plays[arm]),
                observations=tuple(int(n) for n in seen[arm]),
                mean=tuple(stats[0, :, MEAN, arm].tolist()),
                width=tuple(stats[0, :, WIDTH, arm].tolist()),
                index=tuple(stats[0, :, INDEX, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
            )
            for arm in range(self.arms)
        )
        levels = self._levels(ceilings, stats)
        return Explanation(
            self.name,
            None,
            reports,
            reason[0].upper() + reason[1:],
            levels.told() if levels else (),
            bool(levels and levels.unsure),
        )

    def _levels(self, ceilings: Floats, stats: Floats) -> Levels | None:
        """Return what a lexicographic rule finds at each objective; None for other rules."""
        return None

    def add_arm(self) -> int:
        """Add an arm that nothing is known of: its Gram matrix is the ridge. Returns its number."""
        self._memory.add_rows(self.stages)
        self._plays = np.append(self._plays, 0.0)
        self._set_arms(self.arms + 1)
        return self.arms - 1

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        With R models (one an arm, or one an arm and stage) and G = 1 or D Gram matrices each:

        plays     int64[K]              rounds in which each arm was played
        rounds    int64[1]              updates so far: the clock
        counts    int64[R, D]           observations learned from, per objective
        grams     float64[R, G, F, F]   A = ridge·I + Σφφᵀ
        inverses  float64[R, G, F, F]   A⁻¹ as it was kept up to date, to go on bit by bit
        moments   float64[R, D, F]      b = Σ r φ
        weights   float64[R, D, F]      θ, which solves Aθ = b, as it was kept up to date
        features  float64[...]          what the features mean
        ridge     float64[1]            the ridge
        random    uint64[2]             the random state
        """
        return {
            "plays": self._plays.astype(np.int64),
            "rounds": self._clock.copy(),
            **self._memory.contents(),
            **self._definition(),
            "random": self._random.copy(),
        }

    def _definition(self) -> dict[str, np.ndarray]:
        """Return what says what the state's numbers mean; it must be equal to load a state."""
        return {"features": self.features.signature(), "ridge": np.array([self.ridge])}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives, features and ridge.

        Scale, exploration, tolerance and even the rule may differ. Anything that does not fit is
        refused, and nothing changes.
        """
        if not isinstance(state, Mapping):
            raise InvalidInput(f"load_state takes what state() returns, got {state!r}.")
        wanted = self.state()
        for name in state:
            if name not in wanted:
                raise unknown_name("state array", name, wanted)
        arrays: dict[str, np.ndarray] = {}
        matrices = self._matrices_in(state)
        for name, like in wanted.items():
            if name not in state:
                raise InvalidInput(f"state has no array {name!r}; it needs {', '.join(wanted)}.")
            shape = like.shape
            if name in ("grams", "inverses"):
                shape = (shape[0], matrices, *shape[2:])
            array = _as_array(name, state[name])
            if array.shape != shape or array.dtype.kind != like.dtype.kind:
                raise InvalidInput(
                    f"state[{name!r}] must be {like.dtype} of shape {shape}, "
                    f"got {array.dtype} of shape {array.shape}."
                )
            arrays[name] = np.array(array, like.dtype)
        self._check_state(arrays)
        self._memory.restore(arrays)
        self._plays = arrays["plays"].astype(np.float64)
        self._clock, self._random = arrays["rounds"], arrays["random"]

    def _matrices_in(self, state: Mapping[str, Any]) -> int:
        """Return G of the state: one Gram matrix an objective if it has that many, else one."""
        shape = _as_array("grams", state.get("grams", ())).shape
        return self.objectives if shape[1:2] == (self.objectives,) else 1

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        for name, mine in self._definition().items():
            if (mine != arrays[name]).any():
                raise InvalidInput(
                    f"state[{name!r}] is {arrays[name].tolist()}, of this policy {mine.tolist()}: "
                    "the state means something else."
                )
        for name in ("plays", "rounds"):
            wrong = (arrays[name] < 0) | (arrays[name] > _MOST_PLAYS)
            checks.refuse_first(
                f"state[{name!r}]", arrays[name], wrong, f"{name} are at least 0, at most 2^53"
            )
        if arrays["plays"].sum() != arrays["rounds"][0]:
            raise InvalidInput(
                f"state['rounds'] is {arrays['rounds'][0]}, and state['plays'] add up to "
                f"{arrays['plays'].sum()}: every round plays one arm."
            )
        seen = arrays["counts"].reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        checks.refuse_first(
            "state['counts']",
            seen,
            seen > arrays["plays"][:, np.newaxis],
            "counts go from 0 to the plays of the arm",
        )
        self._memory.check(arrays)


def _as_array(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"state[{name!r}] must be an array, got {value!r}.") from error
