"""Yahoo! R6A files, plain or gzip, as a stream of tables: memory does not grow with the file.

Polars takes the lines that are as the format has them, a few megabytes at a time. A line it cannot
take goes to `parse_line`, which reads what is sound but unusual and says what is wrong with the
rest; the error then names the file and the line.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from lexbandit.errors import InvalidInput
from lexbandit.logs.r6a_lines import FEATURES, MalformedLine, Visit, check_whole, parse_line
from lexbandit.logs.tables import pl

VERSION = 1  # of what a reader makes of a file; a change makes cached conversions stale

Progress = Callable[[str, int, int], None]  # stage, done, of how many

_CHUNK = 2 << 20  # bytes of text at a time
_LONGEST_LINE = 1 << 20
USER = [f"user_{k}" for k in FEATURES]
SHOWN = [f"article_{k}" for k in FEATURES]
_GROUPS = " ".join(f"{k}:([^ |]+)" for k in FEATURES) + r" 1:1(?:\.0*)?(?: |$)"
_HEAD = r"^(\d{1,18}) (\d{1,18}) ([01]) \|user " + _GROUPS
SCHEMA = pl.Schema(
    {"timestamp": pl.Int64, "article": pl.Int64, "click": pl.Int8}
    | dict.fromkeys([*USER, *SHOWN], pl.Float64)
)


def read_events(path: Path, progress: Progress | None = None) -> Iterator[pl.DataFrame]:
    """Yield the events of a file as tables of `SCHEMA`, one row a line, in order.

    The article's features are null where the displayed article is listed without any.
    """
    size = _size_of(path)
    empty = True
    with path.open("rb") as raw:
        source = gzip.GzipFile(fileobj=raw) if is_gzip(path) else raw
        for first, lines, ended in _lines(source, path):
            table = _parse(lines, path, first)
            if not ended:
                _refuse_cut(lines[-1], path, first + len(lines) - 1)
            empty = False
            yield table
            if progress is not None:
                progress(f"reading {path.name}", raw.tell(), size)
    if empty:
        raise InvalidInput(
            f"{path} is empty; expected lines such as '1241160900 109513 0 |user ...'."
        )


def is_gzip(path: Path) -> bool:
    """Tell whether the content of a file is gzip, whatever the file is called."""
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _lines(source: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[tuple[int, list[str], bool]]:
    """Yield lines with the number of the first, and whether the last one ends in a newline."""
    first, rest = 1, b""
    while piece := _read(source, path, first):
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        if newline:
            lines = _decode(whole, path, first).split("\n")
            yield first, lines, True
            first += len(lines)
        if len(rest) > _LONGEST_LINE:
            raise InvalidInput(
                f"{path}:{first}: expected lines of at most {_LONGEST_LINE:,} bytes; "
                "is this an R6A file?"
            )
    if rest:
        yield first, [_decode(rest, path, first)], False


def _parse(lines: list[str], path: Path, first: int) -> pl.DataFrame:
    """Return the table of the lines; numbers of the first line and its file are for errors."""
    line = pl.col("line")
    table = (
        pl.DataFrame({"line": lines}, schema={"line": pl.String})
        .with_columns(head=line.str.extract_groups(_HEAD))
        .with_columns(
            timestamp=pl.col("head").struct.field("1"),
            article=pl.col("head").struct.field("2"),
            click=pl.col("head").struct.field("3"),
            **{name: pl.col("head").struct.field(str(j)) for j, name in enumerate(USER, start=4)},
        )
        .with_columns(section=pl.concat_str(pl.lit("|"), pl.col("article"), pl.lit(" ")))
        .with_columns(at=line.str.find(pl.col("section"), literal=True))
        .with_columns(
            shown=line.str.slice(pl.col("at"), 120).str.extract_groups(r"^\|\d+ " + _GROUPS)
        )
        .with_columns(
            **{name: pl.col("shown").struct.field(str(j)) for j, name in enumerate(SHOWN, start=1)}
        )
        .select(pl.col(name).cast(kind, strict=False) for name, kind in SCHEMA.items())
    )
    sound = table.select(
        pl.all_horizontal(
            pl.all().is_not_null(),
            pl.col(*USER, *SHOWN).is_finite().fill_null(False),
        )
    ).to_series()
    if sound.all():
        return table
    others = {}
    for row in (~sound).arg_true():
        try:
            others[row] = parse_line(lines[row])
        except MalformedLine as error:
            raise InvalidInput(f"{path}:{first + row}: {error}.") from None
    return _merged(table, others)


def _merged(table: pl.DataFrame, others: dict[int, Visit]) -> pl.DataFrame:
    """Return the table with the given rows replaced."""
    rows = [
        (row, *event[:3], *event.user, *(event.shown or [None] * len(SHOWN)))
        for row, event in others.items()
    ]
    numbered = table.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    replaced = pl.DataFrame(rows, schema=["row", *SCHEMA], orient="row", infer_schema_length=None)
    replaced = replaced.cast(numbered.schema)
    unchanged = numbered.filter(~pl.col("row").is_in(list(others)))
    return pl.concat([unchanged, replaced]).sort("row").drop("row")


def _size_of(path: Path) -> int:
    if not path.exists():
        raise InvalidInput(f"no such file: {path}; expected an R6A file, plain or gzip.")
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file; expected an R6A file, plain or gzip.")
    return path.stat().st_size


def _read(source: BinaryIO | gzip.GzipFile, path: Path, first: int) -> bytes:
    try:
        return source.read(_CHUNK)
    except EOFError:
        raise InvalidInput(
            f"{path}: the gzip data stops early, somewhere after line {first - 1:,}: the file is "
            "truncated; fetch it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(
            f"{path}: the gzip data is damaged, somewhere after line {first - 1:,} ({error})."
        ) from None


def _decode(piece: bytes, path: Path, first: int) -> str:
    try:
        return piece.decode("ascii")
    except UnicodeDecodeError as error:
        line = first + piece.count(b"\n", 0, error.start)
        raise InvalidInput(
            f"{path}:{line}: expected plain ASCII text, got the byte {piece[error.start]:#04x}."
        ) from None


def _refuse_cut(line: str, path: Path, number: int) -> None:
    """Refuse a file whose last line, without a newline, stops before its last article does."""
    try:
        check_whole(line)
    except MalformedLine as error:
        raise InvalidInput(f"{path}:{number}: the file stops inside this line: {error}.") from None
