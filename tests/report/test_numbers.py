"""Intervals, exponents, thinning, label places and number formats, against known answers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.report.charts import Axis, Kind, Line, limits_of, pixels, spread, ticks
from lexbandit.report.figures import growth_exponent, thinned
from lexbandit.report.results import student_factor
from lexbandit.report.style import number_text, percent_text, ratio_text, rounded, time_text


# From any table of Student's t, two-sided 95 %.
@pytest.mark.parametrize(
    ("runs", "expected"),
    [(2, 12.706), (3, 4.303), (13, 2.179), (14, 2.160), (20, 2.093), (31, 2.042), (100, 1.984)],
)
def test_student_factor_is_the_table_s(runs: int, expected: float) -> None:
    assert student_factor(runs) == pytest.approx(expected, abs=6e-4)


def test_one_run_has_no_interval() -> None:
    assert math.isnan(student_factor(1))


def test_growth_exponent_recovers_a_power_of_the_last_decade() -> None:
    t = np.unique(np.geomspace(1, 100_000, 80).astype(np.int64))
    # Another power before the last decade must not count.
    regret = np.where(t < 10_000, t**0.2, 3.0 * t**0.8)
    assert growth_exponent(t, regret) == pytest.approx(0.8, abs=1e-9)
    early = np.where(t < 20_000, t**0.2, 3.0 * t**0.8)  # all of the last decade counts
    assert (growth_exponent(t, early) or 0.0) > 0.85
    assert growth_exponent(t, -regret) is None
    late = np.where(t < 30_000, -1.0, regret)  # positive for less than a decade
    assert growth_exponent(t, late) is None
    assert growth_exponent(np.array([1, 10]), np.array([1.0, 2.0])) is None


@pytest.mark.parametrize("logarithmic", [True, False])
def test_thinning_keeps_the_last_checkpoint_and_few_others(logarithmic: bool) -> None:
    t = np.arange(1, 5001)
    places = thinned(t, 70, logarithmic=logarithmic)
    assert places[0] == 0
    assert places[-1] == len(t) - 1
    assert len(places) <= 70
    assert (np.diff(places) > 0).all()
    assert thinned(t[:50], 70, logarithmic=logarithmic).tolist() == list(range(50))


@given(st.lists(st.floats(0, 270), min_size=1, max_size=12))
def test_spread_labels_do_not_overlap_and_stay_inside(places: list[float]) -> None:
    moved = spread(places, gap=13.5, lowest=5.0, highest=265.0)
    in_order = sorted(moved)
    assert all(b - a >= 13.5 - 1e-9 for a, b in itertools.pairwise(in_order))
    assert in_order[0] >= 5.0 - 1e-9
    assert in_order[-1] <= 265.0 + 1e-9
    ranks = sorted(range(len(places)), key=lambda i: places[i])
    assert [places[i] for i in sorted(ranks, key=lambda i: moved[i])] == sorted(places)


def test_spread_leaves_what_is_apart_already() -> None:
    assert spread([200.0, 20.0, 100.0], gap=13.5, lowest=5, highest=265) == [200.0, 20.0, 100.0]


def test_numbers_as_people_write_them() -> None:
    assert number_text(1298.6) == "1,299"
    assert number_text(-327.2) == "−327"
    assert number_text(74.46) == "74.5"
    assert number_text(0.01234) == "0.0123"
    assert number_text(math.nan) == "–"
    assert [ratio_text(s) for s in (1.0, 0.2, 1 / 15, 2.0, None)] == ["1", "1/5", "1/15", "2", ""]
    assert ratio_text(0.123456789) == "0.123457"
    assert percent_text(0.997) == "over 99 %"
    assert percent_text(1.0) == "100 %"
    assert time_text(0.25) == "250 ms"
    assert time_text(125) == "2 min 5 s"
    assert rounded(123456.7) == 123460.0
    assert rounded(math.inf) is None


def test_logarithmic_ticks_are_decades_or_closer() -> None:
    axis = Axis("", "log")
    assert ticks((0.5, 20_000), axis) == pytest.approx([1, 10, 100, 1000, 10_000])
    assert ticks((150, 900), axis) == pytest.approx([200, 500])
    assert len(ticks((90, 1100), axis)) >= 3


def test_ticks_on_both_sides_of_zero() -> None:
    axis = Axis("", "symlog", constant=100.0)
    assert ticks((-2_500, 30_000), axis) == [-1000, -100, 0, 100, 1000, 10_000]


@pytest.mark.parametrize("kind", ["linear", "log", "symlog"])
def test_pixels_go_there_and_back(kind: Kind) -> None:
    forth, back = pixels((2.0, 5000.0), Axis("", kind, constant=30.0), 270.0)
    assert forth(5000.0) == pytest.approx(0.0)
    assert forth(2.0) == pytest.approx(270.0)
    assert back(forth(77.0)) == pytest.approx(77.0)


def test_a_flat_zero_still_has_an_axis() -> None:
    from lexbandit.report.style import looks_of

    line = Line("none", looks_of(["x"])["x"], [{"x": 1, "y": 0.0}, {"x": 2, "y": 0.0}])
    low, high = limits_of([line], "linear")
    assert low < high


def test_a_line_on_a_logarithmic_axis_begins_where_it_comes_in_from_below() -> None:
    from lexbandit.report.charts import line_panel
    from lexbandit.report.style import looks_of

    look = looks_of(["x"])["x"]
    rising = Line("rising", look, [{"x": 10**n, "y": 10.0**n} for n in range(1, 7)], banded=False)
    bound = Line("bound", look, [{"x": 10**n, "y": 4e9} for n in range(1, 7)], banded=False)
    axes = Axis("t", "log"), Axis("regret", "log")
    spec = line_panel("", [rising, bound], *axes, about="").spec
    rows = [row for data in spec["datasets"].values() for row in data if row["name"] == "rising"]
    drawn = {row["x"]: row["y"] for row in rows if "x" in row}
    assert drawn == {x: float(x) for x in (1_000, 10_000, 100_000, 1_000_000)}
