"""`lexbandit`: find the command, and turn an error into one line and an exit status.

Exit status: 0 all well, 1 something failed, 2 the command was not understood, 130 stopped.
"""

import errno
import importlib
import io
import sys
from collections.abc import Sequence

import click

from lexbandit.cli.commands import COMMANDS, EXTRA_OF
from lexbandit.cli.notices import missing
from lexbandit.errors import InvalidInput, unknown_name, without_password

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed here",
    errno.EACCES: "permission denied",
    errno.EROFS: "the file system is read-only",
}


class Commands(click.Group):
    """The commands, each in a file that is imported when the command is used: `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; for an unknown one suggest the nearest."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:  # a shell completes a line that is not written yet
                return None
            raise click.UsageError(str(unknown_name("command", cmd_name, COMMANDS)), ctx)
        try:
            found: click.Command = importlib.import_module(f"lexbandit.cli.{cmd_name}").command
        except ModuleNotFoundError as error:
            raise missing(error, EXTRA_OF[cmd_name]) from None
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    subcommand_metavar="COMMAND [ARGS]...",
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
        notes = getattr(error, "__notes__", ())  # added by the command
        return f"error: {'; '.join([f'{words}{place}', *notes])}."
    return "stopped."
