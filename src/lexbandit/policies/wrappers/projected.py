"""A policy that is shown some of the context features only."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import PolicyDecision, PolicyExplanation
from lexbandit.errors import InvalidInput
from lexbandit.policies.base import (
    Policy,
    Prior,
    array_of,
    mapping_of,
)
from lexbandit.policies.registry import REGISTRY, make_policy
from lexbandit.rounds import Rounds


class ProjectedPolicy(Policy):
    """Lets `inner` decide and learn by the context features numbered `visible`, in that order."""

    def __init__(self, *, inner: Policy, dimension: int, visible: Integers) -> None:
        super().__init__(arms=inner.arms, dimension=dimension, objectives=inner.objectives)
        self.inner = inner
        self.visible = visible

    def _seen(self, context: Any) -> Floats:
        """Return what the inner policy may see of a context; all of it is checked."""
        point = self._context(context)
        checks.in_unit_cube("context", point)
        return np.asarray(point[self.visible])

    @property
    def read_tolerances(self) -> Floats | None:
        """The tolerances of the inner policy."""
        return self.inner.read_tolerances

    @property
    def plays_by_arm(self) -> list[int] | None:
        """How often the inner policy learned from each arm."""
        return self.inner.plays_by_arm

    @property
    def model_features(self) -> int:
        """How many features the inner policy's means are linear in."""
        return self.inner.model_features

    @property
    def knows_deviations(self) -> bool:
        """Whether the inner policy says how uncertain its means are."""
        return self.inner.knows_deviations

    def predict(self, context: Any) -> tuple[Floats, Floats]:
        """Return what the inner policy expects of every arm, and the deviations."""
        return self.inner.predict(self._seen(context))

    def _expect_checked(self, point: Floats, arm: int) -> tuple[Floats, Floats]:
        return self.inner._expect_checked(np.ascontiguousarray(point[self.visible]), arm)

    def _learn_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None, amends: bool
    ) -> tuple[Floats, Floats]:
        seen = np.ascontiguousarray(point[self.visible])
        return self.inner._learn_checked(seen, arm, rewards, allowed, amends)

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        return self.inner._predict_averages(averages)

    def reseed(self, seed: int) -> None:
        """Start another random stream in the inner policy."""
        self.inner.reseed(seed)

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        return self.inner.select(self._seen(context), allowed)

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed"."""
        self.inner.update(self._seen(context), arm, rewards, allowed)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that `update` recorded, if the inner policy can."""
        self.inner.amend(self._seen(context), arm, rewards, allowed)

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities."""
        points, masks = self._many(contexts, allowed)
        return self.inner.select_many(points[:, self.visible], masks)

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]."""
        points, masks = self._many(contexts, allowed)
        self.inner.update_many(points[:, self.visible], arms, rewards, masks)

    def replay(self, rounds: Rounds) -> Integers:
        """Let the inner policy replay the rounds with the features it may see."""
        self._check_rounds(rounds)
        seen = rounds.contexts[:, self.visible]
        return self.inner.replay(Rounds(seen, rounds.outcomes, rounds.means, rounds.allowed))

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what the inner policy knows, and why it would choose an arm."""
        return replace(self.inner.explain(self._seen(context), allowed), policy=self.name)

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm, with a prior or none; returns its number."""
        added = self.inner.add_arm(prior)
        self._set_arms(self.arms + 1)
        return added

    def state(self) -> dict[str, np.ndarray]:
        """Return the inner policy's arrays, and one more.

        projection  int64[...]  the numbers of the features that it sees
        """
        return {**self.inner.state(), "projection": self.visible.copy()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy that sees the same features."""
        self.inner.load_state(self._inner_state(state))

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what a policy that sees the same features learned, if the inner policy can."""
        self.inner.merge(self._inner_state(state))

    def _inner_state(self, state: Any) -> dict[str, Any]:
        """Return the part of a state that is the inner policy's."""
        if "projection" not in mapping_of(state):
            raise InvalidInput(
                f"state has no array 'projection'; it needs {', '.join(self.state())}."
            )
        if not np.array_equal(array_of("projection", state["projection"]), self.visible):
            raise InvalidInput(
                f"state['projection'] is {state['projection']!r}, of this policy "
                f"{self.visible.tolist()}: the state means something else."
            )
        return {name: state[name] for name in state if name != "projection"}


def _checked(visible: Any, dimension: int) -> Integers:
    """Return the numbers of features: at least one, none twice, each below `dimension`."""
    if isinstance(visible, str) or not isinstance(visible, Sequence | np.ndarray):
        raise InvalidInput(f"visible must be a list of numbers such as [0, 2], got {visible!r}.")
    numbers = [
        checks.whole(f"visible[{j}]", number, least=0, most=dimension - 1)
        for j, number in enumerate(visible)
    ]
    if not numbers or len(set(numbers)) != len(numbers):
        raise InvalidInput(f"visible must name at least one, and none twice, got {visible!r}.")
    return np.array(numbers, np.int64)


def _seen_layout(layout: Sequence[tuple[str, int]], visible: list[int]) -> list[tuple[str, int]]:
    """Return the layout of what is seen: a feature that is not seen whole becomes numbers."""
    features, start = {}, 0
    for kind, size in layout:
        features[start] = (kind, size)
        start += size
    seen, at = [], 0
    while features and at < len(visible):
        first = visible[at]
        kind, size = features.get(first, ("number", 1))
        if visible[at : at + size] != list(range(first, first + size)):
            kind, size = "number", 1
        seen.append((kind, size))
        at += size
    return seen


@REGISTRY.register("projected")
def projected(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    policy: str,
    visible: Sequence[int],
    seed: int = 0,
    **inner: Any,
) -> ProjectedPolicy:
    """Another `policy` that is shown some of the context features only, to tell what others add."""
    shown = _checked(visible, dimension)
    if "layout" in inner:
        inner["layout"] = _seen_layout(inner["layout"], shown.tolist())
    made = make_policy(
        policy, arms=arms, dimension=len(shown), objectives=objectives, seed=seed, **inner
    )
    return ProjectedPolicy(inner=made, dimension=dimension, visible=shown)
