"""A chooser as contents of a file, and back; and the digest of what it learned."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser import received, saving
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.definition import defined, definition
from lexbandit.chooser.proposals import propensity_of
from lexbandit.chooser.saving import Arrays
from lexbandit.chooser.waiting import Waiting
from lexbandit.errors import InvalidInput
from lexbandit.policies import Policy

C = TypeVar("C", bound=ChooserCore)

log = logging.getLogger("lexbandit")

# From this version on, files have the sums of comparisons; those of older ones begin at zero.
_COMPARES = 3


class Snapshot(NamedTuple):
    """A chooser at one moment. What can change later is copied, all else only referred to.

    Taking one is quick, so that a chooser is locked for a short time; `laid_out` makes it arrays.
    """

    document: dict[str, Any]
    dimension: int
    arrays: Arrays
    recent: list[tuple[Floats, Booleans | None]]
    waiting: list[Waiting]
    masks: list[Booleans | None]
    rewards: list[tuple[float | None, ...]]
    learned: list[bool]


class Contents(NamedTuple):
    """What goes into a file: a document of plain values, and arrays."""

    document: dict[str, Any]
    arrays: Arrays


def snapshot(chooser: ChooserCore) -> Snapshot:
    """Return all that a chooser is and learned, and the decisions that wait for rewards."""
    ledger = chooser._ledger
    waiting = list(ledger.room)
    document = {
        "definition": definition(chooser),
        "active": chooser._arms.active.tolist(),
        "past": sorted(chooser._past),
        "made": ledger.made,
        "outside": dict(ledger.outside),
        "counts": {name: dict(counts) for name, counts in chooser.contexts.counts.items()},
        "room": {"expired": ledger.room.expired, "dropped": ledger.room.dropped},
        "defaulted": ledger.defaulted,
        "plays": list(ledger.plays),
        "rows": ledger.rows,
        "received": [list(sums[:-1]) for sums in ledger.received],
        "binary": [sums.binary for sums in ledger.received],
    }
    arrays = {f"policy/{name}": array for name, array in chooser.policy.state().items()}
    arrays["random"] = chooser._random.copy()
    arrays["comparison"] = ledger.comparison.sums.copy()
    return Snapshot(
        document,
        chooser.contexts.dimension,
        arrays,
        list(ledger.recent),
        waiting,
        [one.mask for one in waiting],
        [one.rewards for one in waiting],
        [one.learned for one in waiting],
    )


def laid_out(taken: Snapshot) -> Contents:
    """Return a snapshot as a document and arrays."""
    waiting = taken.waiting
    told = taken.document["definition"]
    arms, depth = len(told["arms"]), len(told["objectives"])
    recent = [point for point, _ in taken.recent], [mask for _, mask in taken.recent]
    arrays = {
        **taken.arrays,
        **_places("recent", *recent, taken.dimension, arms),
        **_places("waiting", [one.point for one in waiting], taken.masks, taken.dimension, arms),
        "waiting/arms": np.array([one.arm for one in waiting], np.int64),
        "waiting/propensities": np.array([one.propensity for one in waiting], np.float64),
        "waiting/since": np.array([one.since for one in waiting], np.float64),
        "waiting/rewards": _told(taken.rewards, depth),
        "waiting/learned": np.array(taken.learned, np.bool_),
    }
    return Contents({**taken.document, "waiting": [one.id for one in waiting]}, arrays)


def _places(
    kind: str,
    points: Sequence[Floats],
    masks: Sequence[Booleans | None],
    dimension: int,
    arms: int,
) -> Arrays:
    """Return points and masks as arrays; `masked` says where there was a mask."""
    masked = np.array([mask is not None for mask in masks], np.bool_)
    every = np.ones((len(masks), arms), np.bool_)
    if masked.any():
        every[masked] = _rows([mask for mask in masks if mask is not None], arms, np.bool_)
    return {
        f"{kind}/points": _rows(points, dimension, np.float64),
        f"{kind}/masks": every,
        f"{kind}/masked": masked,
    }


def _rows(arrays: Sequence[Any], length: int, dtype: type) -> np.ndarray:
    """Return arrays of one length as the rows of a table; joining their bytes is the quickest."""
    return np.frombuffer(b"".join(arrays), dtype).reshape(-1, length)


def _told(rewards: Sequence[tuple[float | None, ...]], depth: int) -> Floats:
    """Return rewards as a table; None becomes NaN."""
    flat = np.fromiter(chain.from_iterable(rewards), object, len(rewards) * depth)
    return flat.astype(np.float64).reshape(-1, depth)


# What two choosers may differ in that folded the same decisions and rewards.
_OF_ITS_OWN = ("random", "policy/random")


def digest(contents: Contents) -> str:
    """Return a hash of what was learned: not of random states, the seed and who proposed."""
    document = {key: value for key, value in contents.document.items() if key != "past"}
    told = dict(document["definition"])
    del told["seed"]
    document["definition"] = told
    arrays = {name: a for name, a in contents.arrays.items() if name not in _OF_ITS_OWN}
    if told["wait"] is None:
        del arrays["waiting/since"]  # without a wait, time has no effect
    hashed = hashlib.sha256(saving.text_of(document, "hashed", sort=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


def load(
    make: type[C],
    where: str,
    data: bytes,
    policy: Policy | None,
    clock: Callable[[], float],
) -> C:
    """Return a chooser from the bytes of a file; `where` they are from is for messages.

    Its decisions to come get ids of their own: those made after the file was saved may have been
    lost, and their late rewards must not be taken for others'.
    """
    document, arrays = saving.unpack(where, data)
    try:
        older = "plays" not in document  # from before tolerances belonged to objectives alone
        chooser = defined(make, document["definition"], policy, clock, older=older)
        try:
            _fill(chooser, document, arrays)
        except BaseException:
            chooser._let_go()  # so that the policy can be given again
            raise
    except KeyError as error:
        raise InvalidInput(f"{where} is damaged: it has no {error}.") from error
    except (TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{where} is damaged: {type(error).__name__} {error}.") from error
    except ValueError as error:
        raise InvalidInput(f"{where} cannot be loaded: {error}") from error
    return chooser


def _fill(chooser: ChooserCore, document: Mapping[str, Any], arrays: Arrays) -> None:
    """Give a chooser what it learned; the policy, which may be a user's own, last: whole or not."""
    chooser._arms.active = checks.allowed_arms(document["active"], (len(chooser._arms),))
    chooser._past |= {str(past) for past in document["past"]}
    chooser._random = _array(arrays, "random", "u", (2,))
    chooser.contexts.counts.update(
        {name: dict(document["counts"][name]) for name in chooser.contexts.counts}
    )
    ledger = chooser._ledger
    ledger.made = checks.whole("made", document["made"], least=0)
    ledger.defaulted = checks.whole("defaulted", document.get("defaulted", 0), least=0)
    plays = _plays_told(document, len(chooser._arms))
    ledger.rows = checks.whole("rows", document.get("rows", 0), least=0)
    outside = document["outside"]
    ledger.outside.update(
        {name: checks.whole("outside", outside[name], least=0) for name in ledger.outside}
    )
    room = document["room"]
    ledger.room.expired = checks.whole("expired", room["expired"], least=0)
    ledger.room.dropped = checks.whole("dropped", room["dropped"], least=0)
    ledger.received = received.read(document, chooser.objectives, document["version"])
    if document["version"] >= _COMPARES:
        ledger.comparison.load(_array(arrays, "comparison", "f", ledger.comparison.sums.shape))
    ledger.recent.extend(_places_in(chooser, "recent", arrays))
    for decision in _waiting(chooser, document["waiting"], arrays):
        ledger.room.held[decision.id] = decision
    chooser.policy.load_state(
        {
            name.removeprefix("policy/"): array
            for name, array in arrays.items()
            if name.startswith("policy/")
        }
    )
    ledger.plays = _plays_of_policy(chooser) if plays is None else plays


def _plays_told(document: Mapping[str, Any], arms: int) -> list[int] | None:
    """Return how many decisions of each arm were learned; None if an older file does not say it."""
    if "plays" not in document:
        return None
    plays = [checks.whole("plays", count, least=0) for count in document["plays"]]
    if len(plays) != arms:
        raise InvalidInput(f"there are plays of {len(plays)} arms, not of {arms}.")
    return plays


def _plays_of_policy(chooser: ChooserCore) -> list[int]:
    """Return how often the policy learned from each arm, for older files."""
    known = chooser.policy.plays_by_arm
    if known is None:
        log.warning(
            "an older lexbandit saved this chooser, and did not count the plays of each arm for "
            "the policy %s: they count from now on.",
            chooser.policy.name,
        )
    return known or [0] * len(chooser._arms)


def _array(arrays: Arrays, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a file, of the kind and shape it must have."""
    array = arrays[name]
    if array.dtype.kind != kind or array.shape != shape:
        raise InvalidInput(f"{name} has {array.dtype} values of shape {array.shape}, not {shape}.")
    return array


def _places_in(
    chooser: ChooserCore, kind: str, arrays: Arrays
) -> list[tuple[Floats, Booleans | None]]:
    """Return (point, mask) of a file's decisions."""
    n, arms = len(arrays[f"{kind}/points"]), len(chooser._arms)
    points = _array(arrays, f"{kind}/points", "f", (n, chooser.contexts.dimension))
    checks.in_unit_cube(f"{kind}/points", points)
    masks = _array(arrays, f"{kind}/masks", "b", (n, arms))
    masked = _array(arrays, f"{kind}/masked", "b", (n,)).tolist()
    return [(point, masks[k] if masked[k] else None) for k, point in enumerate(points)]


def _waiting(chooser: ChooserCore, ids: list[str], arrays: Arrays) -> list[Waiting]:
    n = len(ids)
    places = _places_in(chooser, "waiting", arrays)
    arms = checks.arms_of(arrays["waiting/arms"], rounds=n, arms_known=len(chooser._arms))
    rewards = _array(arrays, "waiting/rewards", "f", (n, len(chooser.objectives)))
    outside = np.abs(rewards) > checks.LARGEST_REWARD
    checks.refuse_first("waiting/rewards", rewards, outside, checks.REWARDS_ALLOWED)
    propensities = _array(arrays, "waiting/propensities", "f", (n,)).tolist()
    since = _array(arrays, "waiting/since", "f", (n,))
    checks.refuse_first("waiting/since", since, ~np.isfinite(since), "times are finite")
    told = zip(
        ids,
        places,
        arms.tolist(),
        map(propensity_of, propensities),
        since.tolist(),
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
            rewards=tuple(None if r != r else r for r in values),  # noqa: PLR0124  NaN: none yet
            learned=learned,
        )
        for id, (point, mask), arm, propensity, since, values, learned in told
    ]
