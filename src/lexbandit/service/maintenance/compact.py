"""Remove a log's oldest events, once snapshots hold what was learned from them.

What is left is a log that begins later. Its points start from their snapshots, as they always do.
"""

import asyncio
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from lexbandit.errors import InvalidInput
from lexbandit.service.definition import Definition
from lexbandit.service.events import read_body, rows_of
from lexbandit.service.storage import Storage

# So many events of the log are read at a time.
_PAGE = 1000
# Two replicas that are asked at once write a decision twice within so many seconds.
_TWICE = 60.0
_NAME = re.compile(r"(.+)-(\d{12,})-(\d{12,})\.parquet")


class Compacted(NamedTuple):
    """What became of a log's beginning.

    removed    the last event that is not there any more, 0 if all are there
    events     how many were removed now
    blocked    points that the configuration does not have; their events, and later ones, stay
    archives   the files that were written
    """

    removed: int
    events: int
    blocked: tuple[str, ...]
    archives: tuple[Path, ...]


async def compact(
    storage: Storage,
    points: Mapping[str, Definition],
    *,
    before: float,
    archive: Path | None = None,
    forget: Collection[str] = (),
) -> Compacted:
    """Remove the events before a time that are in two snapshots of every point.

    The decisions among them are first written to Parquet files in the folder `archive`, if one is
    given. `forget` names points that are not served any more and whose events may go. Nothing is
    done while another process does it.
    """
    async with storage.removing_alone() as alone:
        if not alone:
            return Compacted(await storage.removed(), 0, (), ())
        return await _compact(storage, points, before, archive, forget)


async def _compact(
    storage: Storage,
    points: Mapping[str, Definition],
    before: float,
    archive: Path | None,
    forget: Collection[str],
) -> Compacted:
    begun = await storage.removed()
    blocked = [name for name in await storage.points() if name not in points and name not in forget]
    last = min(
        await last_before(storage, before, begun),
        *[await _held_in_snapshots(storage, one) for one in points.values()],
        *[(await storage.read_since(0, 1, name))[0].seq - 1 for name in blocked],
    )
    if last > begun:
        last = await _before_repeated(storage, begun, last)
    files: list[Path] = []
    if last > begun and archive is not None:
        archive.mkdir(parents=True, exist_ok=True)
        found = await _begun_archives(storage, archive, begun, {*points, *forget, *blocked})
        archived = [end for first, end in found.values() if first <= begun]
        if archived:  # a process ended, or was killed, after it had removed a part of it
            last = min(last, *archived)
        else:
            for file in found:  # of a process that ended before it had removed any
                file.unlink()
            files = await _archives(storage, archive, begun, last)
    removed = begun
    while removed < last:
        done = await storage.remove_until(last)
        if done <= removed:
            break
        removed = done
    for name in (*points, *forget) if removed else ():  # no start takes an older one
        await storage.remove_snapshots(name, removed)
    return Compacted(removed, removed - begun, tuple(blocked), tuple(files))


class _Seen(msgspec.Struct):
    """The last event that a replica had taken when it made decisions with callers' own ids."""

    seen: int | None = None


_seen = msgspec.json.Decoder(_Seen).decode


async def _before_repeated(storage: Storage, begun: int, last: int) -> int:
    """Return the last event up to `last` of which no later one repeats a decision.

    Of decisions that several replicas made of one request the first counts, wherever the others can
    be seen beside it: an archive that ended between them would have one, and the next another.
    """
    while last > begun and (later := await _made_unseen(storage, last)):
        first = await _first_made(storage, later, max(begun, min(later.values())), last)
        if first is None:
            break
        last = first - 1
    return last


async def _first_made(
    storage: Storage, later: Mapping[tuple[str, str], int], after: int, last: int
) -> int | None:
    """Return the first event after one, up to `last`, with a decision that comes again later."""
    async for event in storage.events(after, _PAGE):
        if event.seq > last:
            break
        if event.kind == "decisions":
            ids = [row["id"] for row in read_body(event).get("rows", ())]
            if any(later.get((event.point, id), last) < event.seq for id in ids):
                return event.seq
    return None


async def _made_unseen(storage: Storage, last: int) -> dict[tuple[str, str], int]:
    """Return the decisions after an event whose replica had not taken it, and what it had taken."""
    found: dict[tuple[str, str], int] = {}
    until: float | None = None
    async for event in storage.events(last, _PAGE):
        until = event.time + _TWICE if until is None else until
        if event.time > until:
            break
        if event.kind == "decisions":
            seen = _seen(event.body).seen
            if seen is not None and seen < last:
                for row in read_body(event)["rows"]:
                    name = event.point, row["id"]
                    found[name] = min(seen, found.get(name, seen))
    return found


async def _archives(storage: Storage, folder: Path, begun: int, last: int) -> list[Path]:
    """Write the decisions of the events after `begun` up to `last` to a file a point."""
    files: list[Path] = []
    for name in await storage.points():
        file = folder / f"{name}-{begun + 1:012}-{last:012}.parquet"
        if await asyncio.to_thread(asyncio.run, _archive(storage.reader(), name, file, last)):
            files.append(file)
    return files


async def _begun_archives(
    storage: Storage, folder: Path, begun: int, points: Collection[str]
) -> dict[Path, tuple[int, int]]:
    """Return the archives of points that have events after `begun`: from the first to the last.

    They are of a process that ended before it had removed all of these. One of another log, or of
    this one before a backup was restored, may be all that is left of its decisions: it is refused,
    since it would be taken for an archive of the events here, or be written over.
    """
    found: dict[Path, tuple[int, int]] = {}
    for file in sorted(folder.iterdir()):
        name = _NAME.fullmatch(file.name)
        if name is None or name[1] not in points or int(name[3]) <= begun:
            continue
        first, last = int(name[2]), int(name[3])
        if first > begun + 1 or not await _is_of(storage, name[1], file, begun, last):
            raise InvalidInput(
                f"{file} has events after {begun}, up to which this log was archived, and it is "
                "not of this log: another one is archived there, or a backup was restored. Move "
                "the file away, or name another folder (archive)."
            )
        found[file] = first, last
    return found


async def _is_of(storage: Storage, point: str, file: Path, begun: int, last: int) -> bool:
    """Tell whether an archive may have the decisions of this log up to the event `last`.

    Its last decision must be in the log; if it was removed, no later one may be in its span.
    """
    # Polars is needed by those who archive only.
    import polars as pl  # noqa: PLC0415

    try:
        rows = await asyncio.to_thread(pl.read_parquet, file, columns=["seq", "id"])
    except (pl.exceptions.PolarsError, OSError):
        return False  # no archive at all
    for seq, id in rows.tail(1).iter_rows():
        if seq > begun:
            page = await storage.read_since(seq - 1, 1, point)
            decided = bool(page) and page[0].seq == seq and page[0].kind == "decisions"
            return decided and id in [row["id"] for row in rows_of(read_body(page[0]))]
    return not await _decides(storage, point, begun, last)


async def _decides(storage: Storage, point: str, after: int, last: int) -> bool:
    """Tell whether the log has decisions of a point after one event, up to the event `last`."""
    async for event in storage.events(after, _PAGE, point):
        if event.kind == "decisions" or event.seq > last:
            return event.seq <= last
    return False


async def _archive(storage: Storage, point: str, file: Path, last: int) -> bool:
    """Write the decisions of a point up to an event to a file; returns whether there are any."""
    async with storage:
        first = await storage.read_since(0, 1, point)
        if not first or first[0].seq > last:
            return False
        # It brings Polars, which a service that archives nothing does not need.
        from lexbandit.service.maintenance.export import export  # noqa: PLC0415

        rows = (await export(storage, point, file, last=last)).rows
        if not rows:
            file.unlink()
        return rows > 0


async def last_before(storage: Storage, time: float, removed: int) -> int:
    """Return the last event before a time: times never go back, so it is found by halving."""
    step = 1
    while (page := await storage.read_since(removed + step - 1, 1)) and page[0].time < time:
        step *= 2
    least, most = removed + step // 2, removed + step - 1
    while least < most:
        middle = (least + most + 1) // 2
        page = await storage.read_since(middle - 1, 1)
        if page and page[0].time < time:
            least = middle
        else:
            most = middle - 1
    return least


async def _held_in_snapshots(storage: Storage, definition: Definition) -> int:
    """Return the event up to which two snapshots of a point hold everything; 0 without two."""
    saved = [
        key.seq
        for key in await storage.snapshots()
        if (key.point, key.definition) == (definition.name, definition.fingerprint)
    ]
    return sorted(saved)[-2] if len(saved) > 1 else 0
