"""What the figures show: exponents, bounds, agreement of maps, looks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexbandit.report import figures
from lexbandit.report.charts import Figure
from lexbandit.report.figures import agreement, theory_of, trade_off
from lexbandit.report.results import (
    StudyResults,
    data_text,
    full_title,
    objective_title,
    read_results,
)
from lexbandit.report.style import looks_of
from lexbandit.theory import MocMabTheory


@pytest.fixture(scope="module")
def studies(entries: dict[str, Any]) -> dict[str, StudyResults]:
    return {study.slug: study for study in read_results(entries["directory"]).studies}


def _rows(figure: Figure | None, panel: int) -> list[dict[str, Any]]:
    assert figure is not None
    spec = figure.panels[panel].spec
    return [row for rows in spec["datasets"].values() for row in rows]


def test_growth_names_the_fabricated_exponents_and_the_theorem_s(
    studies: dict[str, StudyResults],
) -> None:
    figure = figures.growth(studies["experiment-1"])
    names = {row["name"] for row in _rows(figure, 0)}
    assert {"MOC-MAB t^0.75", "CD-UCB1 t^0.80", "S-UCB1 t^1.00", "Theorem t^0.80"} <= names
    assert figure is not None
    assert "(2α+d)/(3α+d) = 0.80" in figure.caption
    # S-UCB1's regret in the second objective is negative: it has no logarithm and no line.
    assert not any(row["name"].startswith("S-UCB1") for row in _rows(figure, 1))


def test_the_theorem_s_line_starts_a_decade_before_the_end(
    studies: dict[str, StudyResults],
) -> None:
    rows = _rows(figures.growth(studies["experiment-1"]), 0)
    start, end = [row for row in rows if row["name"] == "Theorem t^0.80"][:2]
    assert end["x"] == 10_000
    assert 800 <= start["x"] <= 1250
    ours = {row["x"]: row["y"] for row in rows if row["name"] == "MOC-MAB t^0.75"}
    assert start["y"] == ours[start["x"]]


def test_bounds_are_those_of_theorem_1(studies: dict[str, StudyResults]) -> None:
    figure = figures.theorem_bounds(studies["experiment-1"])
    theory = MocMabTheory(arms=4, dimension=2, horizon=10_000)
    for i in (0, 1):
        bound = [row for row in _rows(figure, i) if row["name"] == "Theorem 1"]
        for row in bound:
            expected = theory.high_probability(row["x"])[i]
            assert row["y"] == pytest.approx(float(expected), rel=1e-4)
        regret = [row["y"] for row in _rows(figure, i) if row["name"] == "MOC-MAB · 1"]
        assert max(regret) < min(row["y"] for row in bound)
    assert figure is not None
    assert "above t itself for both objectives" in figure.caption


def test_theory_takes_the_study_s_parameters(studies: dict[str, StudyResults]) -> None:
    study = studies["experiment-1"]
    before = study.frozen["policies"]
    study.frozen["policies"] = [
        {"policy": "moc-mab", "name": "moc-mab", "label": label, "parameters": parameters}
        for label, parameters in (
            ("a", {"beta": 0.7, "scale": 0.2}),
            ("b", {"beta": 0.1, "scale": 1.0}),  # the curve that is drawn
            ("c", {"beta": 0.3, "scale": 1.0}),
        )
    ]
    try:
        theory = theory_of(study)
    finally:
        study.frozen["policies"] = before
    assert theory is not None
    assert (theory.beta, theory.arms, theory.dimension) == (0.1, 4, 2)
    assert theory_of(studies["my-own"]) is None


def test_without_means_there_is_no_figure_of_regret(studies: dict[str, StudyResults]) -> None:
    study = studies["experiment-3"]
    assert figures.growth(study) is None
    assert figures.theorem_bounds(study) is None
    figure = trade_off(study)
    assert figure is not None
    assert "upper right" in figure.caption


def test_sensitivity_has_a_point_for_each_policy_and_scale(
    studies: dict[str, StudyResults], entries: dict[str, Any]
) -> None:
    rows = [row for row in _rows(figures.sensitivity(studies["experiment-2"]), 1) if "low" in row]
    assert len(rows) == 6 * 3
    expected = entries["experiment-2"]["policies"]["cp-ucb1"]["1/5"]["reward"][1]
    found = [row["y"] for row in rows if row["name"] == "CP-UCB1" and row["x"] == "1/5"]
    assert found == [pytest.approx(expected, rel=1e-4)]
    assert figures.sensitivity(studies["my-own"]) is None


def test_the_trade_off_marks_each_policy_s_best_scale(studies: dict[str, StudyResults]) -> None:
    figure = trade_off(studies["experiment-1"])
    best = [row for row in _rows(figure, 0) if row["best"]]
    assert [row["text"] for row in best] == ["1/15"] * 6
    assert figure is not None
    assert "A regret below 0" in figure.caption


def test_agreement_counts_visited_cells_only() -> None:
    optimal = np.zeros((2, 2, 3), np.int64)
    optimal[..., 0] = 10
    played = np.zeros((2, 2, 3), np.int64)
    played[0, 0] = [5, 1, 1]
    played[0, 1] = [1, 5, 1]
    played[1, 0] = [3, 0, 0]
    assert agreement(played, optimal) == pytest.approx(2 / 3)


def test_the_optimal_map_is_the_fabricated_one(studies: dict[str, StudyResults]) -> None:
    made = [f for f in figures.figures_of(studies["experiment-1"]) if f.name.endswith("-maps")]
    cells = {(int(r["x"]), int(r["y"])): r["arm"] for r in _rows(made[0], 0)}
    assert len(cells) == 100
    assert (cells[9, 0], cells[0, 9], cells[0, 0]) == ("2", "1", "0")
    assert len(made[0].panels) == 7


def test_looks_differ_in_colour_and_in_a_second_channel() -> None:
    paper = ["moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1"]
    looks = looks_of([*paper, "mine", "yours"])
    for channel in ("colour", "dash", "shape"):
        assert len({getattr(looks[policy], channel) for policy in paper}) == 6
    assert len({(look.colour, look.dash) for look in looks.values()}) == 8
    assert looks_of(["moc-mab"])["moc-mab"] == looks["moc-mab"]


def test_synthetic_stand_ins_are_called_so(studies: dict[str, StudyResults]) -> None:
    study = studies["experiment-3"]
    assert data_text(study) is None
    given: dict[str, Any] = {"name": "display-advertising", "parameters": {"rows": 100}}
    study.frozen["environment"], before = given, study.frozen["environment"]
    try:
        assert "Synthetic data" in (data_text(study) or "")
        given["parameters"]["path"] = "day.parquet"
        assert data_text(study) is None
        study.frozen["data"] = "synthetic"  # a file made by the generator
        assert "Synthetic data" in (data_text(study) or "")
        assert full_title(study).count("synthetic") == 1
    finally:
        study.frozen["environment"] = before
        study.frozen.pop("data", None)


def test_titles_do_not_repeat_themselves(studies: dict[str, StudyResults]) -> None:
    study = studies["experiment-1"]
    assert objective_title(study, 0) == "Throughput (dominant objective)"
    ranked = replace(study, objectives=["dominant", "non-dominant"])
    assert objective_title(ranked, 1) == "Non-dominant objective"
