"""The command line, with one file for each command."""

__all__ = ["main"]

try:
    from lexbandit.cli.main import main
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    from lexbandit.cli.without_click import main
