"""`lexbandit run STUDY.toml`: a study of one's own, or several that come with lexbandit."""

from fnmatch import filter as matching
from pathlib import Path

import click

from lexbandit.bench.plan import sized
from lexbandit.bench.study import packaged_studies, read_study
from lexbandit.cli import options
from lexbandit.cli.conducting import Work, conduct_all
from lexbandit.cli.console import Voice, print_json
from lexbandit.cli.tables import (
    show_against,
    show_claims,
    show_policies,
    show_series,
    show_tolerance,
)


@click.command("run")
@click.argument("studies", nargs=-1, required=True, metavar="STUDY.toml...")
@options.work
def command(
    studies: tuple[str, ...],
    runs: int | None,
    horizon: int | None,
    out: Path,
    workers: int | None,
    executor: str,
    cluster: str | None,
    report: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run studies: each a TOML file, or a name that `lexbandit list studies` shows.

    A name may stand for several: 'growth-*'. All go into one folder with one report.
    """
    packaged = packaged_studies()
    paths = [
        path
        for name in studies
        for path in ([packaged[known] for known in matching(packaged, name)] or [Path(name)])
    ]
    found = [sized(read_study(path), runs=runs, horizon=horizon) for path in dict.fromkeys(paths)]
    voice = Voice(quiet=quiet, as_json=as_json)
    work = Work(out=out, workers=workers, executor=executor, cluster=cluster, report=report)
    summary, status = conduct_all(found, work, voice)
    if as_json:
        print_json(summary)
    if summary:
        for told in (summary["experiments"] | summary.get("studies", {})).values():
            show_policies(told, voice)
            show_tolerance(told, voice)
            show_against(told, voice)
        show_series(summary, voice)
        show_claims(summary, voice)
    return status
