"""What a chooser is given, checked: objectives, arms, priors, decisions and rewards."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lexbandit import checks
from lexbandit.errors import Contradiction, InvalidInput, unknown_name
from lexbandit.objectives import Objective, named

log = logging.getLogger("lexbandit")

# The column of a log that holds the arms.
ARM = "arm"


def id_of(decision: Any) -> str:
    """Return the id of a decision, or the id itself."""
    id = decision if isinstance(decision, str) else getattr(decision, "id", None)
    if not isinstance(id, str):
        raise InvalidInput(f"decision must be what choose returned, or its id, got {decision!r}.")
    return id


def objectives_of(given: Any) -> tuple[Objective, ...]:
    """Return one or more objectives of different names."""
    listed = (given,) if isinstance(given, Objective) else tuple(checks.listed(given) or ())
    if not listed or not all(isinstance(objective, Objective) for objective in listed):
        raise InvalidInput(f"objectives must be one or more Objective, got {given!r}.")
    names = [objective.name for objective in listed]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two objectives are called {name!r}.")
    return listed


def names_apart(objectives: Sequence[Objective], features: Sequence[str]) -> None:
    """Refuse names under which a log could not be told apart: its columns have them."""
    for objective in objectives:
        if objective.name in features:
            raise InvalidInput(
                f"an objective and a context feature are both called {objective.name!r}; columns "
                "of logs are found by these names, so give one of them another."
            )
    for kind, names in (("objective", [o.name for o in objectives]), ("context feature", features)):
        if ARM in names:
            raise InvalidInput(
                f"no {kind} can be called {ARM!r}: that is the column of a log that holds the arms."
            )


def arms_of(given: Any) -> list[str]:
    """Return the names of arms, all different."""
    listed = checks.listed(given)
    if listed is None:
        raise InvalidInput(f"arms must be a list of names, got {given!r}.")
    arms = [named("arm", arm) for arm in listed]
    if not arms:
        raise InvalidInput("arms is empty; at least one arm is needed.")
    for arm in arms:
        if arms.count(arm) > 1:
            raise InvalidInput(f"two arms are called {arm!r}.")
    return arms


def prior_of(
    arm: str, prior: Any, weight: int | None, objectives: Sequence[Objective]
) -> tuple[tuple[float, ...], int] | None:
    """Return a prior as the policy reads it: shares, and how many rewards they stand for."""
    if prior is None and weight is None:
        return None
    names = [objective.name for objective in objectives]
    if not isinstance(prior, Mapping) or weight is None:
        raise InvalidInput(
            f"the prior of arm {arm!r} is a mean for each objective and a weight, as "
            f"prior={{{', '.join(f'{n!r}: ...' for n in names)}}}, weight=20, "
            f"got prior={prior!r}, weight={weight!r}."
        )
    for name in prior:
        if name not in names:
            raise unknown_name("objective", name, names)
    for name in names:
        if name not in prior:
            raise InvalidInput(f"the prior of arm {arm!r} has no mean of {name!r}.")
    means = [objective.checked(prior[objective.name]) for objective in objectives]
    stands_for = checks.whole(f"the weight of arm {arm!r}", weight, least=1)
    for objective, mean in zip(objectives, means, strict=True):
        if objective.is_outside(mean):
            log.warning(
                "the prior mean of %s of arm %r lies outside its range from %g to %g and is taken "
                "as the nearest end.",
                objective.name,
                arm,
                *objective.range,
            )
    shares = tuple(o.share(mean) for o, mean in zip(objectives, means, strict=True))
    return shares, stands_for


def told_of(values: Any, named_values: Mapping[str, float]) -> Mapping[str, float]:
    """Return rewards that are told in a mapping, by keywords, or both."""
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"rewards are told by name, as quality=0.9 or a mapping, got {values!r}."
        )
    for name in values:
        if name in named_values and _differ(values[name], named_values[name]):
            raise Contradiction(
                f"{name} is told as {values[name]!r} and as {named_values[name]!r}."
            )
    return {**values, **named_values}


def _differ(one: Any, other: Any) -> bool:
    """Tell whether two rewards are different numbers; what is no number is refused later."""
    first, second = checks.real(one), checks.real(other)
    return first != second and not (math.isnan(first) and math.isnan(second))


def nothing_told(objectives: Sequence[Objective]) -> InvalidInput:
    """Return the error for a reward without any value."""
    names = ", ".join(objective.name for objective in objectives)
    return InvalidInput(
        f"no reward is told; tell one or more of {names} by name, as {objectives[0].name}=..."
    )
