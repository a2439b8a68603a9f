"""The command line of an installation without extras: it says which extra a verb needs."""

import sys
from collections.abc import Sequence

from lexbandit import __version__
from lexbandit.cli.extras import install
from lexbandit.cli.verbs import EXTRA_OF, VERBS
from lexbandit.errors import unknown_name


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer `--help` and `--version`; for a verb, say what to install and exit with status 1."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    first = words[0] if words else "--help"
    if first in {"-h", "--help"}:
        print(_help())
    elif first == "--version":
        print(f"lexbandit, version {__version__}")
    elif first in VERBS:
        sys.exit(f"error: {first} needs the package 'click': {install(EXTRA_OF[first])}.")
    else:
        print(f"error: {unknown_name('verb', first, VERBS)}", file=sys.stderr)
        sys.exit(2)


def _help() -> str:
    rows = (f"  {verb:<10} {EXTRA_OF[verb]:<8} {words}" for verb, words in VERBS.items())
    return "\n".join(
        [
            "Usage: lexbandit [OPTIONS] VERB [ARGS]...",
            "",
            "  Contextual bandits for metrics that have priorities.",
            "",
            f"  The verbs need an extra. To install one: {install('NAME')};",
            "  all of them: NAME is 'all'.",
            "",
            "Verbs, and the extra that each needs:",
            *rows,
        ]
    )
