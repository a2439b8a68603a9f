"""`lexbandit evaluate LOG...`: would another policy have been better?"""

import functools
from pathlib import Path
from typing import Any

import click

from lexbandit.cli.log_options import LogOptions, check_folder, log_options
from lexbandit.cli.notices import needs
from lexbandit.cli.output import Printer, json_output, print_json, progress_bar, quiet, stages
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.logs.differences import ESTIMATORS, INTERVALS
from lexbandit.logs.evaluate import evaluate

# The exit status where a verdict is one of those named by --fail-on.
FAILED = 3

_KINDS = {"worse": "worse", "cannot-tell": "cannot tell", "as-good": "as good", "better": "better"}


def _share_or_time(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _kinds(text: str) -> set[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in _KINDS:
            raise unknown_name("verdict in --fail-on:", name, _KINDS)
    return {_KINDS[name] for name in names}


@click.command("evaluate")
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    required=True,
    help="always:ARM, a saved chooser (.lexbandit), a policy's name with --train-until, "
    "column:NAME, replay:POLICY or dr-replay:POLICY. Repeatable.",
)
@click.option("--against", default="logged", show_default=True, help="What to compare with.")
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="How often a verdict may be wrong, at most.",
)
@click.option(
    "--train-until",
    metavar="SHARE|TIME",
    help="Policies given by name learn from the rows before, such as 0.5; all candidates are "
    "evaluated on the others.",
)
@click.option(
    "--estimator",
    type=click.Choice(ESTIMATORS),
    default="dr",
    show_default=True,
    help="How means are estimated.",
)
@click.option(
    "--interval",
    type=click.Choice(INTERVALS),
    default="anytime",
    show_default=True,
    help="anytime holds on the log of a policy that learned, and at every look; bootstrap is by "
    "unit and needs --not-adaptive.",
)
@click.option("--not-adaptive", is_flag=True, help="What decided did not learn as it went.")
@click.option(
    "--fail-on",
    default="",
    metavar="VERDICTS",
    help=f"Leave with status {FAILED} on these, separated by commas: {', '.join(_KINDS)}.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page that needs nothing else, such as report.html.",
)
@log_options
@quiet
@json_output
def command(
    source: LogOptions,
    candidates: tuple[str, ...],
    against: str,
    not_adaptive: bool,
    fail_on: str,
    out: Path | None,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Say for each candidate whether it would have been better than what was logged.

    LOG is one or more Parquet, CSV or JSON-lines files, a pattern such as 'logs/*.parquet', or the
    storage of a service: sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE.

    Exit status: 0 evaluated, 1 something is wrong with the log or the candidate, 2 the command was
    not understood, 3 a verdict is one of those named by --fail-on.
    """
    failing = _kinds(fail_on)
    if not 0.0 < settings["alpha"] < 1.0:
        raise InvalidInput(f"--alpha must lie between 0 and 1, got {settings['alpha']:g}.")
    if out is not None:
        check_folder("--out", out)
        with needs("bench"):
            from lexbandit.report.evaluation import write_evaluation  # noqa: PLC0415
    printer = Printer(quiet=quiet, as_json=as_json)
    log = source.read(source.chooser(), adaptive=not not_adaptive)
    settings["train_until"] = _share_or_time(settings["train_until"])
    found = []
    with source.executor() as executor, progress_bar(printer, unit="rows") as bar:
        shown = stages(bar)
        for candidate in candidates:
            tell = functools.partial(shown, candidate)
            found.append(
                evaluate(log, candidate, against, executor=executor, progress=tell, **settings)
            )
    for one in found:
        printer.message(f"{one}\n", through=printer.output)
    if as_json:
        print_json({"evaluations": [one.to_dict() for one in found]})
    if out is not None:
        write_evaluation(found, out)
        printer.message(f"report: {out}")
    return FAILED if any(one.decision.kind in failing for one in found) else 0
