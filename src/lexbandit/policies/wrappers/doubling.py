"""The doubling trick: run a policy that needs a horizon without knowing it."""

from collections.abc import Mapping
from typing import Any

from lexbandit import checks
from lexbandit.errors import InvalidInput
from lexbandit.policies.base import Policy
from lexbandit.policies.registry import REGISTRY, make_policy, parameters_of
from lexbandit.policies.wrappers.phases import PhasedPolicy


class DoublingPolicy(PhasedPolicy):
    """Phase k plays the policy `policy` anew, made for its own `first` · 2^k rounds.

    A regret of C·T^γ at a known horizon becomes at most C·2^γ/(2^γ − 1)·T^γ, up to the first phase
    (Cesa-Bianchi and Lugosi, 2006, Section 2.3). The paper names it for MOC-MAB in Section IV.
    """

    def __init__(
        self,
        *,
        arms: int,
        dimension: int,
        objectives: int,
        policy: str,
        first: int,
        inner: Mapping[str, Any],
        seed: int,
    ) -> None:
        if "horizon" not in parameters_of(policy):
            raise InvalidInput(f"{policy} has no use for a horizon, so there is none to double.")
        self.policy = policy
        self.first = checks.whole("first", first, least=1)
        self._parameters = dict(inner)
        super().__init__(arms=arms, dimension=dimension, objectives=objectives, seed=seed)

    def _length(self, phase: int) -> int:
        return int(self.first * 2**phase)

    def _make(self, phase: int, seed: int) -> Policy:
        return make_policy(
            self.policy,
            arms=self.arms,
            dimension=self.dimension,
            objectives=self.objectives,
            horizon=self._length(phase),
            seed=seed,
            **self._parameters,
        )


@REGISTRY.register("doubling")
def doubling(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    policy: str,
    first: int = 1,
    horizon: int | None = None,  # noqa: ARG001  (each phase has its own)
    seed: int = 0,
    **inner: Any,
) -> DoublingPolicy:
    """The doubling trick: another `policy`, restarted with twice the horizon, again and again."""
    return DoublingPolicy(
        arms=arms,
        dimension=dimension,
        objectives=objectives,
        policy=policy,
        first=first,
        inner=inner,
        seed=seed,
    )
