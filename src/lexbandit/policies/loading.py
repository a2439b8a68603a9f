"""What every `load_state` refuses first: arrays that are missing, unknown or of a wrong shape."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lexbandit.errors import InvalidInput, unknown_name


def mapping_of(state: Any) -> Mapping[str, Any]:
    """Return a state that is a mapping from names."""
    if not isinstance(state, Mapping):
        raise InvalidInput(f"load_state takes what state() returns, got {state!r}.")
    return state


def array_of(name: str, value: Any) -> np.ndarray:
    """Return one array of a state."""
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
