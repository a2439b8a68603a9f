"""A chooser to a file and back."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.chooser import saving
from lexbandit.chooser.saving import Arrays
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


class Contents(NamedTuple):
    """What goes into a file: a document of plain values, and arrays."""

    document: dict[str, Any]
    arrays: Arrays


def place_of(path: Any) -> Path:
    """Return the path of a file."""
    try:
        return Path(os.fsdecode(path))
    except TypeError:
        raise InvalidInput(f"path must be a text or a Path, got {path!r}.") from None


def definition(chooser: "Chooser") -> dict[str, Any]:
    """Return what a chooser was made with, as plain numbers, texts and lists."""
    told: dict[str, Any] = _plain(
        {
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


def contents(chooser: "Chooser") -> Contents:
    """Return all that a chooser is and learned, and the decisions that wait for rewards."""
    waiting = list(chooser._room)
    document = {
        "definition": definition(chooser),
        "active": chooser._active.tolist(),
        "past": sorted(chooser._past),
        "made": chooser._made,
        "outside": dict(chooser.outside),
        "counts": {name: dict(counts) for name, counts in chooser.contexts.counts.items()},
        "room": {"expired": chooser._room.expired, "dropped": chooser._room.dropped},
        "received": [list(received) for received in chooser._received],
        "waiting": [decision.id for decision in waiting],
    }
    arrays = {f"policy/{name}": array for name, array in chooser.policy.state().items()}
    arrays["random"] = chooser._random.copy()
    arrays.update(_places("recent", chooser, list(chooser._recent)))
    arrays.update(_places("waiting", chooser, [(one.point, one.mask) for one in waiting]))
    rewards = [[np.nan if r is None else r for r in decision.rewards] for decision in waiting]
    arrays |= {
        "waiting/arms": np.array([decision.arm for decision in waiting], np.int64),
        "waiting/propensities": np.array([decision.propensity for decision in waiting], np.float64),
        "waiting/since": np.array([decision.since for decision in waiting], np.float64),
        "waiting/rewards": np.array(rewards, np.float64).reshape(-1, len(chooser.objectives)),
        "waiting/learned": np.array([decision.learned for decision in waiting], np.bool_),
    }
    return Contents(document, arrays)


def _places(kind: str, chooser: "Chooser", told: list[tuple[Any, Any]]) -> Arrays:
    """Return points and masks as arrays; `masked` says where there was a mask."""
    every = np.ones(len(chooser._arms), np.bool_)
    points = np.array([point for point, _ in told], np.float64)
    masks = np.array([every if mask is None else mask for _, mask in told], np.bool_)
    return {
        f"{kind}/points": points.reshape(-1, chooser.contexts.dimension),
        f"{kind}/masks": masks.reshape(-1, len(every)),
        f"{kind}/masked": np.array([mask is not None for _, mask in told], np.bool_),
    }


def write(path: Path, contents: Contents) -> None:
    """Write a chooser's contents to a file."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; a chooser is saved to a file.")
    saving.write(path, *contents)


def load(
    make: "type[Chooser]", path: Path, policy: Policy | None, clock: Callable[[], float]
) -> "Chooser":
    """Read a chooser from a file.

    Its decisions to come get ids of their own: those made after the file was saved may have been
    lost, and their late rewards must not be taken for others'.
    """
    document, arrays = saving.read(path)
    try:
        chooser = _made(make, document["definition"], policy, clock)
        _fill(chooser, document, arrays)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path} is damaged: {type(error).__name__} {error}.") from error
    except ValueError as error:
        raise InvalidInput(f"{path} cannot be loaded: {error}") from error
    return chooser


def _fill(chooser: "Chooser", document: Mapping[str, Any], arrays: Arrays) -> None:
    chooser.policy.load_state(
        {
            name.removeprefix("policy/"): array
            for name, array in arrays.items()
            if name.startswith("policy/")
        }
    )
    arms = len(chooser._arms)
    chooser._active = checks.allowed_arms(document["active"], (arms,))
    chooser._past |= {str(past) for past in document["past"]}
    chooser._made = checks.whole("made", document["made"], least=0)
    chooser.outside.update({name: int(document["outside"][name]) for name in chooser.outside})
    chooser.contexts.counts.update(
        {name: dict(document["counts"][name]) for name in chooser.contexts.counts}
    )
    room = document["room"]
    chooser._room.expired, chooser._room.dropped = int(room["expired"]), int(room["dropped"])
    received = checks.floats("received", document["received"], (len(chooser.objectives), 3))
    chooser._received = triples(received)
    chooser._random = _array(arrays, "random", "u", (2,))
    chooser._recent.extend(_places_in(chooser, "recent", arrays))
    for decision in _waiting(chooser, document["waiting"], arrays):
        chooser._room.add(decision)


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
    if told["policy"] is not None and policy is not None:
        raise InvalidInput(
            f"it was saved with the policy {told['policy']!r}, so load makes one itself: leave "
            "policy out."
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


def _array(arrays: Arrays, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a file, of the kind and shape it must have."""
    array = arrays[name]
    if array.dtype.kind != kind or array.shape != shape:
        raise InvalidInput(f"{name} has {array.dtype} values of shape {array.shape}, not {shape}.")
    return array


def _places_in(chooser: "Chooser", kind: str, arrays: Arrays) -> list[tuple[Any, Any]]:
    """Return (point, mask) of a file's decisions."""
    n, arms = len(arrays[f"{kind}/points"]), len(chooser._arms)
    points = _array(arrays, f"{kind}/points", "f", (n, chooser.contexts.dimension))
    checks.in_unit_cube(f"{kind}/points", points)
    masks = _array(arrays, f"{kind}/masks", "b", (n, arms))
    masked = _array(arrays, f"{kind}/masked", "b", (n,)).tolist()
    return [(point, masks[k] if masked[k] else None) for k, point in enumerate(points)]


def _waiting(chooser: "Chooser", ids: list[str], arrays: Arrays) -> list[Waiting]:
    n = len(ids)
    places = _places_in(chooser, "waiting", arrays)
    arms = checks.arms_of(arrays["waiting/arms"], rounds=n, arms_known=len(chooser._arms))
    rewards = _array(arrays, "waiting/rewards", "f", (n, len(chooser.objectives)))
    told = zip(
        ids,
        places,
        arms.tolist(),
        _array(arrays, "waiting/propensities", "f", (n,)).tolist(),
        _array(arrays, "waiting/since", "f", (n,)).tolist(),
        rewards.tolist(),
        _array(arrays, "waiting/learned", "b", (n,)).tolist(),
        strict=True,
    )
    return [
        Waiting(
            id=str(id),
            arm=arm,
            point=point,
            mask=mask,
            propensity=propensity,
            since=since,
            rewards=[None if r != r else r for r in values],  # noqa: PLR0124  NaN: none yet
            learned=learned,
        )
        for id, (point, mask), arm, propensity, since, values, learned in told
    ]


def triples(rows: Any) -> list[tuple[float, float, float]]:
    """Return count, sum and sum of squares for each objective."""
    numbers = np.asarray(rows, np.float64).tolist()
    return [(count, total, squares) for count, total, squares in numbers]
