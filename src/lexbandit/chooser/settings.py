"""The further arguments of a chooser: settings of its policy."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.errors import InvalidInput, UnknownName, nearest
from lexbandit.policies import settings_known, wraps


def settings_of(policy: str, given: Mapping[str, Any], own: Sequence[str]) -> dict[str, Any]:
    """Return the settings for a policy by name; `own` are the arguments of every chooser."""
    if wraps(policy):
        raise InvalidInput(
            f"the policy {policy!r} wraps another, so it cannot be made by its name alone: give "
            f"the policy itself, policy=lexbandit.make_policy({policy!r}, ...)."
        )
    if "tolerance" in given:
        raise InvalidInput(
            "tolerance is told of each objective, in its own units: give it to Objective(...), as "
            f"Objective('quality', tolerance=0.02); got tolerance={given['tolerance']!r}."
        )
    for name in ("dimension", "layout"):
        if name in given:
            raise InvalidInput(
                f"{name} follows from the features of the context: leave it out; got "
                f"{name}={given[name]!r}."
            )
    known = sorted(settings_known(policy) - {*own, "tolerance", "dimension", "layout"})
    for name in given:
        if name not in known:
            raise UnknownName(
                f"unknown argument {name!r} of Chooser{nearest(name, [*own, *known])} Known: "
                f"{', '.join(own)}; and of the policy {policy!r}: {', '.join(known)}."
            )
    return {name: _plain(value) for name, value in given.items()}


def no_settings(given: Mapping[str, Any], own: Sequence[str]) -> None:
    """Refuse settings for a policy that is made already."""
    for name, value in given.items():
        raise InvalidInput(
            f"{name}={value!r}: settings are for a policy by name; this one is made"
            f"{nearest(name, own)}"
        )


def _plain(value: Any) -> Any:
    """Return other kinds of numbers, such as Decimal, as floats: a file has no others."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    other = isinstance(value, Number) and not isinstance(value, int | float | np.generic)
    return checks.real(value) if other else value
