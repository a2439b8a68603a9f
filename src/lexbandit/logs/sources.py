"""Where the rows of a log come from: a table in memory, or files that are read in batches.

A source counts its rows and yields any range of them as tables. It can be pickled, so that another
process or machine reads its own part.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from lexbandit.chooser.frames import columns_of, plain
from lexbandit.errors import InvalidInput
from lexbandit.logs.tables import pl

# Entry points of this group open what a URL names: the storages of the decision service.
GROUP = "lexbandit.logs"

_ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")
# Rows that are read at once.
_BATCH = 65_536


class Source(Protocol):
    """Rows in their order, as tables."""

    def schema(self) -> pl.Schema:
        """Return the names and types of the columns."""

    def rows(self) -> int:
        """Return how many rows there are."""

    def tables(self, start: int, stop: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows from `start` to before `stop`, in order, in tables of any length."""

    def place(self, row: int) -> str:
        """Return where a row stands, as errors name it; rows are counted from 0."""


class TableSource:
    """A table in memory."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._table = table

    def schema(self) -> pl.Schema:
        """Return the names and types of the columns."""
        return self._table.schema

    def rows(self) -> int:
        """Return how many rows there are."""
        return self._table.height

    def tables(self, start: int, stop: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows as one table, without a copy."""
        if start < stop:
            yield self._table.select(columns).slice(start, stop - start)

    def place(self, row: int) -> str:
        """Return "row 17"."""
        return f"row {row}"


class FileSource:
    """Parquet, CSV or JSON-lines files, one after the other."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(map(str, paths))
        self._counts: tuple[int, ...] | None = None

    def schema(self) -> pl.Schema:
        """Return the names and types of the columns."""
        schema: pl.Schema = self._read(lambda: self._scan(self.paths).collect_schema())
        return schema

    def rows(self) -> int:
        """Return how many rows there are in all files."""
        return sum(self.counts())

    def counts(self) -> tuple[int, ...]:
        """Return how many rows each file has."""
        if self._counts is None:
            self._counts = tuple(
                self._read(lambda path=path: self._scan([path]).select(pl.len()).collect().item())
                for path in self.paths
            )
        return self._counts

    def tables(self, start: int, stop: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches; no more than a few of them are in memory."""
        if start >= stop:
            return
        chosen = self._scan(self.paths).select(columns).slice(start, stop - start)
        batches = self._read(lambda: chosen.collect_batches(chunk_size=_BATCH, maintain_order=True))
        while True:
            table = self._read(lambda: next(batches, None))
            if table is None:
                return
            yield table

    def place(self, row: int) -> str:
        """Return "log.parquet, row 17": rows are counted from 0 in each file."""
        for path, count in zip(self.paths, self.counts(), strict=True):
            if row < count:
                return f"{path}, row {row}"
            row -= count
        return f"row {row}"

    def _scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        ending = _ending(paths[0])
        if ending == ".parquet":
            return pl.scan_parquet(list(paths))
        if ending == ".csv":
            return pl.scan_csv(list(paths), infer_schema_length=None, try_parse_dates=True)
        return pl.scan_ndjson(list(paths), infer_schema_length=None)

    def _read(self, work: Any) -> Any:
        """Do what reads the files; what is wrong with one is told in a line."""
        try:
            return work()
        except (pl.exceptions.PolarsError, OSError) as error:
            said = str(error).strip().partition("\n")[0]
            raise InvalidInput(f"{', '.join(self.paths[:3])} cannot be read: {said}") from error


def source_of(given: Any) -> Source:
    """Return the rows of a frame, of a path, a glob or a list of paths, or of what a URL names."""
    if isinstance(given, str | os.PathLike):
        return FileSource(_files([given]))
    if isinstance(given, list | tuple) and given and all(_is_path(one) for one in given):
        return FileSource(_files(given))
    if isinstance(given, pl.DataFrame):
        return TableSource(given)
    if isinstance(given, pl.LazyFrame):
        return TableSource(given.collect())
    columns = {name: _series(name, column) for name, column in columns_of(given, []).items()}
    return TableSource(pl.DataFrame(columns))


def opener_of(given: Any) -> Any:
    """Return the function that opens a storage by its URL; None for what is none."""
    if not isinstance(given, str) or ":" not in given or Path(given).exists():
        return None
    scheme = given.partition(":")[0]
    found = {point.name: point for point in entry_points(group=GROUP)}
    return found[scheme].load() if scheme in found else None


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _files(given: Sequence[Any]) -> list[Path]:
    """Return the files that paths and globs name, sorted within each glob; all of one format."""
    files: list[Path] = []
    for one in given:
        text = os.fspath(one)
        if Path(text).is_file():
            files.append(Path(text))
            continue
        if Path(text).is_dir():
            raise InvalidInput(f"{text} is a folder: give its files, such as {text}/*.parquet.")
        found = sorted(map(Path, glob.glob(text, recursive=True)))
        if not found:
            raise InvalidInput(f"no such file: {text}.")
        files += found
    for file in files:
        _ending(file)
    endings = {_ending(file) for file in files}
    if len(endings) > 1:
        raise InvalidInput(f"all files of a log need one format, got {', '.join(sorted(endings))}.")
    return files


def _ending(path: Any) -> str:
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise InvalidInput(
            f"{path} must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}: that is its format; "
            "the log of a service is named by its storage, such as sqlite:decisions.db."
        )
    return ending


def _series(name: str, column: Any) -> pl.Series:
    """Return a column of a frame as Polars holds it."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    try:
        return pl.Series(name, column if kind in "iufbM" else plain(column), strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InvalidInput(f"column {name!r} cannot be read as a column: {error}") from None
