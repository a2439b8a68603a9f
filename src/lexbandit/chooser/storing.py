"""A chooser to a file and back, and two choosers into one."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lexbandit.chooser import saving
from lexbandit.chooser.waiting import Waiting
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
    return {
        "objectives": [asdict(objective) for objective in chooser.objectives],
        "arms": list(chooser._arms),
        "context": [{"kind": f.kind, **asdict(f)} for f in chooser.contexts.features],
        "policy": chooser._policy_name,
        "settings": chooser._settings,
        "horizon": chooser._horizon,
        "seed": chooser._seed,
        "explore": chooser.explore,
        "wait": chooser._room.wait,
        "keep": chooser._room.room,
    }


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


def save(chooser: "Chooser", path: Path) -> None:
    """Write a chooser to a file: all it learned, and the decisions that wait for rewards."""
    waiting = list(chooser._room)
    document = {
        "definition": definition(chooser),
        "active": chooser._active.tolist(),
        "ids": {"prefix": chooser._prefix, "made": chooser._made},
        "outside": chooser.outside,
        "counts": chooser.contexts.counts,
        "room": {"expired": chooser._room.expired, "dropped": chooser._room.dropped},
        "received": chooser._received.tolist(),
        "waiting": [decision.id for decision in waiting],
    }
    arrays = {f"policy/{name}": array for name, array in chooser.policy.state().items()}
    arrays["random"] = chooser._random.copy()
    for name, array in _waiting_arrays(chooser, waiting).items():
        arrays[f"waiting/{name}"] = array
    saving.write(path, document, arrays)


def _waiting_arrays(chooser: "Chooser", waiting: list[Waiting]) -> dict[str, np.ndarray]:
    n, arms = len(waiting), len(chooser._arms)
    every = np.ones(arms, np.bool_)
    masks = [every if decision.mask is None else decision.mask for decision in waiting]
    points = [decision.point for decision in waiting]
    rewards = [[np.nan if r is None else r for r in decision.rewards] for decision in waiting]
    return {
        "arms": np.array([decision.arm for decision in waiting], np.int64),
        "points": np.array(points).reshape(n, chooser.contexts.dimension),
        "masks": np.array(masks, np.bool_).reshape(n, arms),
        "masked": np.array([decision.mask is not None for decision in waiting], np.bool_),
        "propensities": np.array([decision.propensity for decision in waiting]),
        "since": np.array([decision.since for decision in waiting]),
        "rewards": np.array(rewards).reshape(n, len(chooser.objectives)),
        "learned": np.array([decision.learned for decision in waiting], np.bool_),
    }


def load(
    make: "type[Chooser]", path: Path, policy: Policy | None, clock: Callable[[], float]
) -> "Chooser":
    """Read a chooser from a file."""
    document, arrays = saving.read(path)
    try:
        chooser = _made(make, document["definition"], policy, clock)
        state = {
            name.removeprefix("policy/"): array
            for name, array in arrays.items()
            if name.startswith("policy/")
        }
        chooser.policy.load_state(state)
        chooser._active = np.array(document["active"], np.bool_)
        chooser._prefix = str(document["ids"]["prefix"])
        chooser._made = int(document["ids"]["made"])
        chooser.outside.update(document["outside"])
        chooser.contexts.counts.update(document["counts"])
        chooser._room.expired = int(document["room"]["expired"])
        chooser._room.dropped = int(document["room"]["dropped"])
        chooser._received = np.array(document["received"], np.float64)
        chooser._random = arrays["random"]
        for decision in _waiting(document["waiting"], arrays):
            chooser._room.add(decision)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path} is damaged: {type(error).__name__} {error}.") from error
    except InvalidInput as error:
        raise InvalidInput(f"{path} cannot be loaded: {error}") from error
    return chooser


def _made(
    make: "type[Chooser]",
    told: Mapping[str, Any],
    policy: Policy | None,
    clock: Callable[[], float],
) -> "Chooser":
    if told["policy"] is None and policy is None:
        raise InvalidInput(
            "it was saved with a policy object; pass one of the same kind: load(path, policy=...)."
        )
    return make(
        objectives=[objective_of(objective) for objective in told["objectives"]],
        arms=told["arms"],
        context=[feature_of(feature) for feature in told["context"]],
        policy=policy if policy is not None else told["policy"],
        explore=told["explore"],
        wait=told["wait"],
        keep=told["keep"],
        horizon=told["horizon"],
        seed=told["seed"],
        clock=clock,
        **told["settings"],
    )


def _waiting(ids: list[str], arrays: Mapping[str, np.ndarray]) -> list[Waiting]:
    told = {name.removeprefix("waiting/"): arrays[name] for name in arrays}
    return [
        Waiting(
            id=id,
            arm=int(told["arms"][n]),
            point=told["points"][n].copy(),
            mask=told["masks"][n].copy() if told["masked"][n] else None,
            propensity=float(told["propensities"][n]),
            since=float(told["since"][n]),
            rewards=[None if np.isnan(r) else float(r) for r in told["rewards"][n]],
            learned=bool(told["learned"][n]),
        )
        for n, id in enumerate(ids)
    ]


def merge(chooser: "Chooser", other: "Chooser") -> None:
    """Add what `other` learned, and its waiting decisions; refuses one of another definition."""
    mine, theirs = definition(chooser), definition(other)
    for key in ("objectives", "arms", "context", "policy", "settings", "horizon"):
        if mine[key] != theirs[key]:
            raise InvalidInput(
                f"choosers of different definitions cannot be merged: {key} is {theirs[key]!r} "
                f"there and {mine[key]!r} here."
            )
    if chooser._prefix == other._prefix:
        raise InvalidInput(
            "these choosers share a past (one was loaded or copied from the other), so what they "
            "learned in common would count twice."
        )
    chooser.policy.merge(other.policy.state())
    chooser._received += other._received
    for name, count in other.outside.items():
        chooser.outside[name] += count
    for name, counts in other.contexts.counts.items():
        for note, count in counts.items():
            chooser.contexts.add_count(name, note, count)
    for decision in other._room:
        chooser._room.add(decision.copy())
