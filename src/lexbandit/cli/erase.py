"""`lexbandit erase CONFIG.toml POINT`: remove context values from a log for good."""

import asyncio
from pathlib import Path
from typing import Any

import click

from lexbandit.cli.notices import needs, storage_words
from lexbandit.errors import InvalidInput, counted


@click.command("erase")
@click.argument("config", metavar="CONFIG.toml", type=click.Path(path_type=Path))
@click.argument("point")
@click.option("--id", "ids", multiple=True, help="The id of a decision; may be repeated.")
@click.option("--unit", metavar="FEATURE=VALUE", help="All decisions whose context has this value.")
@click.option(
    "--replace",
    multiple=True,
    metavar="FEATURE=VALUE",
    help="Replace this feature's value and keep the others; VALUE is JSON or a text.",
)
@click.option("--storage", help="sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")
def command(
    config: Path,
    point: str,
    ids: tuple[str, ...],
    unit: str | None,
    replace: tuple[str, ...],
    storage: str | None,
) -> None:
    """Remove the contexts of decisions of POINT from the log and the snapshots.

    The decisions, their rewards and what was learned from them stay; open ones take no further
    rewards. A service on a SQLite file must be stopped before. Backups, exports and archives are
    not changed.
    """
    with needs("service"):
        from lexbandit.service.config.file import read_config  # noqa: PLC0415
        from lexbandit.service.engine.engine import Engine  # noqa: PLC0415
        from lexbandit.service.engine.erase import erase, of_ids, of_unit  # noqa: PLC0415
        from lexbandit.service.storage import make_storage  # noqa: PLC0415
    if bool(ids) == (unit is not None):
        raise click.UsageError("name decisions either by --id or by --unit FEATURE=VALUE.")
    match = of_ids(ids) if unit is None else of_unit(*_pair("--unit", unit))
    replacing = {name: _value(text) for name, text in (_pair("--replace", one) for one in replace)}
    with needs("postgres"):
        found = read_config(config, flags={"storage": storage})
        opened = make_storage(found.storage)

    async def work() -> int:
        engine = await Engine.start(found.points, opened)
        try:
            return await erase(engine, point, match, replacing or None)
        finally:
            await engine.stop()

    with storage_words():
        done = asyncio.run(work())
    click.echo(f"The context of {counted(done, 'decision')} was erased.")


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{option} must be FEATURE=VALUE, got {text!r}.")
    return name, value


def _value(text: str) -> Any:
    """Return a value as a request could have it: strict JSON, or else the text itself."""
    from lexbandit.service.http.json_body import decode  # noqa: PLC0415
    from lexbandit.service.http.problems import Problem  # noqa: PLC0415

    try:
        return decode(text.encode())
    except Problem:
        return text
