"""`lexbandit compact CONFIG.toml`: remove a log's oldest events."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lexbandit.cli.notices import needs, storage_words
from lexbandit.errors import InvalidInput, counted

if TYPE_CHECKING:
    from lexbandit.service.maintenance.compact import Compacted


@click.command("compact")
@click.argument("config", metavar="CONFIG.toml", type=click.Path(path_type=Path))
@click.option("--retain", help='How much of the log stays, such as "90d"; else as in CONFIG.toml.')
@click.option("--archive", help="Folder for Parquet files of the decisions that are removed.")
@click.option("--storage", help="sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")
@click.option(
    "--forget", multiple=True, metavar="POINT", help="A point that is not served anymore."
)
def command(
    config: Path,
    retain: str | None,
    archive: str | None,
    storage: str | None,
    forget: tuple[str, ...],
) -> None:
    """Remove the events from the log that are older than the retention time.

    Snapshots of what was learned from them are written first; the service continues from these.
    With `retain` in CONFIG.toml the service does this by itself. Stop a service on a SQLite file
    before; then the file becomes smaller, too.
    """
    with needs("service"):
        from lexbandit.service.config.file import read_config  # noqa: PLC0415
        from lexbandit.service.engine.engine import Engine  # noqa: PLC0415
        from lexbandit.service.maintenance.compact import compact  # noqa: PLC0415
        from lexbandit.service.storage import make_storage  # noqa: PLC0415
    with needs("postgres"):
        flags = {"retain": retain, "archive": archive, "storage": storage}
        found = read_config(config, flags=flags)
        opened = make_storage(found.storage)
    if found.retain is None:
        raise InvalidInput('say how much of the log stays, such as --retain 90d or retain = "90d".')
    before = time.time() - found.retain

    async def work() -> "Compacted":
        engine = await Engine.start(found.points, opened)
        try:
            await engine.save_two_snapshots()
            done = await compact(
                opened, found.points, before=before, archive=found.archive, forget=forget
            )
            _print(done)
            await opened.shrink()
        finally:
            await engine.stop()
        return done

    with storage_words():
        done = asyncio.run(work())
    if done.blocked:
        click.echo(
            f"Events stay for points that {config} does not have: {', '.join(done.blocked)}. "
            "--forget POINT lets them go.",
            err=True,
        )


def _print(done: "Compacted") -> None:
    """Print what was removed and archived."""
    click.echo(f"{counted(done.events, 'event')} removed; the log begins after {done.removed:,}.")
    for file in done.archives:
        click.echo(f"archived: {file}")
