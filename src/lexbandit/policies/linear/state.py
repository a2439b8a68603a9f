"""What a linear policy keeps, to be written down, read again and added to another's."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.features import FeatureMap
from lexbandit.kernels.linear_features import GIVEN
from lexbandit.kernels.random import seeded
from lexbandit.policies.base import Policy, Prior
from lexbandit.policies.linear.memory import LinearMemory
from lexbandit.policies.priors import check_priors, refuse_other_priors
from lexbandit.policies.state import (
    array_of,
    arrays_like,
    check_counted,
    mapping_of,
    same_definition,
)

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


class LinearState(Policy):
    """A policy with a ridge regression per arm (and stage) on features, a clock and plays."""

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
        self._kind = features.kind
        self._known = self._kind != GIVEN
        self._table: Floats = features.table if self._known else np.empty((features.count, 0))
        # Room for the features of a context, and for what an arm is expected to give there.
        self._expected: tuple[Floats, Floats] = np.empty((1, features.count)), np.empty(objectives)

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number. Nothing is known of it: its Gram matrix is the ridge.

        A prior (means, weight) adds weight · E[φφᵀ] to it and weight · mean · E[φ] to the moments,
        with contexts uniform on [0,1]^d. The weight is a whole number.
        """
        if self.stages > 1:
            self._refuse_prior(prior)
        means, weight = self._prior(prior)
        self._memory.add_rows(self.stages)
        if weight > 0:
            self._memory.set_prior(self.arms, weight, means, self.features)
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
        priors    float64[R, 1 + D]     weight and means each began with; part of all sums
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
        arrays = self._checked(state)
        self._memory.restore(arrays)
        self._plays = arrays["plays"].astype(np.float64)
        self._clock, self._random = arrays["rounds"], arrays["random"]

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        Gram matrices, moments, counts, plays and clocks are added, the ridge and priors counted
        once, the inverses computed anew. The random state stays.
        """
        if self.stages > 1:
            super().merge(state)
        arrays = self._checked(state)
        refuse_other_priors(self._memory.priors, arrays["priors"])
        self._memory.merge(arrays, self.features)
        self._plays += arrays["plays"]
        self._clock += arrays["rounds"]

    def _checked(self, state: Any) -> dict[str, np.ndarray]:
        """Return a state's arrays; one that does not fit is refused."""
        wanted = self.state()
        shape = array_of("grams", mapping_of(state).get("grams", ())).shape
        if shape[1:2] in ((1,), (self.objectives,)):
            # One Gram matrix an objective, or one for all: the state says which.
            for name in ("grams", "inverses"):
                like = wanted[name]
                wanted[name] = np.empty((like.shape[0], shape[1], *like.shape[2:]))
        arrays = arrays_like(state, wanted, ())
        self._check_state(arrays)
        return arrays

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        same_definition(arrays, self._definition())
        check_counted(arrays, "plays", "rounds")
        if arrays["plays"].sum() != arrays["rounds"][0]:
            raise InvalidInput(
                f"state['rounds'] is {arrays['rounds'][0]}, and state['plays'] add up to "
                f"{arrays['plays'].sum()}: every round plays one arm."
            )
        check_priors(arrays["priors"])
        told = arrays["counts"] - arrays["priors"][:, :1].astype(np.int64)
        seen = told.reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        checks.refuse_first(
            "state['counts']",
            seen,
            (seen < 0) | (seen > arrays["plays"][:, np.newaxis]),
            "counts go from 0 to the plays of the arm",
        )
        self._memory.check(arrays)
