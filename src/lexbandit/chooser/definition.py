"""What a chooser was made with, as plain numbers, texts and lists, and back."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from lexbandit import checks
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

if TYPE_CHECKING:
    from lexbandit.chooser.chooser import Chooser

FEATURES: dict[str, type[Feature]] = {
    kind.kind: kind for kind in (Number, Category, Flag, Cycle, Vector)
}


def definition(chooser: "Chooser") -> dict[str, Any]:
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
    make: "type[Chooser]",
    told: Mapping[str, Any],
    policy: Policy | None,
    clock: Callable[[], float],
) -> "Chooser":
    """Return a chooser of a definition, that learned nothing yet."""
    if told["policy"] is None and policy is None:
        raise InvalidInput(
            "it was saved with a policy object; pass one of the same kind: load(path, policy=...)."
        )
    if told["policy"] is not None and policy is not None:
        raise InvalidInput(
            f"it was saved with the policy {told['policy']!r}, so load makes one itself: leave "
            "policy out."
        )
    objectives, settings = _with_tolerances(told["objectives"], told["settings"])
    return make(
        objectives=[objective_of(objective) for objective in objectives],
        arms=told["arms"],
        context=[feature_of(feature) for feature in told["context"]],
        policy=policy if policy is not None else told["policy"],
        explore=told["explore"],
        wait=told["wait"],
        keep=told["keep"],
        horizon=told["horizon"],
        seed=told["seed"],
        clock=clock,
        **settings,
    )


def _with_tolerances(
    objectives: list[dict[str, Any]], settings: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return objectives and settings with the tolerances where they belong.

    In older files they may be a setting, as shares of the ranges, which counted instead.
    """
    rest = dict(settings)
    if "tolerance" not in rest:
        return objectives, rest
    shares = checks.tolerances(rest.pop("tolerance"), len(objectives)).tolist()
    spans = [objective_of({**one, "tolerance": 0.0}).span for one in objectives]
    return [
        {**one, "tolerance": share * span}
        for one, share, span in zip(objectives, shares, spans, strict=True)
    ], rest
