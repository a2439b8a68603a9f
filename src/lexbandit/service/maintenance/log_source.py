"""The log of a decision service as rows, for `lexbandit.Log`: sqlite:FILE or postgresql://…"""

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from lexbandit.chooser.saving import feature_of, objective_of
from lexbandit.errors import InvalidInput, unknown_name, without_password
from lexbandit.logs.log import LogDefinition, Opened
from lexbandit.objectives import Objective
from lexbandit.service.events import CorruptLog, Event, read_body, snapshot_parts
from lexbandit.service.maintenance.export import export
from lexbandit.service.storage import Storage, StorageFailed, make_storage

_PAGE = 500


class _Folder:
    """A folder that is removed with this object, or when the process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lexbandit-log-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def opened(url: str, point: str | None) -> Opened:
    """Export a decision point into a file that exists for as long as the log is read.

    The service may go on meanwhile. Without `point`, the storage must have one only.
    """
    folder = _Folder()
    path = folder.path / "decisions.parquet"
    try:
        with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
            definition = thread.submit(asyncio.run, _export(url, point, path)).result()
    except (CorruptLog, StorageFailed) as error:
        raise InvalidInput(without_password(str(error))) from None
    return Opened(path, folder, definition)


async def _export(url: str, point: str | None, path: Path) -> LogDefinition:
    storage = make_storage(url, reading=True)
    async with storage:
        definitions = await _definitions(storage)
        if point is None and len(definitions) == 1:
            point = next(iter(definitions))
        if point is None:
            raise InvalidInput(
                f"the storage has the decision points {', '.join(definitions) or '(none)'}: say "
                "which one, as Log(..., point=...)."
            )
        if point not in definitions:
            raise unknown_name("decision point", point, definitions)
        await export(storage, point, path)
        begun = definitions[point]
        return begun._replace(objectives=await _objectives(storage, point, begun.objectives))


async def _objectives(
    storage: Storage, point: str, begun: Sequence[Objective]
) -> Sequence[Objective]:
    """Return the objectives of a point's first event with the tolerances of its newest snapshot.

    New tolerances take effect without an event of the log; snapshots hold those of their time.
    """
    newest = next((key for key in await storage.snapshots() if key.point == point), None)
    if newest is None:
        return begun
    snapshot = await storage.load_snapshot(point, newest.definition)
    if snapshot is None:
        return begun
    plain = snapshot_parts(point, snapshot.data)[0]["definition"]["objectives"]
    tolerances = {one["name"]: one["tolerance"] for one in plain}
    return [replace(one, tolerance=tolerances.get(one.name, one.tolerance)) for one in begun]


async def _definitions(storage: Storage) -> dict[str, LogDefinition]:
    """Return what every decision point of a log is, with all arms it ever had."""
    found: dict[str, dict[str, Any]] = {}
    arms: dict[str, dict[str, bool]] = {}  # whether they can be chosen

    def take(event: Event) -> None:
        if event.kind == "begin":
            body = read_body(event)
            found[event.point] = body["definition"]
            arms[event.point] = {
                **dict.fromkeys(body["arms"], True),
                **arms.get(event.point, {}),
            }
        elif event.kind == "arm":
            body = read_body(event)
            arms.setdefault(event.point, {})[body["arm"]] = body["change"] == "add"

    for event in await storage.first_events():
        take(event)
    async for event in storage.events(await storage.removed(), _PAGE):
        take(event)
    return {
        point: LogDefinition(
            [objective_of(one) for one in plain["objectives"]],
            [*arms[point]],
            [feature_of(one) for one in plain["context"]],
            plain["wait"],
            plain["explore"],
            [arm for arm, active in arms[point].items() if not active],
        )
        for point, plain in found.items()
    }
