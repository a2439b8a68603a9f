"""Polars, imported in `logs` here only; Parquet files, written whole or not at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from lexbandit.errors import InvalidInput

__all__ = ["pl", "read_blocks", "read_metadata", "write_blocks"]

ROW_GROUP = 1 << 18


def write_blocks(blocks: Iterable[pl.DataFrame], path: Path, metadata: dict[str, str]) -> None:
    """Write the tables as one Parquet file with row groups of `ROW_GROUP`; memory stays flat.

    The file appears under its name when it is complete, and never otherwise. `metadata` is read
    after the last block, so it may be filled while the blocks are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.stem}-", dir=path.parent))
    try:
        parts = 0
        for table in _regrouped(blocks):
            table.write_parquet(folder / f"{parts:06d}.parquet", compression="lz4")
            parts += 1
        if not parts:
            raise InvalidInput(f"nothing to write to {path}: there is not one row.")
        whole = folder / "whole.parquet"
        pl.scan_parquet([folder / f"{part:06d}.parquet" for part in range(parts)]).sink_parquet(
            whole, row_group_size=ROW_GROUP, metadata=metadata, compression="lz4"
        )
        with whole.open("rb") as file:
            os.fsync(file.fileno())
        whole.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _regrouped(blocks: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows of the tables in tables of `ROW_GROUP`, the last one shorter."""
    held: list[pl.DataFrame] = []
    rows = 0
    for block in blocks:
        held.append(block)
        rows += block.height
        while rows >= ROW_GROUP:
            joined = pl.concat(held)
            yield joined.head(ROW_GROUP)
            held = [joined.slice(ROW_GROUP)]
            rows -= ROW_GROUP
    if rows:
        yield pl.concat(held)


def read_blocks(path: Path, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield the table of a Parquet file, one row group's worth at a time."""
    with _readable(path):
        scanned = pl.scan_parquet(path)
        if columns is not None:
            scanned = scanned.select(columns)
        rows = scanned.select(pl.len()).collect().item()
    for start in range(0, rows, ROW_GROUP):
        with _readable(path):
            block = scanned.slice(start, ROW_GROUP).collect()
        yield block


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
