"""The page of evidence: every study that `make evidence` runs has its table, with its policies."""

import importlib.util
import re
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lexbandit.bench.study import Study, read_study

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "beyond.md").read_text("utf-8")


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "docs/tools/evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evidence() -> list[Study]:
    """The studies that the Makefile names."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    found = re.search(r"^evidence:.*\n\t.* run (.*) --out", makefile, re.MULTILINE)
    assert found is not None
    wanted = found.group(1).replace("'", "").split()
    paths = sorted((ROOT / "studies").glob("*.toml"))
    for pattern in wanted:
        assert any(fnmatch(path.stem, pattern) for path in paths), pattern
    return [read_study(path) for path in paths if any(fnmatch(path.stem, name) for name in wanted)]


def table_of(study: Study) -> str:
    """The name of the table that a study is in."""
    return study.name if study.series is None else study.series.name


@pytest.mark.parametrize("study", evidence(), ids=lambda study: study.name)
def test_a_study_has_its_table_and_the_table_its_policies(study: Study) -> None:
    table = table_of(study)
    found = re.search(rf"<!-- {table} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert found is not None, table
    shown = set(re.findall(r"`([^`]+)`", found.group(1)))
    for name in {entry.variant for entry in study.entries}:
        assert any(label == name or label.startswith(f"{name} at ") for label in shown)
    for entry in study.entries:
        shown -= {entry.variant, f"{entry.variant} at {entry.label.rpartition('@')[2]}"}
    assert not shown


def line(*horizons: int) -> dict[str, Any]:
    return {
        "horizons": list(horizons),
        "regret": [[50.0 * 2.0**n, -3.0 - n] for n in range(len(horizons))],
        "exponents": [
            {"exponent": 0.301, "standard_error": 0.01, "last": 0.302, "last_error": 0.02}, None,
        ],
        "theory": ["(α+d)/(2α+d) = 0.667", None],
    }  # fmt: skip


def test_a_table_of_growth_has_regret_for_1000_rounds_and_exponents() -> None:
    lines = {"staged-lex": line(1_000, 10_000, 100_000)}
    made = tool().of_growth({"objectives": ["first", "second"], "lines": lines})
    head, _, first, second = made.splitlines()
    assert head.split(" | ")[2:5] == ["T = 1,000", "T = 10,000", "T = 100,000"]
    cells = (
        "| `staged-lex` | first | 50 | 10 | 2 | 0.30 ± 0.01 | 0.30 ± 0.02 | (α+d)/(2α+d) = 0.667 |"
    )
    assert first == cells
    assert second == "| `staged-lex` | second | −3 | −0.4 | −0.05 | – | – | – |"


def test_with_two_horizons_there_is_one_exponent() -> None:
    made = tool().of_growth({"objectives": ["first"], "lines": {"a": line(1_000, 10_000)}})
    head, _, first = made.splitlines()
    assert head == "| policy | objective | T = 1,000 | T = 10,000 | exponent | proved |"
    assert first == "| `a` | first | 50 | 10 | 0.30 ± 0.02 | (α+d)/(2α+d) = 0.667 |"


def test_each_growth_series_has_its_own_table() -> None:
    series = {
        "kind": "growth",
        "objectives": ["first", "second"],
        "lines": {"a": line(1_000, 10_000)},
    }
    assert set(tool().tables({}, {"rates": series, "growth": series})) == {"rates", "growth"}


def test_two_numbers_of_cells_have_a_row_for_each_horizon() -> None:
    point = {
        "regret": [5205.6, -1379.6],
        "pareto_regret": 121.4,
        "standard_error": {"regret": [27.1, 4.9], "pareto_regret": 0.41},
    }
    policies = {"moc-mab (m of Theorem 2)": {"-": point}, "moc-mab (finer m)": {"-": point}}
    summary = {
        "studies": {"cells-5": {"horizon": 100_000, "policies": policies}},
        "series": {"cells": {"studies": ["cells-5"]}},
    }
    *_, first, second = tool().of_cells(summary).splitlines()
    assert first == "| 100,000 | Theorem 2: 18 | 5,206 ± 27 | −1,380 ± 5 | 121 ± 0.4 |"
    assert second.startswith("| 100,000 | finer: 47 |")


def test_every_table_of_readings_and_cells_has_its_place() -> None:
    for page, name in (("reproduction", "readings"), ("theory", "cells")):
        text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
        assert len(re.findall(rf"<!-- {name} -->\n.*?<!-- end -->", text, re.DOTALL)) == 1
