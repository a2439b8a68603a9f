"""Logs of a policy that did not learn: the bootstrap by unit, and a cross-fitted reward model."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.errors import InvalidInput
from lexbandit.features import make_features
from lexbandit.logs import bootstrap
from lexbandit.logs.reward_model import FOLDS, CrossFitted, RewardModel
from logs.made import COST, QUALITY, SHARES, frame, log_of

N = 600


def widths(table: pl.DataFrame, **settings: Any) -> list[float]:
    log = log_of(table, adaptive=False)
    report = lb.evaluate(log, "always:medium", interval="bootstrap", segments=(), **settings)
    return [one.high - one.low for one in report.differences.values()]


def copies(table: pl.DataFrame, times: int) -> pl.DataFrame:
    """Every row so many times: the same unit, new ids."""
    places = np.repeat(np.arange(table.height), times)
    ids = pl.Series("id", np.arange(len(places)))
    return table[places].with_columns(ids, unit=pl.Series(places))


@pytest.mark.compiled
def test_units_are_drawn_not_rows() -> None:
    """Five equal rows a unit say no more than one; taken for independent, they seem to."""
    table = frame(N)
    alone = widths(table, estimator="ips")
    five = widths(copies(table, 5), estimator="ips")
    assert five == pytest.approx(alone, rel=0.15)
    naive = widths(copies(table, 5).drop("unit"), estimator="ips")
    assert naive == pytest.approx([width / 5**0.5 for width in alone], rel=0.15)


@pytest.mark.compiled
@pytest.mark.parametrize("estimator", ["dr", "snips", "switch_dr"])
def test_independent_rows_have_the_asymptotic_interval(estimator: Any) -> None:
    log = log_of(frame(3_000), adaptive=False)
    one, other = (
        lb.evaluate(log, "always:medium", estimator=estimator, interval=interval, segments=())
        for interval in ("bootstrap", "asymptotic")
    )
    for name in ("quality", "cost"):
        assert one[name].difference == other[name].difference
        assert one[name].interval == "bootstrap"
        assert one[name].high - one[name].low == pytest.approx(
            other[name].high - other[name].low, rel=0.12
        )
        assert one[name].low < one[name].difference < one[name].high
    assert "bootstrap of units" in str(one)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("logs", "least"), [(10, 14), pytest.param(60, 96, marks=pytest.mark.slow)]
)
def test_it_covers_the_truth_about_as_often_as_it_says(logs: int, least: int) -> None:
    """Two objectives: of 120 intervals of 90 % at least 96 cover the truth (12 misses expected)."""
    covered = 0
    truth = {"quality": QUALITY[1] - SHARES @ QUALITY, "cost": SHARES @ COST - COST[1]}
    for seed in range(logs):
        log = log_of(frame(400, seed=seed), adaptive=False, context=[])
        report = lb.evaluate(log, "always:medium", interval="bootstrap", alpha=0.1)
        covered += sum(
            report[name].low <= true <= report[name].high for name, true in truth.items()
        )
    assert least <= covered < 2 * logs


def test_it_is_for_logs_that_are_declared_so() -> None:
    log = log_of(frame(100))
    with pytest.raises(InvalidInput, match=r"declare such a log with Log\(..., adaptive=False\)"):
        lb.evaluate(log, "always:small", interval="bootstrap")
    few = log_of(frame(100, unit=["a", "b"] * 50), adaptive=False)
    with pytest.raises(InvalidInput, match="at least 20 units with a reward, got 2"):
        lb.evaluate(few, "always:small", interval="bootstrap")
    gaps = log_of(frame(100, unit=[None if n == 7 else n for n in range(100)]), adaptive=False)
    with pytest.raises(InvalidInput, match="row 7, column 'unit': the unit is missing"):
        lb.evaluate(gaps, "always:small", interval="bootstrap")


def test_groups_do_not_depend_on_how_rows_are_cut() -> None:
    log = log_of(frame(300, unit=[f"u{n % 50}" for n in range(300)]), adaptive=False)
    groups = np.concatenate([bootstrap.groups_of(rows) for rows in log.batches(extra=["unit"])])
    assert len(np.unique(groups)) > 40
    for unit in range(50):
        assert len(np.unique(groups[unit::50])) == 1
    alone = log_of(frame(300), adaptive=False)
    rows = np.concatenate([bootstrap.groups_of(rows) for rows in alone.batches()])
    assert len(np.unique(rows)) > 200


def test_a_row_is_predicted_by_rows_of_other_parts() -> None:
    random = np.random.default_rng(0)
    contexts, action = random.random((500, 2)), random.integers(0, 2, 500)
    reward, folds = random.random((500, 1)), random.integers(0, FOLDS, 500)
    features = make_features("raw", dimension=2)
    model = CrossFitted(arms=2, objectives=1, features=features)
    model.learn(contexts, action, reward, folds)
    predicted = model.predict(contexts, folds)
    for fold in range(FOLDS):
        mine = folds == fold
        alone = RewardModel(arms=2, objectives=1, features=features)
        alone.learn(contexts[~mine], action[~mine], reward[~mine])
        np.testing.assert_array_equal(predicted[mine], alone.predict(contexts[mine]))


def difference(table: pl.DataFrame, **settings: Any) -> float:
    log = log_of(table, adaptive=settings.pop("adaptive"))
    return lb.evaluate(log, "always:medium", segments=(), **settings)["quality"].difference


def test_only_logs_that_are_not_adaptive_are_cross_fitted() -> None:
    """A cross-fitted model has learned from later rows: other last rewards change the first sums.

    On an adaptive log, and for intervals that hold at every look, it has learned from earlier ones.
    """
    table = frame(64)
    asymptotic = {"interval": "asymptotic"}
    plain = difference(table, adaptive=True, **asymptotic)
    assert difference(table, adaptive=False) == pytest.approx(
        difference(table, adaptive=True), abs=1e-12
    )
    crossed = difference(table, adaptive=False, **asymptotic)
    assert abs(crossed - plain) > 1e-5
