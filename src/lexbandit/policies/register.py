"""`register`: enter a policy by its rule and by makers of what the rule is given.

A rule is a class whose `__init__` has keyword-only parameters; a maker is a function with such
parameters that makes one of them, say the partition of a rule on cells. The policy takes the
parameters of all of them: so each stands once, where it is used, with its default.
"""

import inspect
from collections.abc import Callable
from typing import Any

from lexbandit.policies.base import Policy
from lexbandit.policies.registry import REGISTRY

_NEEDED = inspect.Parameter.empty


def register(
    name: str, rule: type[Policy], description: str, **makers: Callable[..., object]
) -> None:
    """Enter a policy under `name`; the first line of `description` says what it is.

    It takes arms, dimension, objectives and seed, and what the rule and the makers take. A
    parameter must be given if one of them has no default for it. Makers are called in order, and
    may take what those before them made.
    """
    parts = {arg: _parameters(maker) for arg, maker in makers.items()}
    own = _parameters(rule) if "__init__" in vars(rule) else {}
    defaults: dict[str, Any] = {"arms": _NEEDED, "dimension": _NEEDED, "objectives": 2}
    for taken in (*parts.values(), own):
        for key, default in taken.items():
            if key not in defaults or (default is _NEEDED and key not in (*makers, "objectives")):
                defaults[key] = default
    defaults.pop("seed", None)
    defaults["seed"] = 0
    made_only = {arg for arg in makers if arg in defaults and defaults[arg] is _NEEDED}
    shown = {key: default for key, default in defaults.items() if key not in made_only}

    def build(**values: Any) -> Policy:
        given = {**shown, **signature.bind(**values).arguments}
        made: dict[str, Any] = {}
        for arg, maker in makers.items():
            made[arg] = maker(**{key: made.get(key, given.get(key)) for key in parts[arg]})
        common = {key: given[key] for key in ("arms", "objectives", "seed")}
        mine = {key: given[key] for key in own if key not in made}
        return rule(**{**mine, **common, **made})

    signature = inspect.Signature(
        [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default)
            for key, default in shown.items()
        ]
    )
    build.__name__ = build.__qualname__ = name.replace("-", "_")
    build.__doc__ = description
    build.__signature__ = signature  # type: ignore[attr-defined]
    REGISTRY.register(name)(build)


def _parameters(part: Callable[..., object]) -> dict[str, Any]:
    """Return the defaults of the keyword-only parameters of a function or class."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(part).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
