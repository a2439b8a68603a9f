"""StudySeries of studies: what a file says of them, and what the summary makes of them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bench.studies import SMALL, small
from lexbandit import InvalidInput
from lexbandit.bench.executors import Threads, run_study
from lexbandit.bench.run import plan
from lexbandit.bench.series import StudySeries, fitted, series_in
from lexbandit.bench.summary import write_summary

SERIES = '[series]\nname = "growth"\nkind = "growth"\n'


def with_series(text: str = SERIES) -> str:
    return SMALL.replace("[environment]", f"{text}\n[environment]")


def test_a_study_says_which_series_it_belongs_to(tmp_path: Path) -> None:
    assert small(tmp_path).series is None
    assert small(tmp_path, with_series()).series == StudySeries("growth", "growth", "A small study")
    labelled = small(tmp_path, with_series(SERIES + 'label = "few rounds"\n'))
    assert labelled.series == StudySeries("growth", "growth", "few rounds")


def test_a_series_changes_no_run(tmp_path: Path) -> None:
    alone, joined = small(tmp_path), small(tmp_path, with_series())
    assert [run.key for run in plan(alone)] == [run.key for run in plan(joined)]


@pytest.mark.parametrize(
    ("wrong", "line", "words"),
    [
        ('[series]\nnam = "x"\nkind = "growth"', 9, ["'nam'", "did you mean 'name'"]),
        ('[series]\nname = "x"\nkind = "grow"', 10, ["'grow'", "did you mean 'growth'"]),
        ('[series]\nname = "x"', 8, ["needs a kind"]),
        ('[series]\nname = 3\nkind = "which"', 9, ["name must be text, got 3"]),
        ('[series]\nname = "x"\nkind = "which"\nlabel = ""', 11, ["label must be text"]),
        ('[series]\nname = "x"\nkind = "frontier"', 8, ["needs a baseline"]),
        (
            '[series]\nname = "x"\nkind = "frontier"\nbaseline = "randm"',
            11,
            ["'randm'", "did you mean 'random'"],
        ),
        ('[series]\nname = "x"\nkind = "which"\nbaseline = "random"', 11, ["only a frontier"]),
    ],
)
def test_a_wrong_series_is_refused_with_its_line(
    tmp_path: Path, wrong: str, line: int, words: list[str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        small(tmp_path, with_series(wrong + "\n"))
    message = str(caught.value)
    assert f"study.toml, line {line}, " in message
    for word in words:
        assert word in message


def test_a_series_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"line 3, .*series must be a table, got 3"):
        small(tmp_path, SMALL.replace("horizon", "series = 3\nhorizon"))


def test_exponents_of_exact_powers_are_exact() -> None:
    horizons = [10_000, 100_000, 1_000_000]
    fit = fitted(horizons, [3.0 * T**0.75 for T in horizons], [0.0] * 3)
    assert fit is not None
    assert fit["exponent"] == pytest.approx(0.75)
    assert fit["last"] == pytest.approx(0.75)
    assert fit["standard_error"] == pytest.approx(0.0, abs=1e-9)


def test_the_error_of_an_exponent_is_that_of_least_squares() -> None:
    """At ln T = 0, 1, 2 with residuals 1, −2, 1 of ln R: s² = 6, Σ(x − x̄)² = 2."""
    fit = fitted([1, 1, 1], [1.0, 1.0, 1.0], [0.1] * 3)
    assert fit is None
    horizons = [math.exp(10 + x) for x in (0, 1, 2)]
    regrets = [math.exp(y) for y in (6.0, 4.0, 8.0)]
    fit = fitted(horizons, regrets, [math.nan] * 3)  # type: ignore[arg-type]
    assert fit is not None
    assert fit["exponent"] == pytest.approx(1.0)
    assert fit["standard_error"] == pytest.approx(math.sqrt(6 / 2))
    assert fit["last"] == pytest.approx(4.0)
    assert fit["last_error"] is None


def test_the_error_of_the_last_slope_is_that_of_its_two_regrets() -> None:
    """Relative errors of 3 % and 4 % over one decade: 5 % of a factor, 0.05/ln 10 in the slope."""
    fit = fitted([10, 100, 1000], [1.0, 10.0, 100.0], [9.0, 0.3, 4.0])
    assert fit is not None
    assert fit["last"] == pytest.approx(1.0)
    assert fit["last_error"] == pytest.approx(0.05 / math.log(10))
    random = np.random.default_rng(0)
    drawn = [
        fitted([100, 1000], [10 + 0.3 * a, 100 + 4 * b], [0.3, 4.0])
        for a, b in random.standard_normal((4000, 2))
    ]
    assert np.std([fit["last"] for fit in drawn if fit]) == pytest.approx(
        0.05 / math.log(10), rel=0.05
    )


def test_where_there_is_no_exponent() -> None:
    assert fitted([100], [1.0], [0.1]) is None
    assert fitted([100, 1000], [1.0, -1.0], [0.1, 0.1]) is None
    late = fitted([100, 1000, 10_000], [-1.0, 1.0, 10.0], [0.1, 0.1, 0.1])
    assert late is not None
    assert late["exponent"] is None
    assert late["last"] == pytest.approx(1.0)
    two = fitted([100, 1000], [1.0, 10.0], [0.1, 0.1])
    assert two is not None
    assert two["standard_error"] is None


def test_a_growth_series_of_real_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for n, horizon in enumerate((2000, 500, 1000)):
        text = with_series().replace("horizon = 3_000", f"horizon = {horizon}")
        text = text.replace('name = "small"', f'name = "small-{n}"')
        run_study(small(tmp_path, text), out, Threads(1))
    summary = write_summary(out)
    growth = summary["series"]["growth"]
    assert growth["kind"] == "growth"
    assert growth["studies"] == ["small-1", "small-2", "small-0"]
    assert list(growth["lines"]) == [
        *("moc-mab@1", "moc-mab@1/10", "cs-ucb1@1", "cs-ucb1@1/10", "random"),
    ]
    line = growth["lines"]["moc-mab@1/10"]
    assert line["horizons"] == [500, 1000, 2000]
    points = [summary["studies"][f"small-{n}"]["policies"]["moc-mab"]["1/10"] for n in (1, 2, 0)]
    assert line["regret"] == [point["regret"] for point in points]
    assert line["theory"] == [None, None]  # below scale 1 nothing is proved
    assert growth["lines"]["moc-mab@1"]["theory"] == ["(2α+d)/(3α+d) = 0.800"] * 2
    assert growth["lines"]["random"]["theory"] == [None, None]
    assert growth["lines"]["random"]["exponents"][0]["exponent"] == pytest.approx(1.0, abs=0.05)
    assert json.loads((out / "summary.json").read_text())["series"] == summary["series"]


@pytest.mark.parametrize(
    ("policy", "parameters", "environment", "objectives", "proved"),
    [
        ("moc-mab", {}, {}, 3, False),  # planted's λ is 1 by default, the policy's 0
        ("moc-mab", {"lam": 1.0}, {}, 3, True),
        ("moc-mab", {"lam": 0.25}, {"assumption": 0.25}, 3, True),
        ("moc-mab", {"lam": 9.0}, {"assumption": "inf"}, 3, False),
        ("moc-mab", {}, {"assumption": "inf"}, 2, True),
        ("lex-tree", {}, {"assumption": 0.0}, 3, True),
        ("staged-lex", {}, {}, 2, True),  # its λ is 1 by default
        ("staged-lex", {"lam": 0.5}, {}, 2, False),
        ("staged-lex", {"scale": 0.5}, {}, 2, False),
        ("lex-linucb", {"lam": 1.0}, {}, 3, False),
    ],
)
def test_nothing_is_proved_where_the_assumption_fails(
    policy: str, parameters: dict[str, Any], environment: dict[str, Any], objectives: int,
    proved: bool,
) -> None:  # fmt: skip
    frozen = {
        "name": "s",
        "series": {"name": "s", "kind": "growth", "label": "s"},
        "dimension": 1,
        "environment": {"name": "planted", "parameters": environment},
        "policies": [{"label": policy, "name": policy, "parameters": parameters}],
    }
    point = {"regret": [1.0] * objectives, "standard_error": {"regret": None}, "runs": 1}
    told = {
        "horizon": 1000,
        "objectives": ["first", "second", "third"][:objectives],
        "policies": {policy: {"-": point}},
        "best_scale": {policy: {"by_regret": "-"}},
    }
    theory = series_in([(frozen, told)], pl.DataFrame())["s"]["lines"][policy]["theory"]
    assert [text is not None for text in theory] == [proved] * objectives


def situation(
    name: str, regrets: dict[str, list[float]], kind: str = "which"
) -> tuple[dict[str, Any], dict[str, Any]]:
    frozen = {"name": name, "series": {"name": "s", "kind": kind, "label": name.upper()}}
    told = {
        "horizon": 1000,
        "runs": 2,
        "objectives": ["first", "second"],
        "policies": {
            policy: {"-": {"regret": regret, "standard_error": {"regret": [1.0, 1.0]}}}
            for policy, regret in regrets.items()
        },
        "best_scale": {policy: {"by_regret": "-"} for policy in regrets},
    }
    return frozen, told


def test_which_policy_when_names_the_lowest_and_the_unbeaten() -> None:
    regrets = {"a": [1.0, 9.0], "b": [2.0, -3.0], "c": [3.0, 4.0], "oracle": [0.0, -9.0]}
    shown = series_in(
        [situation("one", regrets), situation("two", {"a": [1.0, 1.0]})], pl.DataFrame()
    )
    first, second = shown["s"]["situations"]
    assert first["label"] == "ONE"
    assert first["lowest"] == ["a", "b"]
    assert first["unbeaten"] == ["a", "b"]
    assert first["policies"]["c"] == {"at": "-", "regret": [3.0, 4.0], "standard_error": [1.0, 1.0]}
    assert second["lowest"] == ["a", "a"]


def test_studies_of_another_kind_or_without_means_are_left_out() -> None:
    unknown = situation("four", {"a": [1.0, 1.0]})
    unknown[1]["best_scale"]["a"]["by_regret"] = None
    members = [
        situation("one", {"a": [1.0, 2.0]}),
        situation("two", {"a": [1.0, 2.0]}, kind="growth"),
        ({"name": "three"}, situation("three", {"a": [1.0, 2.0]})[1]),
        unknown,
    ]
    shown = series_in(members, pl.DataFrame())["s"]["situations"]
    assert [place["study"] for place in shown] == ["one"]
