"""Read columns from mappings, rows, arrays, and frames of Polars, pandas and Arrow."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.errors import InvalidInput

Columns = dict[str, Any]

_PACKAGES = ("polars", "pandas", "pyarrow")
# Methods that load a lazy frame or a stream, tried in this order.
_UNREAD = ("collect", "read_all", "to_table")


def columns_of(frame: Any, names: Sequence[str]) -> Columns:
    """Return the columns of a frame by name, without copies where the frame allows it.

    An array has one column for each of `names`, in their order; for a single name, each row of the
    array is a value. Missing and masked values become None or NaN.
    """
    if isinstance(frame, Mapping):
        columns = {name: _column(name, frame[name]) for name in frame}
    elif isinstance(frame, np.ndarray):
        columns = _of_array(frame, names)
    elif isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        columns = _of_rows(frame, names)
    else:
        columns = _of_frame(frame)
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInput(f"the names of columns must be texts, got {name!r}.")
    columns = {name: _unmasked(column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput(f"the columns differ in length: {lengths}.")
    return columns


def length_of(columns: Columns, frame: Any = ()) -> int:
    """Return the number of rows; of a frame without columns, its own length."""
    if columns or isinstance(frame, Mapping) or not hasattr(frame, "__len__"):
        return next((len(column) for column in columns.values()), 0)
    return len(frame)


def plain(column: Any) -> list[Any]:
    """Return a column as a list of plain Python values."""
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return values


def _column(name: Any, column: Any) -> Any:
    """Return a column of a mapping as an array or a sequence."""
    if not _is_column(column):
        raise InvalidInput(f"column {name!r} must be a list or an array of values, got {column!r}.")
    package = _package(column)
    return _values(package, column) if package in _PACKAGES else column


def _is_column(column: Any) -> bool:
    """Tell whether a value is a sequence that can be a column."""
    if isinstance(column, str | bytes | bytearray | memoryview | Mapping | set | frozenset):
        return False
    if _package(column) in _PACKAGES and not (
        hasattr(column, "to_numpy") and (hasattr(column, "dtype") or hasattr(column, "type"))
    ):
        return False
    try:
        len(column)
    except TypeError:
        return False
    return True


def _unmasked(column: Any) -> Any:
    """Return a column with None or NaN for what is masked."""
    if isinstance(column, list | tuple) and any(value is np.ma.masked for value in column):
        return [None if value is np.ma.masked else value for value in column]
    return checks.unmasked(column)


def _package(value: Any) -> str:
    """Return the name of the package that a value's type comes from."""
    return type(value).__module__.partition(".")[0]


def _of_array(array: np.ndarray, names: Sequence[str]) -> Columns:
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if len(names) == 1 and array.ndim in (1, 2):
        return {names[0]: array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array}
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InvalidInput(
            f"an array must have a row for each and {len(names)} columns ({', '.join(names)}), got "
            f"the shape {array.shape}."
        )
    return {name: array[:, n] for n, name in enumerate(names)}


def _of_rows(rows: Sequence[Any], names: Sequence[str]) -> Columns:
    for n, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidInput(f"row {n} must be a mapping of names to values, got {row!r}.")
    present = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in present or dict.fromkeys(names)}


def _of_frame(frame: Any) -> Columns:
    package = _package(frame)
    if package == "polars" and hasattr(frame, "get_columns"):
        return {column.name: _values(package, column) for column in frame.get_columns()}
    if package == "pandas" and hasattr(frame, "columns"):
        _refuse_twins(frame.columns.tolist())
        return {name: _values(package, frame[name]) for name in frame.columns}
    if package == "pyarrow" and hasattr(frame, "column"):
        _refuse_twins(frame.schema.names)
        return {
            name: _values(package, frame.column(n)) for n, name in enumerate(frame.schema.names)
        }
    hint = "".join(f"; call {how}() first" for how in _UNREAD if hasattr(frame, how))
    if isinstance(frame, str | PathLike):
        hint = "; files are read by lexbandit.Log(FILE, like=chooser), which `learn` takes"
    raise InvalidInput(
        "a mapping of columns, a list of mappings, an array, a Polars or pandas frame or an Arrow "
        f"table is wanted, got {type(frame).__name__}{hint}."
    )


def _refuse_twins(names: list[Any]) -> None:
    if len(set(names)) < len(names):
        raise InvalidInput(f"the frame has two columns of one name: {names}.")


def _values(package: str, column: Any) -> np.ndarray:
    """Return a column of a frame as an array: numbers without a copy, where it can be."""
    if package == "pandas":
        if hasattr(column.dtype, "na_value") and column.isna().any():
            return np.asarray(column.to_numpy(dtype=object, na_value=None))
        return np.asarray(column.to_numpy())
    if package == "pyarrow":
        if hasattr(column, "combine_chunks"):
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy())
