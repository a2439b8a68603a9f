"""`lexbandit list`: policies, environments and studies, with a line on each."""

import click

from lexbandit.bench.study import component_names, descriptions
from lexbandit.cli.output import Voice, json_output, print_json

KINDS = ("policies", "environments", "studies")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@json_output
def command(kind: str | None, as_json: bool) -> None:
    """Show the policies, environments and studies there are."""
    wanted = [kind] if kind else list(KINDS)
    found = {name: _known(name) for name in wanted}
    if as_json:
        print_json(found)
        return
    voice = Voice()
    for name, entries in found.items():
        voice.table(name.capitalize(), ("name", "what it is"), list(entries.items()))


def _known(kind: str) -> dict[str, str]:
    if kind == "studies":
        return descriptions()
    return component_names({"policies": "policy", "environments": "environment"}[kind])
