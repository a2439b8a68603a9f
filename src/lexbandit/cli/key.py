"""`lexbandit key NAME --role ROLE`: a new API key for the decision service."""

import contextlib
import json
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import click

from lexbandit._internal.files import placing, written_whole
from lexbandit.cli.notices import needs
from lexbandit.errors import InvalidInput


@click.command("key")
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    type=click.Choice(["decide", "reward", "read", "admin"]),
    help="What the key is for (see above); may be given several times.",
)
@click.option(
    "--point",
    "points",
    multiple=True,
    help="Only for this decision point; may be given several times. Without it, for all of them.",
)
@click.option(
    "--to", "path", type=click.Path(path_type=Path, dir_okay=False), help="Add it to this file."
)
def command(name: str, roles: tuple[str, ...], points: tuple[str, ...], path: Path | None) -> None:
    """Make an API key called NAME. It is printed once; only its hash is stored.

    \b
    decide   ask for decisions
    reward   send rewards
    read     explanations, summaries, the log, metrics, the dashboard
    admin    add and retire arms, and all of the above

    With --to the hash is added to a file of keys; without, it is printed to be put there.
    """
    with needs("service"):
        from lexbandit.service.http.access import (  # noqa: PLC0415
            VARIABLE,
            hash_of,
            new_secret,
            points_of,
            roles_of,
        )
    if not name or not name.isprintable():
        raise InvalidInput(f"the name of a key is a text, got {name!r}.")
    secret = new_secret()
    listed = sorted(roles_of(roles))
    entry = f"[[keys]]\nname = {_toml(name)}\nroles = {_toml(listed)}\nsha256 = "
    entry += f'"{hash_of(secret)}"\n'
    some = sorted(points_of(list(points))) if points else []
    if some:
        entry += f"points = {_toml(some)}\n"
    if path is None:
        at = f"@{','.join(some)}" if some else ""
        variable = VARIABLE + re.sub(r"[^A-Z0-9]", "_", name.upper())
        click.echo(f"To allow it, add to the file of keys:\n\n{entry}", err=True)
        click.echo(f'or set {variable}="{",".join(listed)}{at}:{hash_of(secret)}"\n', err=True)
    else:
        _add(entry, path)
        click.echo(
            f"Its hash is in {path}; start the service again to allow it, or send it SIGHUP.",
            err=True,
        )
    click.echo("The key, shown this once:", err=True)
    click.echo(secret)


def _add(entry: str, path: Path) -> None:
    """Add an entry to a file of keys, which stays as it is if anything is wrong."""
    from lexbandit.service.http.access import Keys, keys_in_file  # noqa: PLC0415

    before = ""
    if path.exists():
        keys_in_file(path)  # refuses a damaged file before it is copied
        before = path.read_text(encoding="utf-8")
    with placing(path), written_whole(path, mode=0o600) as beside:
        with beside.open("w", encoding="utf-8") as file:
            _like(path, file.fileno())
            file.write(f"{before.rstrip()}\n\n{entry}".lstrip())
        Keys(keys_in_file(beside))  # refuses a second key of the name before it is there


def _like(path: Path, handle: int) -> None:
    """Give a file the owner and permissions of the one it replaces, such as the service's user."""
    with contextlib.suppress(FileNotFoundError, PermissionError):  # only root may change the owner
        before = path.stat()
        os.fchown(handle, before.st_uid, before.st_gid)
        os.fchmod(handle, stat.S_IMODE(before.st_mode))


def _toml(value: str | Sequence[str]) -> str:
    """Return a string or a list of strings, which TOML writes as JSON does."""
    return json.dumps(value, ensure_ascii=False)
