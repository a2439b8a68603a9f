"""`lexbandit run STUDY.toml`: a study of one's own."""

from pathlib import Path

import click

from lexbandit.bench.plan import sized
from lexbandit.bench.study import packaged_studies, read_study
from lexbandit.cli import options
from lexbandit.cli.conducting import Work, conduct_all
from lexbandit.cli.console import Voice, print_json
from lexbandit.cli.tables import show_claims, show_policies


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
    """Run studies: each a TOML file, or the name of one that `lexbandit list studies` shows."""
    packaged = packaged_studies()
    found = [
        sized(read_study(packaged.get(name, Path(name))), runs=runs, horizon=horizon)
        for name in studies
    ]
    voice = Voice(quiet=quiet, as_json=as_json)
    work = Work(out=out, workers=workers, executor=executor, cluster=cluster, report=report)
    summary, status = conduct_all(found, work, voice)
    if as_json:
        print_json(summary)
    if summary:
        for told in (summary["experiments"] | summary.get("studies", {})).values():
            show_policies(told, voice)
        show_claims(summary, voice)
    return status
