"""Build a chooser's policy from its name and settings, and encode contexts for it."""

import logging
from collections.abc import Mapping, Sequence
from inspect import Parameter
from numbers import Number
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.contexts import Contexts, Feature
from lexbandit.errors import InvalidInput, UnknownName, counted, nearest
from lexbandit.objectives import Objective
from lexbandit.partitions import Exact, checked_sides
from lexbandit.policies import REGISTRY, Policy, make_policy, settings_known, wraps
from lexbandit.policies.registry import parameters_of, renamed, warn_of_former

log = logging.getLogger("lexbandit")

DEFAULT = "lex-thompson"


def policy_for(
    policy: str | Policy | None,
    *,
    objectives: Sequence[Objective],
    arms: int,
    context: Sequence[Feature],
    horizon: int | None,
    seed: int,
    settings: Mapping[str, Any],
    warn: bool = True,
) -> tuple[Policy, Contexts]:
    """Return the policy, made if a name was given, and the contexts as it sees them.

    docs/choosing-a-policy.md explains the default. With `warn`, tolerances without effect are
    logged.
    """
    if isinstance(policy, Policy):
        contexts = _contexts_of(policy, objectives, arms, context)
        _same_tolerances(policy, objectives)
        return policy, contexts
    name = DEFAULT if policy is None else policy
    taken = REGISTRY.parameters(name)
    contexts = Contexts(context, smooth="features" in taken)
    shares = [objective.tolerance / objective.span for objective in objectives]
    if warn and "tolerance" not in taken:
        _warn_unread(f"the policy {name!r}", objectives)
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
        tolerance=np.array(shares),
        layout=contexts.layout,
        **known,
        **settings,
    )
    return made, contexts


def _same_tolerances(policy: Policy, objectives: Sequence[Objective]) -> None:
    """Refuse a policy whose tolerances differ from those of the objectives."""
    theirs = policy.read_tolerances
    mine = [objective.tolerance / objective.span for objective in objectives]
    if theirs is None:
        _warn_unread(repr(policy), objectives)
    elif not np.allclose(np.minimum(theirs, 1.0), mine, rtol=1e-9, atol=0.0):
        shares = np.broadcast_to(theirs, len(mine)).tolist()
        own = [f"{o.name} {share * o.span:g}" for o, share in zip(objectives, shares, strict=True)]
        raise InvalidInput(
            f"the policy was made with a tolerance of {', '.join(own)}, the objectives have "
            f"{', '.join(f'{o.name} {o.tolerance:g}' for o in objectives)}: give Objective(...) "
            f"the tolerance of the policy, or make the policy with tolerance="
            f"[{', '.join(f'{share:.12g}' for share in mine)}], shares of the ranges."
        )


def _warn_unread(policy: str, objectives: Sequence[Objective]) -> None:
    """Log a warning about tolerances that have no effect."""
    declared = ", ".join(f"{o.name} {o.tolerance:g}" for o in objectives if o.tolerance)
    if declared:
        log.warning(
            "%s does not read the objectives' tolerances (%s): arms will not count as tied within "
            "them. Policies that do are the lexicographic ones, such as the default.",
            policy,
            declared,
        )


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
    if not sides:
        sides = [Exact(1)]  # without features there is one cell
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


def _contexts_of(
    policy: Policy, objectives: Sequence[Objective], arms: int, context: Sequence[Feature]
) -> Contexts:
    """Return the contexts in the coordinates whose number is the policy's dimension."""
    mine = {"arms": arms, "objectives": len(objectives)}
    for what, number in mine.items():
        if getattr(policy, what) != number:
            theirs = counted(getattr(policy, what), what.removesuffix("s"))
            raise InvalidInput(f"the policy has {theirs}, the chooser {number}.")
    smooth, cells = Contexts(context), Contexts(context, smooth=False)
    for contexts in (smooth, cells):
        if contexts.dimension == policy.dimension:
            return contexts
    raise InvalidInput(
        f"the policy has {counted(policy.dimension, 'context feature')}; these become "
        f"{counted(smooth.dimension, 'coordinate')}, or {cells.dimension} for a policy on cells."
    )


def settings_of(policy: str, given: Mapping[str, Any], own: Sequence[str]) -> dict[str, Any]:
    """Return the settings for a policy by name; `own` are the arguments of every chooser."""
    if wraps(policy):
        raise InvalidInput(
            f"the policy {policy!r} wraps another, so it cannot be made by its name alone: give "
            f"the policy itself, policy=lexbandit.make_policy({policy!r}, ...)."
        )
    if "tolerance" in given:
        raise InvalidInput(
            "tolerance belongs to each objective, in its own units: give it to Objective(...), as "
            f"Objective('quality', tolerance=0.02); got tolerance={given['tolerance']!r}."
        )
    for name in ("dimension", "layout"):
        if name in given:
            raise InvalidInput(
                f"{name} follows from the features of the context: leave it out; got "
                f"{name}={given[name]!r}."
            )
    given = renamed(policy, given, tell=warn_of_former(stacklevel=1))
    elsewhere = {*own, "tolerance", "dimension", "layout"}
    known = settings_known(policy) - elsewhere
    taken = sorted({*parameters_of(policy)} - elsewhere)
    for name, value in given.items():
        if name in known:
            continue
        meant = nearest(name, [*own, *taken])
        if isinstance(value, Mapping) and value:  # settings={"caution": 4}
            named = ", ".join(f"{key}={each!r}" for key, each in value.items())
            meant = f": pass its entries by name, Chooser(..., {named})."
        raise UnknownName(
            f"unknown argument {name!r} of Chooser{meant} Known: "
            f"{', '.join(own)}; and of the policy {policy!r}: {', '.join(taken)}."
        )
    return {name: _plain(value) for name, value in given.items()}


def no_settings(given: Mapping[str, Any], own: Sequence[str]) -> None:
    """Refuse settings for a policy object."""
    for name, value in given.items():
        raise InvalidInput(
            f"{name}={value!r}: settings are for a policy by name; this one is made"
            f"{nearest(name, own)}"
        )


def _plain(value: Any) -> Any:
    """Return other kinds of numbers, such as Decimal, as floats, which a file can hold."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    other = isinstance(value, Number) and not isinstance(value, int | float | np.generic)
    return checks.real(value) if other else value
