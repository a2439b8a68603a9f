"""The frontier: ratios of tolerance regret to a baseline, with their intervals."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bench.studies import WORLDS, small
from lexbandit.bench.executors import Threads, run_study
from lexbandit.bench.results import load_runs
from lexbandit.bench.series import FLOOR, frontier_of
from lexbandit.bench.study import packaged_studies
from lexbandit.bench.summary import summarize

ROOT = Path(__file__).parents[2]


def member(name: str, baseline: str = "base") -> tuple[dict[str, Any], dict[str, Any]]:
    series = {"name": "s", "kind": "frontier", "label": name.upper(), "baseline": baseline}
    return {"name": name, "series": series}, {}


def rows(study: str, regrets: dict[str, list[list[float]]], t: int = 100) -> pl.DataFrame:
    """Return runs of a study from each policy's tolerance regret by run."""
    return pl.DataFrame(
        [
            {"study": study, "run": run, "label": label, "t": t, "tolerance_regret": regret}
            for label, every in regrets.items()
            for run, regret in enumerate(every)
        ]
    )


def test_ratios_are_of_sums_and_overall_their_geometric_mean() -> None:
    one = rows("one", {"base": [[2.0, 1.0, 4.0]] * 2, "a": [[1.0, 0.0, 4.0], [2.0, 0.0, 12.0]]})
    two = rows("two", {"a": [[8.0, 6.0]] * 3, "base": [[4.0, 3.0]] * 3, "b": [[1.0, 1.0]] * 3})
    shown = frontier_of([member("one"), member("two")], pl.concat([one, two]))
    assert shown["labels"] == ["ONE", "TWO"]
    assert shown["runs"] == [2, 3]
    assert list(shown["policies"]) == ["base", "a"]  # b is not in both
    (at,) = shown["horizons"]
    assert at["horizon"] == 100
    assert at["situations"]["ONE"]["a"]["loss"]["ratio"] == pytest.approx(0.5)
    assert at["situations"]["ONE"]["a"]["missed"]["ratio"] == pytest.approx(2.0)
    assert at["overall"]["a"]["loss"]["ratio"] == pytest.approx(1.0)
    assert at["overall"]["a"]["missed"]["ratio"] == pytest.approx(2.0)
    assert at["overall"]["base"]["loss"] == {"ratio": 1.0, "low": 1.0, "high": 1.0}
    assert at["situations"]["ONE"]["a"]["loss"]["low"] == pytest.approx(1 / 3)
    assert at["situations"]["ONE"]["a"]["loss"]["high"] == pytest.approx(2 / 3)


def test_what_is_nearly_nothing_counts_as_the_floor() -> None:
    shown = frontier_of([member("one")], rows("one", {"base": [[1.0, 0.0]], "a": [[0.0, 1.0]]}))
    (at,) = shown["horizons"]
    assert at["overall"]["a"]["loss"]["ratio"] == pytest.approx(FLOOR)
    assert at["overall"]["a"]["loss"]["low"] is None  # one run
    assert at["overall"]["a"]["missed"] is None  # the baseline misses nothing
    assert at["situations"]["ONE"]["a"]["missed"] is None


def test_intervals_cover_the_truth() -> None:
    """Two kinds of 32 worlds, true ratio 1/2: of 200 intervals at 95 %, at least 90 % cover it."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        tables = []
        for name in ("one", "two"):
            base = random.gamma(2.0, size=(32, 2))
            a = 0.5 * base * random.gamma(4.0, 0.25, size=(32, 2))
            tables.append(rows(name, {"base": base.tolist(), "a": a.tolist()}))
        shown = frontier_of([member("one"), member("two")], pl.concat(tables))
        loss = shown["horizons"][0]["overall"]["a"]["loss"]
        covered += loss["low"] <= 0.5 <= loss["high"]
    assert covered >= 180


def test_a_frontier_of_real_runs(tmp_path: Path) -> None:
    series = '[series]\nname = "s"\nkind = "frontier"\nlabel = "mixed"\nbaseline = "random"\n'
    study = small(tmp_path, WORLDS.replace("[environment]", f"{series}\n[environment]"))
    run_study(study, tmp_path / "out", Threads(1))
    shown = summarize(tmp_path / "out")["series"]["s"]
    assert [at["horizon"] for at in shown["horizons"]] == [300, 1000]
    last = load_runs(tmp_path / "out").filter(pl.col("t") == 1000)
    sums = {
        label: np.array(last.filter(pl.col("label") == label)["tolerance_regret"].to_list()).sum(0)
        for label in ("random", "lex-linucb")
    }
    point = shown["horizons"][1]["overall"]["lex-linucb"]
    expected = sums["lex-linucb"] / sums["random"]
    assert point["loss"]["ratio"] == pytest.approx(expected[0])
    assert point["missed"]["ratio"] == pytest.approx(expected[1])
    assert point["loss"]["low"] <= point["loss"]["ratio"] <= point["loss"]["high"]


def test_without_tolerances_there_is_no_frontier(tmp_path: Path) -> None:
    series = '[series]\nname = "s"\nkind = "frontier"\nbaseline = "random"\n'
    text = WORLDS.replace("[environment]", f"{series}\n[environment]").replace(
        'name = "tolerance"\nkind = "interactions"', 'name = "synthetic"'
    )
    run_study(
        small(tmp_path, text.replace("worlds_from = 1000\n", "")), tmp_path / "out", Threads(1)
    )
    assert "series" not in summarize(tmp_path / "out")


def test_the_packaged_studies_are_as_their_tool_writes_them() -> None:
    spec = importlib.util.spec_from_file_location(
        "tolerance_studies", ROOT / "docs/tools/tolerance_studies.py"
    )
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    texts = tool.texts()
    found = {
        p.name: p.read_text("utf-8") for n, p in packaged_studies().items() if "tolerance-" in n
    }
    assert found == texts
