"""`lexbandit copy FROM TO`: copy a log to another storage."""

import asyncio
import time

import click

from lexbandit.cli.notices import needs, storage_words
from lexbandit.errors import InvalidInput, counted

# Seconds between messages about the progress.
_TELL = 2.0


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def command(source: str, target: str) -> None:
    """Copy the log in the storage FROM to the storage TO, event by event.

    FROM and TO are sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE. FROM may be served
    meanwhile; TO must be empty, or hold a copy that was made before: then what came since is added.
    Without a password in the URL, PGPASSWORD or ~/.pgpass has it.
    """
    with needs("service"):
        from lexbandit.service.maintenance.copy import Copied, copy  # noqa: PLC0415
        from lexbandit.service.storage import make_storage  # noqa: PLC0415
    with needs("postgres"):
        read, written = make_storage(source, reading=True), make_storage(target)

    async def work() -> Copied:
        async with read:
            if not await read.read_since(0, 1):
                raise InvalidInput(
                    "there are no events in the log to copy from. Is this the right file or "
                    "database, and may its user see the tables?"
                )
            async with written:
                return await copy(read, written, Progress())

    with storage_words():
        there, copied = asyncio.run(work())
    be = "was" if copied == 1 else "were"
    after = f", after {there:,} that were there" if there else ""
    click.echo(f"{counted(copied, 'event')} {be} copied{after}.", err=True)


class Progress:
    """Prints how many events are done, every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _TELL

    def __call__(self, seq: int) -> None:
        """Print the number of events, unless the last message is recent."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL
            click.echo(f"{counted(seq, 'event')} so far", err=True)
