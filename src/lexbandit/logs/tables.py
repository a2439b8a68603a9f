"""Polars, imported in `logs` here only; Parquet files, written whole or not at all."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from lexbandit._internal.files import written_whole
from lexbandit.errors import InvalidInput

try:
    import polars as pl
    from polars.io.plugins import register_io_source
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"logs need {error.name}, which is not installed: pip install 'lexbandit[logs]'.",
        name=error.name,
    ) from None

__all__ = ["pl", "read_blocks", "read_metadata", "row_count", "write_blocks"]

ROW_GROUP = 1 << 16


def write_blocks(
    blocks: Iterable[pl.DataFrame], path: Path, *, schema: pl.Schema, metadata: dict[str, str]
) -> None:
    """Write the tables, as they come, as one Parquet file: memory stays flat.

    The file appears under its name only when it is complete. An error of `blocks` is raised
    as it is; a full disk is an OSError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make the folder {path.parent}: {error.strerror}.") from error
    raised: list[BaseException] = []

    def tables(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield from blocks
        except BaseException as error:  # polars would wrap it in an error of its own
            raised.append(error)
            raise

    try:
        with written_whole(path) as unfinished:
            register_io_source(tables, schema=schema).sink_parquet(
                unfinished, row_group_size=ROW_GROUP, metadata=metadata, compression="lz4"
            )
    except Exception as error:
        if raised and raised[0] is not error:
            raise raised[0] from None
        if isinstance(error, pl.exceptions.PolarsError):
            raise OSError(f"{path} could not be written: {error}") from error
        raise


def read_blocks(path: Path, columns: list[str]) -> Iterator[pl.DataFrame]:
    """Yield those columns of a Parquet file, one row group's worth at a time."""
    for start in range(0, row_count(path), ROW_GROUP):
        with _readable(path):
            block = pl.scan_parquet(path).select(columns).slice(start, ROW_GROUP).collect()
        yield block


def row_count(path: Path) -> int:
    """Return how many rows a Parquet file has."""
    with _readable(path):
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def read_metadata(path: Path) -> dict[str, str]:
    """Return what `write_blocks` noted in the file."""
    with _readable(path):
        return pl.read_parquet_metadata(path)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if not path.is_file():
            raise InvalidInput(f"no such file: {path}.") from None
        raise InvalidInput(f"{path} cannot be read as Parquet: {error}") from error
