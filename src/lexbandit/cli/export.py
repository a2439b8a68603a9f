"""`lexbandit export POINT --to FILE.parquet`: decisions and their rewards as a table."""

import asyncio
import os
from pathlib import Path

import click

from lexbandit.cli.notices import needs, storage_words
from lexbandit.errors import counted


@click.command("export")
@click.argument("point")
@click.option(
    "--to",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write: .parquet, .csv or .jsonl.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The service's configuration, for its storage.",
)
@click.option("--storage", help="sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")
def command(point: str, path: Path, config: Path | None, storage: str | None) -> None:
    """Write the decisions of POINT to a file, one row each, with their rewards.

    The service may run meanwhile. Without --config or --storage, LEXBANDIT_STORAGE says where the
    log is, or else it is the file decisions.db here.
    """
    with needs("service"):
        from lexbandit.service.config.file import Config, read_config  # noqa: PLC0415
        from lexbandit.service.maintenance.export import Exported, export, format_of  # noqa: PLC0415
        from lexbandit.service.storage import make_storage  # noqa: PLC0415
    format_of(path)
    with needs("postgres"):
        if config is not None:
            url = read_config(config, flags={"storage": storage}).storage
        else:
            url = storage or os.environ.get("LEXBANDIT_STORAGE") or Config.storage
        opened = make_storage(url, reading=True)

    async def work() -> Exported:
        async with opened:
            return await export(opened, point, path)

    with storage_words():
        done = asyncio.run(work())
    be = "is" if done.rows == 1 else "are"
    click.echo(f"{counted(done.rows, 'decision')} of {point} {be} in {path}.", err=True)
    if done.repeated:
        were = "was" if done.repeated == 1 else "were"
        click.echo(
            f"{done.repeated:,} more {were} asked of two replicas at once: the first one counts.",
            err=True,
        )
