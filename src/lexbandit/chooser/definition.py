"""What a chooser was made with, as plain numbers, texts and lists, and back."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.chooser.core import ChooserCore
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

C = TypeVar("C", bound=ChooserCore)

FEATURES: dict[str, type[Feature]] = {
    kind.kind: kind for kind in (Number, Category, Flag, Cycle, Vector)
}


def definition(chooser: ChooserCore) -> dict[str, Any]:
    """Return what a chooser was made with, as plain numbers, texts and lists."""
    told: dict[str, Any] = _plain(
        {
            "objectives": [asdict(objective) for objective in chooser.objectives],
            "arms": list(chooser._arms.names),
            "context": [{"kind": f.kind, **asdict(f)} for f in chooser.contexts.features],
            "policy": chooser._policy_name,
            "settings": chooser._settings,
            "horizon": chooser._horizon,
            "seed": chooser._seed,
            "explore": chooser.explore,
            "wait": chooser._ledger.room.wait,
            "keep": chooser._ledger.room.room,
        }
    )
    return told


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays and tuples as Python's own numbers and lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def objective_of(told: Mapping[str, Any]) -> Objective:
    """Return an objective from its plain form."""
    return Objective(**{**told, "range": tuple(told["range"])})


def feature_of(told: Mapping[str, Any]) -> Feature:
    """Return a context feature from its plain form."""
    values = dict(told)
    kind = values.pop("kind", None)
    if kind not in FEATURES:
        raise unknown_name("kind of context feature", kind, FEATURES)
    return FEATURES[kind](**values)


def defined(
    make: type[C],
    told: Mapping[str, Any],
    policy: Policy | None,
    clock: Callable[[], float],
    *,
    older: bool,
) -> C:
    """Return a chooser of a definition, that learned nothing yet.

    In an older file a policy object may have other tolerances than the objectives.
    """
    if told["policy"] is None and policy is None:
        raise InvalidInput(
            "it was saved with a policy object; pass one of the same kind: load(path, policy=...)."
        )
    if told["policy"] is not None and policy is not None:
        raise InvalidInput(
            f"it was saved with the policy {told['policy']!r}, so load makes one itself: leave "
            "policy out."
        )
    objectives = [objective_of(objective) for objective in told["objectives"]]
    shares = _tolerances_told(told, policy, older)
    if shares is not None:
        objectives = list(map(_with_tolerance, objectives, shares.tolist()))
    chooser = make(
        objectives=objectives,
        arms=told["arms"],
        context=[feature_of(feature) for feature in told["context"]],
        policy=policy if policy is not None else told["policy"],
        explore=told["explore"],
        wait=told["wait"],
        keep=told["keep"],
        horizon=told["horizon"],
        seed=told["seed"],
        clock=clock,
        **{name: value for name, value in told["settings"].items() if name != "tolerance"},
    )
    if shares is not None and policy is None:
        _work_with(chooser, shares)
    return chooser


def _tolerances_told(told: Mapping[str, Any], policy: Policy | None, older: bool) -> Floats | None:
    """Return tolerances, as shares of the ranges, that count instead of the objectives' own.

    They are a setting, or in an older file those of the policy object; None if there are none.
    """
    count = len(told["objectives"])
    if "tolerance" in told["settings"]:
        return checks.tolerances(told["settings"]["tolerance"], count)
    if older and policy is not None and policy.objectives == count:
        theirs: Floats | None = policy.read_tolerances
        return theirs
    return None


def _with_tolerance(objective: Objective, share: float) -> Objective:
    """Return an objective with a tolerance that is a share of its range, at most all of it."""
    tolerance = min(share, 1.0) * objective.span
    same = math.isclose(objective.tolerance, tolerance, rel_tol=1e-9)
    return objective if same else replace(objective, tolerance=tolerance)


def _work_with(chooser: ChooserCore, shares: Floats) -> None:
    """Have the policy work with the very shares of a file, to go on exactly as before.

    Some are not the quotient of any tolerance and the length of the range, since quotients are
    rounded. Those stay a setting, so that the next file has them too.
    """
    theirs = chooser.policy.read_tolerances
    if theirs is not None and not np.array_equal(theirs, shares):
        theirs[:] = shares
        chooser._settings["tolerance"] = shares.tolist()
