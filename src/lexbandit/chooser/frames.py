"""Columns from what people have: a mapping of columns, Polars, pandas or Arrow."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexbandit.errors import InvalidInput


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the columns of a frame by name, without copies where the frame allows it."""
    if isinstance(frame, Mapping):
        return dict(frame)
    package = type(frame).__module__.partition(".")[0]
    if package == "polars" and hasattr(frame, "get_columns"):
        return {column.name: column.to_numpy() for column in frame.get_columns()}
    if package == "pandas" and hasattr(frame, "columns"):
        return {str(name): frame[name].to_numpy() for name in frame.columns}
    if package == "pyarrow" and hasattr(frame, "column_names"):
        return {
            name: frame.column(name).combine_chunks().to_numpy(zero_copy_only=False)
            for name in frame.column_names
        }
    if isinstance(frame, Sequence) and frame and all(isinstance(row, Mapping) for row in frame):
        names = list(dict.fromkeys(name for row in frame for name in row))
        return {name: [row.get(name) for row in frame] for name in names}
    raise InvalidInput(
        "a mapping of columns, a list of mappings, a Polars or pandas frame or an Arrow table is "
        f"wanted, got {type(frame).__name__}."
    )
