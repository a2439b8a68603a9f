"""`lexbandit verify STORAGE`: whether a log, or a backup of one, is as it was written."""

import asyncio
from datetime import UTC, datetime

import click

from lexbandit.cli.copy import Progress
from lexbandit.cli.notices import needs, storage_words
from lexbandit.errors import counted


@click.command("verify")
@click.argument("storage")
def command(storage: str) -> None:
    """Read the whole log in STORAGE and check every event and snapshot.

    STORAGE is sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE. It may be served meanwhile.
    The first damaged event is named, and the exit status is 1.
    """
    with needs("service"):
        from lexbandit.service.maintenance.verify import Verified, verify  # noqa: PLC0415
        from lexbandit.service.storage import make_storage  # noqa: PLC0415
    with needs("postgres"):
        opened = make_storage(storage, reading=True)

    async def work() -> Verified:
        async with opened:
            return await verify(opened, Progress())

    with storage_words():
        found = asyncio.run(work())
    events = counted(found.last - found.first + 1, "event")
    if found.last < found.first:
        click.echo("The log is empty.")
        return
    begin, end = (f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d %H:%M} UTC" for t in found[2:4])
    click.echo(
        f"All {events} are as they were written: {found.first:,} to {found.last:,}, from {begin} "
        f"to {end}, of {', '.join(found.points)}."
    )
