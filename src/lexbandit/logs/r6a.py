"""Yahoo! R6A files as contexts and clicks: read once, prepared as in the paper, kept as Parquet.

The day-1 file of the dataset ("R6A, Yahoo! Front Page Today Module User Click Log", version 1.0)
has to be asked for from Yahoo! Webscope; its terms forbid passing it on, so none of it is here.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs.preparation import Moments, Scaler, scaler_of_unique
from lexbandit.logs.r6a_lines import FEATURES
from lexbandit.logs.r6a_reader import SHOWN, USER, VERSION, Counted, Progress, read_events
from lexbandit.logs.recording import prepared_table
from lexbandit.logs.tables import pl, read_blocks, read_metadata, write_blocks

__all__ = ["convert", "prepare"]

_PREPARATION = 1  # version of what is made of the events


def convert(paths: Sequence[Path], cache: Path, progress: Progress | None = None) -> Path:
    """Return a Parquet file with the events of the R6A files, in their order; made once.

    It is kept in the folder `cache` under a name that changes with the names, sizes and times of
    the files and with the reader. `progress(stage, done, total)` is called now and then.
    """
    files = _checked(paths)
    target = Path(cache) / f"{_label(files)}-{_key(files, VERSION)}.events.parquet"
    if target.is_file():
        return target
    counted = Counted()
    metadata: dict[str, str] = {}

    def tables() -> Iterator[pl.DataFrame]:
        for file in files:
            yield from read_events(file, counted, progress)
        metadata.update(_described(files, counted))

    write_blocks(tables(), target, metadata)
    return target


def prepare(paths: Sequence[Path], cache: Path, progress: Progress | None = None) -> Path:
    """Return a Parquet file with the columns x1, x2, x3, x4 in [0, 1] and click; made once.

    As Section VII-C has it: the constant feature is dropped; (x1, x2) are the first two principal
    components of the visitors, over all rows; (x3, x4) those of the displayed articles, over the
    different ones; each is brought to [0, 1] by its least and greatest value, which the paper does
    not mention but its context set needs.
    """
    files = _checked(paths)
    target = Path(cache) / f"{_label(files)}-{_key(files, VERSION, _PREPARATION)}.prepared.parquet"
    if target.is_file():
        return target
    events = convert(files, cache, progress)
    metadata = read_metadata(events)
    rows = int(json.loads(metadata["lexbandit"])["rows"])

    def passing(stage: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        done = 0
        for table in read_blocks(events, columns):
            yield table
            done += table.height
            if progress is not None:
                progress(stage, done, rows)

    moments = Moments()
    articles = np.empty((0, len(FEATURES)))
    for table in passing("principal components", [*USER, *SHOWN]):
        moments.add(_array(table, USER))
        articles = np.unique(np.vstack([articles, _array(table.unique(SHOWN), SHOWN)]), axis=0)
    users, shown = Scaler.of(moments), scaler_of_unique(articles)
    for table in passing("ranges", USER):
        users.widen(_array(table, USER))
    metadata["articles"] = str(len(articles))

    def prepared() -> Iterator[pl.DataFrame]:
        for table in passing("contexts", ["click", *USER, *SHOWN]):
            contexts = np.hstack(
                [users.contexts(_array(table, USER)), shown.contexts(_array(table, SHOWN))]
            )
            yield prepared_table(contexts, table["click"].to_numpy())

    write_blocks(prepared(), target, metadata)
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
    return any("synthetic" in file.name for file in files)


def _described(files: list[Path], counted: Counted) -> dict[str, str]:
    facts = {
        "source": "synthetic" if _synthetic(files) else "Yahoo! R6A files",
        "files": [file.name for file in files],
        "rows": counted.lines - counted.featureless,
        "lines": counted.lines,
        "displayed_article_without_features": counted.featureless,
        "reader_version": VERSION,
    }
    return {"lexbandit": json.dumps(facts)}
