"""Options of the verbs that read a log, and the `Log` that they describe."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click

from lexbandit.chooser import Chooser
from lexbandit.cli.extras import needs
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.logs.log import Log
from lexbandit.logs.sources import opener_of

F = TypeVar("F", bound=Callable[..., Any])

ROLES = ("arm", "propensity", "allowed", "time", "id", "unit", "group")

_OPTIONS = [
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
    click.option("--wait", type=float, metavar="SECONDS", help="Time in which rewards come."),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: its scheduler's address, or 'local' to start one here.",
    ),
]


def log_options(function: F) -> F:
    """Add the options of a verb that reads a log."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def definition_of(like: str | None, point: str | None) -> Chooser | None:
    """Return a chooser as `--like` describes it: a saved one, or a new one of a configuration."""
    if like is None:
        return None
    if not like.endswith(".toml"):
        return Chooser.load(like)
    with needs("service"):
        from lexbandit.service.config.file import read_points  # noqa: PLC0415
    points = read_points(Path(like))
    if point is None and len(points) > 1:
        raise InvalidInput(
            f"{like} has the decision points {', '.join(points)}: say which one by --point."
        )
    name = point or next(iter(points))
    if name not in points:
        raise unknown_name("decision point", name, points)
    definition = points[name]
    return definition.chooser(definition.arms, time.time)


def read_log(
    sources: Sequence[str],
    *,
    like: Chooser | None,
    point: str | None,
    columns: Sequence[str],
    explore: float | None,
    wait: float | None,
    adaptive: bool = True,
) -> Log:
    """Return the log that the arguments of a verb describe."""
    named: dict[str, str] = {}
    for pair in columns:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise InvalidInput(f"--column takes NAME=COLUMN, such as quality=score, got {pair!r}.")
        named[name] = column
    roles = {role: named.pop(role) for role in ROLES if role in named}
    storage = len(sources) == 1 and opener_of(sources[0]) is not None
    if like is None and not storage:
        raise InvalidInput(
            "what decided? Give --like FILE, a saved chooser or a service's configuration: a table "
            "does not say what the objectives are, nor which of them comes first."
        )
    return Log(
        sources[0] if len(sources) == 1 else list(sources),
        like=like,
        point=point if storage else None,
        columns=named,
        explore=explore,
        wait=wait,
        adaptive=adaptive,
        **roles,  # type: ignore[arg-type]
    )


def cluster_of(address: str | None) -> AbstractContextManager[Any]:
    """Return what parts of a log run on: a cluster's executor, or None for threads."""
    if address is None:
        return nullcontext(None)
    from lexbandit.bench.dask_cluster import executor  # noqa: PLC0415

    return executor(address, os.cpu_count() or 1)
