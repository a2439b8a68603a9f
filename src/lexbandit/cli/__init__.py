"""The command line: one file a verb."""

from lexbandit.cli.main import main

__all__ = ["main"]
