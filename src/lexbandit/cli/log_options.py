"""Options of the commands that read a log, and the `Log` that they describe."""

import os
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click

from lexbandit.chooser import Chooser
from lexbandit.cli.notices import needs
from lexbandit.cli.output import Command, joined
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.logs.log import Log
from lexbandit.logs.sources import opener_of

ROLES = ("arm", "propensity", "allowed", "time", "id", "unit", "group")

_OPTIONS = [
    click.argument("logs", nargs=-1, required=True, metavar="LOG..."),
    click.option(
        "--like",
        metavar="FILE",
        help="What decided: a saved chooser (.lexbandit) or a service's configuration (.toml). "
        "Not needed for the storage of a service.",
    ),
    click.option("--point", help="Which decision point of the storage or the configuration."),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="The column of an objective or a feature, or of "
        f"{', '.join(ROLES[:-1])} or {ROLES[-1]}, where it is called otherwise. Repeatable.",
    ),
    click.option("--explore", type=float, help="Share of the log's decisions drawn uniformly."),
    click.option(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="Time in which rewards come, counted from the last row. 0: all have come.",
    ),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: its scheduler's address, or 'local' to start one here.",
    ),
]


class LogOptions(NamedTuple):
    """The arguments of a command that describe a log."""

    logs: tuple[str, ...]
    like: str | None
    point: str | None
    columns: tuple[str, ...]
    explore: float | None
    wait: float | None
    cluster: str | None

    def chooser(self) -> Chooser | None:
        """Return a chooser as --like describes it: a saved one, or a new one of a configuration."""
        if self.like is None:
            return None
        if not self.like.endswith(".toml"):
            return Chooser.load(self.like)
        with needs("service"):
            from lexbandit.service.config.file import read_points  # noqa: PLC0415
        points = read_points(Path(self.like))
        if self.point is None and len(points) > 1:
            raise InvalidInput(
                f"{self.like} has the decision points {', '.join(points)}: say which one by "
                "--point."
            )
        name = self.point or next(iter(points))
        if name not in points:
            raise unknown_name("decision point", name, points)
        definition = points[name]
        return definition.chooser(definition.arms, time.time)

    def read(self, like: Chooser | None, *, adaptive: bool = True) -> Log:
        """Return the log."""
        named: dict[str, str] = {}
        for pair in self.columns:
            name, equals, column = pair.partition("=")
            if not (name and equals and column):
                raise InvalidInput(
                    f"--column takes NAME=COLUMN, such as quality=score, got {pair!r}."
                )
            named[name] = column
        roles = {role: named.pop(role) for role in ROLES if role in named}
        storage = len(self.logs) == 1 and opener_of(self.logs[0]) is not None
        if like is None and not storage:
            raise InvalidInput(
                "what decided? Give --like FILE, a saved chooser or a service's configuration: a "
                "table does not say what the objectives are, nor which of them comes first."
            )
        return Log(
            self.logs[0] if len(self.logs) == 1 else list(self.logs),
            like=like,
            point=self.point if storage else None,
            columns=named,
            explore=self.explore,
            wait=self.wait,
            adaptive=adaptive,
            **roles,  # type: ignore[arg-type]
        )

    def executor(self) -> AbstractContextManager[Any]:
        """Return what parts of the log run on: a cluster's executor, or None for threads."""
        if self.cluster is None:
            return nullcontext(None)
        from lexbandit.bench.dask_cluster import executor  # noqa: PLC0415

        return executor(self.cluster, os.cpu_count() or 1)


def check_folder(option: str, file: Path) -> None:
    """Refuse a file to write whose folder is not there, before the work begins."""
    if not file.parent.is_dir():
        raise InvalidInput(f"{option} {file}: there is no folder {file.parent}; make it first.")


def log_options(function: Command) -> Command:
    """Add the arguments of a command that reads a log; the function is given them as `source`."""
    return joined(_OPTIONS, LogOptions, "source", function)
