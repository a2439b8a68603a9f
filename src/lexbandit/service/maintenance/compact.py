"""Remove a log's oldest events, once snapshots hold what was learned from them.

What is left is a log that begins later. Its points start from their snapshots, as they always do.
"""

import asyncio
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from lexbandit.service.definition import Definition
from lexbandit.service.storage import Storage

_NAME = re.compile(r".+-(\d{12,})-(\d{12,})\.parquet")


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
    files: list[Path] = []
    if last > begun and archive is not None:
        archive.mkdir(parents=True, exist_ok=True)
        archived = [end for first, end in _spans(archive).values() if first <= begun < end]
        if archived:  # a process ended, or was killed, after it had removed a part of it
            last = min(last, *archived)
        else:
            files = await _archives(storage, archive, begun, last)
    removed = begun
    while removed < last:
        done = await storage.remove_until(last)
        if done <= removed:
            break
        removed = done
    return Compacted(removed, removed - begun, tuple(blocked), tuple(files))


async def _archives(storage: Storage, folder: Path, begun: int, last: int) -> list[Path]:
    """Write the decisions of the events after `begun` up to `last` to a file a point.

    Files of these events that are there already are of a process that ended before it had removed
    any: they are removed.
    """
    files: list[Path] = []
    for name in await storage.points():
        file = folder / f"{name}-{begun + 1:012}-{last:012}.parquet"
        if await asyncio.to_thread(asyncio.run, _archive(storage.reader(), name, file, last)):
            files.append(file)
    for file, (first, _) in _spans(folder).items():
        if first > begun and file not in files:
            file.unlink()
    return files


def _spans(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the archives in a folder: of which events, from the first to the last."""
    found = [(file, _NAME.fullmatch(file.name)) for file in sorted(folder.iterdir())]
    return {file: (int(name[1]), int(name[2])) for file, name in found if name is not None}


async def _archive(storage: Storage, point: str, file: Path, last: int) -> bool:
    """Write the decisions of a point up to an event to a file; returns whether there are any."""
    await storage.open()
    try:
        first = await storage.read_since(0, 1, point)
        if not first or first[0].seq > last:
            return False
        # It brings Polars, which a service that archives nothing does not need.
        from lexbandit.service.maintenance.export import export  # noqa: PLC0415

        return (await export(storage, point, file, last=last)).rows > 0
    finally:
        await storage.close()


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
