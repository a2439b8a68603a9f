"""Read a results folder for the report: studies, and curves averaged over runs."""

import json
import math
from base64 import b64encode
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lexbandit._internal.student import student_quantile
from lexbandit._internal.svg import html_table, xml
from lexbandit.bench.results import load_maps, load_runs, studies_in
from lexbandit.checks import Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.report.style import in_order, leading, percent_text, policy_name, ratio_text


@dataclass(frozen=True)
class Measure:
    """A quantity at each checkpoint: its mean over runs, and half of its 95 % interval.

    float[checkpoints, objectives]; the half is NaN for a single run.
    """

    mean: Floats
    half: Floats


@dataclass(frozen=True)
class MeanCurve:
    """One policy at one grid point, over time."""

    policy: str
    scale: str
    label: str
    runs: int
    t: Integers
    reward: Measure
    regret: Measure | None
    pareto_regret: Measure | None
    seconds: float
    state_bytes: float | None = None
    tolerance_regret: Measure | None = None

    def measure(self, *, regret: bool) -> Measure:
        """Return the regret or the reward; a regret must be known."""
        found = self.regret if regret else self.reward
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """How the curve is called in a figure: the policy and its point of the grid."""
        name, point = policy_name(self.policy), self.label.partition("@")[2] or self.scale
        return f"{name} · {point}" if point else name


@dataclass(frozen=True)
class ArmMap:
    """Counts by cell of a display grid: int[x, y, arms]; `optimal` is None where unknown."""

    played: dict[str, Integers]
    optimal: Integers | None


@dataclass(frozen=True)
class ReportedPolicy:
    """One policy at one grid point: `policy` is what it is called, `name` what it is."""

    policy: str
    label: str
    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class StudyResults:
    """One study: its definition and its results.

    slug        the study's name in addresses and file names
    experiment  which of the paper's experiments this is, if any
    policies    the policies' names, the paper's first
    """

    slug: str
    title: str
    experiment: int | None
    objectives: list[str]
    horizon: int
    runs: int
    policies: list[str]
    frozen: dict[str, Any]
    summary: dict[str, Any]
    curves: list[MeanCurve]
    arms: int
    maps: ArmMap | None = None

    @property
    def has_regret(self) -> bool:
        """Whether the means were known."""
        return all(curve.regret is not None for curve in self.curves)

    @property
    def has_tolerance_regret(self) -> bool:
        """Whether tolerances were given, and the means known."""
        return all(curve.tolerance_regret is not None for curve in self.curves)

    @property
    def shows_regret(self) -> bool:
        """Whether the figure over time is of regret; the paper shows reward in 2 and 3."""
        return self.has_regret and self.experiment not in (2, 3)

    @property
    def entries(self) -> list[ReportedPolicy]:
        """What was run: one entry for each policy and grid point."""
        return [ReportedPolicy(**entry) for entry in self.frozen["policies"]]

    def of(self, policy: str) -> list[MeanCurve]:
        """Return a policy's curves, one a grid point."""
        return [curve for curve in self.curves if curve.policy == policy]

    def best(self, policy: str) -> MeanCurve:
        """Return a policy's curve at its best scale, as in the summary if that has one."""
        curves = self.of(policy)
        word = "by_regret" if self.shows_regret else "by_reward"
        chosen = self.summary.get("best_scale", {}).get(policy, {})
        scale = chosen.get(word, chosen.get("by_regret"))
        for curve in curves:
            if scale is not None and str(scale) in (curve.scale, curve.label):
                return curve
        if self.shows_regret:
            return min(curves, key=lambda curve: final(curve.regret)[0])
        return max(curves, key=lambda curve: final(curve.reward)[0])

    def ranked(self) -> list[MeanCurve]:
        """Return each policy's best curve, the best in the dominant objective first."""
        best = [self.best(policy) for policy in self.policies]
        if self.shows_regret:
            return sorted(best, key=lambda curve: float(final(curve.regret)[0]))
        return sorted(best, key=lambda curve: -float(final(curve.reward)[0]))

    def table(self) -> str:
        """Return each policy's best curve at the end as an HTML table, in the order of ranks."""
        measures = [("reward", False), *([("regret", True)] if self.has_regret else [])]
        head = [f"{word} in {name}" for word, _ in measures for name in self.objectives]
        rows = [
            [
                curve.name,
                *(
                    _with_half(curve.measure(regret=regret), i)
                    for _, regret in measures
                    for i in range(len(self.objectives))
                ),
            ]
            for curve in self.ranked()
        ]
        return html_table(["policy", *head], rows)


@dataclass(frozen=True)
class Results:
    """A whole results folder."""

    directory: Path
    studies: list[StudyResults]
    claims: list[dict[str, Any]] = field(default_factory=list)
    series: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Return tables for a notebook, each with the figure over time if the report drew it."""
        return "".join(
            f"<h3>{xml(study.title)}</h3>"
            f"<p>{study.runs:,} × {study.horizon:,} rounds; each policy at its best point of the "
            f"grid, ± half of a 95 % interval</p>{study.table()}{self._figure(study)}"
            for study in self.studies
        )

    def _figure(self, study: StudyResults) -> str:
        """Return a study's figure over time as a picture; "" if there is none."""
        try:
            drawn = (self.directory / "figures" / f"{study.slug}-over-time.svg").read_bytes()
        except OSError:
            return ""
        data = b64encode(drawn).decode()
        return f'<img alt="over time" src="data:image/svg+xml;base64,{data}"/>'


def final(measure: Measure | None) -> Floats:
    """Return the means at the last checkpoint."""
    assert measure is not None
    last: Floats = measure.mean[-1]
    return last


def _with_half(measure: Measure, objective: int) -> str:
    """Return a mean at the end with half of its interval, if it has one."""
    mean, half = (float(each[-1, objective]) for each in (measure.mean, measure.half))
    return f"{mean:,.4g}" if math.isnan(half) else f"{mean:,.4g} ± {half:,.2g}"


def read_results(directory: Path | str) -> Results:
    """Read a results folder: studies, finished runs, maps and summary."""
    directory = Path(directory)
    if not directory.is_dir():
        raise InvalidInput(f"{directory} is not a folder; a report needs a results folder.")
    runs = load_runs(directory)
    if runs.is_empty():
        raise InvalidInput(
            f"{directory} holds no finished run: a report needs study-NAME.json and "
            "runs/NAME-*.parquet, as `lexbandit reproduce` and `lexbandit run` write them."
        )
    maps = load_maps(directory)
    summary = _read_summary(directory / "summary.json")
    studies = []
    for frozen in studies_in(directory):
        name = str(frozen["name"])
        mine = runs.filter(pl.col("study") == name)
        if not mine.is_empty():
            studies.append(_read_study(frozen, summary, mine, maps.filter(pl.col("study") == name)))
    studies.sort(key=lambda study: (study.experiment is None, study.experiment or 0, study.slug))
    return Results(
        directory=directory,
        studies=studies,
        claims=list(summary.get("claims", [])),
        series=dict(summary.get("series", {})),
        versions=dict(summary.get("versions") or studies[0].frozen["versions"]),
    )


def _read_summary(path: Path) -> dict[str, Any]:
    """Return the summary; a folder of a user's own study may have none."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} must hold a JSON object, got {type(found).__name__}.")
    return found


def _read_study(
    frozen: dict[str, Any], summary: dict[str, Any], runs: pl.DataFrame, maps: pl.DataFrame
) -> StudyResults:
    name = str(frozen["name"])
    key = str(frozen.get("paper") or name)
    word = summary.get("experiments", {}).get(key) or summary.get("studies", {}).get(name)
    curves = _mean_curves(runs)
    results = StudyResults(
        slug=name,
        title=str(frozen["title"]),
        experiment=int(key) if key.isdigit() else None,
        objectives=list(frozen["objectives"]),
        horizon=int(curves[0].t[-1]),
        runs=curves[0].runs,
        policies=in_order([curve.policy for curve in curves]),
        frozen=frozen,
        summary=word or {},
        curves=curves,
        arms=int(runs["arm_share"].list.len().max() or 0),  # type: ignore[arg-type]
    )
    best = [results.best(policy).label for policy in results.policies]
    return replace(results, maps=_read_maps(maps, best, results.arms))


def _mean_curves(frame: pl.DataFrame) -> list[MeanCurve]:
    depth = int(frame["reward"].list.len().max() or 1)  # type: ignore[arg-type]
    columns: list[pl.Expr] = []
    for name in ("regret", "reward", "tolerance_regret"):
        for i in range(depth):
            value = pl.col(name).cast(pl.List(pl.Float64)).list.get(i, null_on_oob=True)
            columns += [
                value.mean().alias(f"{name}{i}"),
                (value.std() / value.count().sqrt()).alias(f"{name}{i}_error"),
            ]
    pareto = pl.col("pareto_regret").cast(pl.Float64)
    means = (
        frame.group_by("label", "policy", "scale", "t", maintain_order=True)
        .agg(
            pl.len().alias("runs"),
            pl.col("seconds", "state_bytes").mean(),
            pareto.mean().alias("pareto_regret0"),
            (pareto.std() / pareto.count().sqrt()).alias("pareto_regret0_error"),
            *columns,
        )
        .sort("t", maintain_order=True)
    )
    return [_mean_curve(rows, depth) for rows in means.partition_by("label", maintain_order=True)]


def _mean_curve(rows: pl.DataFrame, depth: int) -> MeanCurve:
    runs = int(rows["runs"][0])

    def measure(name: str, depth: int) -> Measure | None:
        mean = rows.select(f"{name}{i}" for i in range(depth)).to_numpy().astype(np.float64)
        error = rows.select(f"{name}{i}_error" for i in range(depth)).to_numpy()
        if not np.isfinite(mean).all():
            return None
        return Measure(mean, error.astype(np.float64) * student_factor(runs))

    reward = measure("reward", depth)
    if reward is None:
        raise InvalidInput(f"the runs of {rows['label'][0]} have checkpoints without rewards.")
    return MeanCurve(
        policy=str(rows["policy"][0]),
        scale=ratio_text(rows["scale"][0]),
        label=str(rows["label"][0]),
        runs=runs,
        t=rows["t"].to_numpy().astype(np.int64),
        reward=reward,
        regret=measure("regret", depth),
        pareto_regret=measure("pareto_regret", 1),
        tolerance_regret=measure("tolerance_regret", depth),
        seconds=float(rows["seconds"][-1] or 0.0),
        state_bytes=rows["state_bytes"][-1],
    )


def _read_maps(frame: pl.DataFrame, labels: list[str], arms: int) -> ArmMap | None:
    frame = frame.filter(pl.col("label").is_in(labels))
    if frame.is_empty():
        return None
    side = 1 + int(frame.select(pl.max_horizontal(pl.max("x"), pl.max("y"))).item() or 0)
    played: dict[str, Integers] = {}
    optimal: Integers | None = None
    for rows in frame.partition_by("label", maintain_order=True):
        played[str(rows["label"][0])] = _counts(rows, "played", side, arms)
        if optimal is None and rows["optimal"].null_count() == 0:
            optimal = _counts(rows, "optimal", side, arms)
    return ArmMap(played, optimal)


def _counts(rows: pl.DataFrame, column: str, side: int, arms: int) -> Integers:
    total = np.zeros((side, side, arms), np.int64)
    counts = rows[column].cast(pl.List(pl.Int64)).list.to_array(arms).to_numpy()
    np.add.at(total, (rows["x"].to_numpy(), rows["y"].to_numpy()), counts)
    return total


# The paper's names of objectives.
_RANKS = ("dominant", "non-dominant")


def objective_title(study: StudyResults, i: int) -> str:
    """Return the title of an objective's panel."""
    name = study.objectives[i]
    if name in _RANKS:
        return f"{name.capitalize()} objective"
    rank = "dominant objective" if i == 0 else f"objective {i + 1}"
    return f"{name[:1].upper()}{name[1:]} ({rank})"


def objective_phrase(study: StudyResults, i: int) -> str:
    """Return an objective as it stands after "in"."""
    name = study.objectives[i]
    return f"the {name} objective" if name in _RANKS else name


def band_text(study: StudyResults) -> str:
    """Return a sentence on what the bands are."""
    if study.runs < 2:
        return "One run: no band."
    return f"Bands: 95 % confidence intervals of the mean over {study.runs} runs (Student's t)."


def faint_text(study: StudyResults) -> str:
    """Return a sentence on the grey lines, if there are any."""
    faint = [p for p in study.policies if p not in leading(study.policies)]
    if not faint:
        return ""
    return f" Thin and grey, as far as they are in the panel: {', '.join(map(policy_name, faint))}."


def data_text(study: StudyResults) -> str | None:
    """Return a warning where the data are a stand-in for real ones."""
    environment = study.frozen["environment"]
    given = environment["parameters"].get("path")
    if (environment["name"] == "display-advertising" and not given) or (
        study.frozen["data"] == "synthetic"
    ):
        return (
            "Synthetic data: made up in the format of Yahoo! R6A with a planted click model, "
            "since the real files may not be redistributed. The numbers say nothing about Yahoo!."
        )
    return None


def degenerate_text(study: StudyResults) -> str | None:
    """Return in how many contexts two objectives decide, for studies of more objectives."""
    share = study.frozen.get("degenerate_share")
    if share is None:
        return None
    return (
        f"In {percent_text(share)} of the contexts the arms that are optimal in the first two "
        "objectives are optimal in all (the paper's degenerate case, Section VI-B)."
    )


def full_title(study: StudyResults) -> str:
    """Return the study's title, with a word on synthetic data where they stand for real ones."""
    said = data_text(study) is None or "synthetic" in study.title
    return study.title if said else f"{study.title} (synthetic data)"


def student_factor(runs: int) -> float:
    """Return the factor from a standard error over `runs` runs to half of a 95 % interval.

    NaN for a single run, which has no standard error.
    """
    return student_quantile(runs - 1) if runs > 1 else math.nan
