"""`make_bound`: a bound by its name."""

from typing import Any

from lexbandit.bounds.base import Bound
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.registry import Registry

REGISTRY: Registry[Bound] = Registry("bound", "lexbandit.bounds")

_COMMON = ("arms", "objectives", "cells", "horizon", "delta", "R", "scale")


def make_bound(bound: str | Bound, **parameters: Any) -> Bound:
    """Build the bound called `bound`, e.g. `make_bound("kl", arms=4, cells=100, horizon=10**5)`.

    arms, objectives, cells   the intervals that must hold together: K, D (2) and m^d (1)
    horizon                   T; a bound that needs δ and is given none takes 1/T
    delta                     δ, the probability that some interval fails at some time
    R                         sub-Gaussian constant of the noise, where the bound uses one
    scale                     multiplies every width; 1 keeps the guarantee

    A bound ignores those it has no use for, and None; other parameters are its own. A `Bound`
    instead of a name keeps all it has but the number of arms, which is the policy's.
    """
    if isinstance(bound, Bound):
        return bound.with_arms(parameters.get("arms", bound.arms))
    taken = REGISTRY.parameters(bound)
    for given in parameters:
        if given not in taken and given not in _COMMON:
            raise unknown_name(f"parameter of {bound}", given, {*taken, *_COMMON})
    values = {k: v for k, v in parameters.items() if k in taken and v is not None}
    missing = [k for k, p in taken.items() if p.default is p.empty and k not in values]
    if missing:
        raise InvalidInput(f"the bound {bound} needs {', '.join(missing)}.")
    return REGISTRY.builder(bound)(**values)
