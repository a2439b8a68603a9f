"""Where the rows of a log come from: a table in memory, or files that are read in batches.

A source counts its rows and yields any range of them as tables. It can be pickled, so that another
process or machine reads its own part.
"""

import csv
import glob
import gzip
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lexbandit.chooser.frames import columns_of, plain
from lexbandit.errors import InvalidInput
from lexbandit.logs.tables import pl

# Entry points of this group open what a URL names: the storages of the decision service.
GROUP = "lexbandit.logs"

_ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")
_PACKED = ".gz"  # after the ending of a file of text
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

    def with_names(self, columns: Collection[str]) -> "Source":
        """Return the same rows, these columns as they are written where a file has no types."""


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

    def with_names(self, columns: Collection[str]) -> "TableSource":
        """Return itself: a table has types."""
        return self


class _File(NamedTuple):
    """One file: its rows, its columns, and those of them that hold nothing but null."""

    path: str
    rows: int
    schema: pl.Schema
    empty: tuple[str, ...]


class FileSource:
    """Parquet, CSV or JSON-lines files, one after the other.

    Their columns may differ in order and in type, such as whole numbers in one file and fractions
    in the next. A column that a file lacks, or in which it has no value, is null there.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self.paths = tuple(map(str, paths))

    def schema(self) -> pl.Schema:
        """Return the names and types of the columns."""
        return self._schema

    @cached_property
    def _schema(self) -> pl.Schema:
        schema: pl.Schema = self._read(lambda: self._scan().collect_schema())
        return schema

    def rows(self) -> int:
        """Return how many rows there are in all files."""
        return sum(file.rows for file in self._files)

    @cached_property
    def _files(self) -> tuple[_File, ...]:
        return tuple(self._read(lambda path=path: _file(path)) for path in self.paths)

    def tables(self, start: int, stop: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches; no more than a few of them are in memory."""
        if start >= stop:
            return
        chosen = self._scan().select(columns).slice(start, stop - start)
        batches = self._read(lambda: chosen.collect_batches(chunk_size=_BATCH, maintain_order=True))
        while True:
            table = self._read(lambda: next(batches, None))
            if table is None:
                return
            yield table

    def place(self, row: int) -> str:
        """Return "log.parquet, row 17": rows are counted from 0 in each file."""
        for file in self._files:
            if row < file.rows:
                return f"{file.path}, row {row}"
            row -= file.rows
        return f"row {row}"

    def with_names(self, columns: Collection[str]) -> "FileSource":
        """Return the same files; of CSV files these columns are read as strings.

        Else 1.10 would be 1.1, and 007 would be 7.
        """
        named = FileSource(self.paths)
        named._files = tuple(
            file._replace(
                schema=pl.Schema(
                    (name, pl.String() if name in columns else kind)
                    for name, kind in file.schema.items()
                )
            )
            if _ending(file.path) == ".csv"
            else file
            for file in self._files
        )
        return named

    def _scan(self) -> pl.LazyFrame:
        """Return the rows of all files as one table, to be read later."""
        files = [file for file in self._files if file.rows] or list(self._files)
        first = files[0]
        if all((file.schema, file.empty) == (first.schema, first.empty) for file in files):
            return _scan([file.path for file in files], first.schema)
        tables = [
            _scan([file.path], file.schema).with_columns(
                pl.lit(None).alias(name) for name in file.empty
            )
            for file in files
        ]
        return pl.concat(tables, how="diagonal_relaxed")

    def _read(self, work: Any) -> Any:
        """Run `work`, which reads the files; turn an error into one line that names them."""
        try:
            return work()
        except (pl.exceptions.PolarsError, OSError) as error:
            said = str(error).strip().partition("\n")[0]
            raise InvalidInput(f"{', '.join(self.paths[:3])} cannot be read: {said}") from error


def _file(path: str) -> _File:
    """Count the rows of a file and find its columns."""
    try:
        schema = _scan([path]).collect_schema()
    except pl.exceptions.PolarsError:
        _refuse_bad_line(path)
        raise
    if _ending(path) == ".csv" and len(schema) == 1 and re.search("[;|\t]", schema.names()[0]):
        raise InvalidInput(
            f"{path} has one column, {schema.names()[0]!r}: separate the columns by commas, and "
            "write decimals with a point."
        )
    table = _scan([path], schema)
    # All columns of a file of text: with some of them, Polars drops what a row has beyond the last.
    asked = [] if _ending(path) == ".parquet" else list(schema)
    nulls_of = [pl.col(name).null_count().alias(str(n)) for n, name in enumerate(asked)]
    try:
        counts = table.select(pl.len().alias("rows"), *nulls_of).collect(engine="streaming")
    except pl.exceptions.PolarsError:
        _refuse_bad_line(path, len(schema))
        raise
    rows, *nulls = counts.row(0)
    # Without a value, a file of text has no type: what Polars takes it for would win over others'.
    empty = tuple(
        name
        for name, count in zip(asked, nulls, strict=True)
        if count == rows and schema[name] == pl.String
    )
    return _File(path, rows, schema, empty if rows else ())


def _refuse_bad_line(path: str, columns: int | None = None) -> None:
    """Refuse a file of text that is not in UTF-8, or its first line that cannot be read."""
    if _ending(path) == ".parquet":
        return
    opened = gzip.open if path.lower().endswith(_PACKED) else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        try:
            if _ending(path) == ".csv":
                _refuse_long_row(path, file, columns)
            else:
                _refuse_no_object(path, file)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise InvalidInput(
                f"{path} is not in UTF-8: it has the byte 0x{byte:02x} where none may be. Save it "
                "in UTF-8."
            ) from None


def _refuse_long_row(path: str, lines: Iterable[str], columns: int | None) -> None:
    """Refuse the first row of a CSV file that has more values than there are columns."""
    rows = (row for row in csv.reader(lines) if row)
    for n, row in enumerate(rows, start=-1):  # the first line has the names
        if columns is not None and len(row) > columns:
            raise InvalidInput(
                f"{path}, row {n}: {len(row)} values for {columns} columns: "
                f"{','.join(row)}. Put quotes around what has a comma, and write decimals "
                "with a point."
            )


def _refuse_no_object(path: str, lines: Iterable[str]) -> None:
    """Refuse the first line of a JSON-lines file that is no object in JSON."""
    for n, line in enumerate(line for line in lines if line.strip()):
        try:
            found = json.loads(line, parse_constant=_no_number)
        except ValueError as error:
            said = str(error)
        else:
            if isinstance(found, dict):
                continue
            said = f"a line must be an object in JSON, got {line.strip()[:60]}"
        raise InvalidInput(f"{path}, row {n}: {said}.")


def _no_number(text: str) -> Any:
    raise ValueError(f"JSON has no {text}; write null for a value that is missing")


def _scan(paths: Sequence[str], schema: pl.Schema | None = None) -> pl.LazyFrame:
    """Return the rows of files whose columns are these; without them, text is read to find them."""
    ending = _ending(paths[0])
    if ending == ".parquet":
        return pl.scan_parquet(list(paths))
    if ending == ".csv":
        return pl.scan_csv(
            list(paths), schema=schema, infer_schema_length=None, try_parse_dates=True
        )
    return pl.scan_ndjson(list(paths), schema=schema, infer_schema_length=None)


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
    _refuse_repeated(files)
    return files


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Refuse a file that is named twice, by whatever path: its rows would count double."""
    seen: dict[Path, Path] = {}
    for file in files:
        first = seen.setdefault(file.resolve(), file)
        if first is not file:
            other = "" if str(first) == str(file) else f", also as {first}"
            raise InvalidInput(
                f"{file} is given twice{other}: its rows would count double. Name every file once."
            )


def _ending(path: Any) -> str:
    name = str(path).lower()
    ending = Path(name.removesuffix(_PACKED)).suffix
    if ending not in _ENDINGS or (ending == ".parquet" and name.endswith(_PACKED)):
        raise InvalidInput(
            f"{path} must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}, files of text also "
            f"in {_PACKED} after that: that is its format; the log of a service is named by its "
            "storage, such as sqlite:decisions.db."
        )
    return ending


def _series(name: str, column: Any) -> pl.Series:
    """Return a column of a frame as Polars holds it."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    try:
        return pl.Series(name, column if kind in "iufbM" else plain(column), strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InvalidInput(f"column {name!r} cannot be read as a column: {error}") from None
