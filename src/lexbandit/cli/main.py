"""`lexbandit`: find the verb, and turn an error into one line and an exit status.

Exit status: 0 all well, 1 something failed, 2 the command was not understood, 130 stopped.
"""

import errno
import importlib
import io
import sys
from collections.abc import Sequence

import click

from lexbandit._internal.redaction import without_password
from lexbandit.cli.extras import missing
from lexbandit.cli.verbs import EXTRA_OF, VERBS
from lexbandit.errors import InvalidInput, unknown_name

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed here",
    errno.EACCES: "permission denied",
    errno.EROFS: "the file system is read-only",
}


class Verbs(click.Group):
    """The verbs, each in a file that is imported when the verb is used: `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help page."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; for an unknown one suggest the nearest."""
        if cmd_name not in VERBS:
            if ctx.resilient_parsing:  # a shell completes a line that is not written yet
                return None
            raise click.UsageError(str(unknown_name("verb", cmd_name, VERBS)), ctx)
        try:
            found: click.Command = importlib.import_module(f"lexbandit.cli.{cmd_name}").command
        except ModuleNotFoundError as error:
            raise missing(error, EXTRA_OF[cmd_name]) from None
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="lexbandit")
def lexbandit() -> None:
    """Contextual bandits for metrics that have priorities."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(status_of(arguments))


def status_of(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = lexbandit.main(arguments, prog_name="lexbandit", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        click.echo(without_password(words.getvalue()), err=True, nl=False)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has ended, as in `| head`, which is no error.
        sys.stdout = None
        return 0
    except (click.Abort, KeyboardInterrupt, InvalidInput, OSError) as error:
        click.echo(_in_words(error), err=True)
        return 130 if isinstance(error, click.Abort | KeyboardInterrupt) else 1
    return status if isinstance(status, int) else 0


def _in_words(error: BaseException) -> str:
    if isinstance(error, InvalidInput):
        return f"error: {error}"
    if isinstance(error, OSError):
        words = _WORDS.get(error.errno or 0, error.strerror or str(error))
        place = f" ({error.filename})" if error.filename else ""
        notes = getattr(error, "__notes__", ())  # added by the verb
        return f"error: {'; '.join([f'{words}{place}', *notes])}."
    return "stopped."
