"""Yahoo! R6A files as contexts and clicks: read once, prepared as in the paper, stored as Parquet.

The day-1 file of the dataset ("R6A, Yahoo! Front Page Today Module User Click Log", version 1.0)
has to be asked for from Yahoo! Webscope; its terms forbid passing it on, so none of it is here.
"""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lexbandit._internal.caches import cache_root
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs.preparation import Moments, Scaler, scaler_of_unique
from lexbandit.logs.r6a_reader import (
    SCHEMA,
    SHOWN,
    USER,
    VERSION,
    Progress,
    is_gzip,
    read_events,
)
from lexbandit.logs.recording import PREPARED, prepared_table
from lexbandit.logs.tables import pl, read_blocks, row_count, write_blocks

__all__ = ["convert", "prepare"]

_PREPARATION = 1  # version of what is made of the events

# Real visits have timestamps of 2009; those of synthetic days lie before this.
FIRST_REAL = 10**9


def cache_folder() -> Path:
    """Return the folder of converted and made-up data, beside the compiled kernels."""
    return cache_root() / "r6a"


def convert(paths: Sequence[Path], cache: Path, progress: Progress | None = None) -> Path:
    """Return a Parquet file with the events of the R6A files, in their order; made once.

    It is stored in the folder `cache` under a name that changes with the names, sizes and times of
    the files and with the reader. `progress(stage, done, total)` is called now and then.
    """
    files = _checked(paths)
    target = Path(cache) / f"{_label(files)}-{_key(files, VERSION)}.events.parquet"
    if target.is_file():
        return target
    tables = (table for file in files for table in read_events(file, progress))
    write_blocks(tables, target, schema=SCHEMA, metadata=_described(files))
    return target


def prepare(paths: Sequence[Path], cache: Path, progress: Progress | None = None) -> Path:
    """Return a Parquet file with the columns x1, x2, x3, x4 in [0, 1] and click; made once.

    As Section VII-C has it: the constant feature is dropped; (x1, x2) are the first two principal
    components of the visitors, over all rows; (x3, x4) those of the displayed articles, over the
    different ones; each is brought to [0, 1] by its least and greatest value, which the paper does
    not mention but its context set needs. Rows whose displayed article has no features are left
    out and counted in the file's metadata.
    """
    files = _checked(paths)
    target = Path(cache) / f"{_label(files)}-{_key(files, VERSION, _PREPARATION)}.prepared.parquet"
    if target.is_file():
        return target
    events = convert(files, cache, progress)
    rows = row_count(events)

    def passing(stage: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        done = 0
        for table in read_blocks(events, [*columns, SHOWN[0]]):
            yield table.filter(pl.col(SHOWN[0]).is_not_null())
            done += table.height
            if progress is not None:
                progress(stage, done, rows)

    moments, articles = Moments(), np.empty((0, len(SHOWN)))
    for table in passing("principal components", [*USER, *SHOWN[1:]]):
        moments.add(_array(table, USER))
        articles = np.unique(np.vstack([articles, _array(table.unique(SHOWN), SHOWN)]), axis=0)
    if not moments.count:
        raise InvalidInput(f"no displayed article of {files[0]} has features: nothing to prepare.")
    users, shown = Scaler.of(moments), scaler_of_unique(articles)
    for table in passing("ranges", USER):
        users.widen(_array(table, USER))

    def prepared() -> Iterator[pl.DataFrame]:
        for table in passing("contexts", ["click", *USER, *SHOWN[1:]]):
            contexts = [users.contexts(_array(table, USER)), shown.contexts(_array(table, SHOWN))]
            yield prepared_table(np.hstack(contexts), table["click"].to_numpy())

    metadata = _described(
        files,
        rows=moments.count,
        unique_articles=len(articles),
        left_out_without_article_features=rows - moments.count,
        preparation_version=_PREPARATION,
    )
    write_blocks(prepared(), target, schema=PREPARED, metadata=metadata)
    return target


def _array(table: pl.DataFrame, columns: list[str]) -> Floats:
    return np.ascontiguousarray(table.select(columns).to_numpy(), np.float64)


def _checked(paths: Sequence[Path]) -> list[Path]:
    if isinstance(paths, str | os.PathLike):
        raise InvalidInput(
            f"paths must be a list of R6A files, got the single {os.fspath(paths)!r}."
        )
    files = [Path(path) for path in paths]
    if not files:
        raise InvalidInput(
            "at least one R6A file is needed, such as ydata-fp-td-clicks-v1_0.20090501."
        )
    for file in files:
        if not file.is_file():
            kind = "is not a file" if file.exists() else "does not exist"
            raise InvalidInput(f"{file} {kind}; expected an R6A file, plain or gzip.")
    return files


def _key(files: list[Path], *versions: int) -> str:
    facts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([facts, versions]).encode()).hexdigest()[:16]


def _label(files: list[Path]) -> str:
    """Say "synthetic" in the name of what is made of synthetic files."""
    return "synthetic-r6a" if _synthetic(files) else "r6a"


def _synthetic(files: list[Path]) -> bool:
    """Tell whether a file is a made-up one, by its name or, if it was renamed, by its first day."""
    return any("synthetic" in file.name or _first_timestamp(file) < FIRST_REAL for file in files)


def _first_timestamp(file: Path) -> int:
    """Return the first number of a file; a real day's if there is none, which the reader tells."""
    try:
        with gzip.open(file) if is_gzip(file) else file.open("rb") as lines:
            return int(lines.read(32).split()[0])
    except (OSError, EOFError, ValueError, IndexError, zlib.error):
        return FIRST_REAL


def _described(files: list[Path], **more: int) -> dict[str, str]:
    facts = {
        "source": "synthetic" if _synthetic(files) else "Yahoo! R6A files",
        "files": [file.name for file in files],
        "reader_version": VERSION,
        **more,
    }
    return {"lexbandit": json.dumps(facts)}
