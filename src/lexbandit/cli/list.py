"""`lexbandit list`: policies, environments and studies, with a line on each."""

import click

from lexbandit.bench.study import component_names, descriptions
from lexbandit.cli.output import Printer, json_output, print_json

KINDS = ("policies", "environments", "studies")
# docs/policies/index.md says when to take which.
FOR_USE = ("lex-thompson", "lex-linucb", "lex-tree", "moc-mab", "staged-lex", "random")


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
    printer = Printer()
    for name, entries in found.items():
        title = name.capitalize()
        if name == "policies":
            used = [(policy, entries.pop(policy)) for policy in FOR_USE]
            printer.table("Policies for use", ("name", "what it is"), used)
            title = "Policies to compare with"
        printer.table(title, ("name", "what it is"), list(entries.items()))


def _known(kind: str) -> dict[str, str]:
    if kind == "studies":
        return descriptions()
    return component_names({"policies": "policy", "environments": "environment"}[kind])
