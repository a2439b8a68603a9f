"""Which policy a chooser gets, and in which coordinates it sees contexts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit.contexts import Contexts, Feature
from lexbandit.errors import InvalidInput
from lexbandit.objectives import Objective
from lexbandit.policies import REGISTRY, Policy, make_policy

DEFAULT = "lex-linucb"


def policy_for(
    policy: str | Policy | None,
    *,
    objectives: Sequence[Objective],
    arms: int,
    context: Sequence[Feature],
    horizon: int | None,
    seed: int,
    settings: Mapping[str, Any],
) -> tuple[Policy, Contexts]:
    """Return the policy, made if a name was given, and the contexts as it sees them.

    The default is docs/choosing-a-policy.md's.
    """
    if isinstance(policy, Policy):
        if settings:
            raise InvalidInput(
                f"{', '.join(settings)}: settings are for a policy by name; this one is made."
            )
        return policy, _contexts_of(policy, objectives, arms, context)
    name = DEFAULT if policy is None else policy
    contexts = Contexts(context, smooth="features" in REGISTRY.parameters(name))
    shares = [objective.tolerance / objective.span for objective in objectives]
    known = {} if horizon is None else {"horizon": horizon}
    made = make_policy(
        name,
        arms=arms,
        dimension=contexts.dimension,
        objectives=len(objectives),
        seed=seed,
        **{"tolerance": np.array(shares), **known, **settings},
    )
    return made, contexts


def _contexts_of(
    policy: Policy, objectives: Sequence[Objective], arms: int, context: Sequence[Feature]
) -> Contexts:
    """Return the contexts in the coordinates whose number is the policy's dimension."""
    mine = {"arms": arms, "objectives": len(objectives)}
    for what, number in mine.items():
        if getattr(policy, what) != number:
            raise InvalidInput(
                f"the policy has {getattr(policy, what)} {what}, the chooser {number}."
            )
    smooth, cells = Contexts(context), Contexts(context, smooth=False)
    for contexts in (smooth, cells):
        if contexts.dimension == policy.dimension:
            return contexts
    raise InvalidInput(
        f"the policy has {policy.dimension} context features; these become {smooth.dimension} "
        f"coordinates, or {cells.dimension} for a policy on cells."
    )
