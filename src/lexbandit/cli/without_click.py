"""The command line of an installation without extras: it says which extra a command needs."""

import sys
from collections.abc import Sequence

from lexbandit import __version__
from lexbandit.cli.commands import COMMANDS, EXTRA_OF
from lexbandit.cli.notices import install
from lexbandit.errors import unknown_name


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer `--help` and `--version`; for a command, say what to install, with status 1."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    first = words[0] if words else "--help"
    if first in {"-h", "--help"}:
        print(_help())
    elif first == "--version":
        print(f"lexbandit, version {__version__}")
    elif first in COMMANDS:
        sys.exit(f"error: {first} needs the package 'click': {install(EXTRA_OF[first])}.")
    else:
        print(f"error: {unknown_name('command', first, COMMANDS)}", file=sys.stderr)
        sys.exit(2)


def _help() -> str:
    rows = (
        f"  {command:<10} {EXTRA_OF[command]:<8} {words}" for command, words in COMMANDS.items()
    )
    return "\n".join(
        [
            "Usage: lexbandit [OPTIONS] COMMAND [ARGS]...",
            "",
            "  Contextual bandits for metrics that have priorities.",
            "",
            f"  The commands need an extra. To install one: {install('NAME')};",
            "  all of them: NAME is 'all'.",
            "",
            "Commands, and the extra that each needs:",
            *rows,
        ]
    )
