"""Reading a results folder: means, intervals, best scales, and folders that are no such thing."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.report.results import StudyResults, read_results
from report.fabricate import fabricate, write_summary


def _study(entries: dict[str, Any], name: str) -> StudyResults:
    studies = {study.slug: study for study in read_results(entries["directory"]).studies}
    return studies[name]


@pytest.mark.parametrize("name", ["experiment-1", "experiment-2", "my-own"])
def test_means_and_intervals_are_the_summary_s(entries: dict[str, Any], name: str) -> None:
    study = _study(entries, name)
    assert len(study.curves) == sum(len(points) for points in entries[name]["policies"].values())
    for curve in study.curves:
        entry = entries[name]["policies"][curve.policy][curve.scale or "1"]
        assert curve.regret is not None
        assert curve.pareto_regret is not None
        assert curve.t[-1] == entry["horizon"]
        assert curve.regret.mean[-1].tolist() == pytest.approx(entry["regret"])
        assert curve.reward.mean[-1].tolist() == pytest.approx(entry["reward"])
        assert curve.pareto_regret.mean[-1, 0] == pytest.approx(entry["pareto_regret"])
        # Four runs: 3.1824 standard errors.
        half = [3.18245 * error for error in entry["standard_error"]["regret"]]
        assert curve.regret.half[-1].tolist() == pytest.approx(half)


def test_studies_come_in_order_and_know_what_they_are(entries: dict[str, Any]) -> None:
    studies = read_results(entries["directory"]).studies
    assert [study.experiment for study in studies] == [1, 2, 3, None]
    assert [study.shows_regret for study in studies] == [True, False, False, True]
    assert studies[0].policies[:2] == ["moc-mab", "cd-ucb1"]


def test_one_run_without_means_has_rewards_only(entries: dict[str, Any]) -> None:
    study = _study(entries, "experiment-3")
    assert not study.has_regret
    curve = study.best("moc-mab")
    assert curve.regret is None
    assert curve.pareto_regret is None
    assert math.isnan(curve.reward.half[-1, 0])


def test_the_best_scale_is_the_summary_s_word(tmp_path: Path) -> None:
    entry = fabricate(tmp_path)
    entry["best_scale"]["moc-mab"] = {"by_regret": "1", "by_reward": "1/5"}
    write_summary(tmp_path, {"experiment-1": entry}, [])
    assert read_results(tmp_path).studies[0].best("moc-mab").scale == "1"
    (tmp_path / "summary.json").unlink()
    assert read_results(tmp_path).studies[0].best("moc-mab").scale == "1/15"


def test_maps_add_up_the_runs(entries: dict[str, Any]) -> None:
    maps = _study(entries, "experiment-1").maps
    assert maps is not None
    assert maps.optimal is not None
    assert maps.optimal.shape == (10, 10, 4)
    assert maps.optimal[9, 0].tolist() == [0, 0, 4 * 50, 0]
    assert set(maps.played) == {
        f"{p}@1/15" for p in ("moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1")
    }
    assert (maps.played["moc-mab@1/15"].sum(axis=2) == 4 * (4 * 2 + 40)).all()


def test_a_file_of_another_size_of_the_study_does_not_count(tmp_path: Path) -> None:
    fabricate(tmp_path, runs=2)
    before = read_results(tmp_path).studies[0]
    first = tmp_path / "runs" / f"experiment-1-{0:016x}.parquet"
    doubled = pl.read_parquet(first).with_columns(pl.col("seconds") * 100)
    doubled.write_parquet(tmp_path / "runs" / "experiment-1-feedfeedfeedfeed.parquet")
    after = read_results(tmp_path).studies[0]
    assert after.runs == before.runs == 2
    assert after.curves[0].seconds == before.curves[0].seconds


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_summary_is_named(tmp_path: Path, content: str) -> None:
    fabricate(tmp_path, runs=1)
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"summary\.json"):
        read_results(tmp_path)


def test_a_truncated_run_is_named(tmp_path: Path) -> None:
    fabricate(tmp_path, runs=1)
    file = next(iter((tmp_path / "runs").glob("experiment-1-*0.parquet")))
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(InvalidInput, match=file.name):
        read_results(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no finished run"):
        read_results(tmp_path)
    with pytest.raises(InvalidInput, match="not a folder"):
        read_results(tmp_path / "nowhere")
    (tmp_path / "study-x.json").write_text(json.dumps({"name": "x", "files": []}))
    with pytest.raises(InvalidInput, match="no finished run"):
        read_results(tmp_path)


def test_results_show_themselves_in_notebooks(reported: Path) -> None:
    """A table a study, the best policy first, and the figure that the report drew."""
    results = read_results(str(reported))
    page = ElementTree.fromstring(f"<div>{results._repr_html_()}</div>")
    assert [head.text for head in page.iter("h3")] == [study.title for study in results.studies]
    tables = page.findall("table")
    for study, table in zip(results.studies, tables, strict=True):
        rows = [[cell.text or "" for cell in row] for row in table.findall("tbody/tr")]
        assert [row[0] for row in rows] == [curve.name for curve in study.ranked()]
        value = float(rows[0][1].partition(" ±")[0].replace(",", ""))
        assert value == pytest.approx(study.ranked()[0].reward.mean[-1, 0], rel=1e-3)
    assert len(page.findall("img")) == len(results.studies)
