"""What every `load_state` refuses: arrays that are missing, of a wrong shape or impossible."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lexbandit.checks import Floats, Integers, refuse_first, refuse_masked
from lexbandit.errors import InvalidInput, unknown_name

# Counts are stored as doubles, which are exact up to here.
MOST_PLAYS = 2**53


def mapping_of(state: Any) -> Mapping[str, Any]:
    """Return a state that is a mapping from names."""
    if not isinstance(state, Mapping):
        raise InvalidInput(f"load_state takes what state() returns, got {state!r}.")
    return state


def array_of(name: str, value: Any) -> np.ndarray:
    """Return one array of a state."""
    refuse_masked(f"state[{name!r}]", value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"state[{name!r}] must be an array, got {value!r}.") from error


def arrays_like(
    state: Any, wanted: Mapping[str, np.ndarray], growing: Collection[str]
) -> dict[str, np.ndarray]:
    """Return copies of a state's arrays, with the names, types and shapes of those `wanted`.

    The first axes of the `growing` ones may have another length, the same for all.
    """
    given = mapping_of(state)
    for name in given:
        if name not in wanted:
            raise unknown_name("state array", name, wanted)
    for name in wanted:
        if name not in given:
            raise InvalidInput(f"state has no array {name!r}; it needs {', '.join(wanted)}.")
    arrays: dict[str, np.ndarray] = {}
    length: int | None = None
    for name, like in wanted.items():
        array = array_of(name, given[name])
        shape = like.shape
        if name in growing:
            length = (len(array) if array.ndim else 0) if length is None else length
            shape = (length, *like.shape[1:])
        if array.shape != shape or array.dtype.kind != like.dtype.kind:
            raise InvalidInput(
                f"state[{name!r}] must be {like.dtype} of shape {shape}, "
                f"got {array.dtype} of shape {array.shape}."
            )
        arrays[name] = np.array(array, like.dtype)
    return arrays


def same_definition(arrays: Mapping[str, np.ndarray], mine: Mapping[str, np.ndarray]) -> None:
    """Refuse a state whose numbers mean something else than those of the policy that loads it."""
    for name, wanted in mine.items():
        if (wanted != arrays[name]).any():
            raise InvalidInput(
                f"state[{name!r}] is {arrays[name].tolist()}, of this policy {wanted.tolist()}: "
                "the state means something else."
            )


def check_counted(arrays: Mapping[str, np.ndarray], *names: str) -> None:
    """Refuse numbers of plays, rounds or observations that nothing can have counted."""
    for name in names:
        counted: Integers = arrays[name]
        wrong = (counted < 0) | (counted > MOST_PLAYS)
        refuse_first(f"state[{name!r}]", counted, wrong, f"{name} are at least 0, at most 2^53")


def check_priors(priors: Floats) -> None:
    """Refuse priors[n, 1 + D] of a state, (weight, means…), that no prior leads to."""
    refuse_first("state['priors']", priors, ~np.isfinite(priors), "all are finite")
    weights = priors[:, :1]
    wrong = (weights < 0) | (weights > 2**53) | (weights != np.floor(weights))
    refuse_first("state['priors']", weights, wrong, "weights are whole, at least 0")
    refuse_first(
        "state['priors']", priors, (weights == 0) & (priors != 0), "no means without a weight"
    )


def refuse_other_priors(mine: Floats, theirs: Floats) -> None:
    """Refuse to merge what was learned under other priors."""
    if (mine != theirs).any():
        arm = int(np.argwhere(mine != theirs)[0, 0])
        raise InvalidInput(
            f"state['priors'][{arm}] is {theirs[arm].tolist()}, of this policy "
            f"{mine[arm].tolist()}: only policies whose arms had the same priors can be merged."
        )
