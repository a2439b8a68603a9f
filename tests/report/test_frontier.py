"""The frontier: a picture overall and by situation, and a table, from real small studies."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lexbandit.bench.executors import Threads, run_study
from lexbandit.bench.study import read_study
from lexbandit.bench.summary import write_summary
from lexbandit.report import write_report
from lexbandit.report.charts import Figure, apart
from lexbandit.report.page import results_table
from lexbandit.report.results import Results, read_results
from lexbandit.report.series import frontier_figures, frontier_table
from lexbandit.report.style import GREY

STUDY = """\
name = "small-{kind}"
title = "Small: {kind}"
horizon = 400
runs = 3
objectives = ["quality", "cost"]
checkpoints = [100, 400]
worlds_from = 1000

[series]
name = "tolerance"
kind = "frontier"
label = "{kind}"
baseline = "random"

[environment]
name = "tolerance"
kind = "{kind}"

[[policies]]
name = "random"

[[policies]]
name = "lex-linucb"
grid = {{ threshold = [0.1, 0.3, 0.5] }}

[[policies]]
name = "linucb"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("frontier")
    for kind in ("categories", "smooth"):
        path = directory / f"{kind}.toml"
        path.write_text(STUDY.format(kind=kind))
        run_study(read_study(path), directory / "out", Threads(1))
    write_summary(directory / "out")
    return directory / "out"


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return read_results(folder)


@pytest.fixture(scope="module")
def series(results: Results) -> dict[str, Any]:
    return results.series["tolerance"]


def _rows(figure: Figure, panel: int) -> list[dict[str, Any]]:
    return [row for rows in figure.panels[panel].spec["datasets"].values() for row in rows]


def test_every_checkpoint_has_a_panel_overall_and_a_figure_by_situation(
    series: dict[str, Any],
) -> None:
    overall, early, late = frontier_figures("tolerance", series)
    assert [panel.title for panel in overall.panels] == ["After 100 rounds", "After 400 rounds"]
    for figure in (early, late):
        assert [panel.title for panel in figure.panels] == ["categories", "smooth", "Policies"]
    rows = [row for row in _rows(overall, 1) if "order" in row]
    assert {row["name"] for row in rows} == {"random", "lex-linucb", "linucb"}
    assert [row["at"] for row in rows if row["name"] == "lex-linucb"] == [
        "threshold=0.1",
        "threshold=0.3",
        "threshold=0.5",
    ]
    told = series["horizons"][1]["overall"]["lex-linucb@threshold=0.3"]
    (row,) = [row for row in rows if row["at"] == "threshold=0.3"]
    assert row["x"] == pytest.approx(told["loss"]["ratio"], rel=1e-4)
    assert row["y"] == pytest.approx(told["missed"]["ratio"], rel=1e-4)
    assert row["xlow"] <= row["x"] <= row["xhigh"]
    named = {row["text"] for row in _rows(overall, 1) if "side" in row}
    assert named == {"random", "linucb", "lex-linucb: threshold=0.1", "threshold=0.5"}


def test_panels_overall_have_the_same_axes(series: dict[str, Any]) -> None:
    first, second = frontier_figures("tolerance", series)[0].panels
    domains = [
        re.findall(r'"domain": \[[\d.e, -]+\]', json.dumps(panel.spec)) for panel in (first, second)
    ]
    assert domains[0]
    assert domains[0] == domains[1]


def test_the_baseline_is_grey_and_where_the_lines_cross(series: dict[str, Any]) -> None:
    panel = frontier_figures("tolerance", series)[0].panels[0]
    assert GREY in json.dumps(panel.spec)
    (row,) = [r for r in _rows(frontier_figures("tolerance", series)[0], 0) if r.get("order") == 0
              and r["name"] == "random"]  # fmt: skip
    assert (row["x"], row["y"]) == (1.0, 1.0)


def test_a_situation_without_loss_has_no_panel(series: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(series))
    for point in changed["horizons"][0]["situations"]["smooth"].values():
        point["missed"] = None
    _, early, late = frontier_figures("tolerance", changed)
    assert [panel.title for panel in early.panels] == ["categories", "Policies"]
    assert len(late.panels) == 3
    assert "–" in frontier_table(changed)


def test_bold_is_only_what_is_below_all_others_beyond_the_error() -> None:
    def point(low: float, ratio: float, high: float) -> dict[str, Any]:
        found = {"ratio": ratio, "low": low, "high": high}
        return {"loss": found, "missed": found}

    def told(b: tuple[float, float, float]) -> str:
        points = {"a": point(1, 1, 1), "b": point(*b), "c": point(0.5, 0.6, 0.7)}
        at = {"horizon": 10, "overall": points, "situations": {"one": points}}
        return frontier_table(
            {"baseline": "a", "floor": 0.01, "labels": ["one"], "runs": [4]}
            | {"policies": {name: name for name in points}, "horizons": [at]}
        )

    assert told((0.3, 0.4, 0.45)).count("<b>0.40</b>") == 2
    assert "<b>" not in told((0.3, 0.4, 0.55))


def test_names_keep_off_what_is_drawn() -> None:
    ((x, top, side),) = apart(
        [(100.0, 100.0)], [40.0], (400.0, 300.0), [(60.0, 99.0, 200.0, 101.0)]
    )
    assert side == 1
    assert abs(top - 100.0) >= 8.0
    assert x >= 110.0


def test_a_study_tells_its_tolerance_regret(results: Results, folder: Path) -> None:
    study = results.studies[0]
    assert study.has_tolerance_regret
    table = results_table(study)
    assert "Beyond tolerance, quality" in table
    assert "Missed, cost" in table
    page = write_report(folder).read_text(encoding="utf-8")
    for name in ("series-tolerance", "series-tolerance-400", "small-smooth-tolerance"):
        assert f"id='{name}'" in page
        assert (folder / "figures" / f"{name}.png").stat().st_size > 5_000
    assert not (folder / "figures" / "small-smooth-trade-off.png").exists()
