"""`lexbandit serve CONFIG.toml`: the decision service."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lexbandit.cli.notices import compile_notices, needs, storage_words
from lexbandit.errors import without_password

if TYPE_CHECKING:
    from lexbandit.service.config.file import Config
    from lexbandit.service.engine.engine import Engine

SAMPLE = "router.toml"


def sample() -> Path:
    """Return the sample configuration that comes with lexbandit."""
    installed = Path(__file__).parents[1] / "samples"
    folder = installed if installed.is_dir() else Path(__file__).parents[3] / "samples"
    return folder / SAMPLE


@click.command("serve")
@click.argument("config", metavar="CONFIG.toml", type=click.Path(path_type=Path), required=False)
@click.option("--check", is_flag=True, help="Check the configuration and end.")
@click.option("--sample", "show", is_flag=True, help="Print a configuration to begin with and end.")
@click.option("--host", help="Address to serve on.")
@click.option("--port", type=int, help="Port to serve on; 0 takes a free one.")
@click.option("--storage", help="sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")
@click.option("--no-auth", is_flag=True, help="Ask for no API keys; for this machine only.")
@click.option(
    "--skip-untaken",
    is_flag=True,
    help="Go on without what a changed definition has no place for.",
)
@click.option(
    "--accept-clock",
    is_flag=True,
    help="Start though the clock is more than a year from the log's last event.",
)
@click.option("--tls-cert", help="Certificate chain (PEM), to serve https.")
@click.option("--tls-key", help="The certificate's private key (PEM).")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="plain, or json: one object a line, with its time zone.")
def command(
    config: Path | None,
    check: bool,
    show: bool,
    no_auth: bool,
    skip_untaken: bool,
    accept_clock: bool,
    **flags: Any,
) -> None:
    """Serve the decision points of CONFIG.toml over HTTP.

    It asks every request for an API key, which `lexbandit key` makes; with --no-auth it serves this
    machine only, without keys. Use --check before a start.

    An option counts before a LEXBANDIT_... variable, and that before the file.
    """
    if show:
        click.echo(sample().read_text(encoding="utf-8"), nl=False)
        return
    if config is None:
        raise click.UsageError("name a configuration; `lexbandit serve --sample` prints one.")
    with needs("service"):
        from lexbandit.service import process as server  # noqa: PLC0415
        from lexbandit.service.config.file import read_config  # noqa: PLC0415
    with needs("postgres"), compile_notices(err=True):
        found = read_config(config, flags=flags)
    if check:
        _check(config, found, no_auth)
        return
    server.check_access(found, no_auth=no_auth)
    _warn_of_single_arms(found)
    with storage_words():
        serving = server.serve(
            found,
            no_auth=no_auth,
            started=lambda url, engine: _welcome(url, found, engine, no_auth),
            read=lambda: read_config(config, flags=flags),
            skip_untaken=skip_untaken,
            accept_clock=accept_clock,
        )
        server.run(serving, found)


def _check(path: Path, config: "Config", no_auth: bool) -> None:
    """Do all that a start does except serving, and print what was found."""
    from lexbandit.service import process as server  # noqa: PLC0415
    from lexbandit.service.engine.point import Point  # noqa: PLC0415
    from lexbandit.service.engine.start import warm_up, warn_of_tolerances  # noqa: PLC0415
    from lexbandit.service.http.access import is_loopback  # noqa: PLC0415
    from lexbandit.service.storage import check_storage  # noqa: PLC0415

    keyless = not config.keys and is_loopback(config.host)
    server.check_access(config, no_auth=no_auth or keyless)
    server.tls_of(config)
    with compile_notices(err=True):
        for definition in config.points.values():
            warm_up(definition)
            warn_of_tolerances(Point(definition))
    with storage_words():
        asyncio.run(check_storage(config.storage))
    click.echo(f"{path} is fine: {_points_text(config)}.")
    if keyless:
        click.echo("There are no keys yet: it starts with --no-auth only.")
    _warn_of_single_arms(config)
    warning = server.warning_of(config)
    if warning is not None:
        click.echo(f"Warning: {warning}", err=True)


def _warn_of_single_arms(config: "Config") -> None:
    for name, definition in config.points.items():
        if len(definition.arms) == 1:
            click.echo(
                f"Warning: {name} has one arm, {definition.arms[0]!r}: there is nothing to choose "
                f"until another is added, here or by PUT /v1/{name}/arms/ARM.",
                err=True,
            )


def _points_text(config: "Config") -> str:
    points = ", ".join(config.points)
    one = len(config.points) == 1
    return f"{len(config.points)} decision point{'' if one else 's'} ({points})"


def _welcome(url: str, config: "Config", engine: "Engine", no_auth: bool) -> None:
    from lexbandit.service.engine.start import found_in  # noqa: PLC0415

    point = next(iter(config.points))
    found = "; ".join(found_in(one) for one in engine.points.values())
    key = "" if no_auth else ' -H "Authorization: Bearer $KEY"'
    click.echo(
        f"lexbandit serves {_points_text(config)} at {url}\n"
        f"  dashboard  {url}/\n"
        f"  API        {url}/openapi.json\n"
        f"  try        curl {url}/v1/{point}{key}\n"
        f"  storage    {without_password(config.storage)}\n"
        f"  log        {found}\n"
        "Ctrl-C ends it; nothing is lost.",
        err=True,
    )
