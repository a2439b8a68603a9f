"""Find ids that two rows of a log have, in bounded memory."""

import tempfile
from pathlib import Path

import numpy as np

from lexbandit.errors import InvalidInput
from lexbandit.logs.sources import Source
from lexbandit.logs.tables import pl

# Hashes are sorted into so many files, each of which fits into memory.
_BITS = 6


def refuse_duplicates(source: Source, column: str, event: str | None = None) -> None:
    """Refuse an id that two rows have, and rows without one.

    With a column of events, an id may come again by another event: a service lets an id be used
    again when its decision is over.
    """
    columns = [column] if event is None else [column, event]
    with tempfile.TemporaryDirectory(prefix="lexbandit-ids-") as folder:
        paths = [Path(folder) / str(bucket) for bucket in range(2**_BITS)]
        row = 0
        for table in source.tables(0, source.rows(), columns):
            ids = table[column]
            if ids.dtype.is_nested() or ids.dtype == pl.Object:
                raise InvalidInput(
                    f"column {column!r} must hold ids, as strings or numbers; it has the type "
                    f"{ids.dtype}."
                )
            if ids.null_count():
                missing = int(np.argmax(ids.is_null().to_numpy()))
                raise InvalidInput(
                    f"{source.place(row + missing)}, column {column!r}: the id is missing."
                )
            hashes = table.hash_rows().to_numpy()
            buckets = hashes >> np.uint64(64 - _BITS)
            order = np.argsort(buckets, kind="stable")
            ends = np.searchsorted(buckets[order], np.arange(2**_BITS + 1))
            for bucket, path in enumerate(paths):
                part = order[ends[bucket] : ends[bucket + 1]]
                if len(part):
                    with path.open("ab") as file:
                        hashes[part].tofile(file)
            row += len(ids)
        for path in paths:
            if path.exists():
                hashes = np.sort(np.fromfile(path, np.uint64))
                again = hashes[1:][hashes[1:] == hashes[:-1]]
                if len(again):
                    _refuse(source, columns, again)


def _refuse(source: Source, columns: list[str], hashes: "np.ndarray") -> None:
    """Raise for the first id that comes a second time, among those of these hashes."""
    first: dict[object, int] = {}
    row = 0
    for table in source.tables(0, source.rows(), columns):
        for n in np.flatnonzero(np.isin(table.hash_rows().to_numpy(), hashes)).tolist():
            id = table.row(n)
            if id in first:
                raise InvalidInput(
                    f"{source.place(row + n)}, column {columns[0]!r}: the id {id[0]!r} was there "
                    f"before ({source.place(first[id])}). Every decision counts once: remove "
                    "the repetition, or name another column of ids: Log(..., id=...)."
                )
            first[id] = row + n
        row += len(table)
