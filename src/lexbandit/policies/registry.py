"""`register` and `make_policy`: enter a policy under a name, and build it by that name.

A policy is entered by its rule and by makers of what the rule is given. A rule is a class whose
`__init__` has keyword-only parameters; a maker is a function with such parameters that makes one of
them, say the partition of a rule on cells. The policy takes the parameters of all of them: so each
stands once, where it is used, with its default.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from lexbandit import checks
from lexbandit.bounds import REGISTRY as BOUNDS
from lexbandit.bounds import Bound
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.kernels.compile_notice import tell_of_compiling
from lexbandit.partitions import checked_sides
from lexbandit.policies.base import Policy
from lexbandit.registry import Registry

REGISTRY: Registry[Policy] = Registry("policy", "lexbandit.policies")

_REST = inspect.Parameter.VAR_KEYWORD
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
    build.__module__ = rule.__module__
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


def _bound(value: Any) -> Any:
    """Return a bound or the name of one."""
    if not isinstance(value, Bound):
        BOUNDS.builder(value)  # refuses what is no name
    return value


_LONGEST = 2**63 - 1

# What describes the problem and the paper's tuning. Every policy accepts all of these and uses the
# ones it has a use for, so that one set of arguments serves a comparison of several policies.
_COMMON: dict[str, Callable[[Any], Any]] = {
    "arms": lambda value: checks.whole("arms", value, least=1),
    "dimension": lambda value: checks.whole("dimension", value, least=1),
    "objectives": lambda value: checks.whole("objectives", value, least=1),
    "horizon": lambda value: checks.whole("horizon", value, least=1, most=_LONGEST),
    "scale": lambda value: checks.positive("scale", value),
    "beta": lambda value: checks.positive("beta", value),
    "L": lambda value: checks.positive("L", value),
    "alpha": lambda value: checks.positive("alpha", value, most=1.0),
    "lam": lambda value: checks.at_least_zero("lam", value),
    "R": lambda value: None if value is None else checks.positive("R", value),
    "delta": lambda value: None if value is None else checks.positive("delta", value, most=1.0),
    "tolerance": lambda value: value,  # needs the objectives: see `make_policy`
    "layout": lambda value: value,  # needs the dimension
    "bound": _bound,
    "cells_per_side": checked_sides,
    "seed": lambda value: checks.whole("seed", value, least=0),
}


_OBJECTIVES = 2  # by default, in every builder


def wraps(name: str) -> bool:
    """Tell whether `name` is a wrapper: its builder takes `policy`, another's name, and **inner."""
    return any(p.kind is p.VAR_KEYWORD for p in REGISTRY.parameters(name).values())


def parameters_of(name: str, inner: object = None) -> dict[str, inspect.Parameter]:
    """Return the parameters that the policy `name` takes.

    A wrapper takes those of the policy `inner` that it wraps too; where both have one, the
    wrapper's own counts.
    """
    taken = REGISTRY.parameters(name)
    if not wraps(name):
        return taken
    own = {key: declared for key, declared in taken.items() if declared.kind is not _REST}
    if inner is None:
        return own
    beneath = REGISTRY.parameters(inner)  # type: ignore[arg-type]  # refuses what is no name
    if wraps(str(inner)):
        raise InvalidInput(f"{name} cannot wrap {inner}, which wraps a policy itself.")
    return {**own, **{key: beneath[key] for key in beneath if key not in own}}


def settings_known(name: str, inner: object = None) -> set[str]:
    """Return the names of what `make_policy` takes for a policy, used by it or not."""
    return {*parameters_of(name, inner), *_COMMON}


# Former names of parameters, each with those it may have today; a policy takes one of these.
_FORMER = {"exploration": ("draw_width", "width_factor")}


def renamed(
    name: str,
    given: Mapping[str, Any],
    inner: object = None,
    *,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return the parameters of a policy under today's names; `tell` hears of each former one."""
    values = dict(given)
    for former, names in _FORMER.items():
        if former not in values:
            continue
        taken = parameters_of(name, inner)
        now = next((each for each in names if each in taken), None)
        if now is None or former in taken:
            continue
        if now in values:
            raise InvalidInput(
                f"{former} is the former name of {now}: give {name} one of the two, not both."
            )
        if tell is not None:
            tell(
                f"{former} of {name} is called {now} now; the former name goes in the next release."
            )
        values = {now if key == former else key: value for key, value in values.items()}
    return values


def warn_of_former(*, stacklevel: int) -> Callable[[str], None]:
    """Return a `tell` that warns; with stacklevel 0 the line that calls the caller of `renamed`."""
    return lambda message: warnings.warn(message, DeprecationWarning, stacklevel=4 + stacklevel)


def make_policy(name: str, **parameters: Any) -> Policy:
    """Build the policy called `name`, e.g. `make_policy("moc-mab", arms=4, dimension=2, ...)`.

    arms, dimension           the numbers of arms and of context features (always needed)
    objectives                the number of objectives, in order of priority; 2 by default
    horizon                   T, the number of rounds planned for; needed by policies on a grid
    L, alpha                  smoothness of the means: |μ(x) − μ(x')| ≤ L ‖x − x'‖^α; 1 and 1
    cells_per_side            m, for all features or a list of each; by default ⌈T^(1/(3α+d))⌉ as
                              in Theorem 2
    scale                     multiplies every width; 1 keeps the guarantees
    beta                      the next objective counts once the top arm's width is at most β times
                              the margin v; 1
    lam                       λ of the assumption that more than two objectives need; 0, and 1 for
                              staged-lex, which needs it with two already
    tolerance                 how much less of an objective is as good, for all or a list of each
    layout                    what the coordinates of a context are, in order: a list of pairs
                              ("number", 1), ("category", n) for a one-hot of n values, or
                              ("vector", n); () if all are numbers
    bound                     the name of a bound, or a `Bound`; see `lexbandit.bounds`
    delta                     δ, the probability that a bound fails; 1/T where there is a horizon
    R                         sub-Gaussian constant of the rewards' noise; the bound's own
    seed                      of the random state: ties, and whatever else the policy draws

    Larger rewards are better in every objective: pass a cost as 1 − cost or −cost.

    A policy that has no use for one of these ignores it. Other parameters are the policy's own.
    A wrapper, such as "doubling", takes the name of another `policy` and all that one takes.
    """
    parameters = renamed(
        name, parameters, parameters.get("policy"), tell=warn_of_former(stacklevel=0)
    )
    taken = parameters_of(name, parameters.get("policy"))
    known = settings_known(name, parameters.get("policy"))
    for given in parameters:
        if given not in known:
            raise unknown_name(f"parameter of {name}", given, known)
    values = {
        key: _COMMON[key](value) if key in _COMMON else value for key, value in parameters.items()
    }
    if "tolerance" in values:
        checks.tolerances(values["tolerance"], values.get("objectives", _OBJECTIVES))
    if "layout" in values and "dimension" in values:
        values["layout"] = checks.layout(values["layout"], values["dimension"])
    missing = [
        key
        for key, declared in taken.items()
        if declared.default is declared.empty and key not in values
    ]
    if missing:
        raise InvalidInput(f"{name} needs {', '.join(missing)}: make_policy({name!r}, ...).")
    tell_of_compiling()
    policy = REGISTRY.builder(name)(**{key: values[key] for key in values if key in taken})
    policy.name = name
    return policy
