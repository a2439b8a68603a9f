"""Which policy a chooser gets, and in which coordinates it sees contexts."""

from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from lexbandit.contexts import Contexts, Feature
from lexbandit.errors import InvalidInput
from lexbandit.objectives import Objective
from lexbandit.partitions import Exact
from lexbandit.policies import REGISTRY, Policy, make_policy
from lexbandit.policies.cell_policy import CellPolicy
from lexbandit.policies.grid import checked_sides
from lexbandit.policies.linear_policy import LinearPolicy
from lexbandit.policies.phases import PhasedPolicy

DEFAULT = "lex-linucb"

# More careful than the policy's own defaults, which are made for long runs on smooth means: the
# first objective must not suffer in the first thousand choices either (docs/choosing-a-policy.md).
# A chooser without a named policy adds them to its settings.
CAREFUL = {"threshold": 0.5}


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
    taken = REGISTRY.parameters(name)
    contexts = Contexts(context, smooth="features" in taken)
    shares = [objective.tolerance / objective.span for objective in objectives]
    known: dict[str, Any] = {} if horizon is None else {"horizon": horizon}
    planned = "horizon" in taken and taken["horizon"].default is Parameter.empty
    if planned and horizon is None:
        raise InvalidInput(
            f"the policy {name!r} needs to know how many choices are planned: "
            f"Chooser(policy={name!r}, horizon=100_000, ...)."
        )
    if "cells_per_side" in taken and (planned or "cells_per_side" in settings):
        sides = cells_of(contexts, settings.get("cells_per_side"))
        settings = {**settings, "cells_per_side": sides}
    made = make_policy(
        name,
        arms=arms,
        dimension=contexts.dimension,
        objectives=len(objectives),
        seed=seed,
        **{"tolerance": np.array(shares), **known, **settings},
    )
    return made, contexts


def cells_of(contexts: Contexts, given: Any) -> list[int | None]:
    """Return how many cells each coordinate has, so that the values of a category do not share any.

    Numbers and cycles have the given number, or the theory's (None); a category has a cell for each
    value and one for all others, a flag has two. A list has one for each coordinate and is taken as
    it is.
    """
    sides: list[int | None] = []
    for feature in contexts.features:
        own = feature.values_in_cells
        sides += [Exact(own)] if own else [None] * feature.size(smooth=False)
    if given is None:
        return sides
    listed = checked_sides(given)
    if isinstance(listed, int):
        return [listed if side is None else side for side in sides]
    if listed is None or len(listed) != len(sides):
        raise InvalidInput(
            f"cells_per_side must be one number, or one for each of {len(sides)} coordinates, "
            f"got {given!r}."
        )
    return [
        own if side is None or side == own else int(side)
        for own, side in zip(sides, listed, strict=True)
    ]


def takes_parts(policy: Policy) -> bool:
    """Whether a policy can learn the rewards of a play in parts; else all are told at once."""
    if isinstance(policy, CellPolicy):
        return policy._keeps_sums
    if isinstance(policy, LinearPolicy):
        return policy.stages == 1
    return not isinstance(policy, PhasedPolicy) and type(policy).amend is not Policy.amend


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
