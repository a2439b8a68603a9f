"""Many policies, rivals of the paper, and studies that are seen together."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lexbandit.report import figures, write_report
from lexbandit.report.charts import Figure, apart
from lexbandit.report.figures import trade_off
from lexbandit.report.page import against_table, results_table
from lexbandit.report.results import Results, StudyResults, read_results
from lexbandit.report.series import series_figures, series_table, series_title
from lexbandit.report.style import leading, looks_of
from report.fabricate import MANY, POLICIES, fabricate_series


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("series")
    fabricate_series(directory)
    return directory


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return read_results(folder)


@pytest.fixture(scope="module")
def many(results: Results) -> StudyResults:
    return next(study for study in results.studies if study.slug == "many")


def _rows(figure: Figure, panel: int) -> list[dict[str, Any]]:
    return [row for rows in figure.panels[panel].spec["datasets"].values() for row in rows]


def test_every_policy_has_a_look_of_its_own() -> None:
    looks = looks_of(list(MANY))
    named = leading(list(MANY))
    assert len({(looks[p].colour, looks[p].dash) for p in named}) == len(named)
    assert {"lex-linucb", "moc-mab (kl)", "doubling(moc-mab)", "cd-ucb1"} <= set(named)
    assert not {"kl-ucb", "random", "oracle"} & set(named)
    assert leading(["mine", "random"]) == ["mine", "random"]
    assert looks["moc-mab (kl)"].colour == looks["moc-mab"].colour


def test_of_many_policies_the_lines_of_note_are_named(many: StudyResults) -> None:
    figure = figures.over_time(many)
    ends = {row["name"] for row in _rows(figure, 0) if "position" in row}
    assert len(ends) == len(leading(many.policies))
    assert "lex-linucb" in ends
    assert "kl-ucb" not in ends
    assert "Thin and grey" in figure.caption
    assert "kl-ucb" in {row["name"] for row in _rows(figure, 0)}


def test_the_trade_off_tints_what_is_below_the_paper(many: StudyResults) -> None:
    figure = trade_off(many)
    assert figure is not None
    corner = next(row for row in _rows(figure, 0) if "x2" in row)
    least = [
        min(float(many.best(policy).measure(regret=True).mean[-1, i]) for policy in POLICIES)
        for i in (0, 1)
    ]
    assert [corner["x2"], corner["y2"]] == pytest.approx(least, rel=1e-4)
    assert "There: lex-linucb, lex-thompson." in figure.caption
    placed = {row["text"] for row in _rows(figure, 0) if "side" in row}
    assert len(placed) == len(MANY)


def test_names_do_not_cover_each_other_while_there_is_room() -> None:
    points = [(100.0 + 4 * k, 100.0 + 3 * k) for k in range(6)]
    places = apart(points, [40.0] * 6, (400.0, 300.0))
    boxes = [
        ((x, x + 40) if side > 0 else (x - 40, x), (top - 7, top + 7)) for x, top, side in places
    ]
    for n, (across, down) in enumerate(boxes):
        for other_across, other_down in boxes[:n]:
            beside = across[1] <= other_across[0] or other_across[1] <= across[0]
            assert beside or down[1] <= other_down[0] or other_down[1] <= down[0]


def test_the_table_against_the_paper(many: StudyResults) -> None:
    rows = re.findall(r"<tr><th scope=row>(.*?)</th>(.*?)</tr>", against_table(many))
    assert [name for name, _ in rows][:2] == ["lex-linucb", "lex-thompson"]
    assert "oracle" not in dict(rows)
    assert "every algorithm of the paper" in dict(rows)["lex-linucb"]
    assert "class=yes" not in dict(rows)["staged-lex"]
    assert " %" in dict(rows)["lex-linucb"]


def test_the_results_are_sorted_and_tell_the_memory(many: StudyResults) -> None:
    table = results_table(many)
    names = re.findall(r"</i>(.*?)</th>", table)
    assert names[:3] == ["oracle", "lex-linucb", "lex-thompson"]
    assert len(names) == len(MANY)
    assert "1.20 kB" in table


def test_a_growth_series_has_a_line_a_policy_and_its_exponents(results: Results) -> None:
    (figure,) = series_figures("growth", results.series["growth"])
    assert len(figure.panels) == 2
    rows = [row for row in _rows(figure, 0) if "low" in row and "name" in row]
    assert {row["x"] for row in rows} == {10**4, 10**5, 10**6}
    names = {row["name"] for row in rows}
    assert len(names) == 4
    table = series_table(results.series["growth"])
    assert table.count("<tr><th scope=row>lex-linucb") == 2
    assert "(2α+d)/(3α+d) = 0.833" in table
    assert "(α+d)/(2α+d) = 0.800" in table
    found = re.search(r"MOC-MAB</th><td>throughput</td>(.*?)</tr>", table)
    assert found is not None
    fitted = float(re.findall(r"<td class=number>(0\.\d+)", found.group(1))[0])
    assert fitted == pytest.approx(0.75, abs=0.08)


def test_series_of_a_kind_are_told_apart_by_their_names(results: Results) -> None:
    growth = results.series["growth"]
    assert series_title("growth", growth) == "How regret grows with the horizon"
    assert series_title("rates", growth) == "How regret grows with the horizon: rates"
    assert series_title("which", results.series["which"]) == "Which policy when"


def test_which_policy_when_has_a_cell_for_each(results: Results) -> None:
    series = results.series["which"]
    (figure,) = series_figures("which", series)
    assert len(figure.panels) == 3  # one of the situations has three objectives
    rows = _rows(figure, 0)
    assert len(rows) == 4 * 13
    assert "oracle" not in {row["x"] for row in rows}
    assert sum(row["lowest"] for row in rows) == 4
    assert all(row["unbeaten"] for row in rows if row["lowest"])
    assert min(row["heat"] for row in rows) == 0.0
    assert max(row["heat"] for row in rows) == pytest.approx(1.0)
    for situation in series["situations"]:
        low = [row for row in rows if row["y"] == situation["label"] and row["lowest"]]
        regret = situation["policies"][situation["lowest"][0]]["regret"][0]
        assert float(low[0]["text"]) == pytest.approx(1000 * regret / 10_000, rel=0.06)
    assert {row["y"] for row in _rows(figure, 2)} == {"three objectives"}
    assert "three objectives" in series_table(series)


def test_three_objectives_have_three_panels(results: Results) -> None:
    study = next(study for study in results.studies if study.slug == "which-3")
    assert len(figures.over_time(study).panels) == 3
    crowd = trade_off(study)
    assert crowd is not None
    assert len(crowd.panels) == 2


@pytest.mark.slow
def test_the_page_has_the_series_first(folder: Path) -> None:
    page = write_report(folder).read_text(encoding="utf-8")
    assert page.index("id='series-growth'") < page.index("id='many'")
    assert "href='#series-which'" in page
    assert "Against the paper&#x27;s algorithms" in page or "Against the paper's" in page
    assert (folder / "figures" / "series-which.svg").exists()
    assert (folder / "figures" / "series-growth.png").stat().st_size > 10_000


def test_a_page_without_a_summary_has_no_series(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for file in [*folder.glob("study-growth-4.json"), *folder.glob("runs/growth-4-*")]:
        (tmp_path / file.relative_to(folder)).write_bytes(file.read_bytes())
    assert read_results(tmp_path).series == {}
    assert "series-" not in re.sub(r"(?s)<script.*", "", write_report(tmp_path).read_text())


def test_the_corollary_is_named_where_the_time_is_a_feature(many: StudyResults) -> None:
    before = many.frozen["environment"]
    many.frozen["environment"] = {"name": "periodic", "parameters": {}}
    try:
        figure = figures.theorem_bounds(many)
    finally:
        many.frozen["environment"] = before
    assert figure is not None
    assert "the paper's corollary for rewards with a period" in figure.caption
    assert json.dumps(figure.panels[0].spec)
