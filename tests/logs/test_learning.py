"""Learning from a `Log`: what is learned, how it is weighed, and that parts do not matter."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.chooser import RecordingChooser
from lexbandit.errors import InvalidInput
from logs.made import ARMS, QUALITY, SHARES, chooser, frame, log_of

NO_CONTEXT: dict[str, Any] = {"context": []}


def means(made: RecordingChooser) -> np.ndarray:
    """What each arm is expected to give in the middle of the contexts, as shares: [K, D]."""
    return np.asarray(made.policy.predict(np.full(made.policy.dimension, 0.5))[0])


def test_a_log_is_learned_as_its_table_is() -> None:
    table = frame(400)
    one, other = chooser(**NO_CONTEXT), chooser(**NO_CONTEXT)
    rows = table.select("arm", "quality", "cost", "propensity")
    assert one.learn(rows) == 400
    assert other.learn(log_of(table, **NO_CONTEXT)) == 400
    mine, theirs = one.policy.state(), other.policy.state()
    np.testing.assert_array_equal(mine["plays"], theirs["plays"])
    np.testing.assert_allclose(mine["tallies"][..., :3], theirs["tallies"][..., :3], rtol=1e-12)
    # What is learned of the variances takes more steps at the end than on the way.
    np.testing.assert_allclose(means(one), means(other), atol=5e-3)
    assert one._ledger.plays == other._ledger.plays


def test_a_policy_that_is_no_sum_learns_row_by_row() -> None:
    table = frame(200)
    one, other = (chooser(policy="lex-tree", horizon=1000, **NO_CONTEXT) for _ in range(2))
    one.learn(table.select("arm", "quality", "cost"))
    other.learn(log_of(table, **NO_CONTEXT))
    mine, theirs = one.policy.state(), other.policy.state()
    for name in mine:
        np.testing.assert_array_equal(mine[name], theirs[name])


def test_what_was_known_before_stays() -> None:
    table = frame(400)
    once, twice = chooser(**NO_CONTEXT), chooser(**NO_CONTEXT)
    once.learn(log_of(table, **NO_CONTEXT))
    twice.learn(log_of(table[:150], **NO_CONTEXT))
    twice.learn(log_of(table[150:], **NO_CONTEXT))
    np.testing.assert_allclose(
        once.policy.state()["tallies"][..., :3], twice.policy.state()["tallies"][..., :3]
    )
    assert twice._ledger.rows == 400


def test_a_bad_log_teaches_nothing() -> None:
    table = frame(300)
    bad = table.with_columns(
        arm=pl.when(pl.int_range(300) == 290).then(pl.lit("x")).otherwise("arm")
    )
    for policy in ("lex-thompson", "lex-tree"):
        made = chooser(policy=policy, horizon=1000, **NO_CONTEXT)
        made.learn(log_of(table, **NO_CONTEXT))
        before = made.digest()
        with pytest.raises(InvalidInput, match="row 290"):
            made.learn(log_of(bad, **NO_CONTEXT))
        assert made.digest() == before


@pytest.mark.compiled
@pytest.mark.parametrize("weigh", ["propensity", "doubly-robust"])
def test_weighed_rows_are_as_those_of_a_uniform_log(weigh: str) -> None:
    # Arms are played more often where they are good: plain averages are too high.
    random = np.random.default_rng(4)
    n = 20_000
    easy = random.random(n) < 0.5
    favour = np.where(easy, 0.8, 0.1)
    arms = np.where(random.random(n) < favour, "small", "large")
    table = pl.DataFrame(
        {
            "arm": arms,
            "propensity": np.where(arms == "small", favour, 1.0 - favour),
            "quality": np.where(arms == "small", np.where(easy, 0.9, 0.1), 0.5),
        }
    )
    settings: dict[str, Any] = {
        "objectives": [lb.Objective("quality")],
        "arms": ["small", "large"],
        "context": [],
    }
    plain, weighed = RecordingChooser(**settings), RecordingChooser(**settings)
    log = lb.Log(table, **settings)
    plain.learn(log)
    weighed.learn(log, weigh=weigh)
    assert means(plain)[0, 0] > 0.75
    assert means(weighed)[0, 0] == pytest.approx(0.5, abs=0.02)
    assert means(weighed)[1, 0] == pytest.approx(0.5, abs=0.02)
    plays = weighed.policy.state()["plays"]
    np.testing.assert_allclose(plays / n, [0.5, 0.5], atol=0.02)


def test_what_is_refused() -> None:
    made = chooser(**NO_CONTEXT)
    with pytest.raises(InvalidInput, match="weigh is for a Log"):
        made.learn(frame(10), weigh="propensity")
    with pytest.raises(InvalidInput, match="did you mean 'propensity'"):
        made.learn(log_of(frame(10), **NO_CONTEXT), weigh="propensities")
    other = RecordingChooser(objectives=[lb.Objective("speed")], arms=ARMS)
    with pytest.raises(InvalidInput, match="like=chooser"):
        other.learn(log_of(frame(10)))
    empty = frame(10, quality=[None] * 10, cost=[None] * 10)
    before = made.digest()
    with pytest.raises(InvalidInput, match="no reward"):
        made.learn(log_of(empty, **NO_CONTEXT))
    assert made.digest() == before


def test_means_are_near_the_truth() -> None:
    made = chooser(**NO_CONTEXT)
    made.learn(log_of(frame(2_000), **NO_CONTEXT))
    np.testing.assert_allclose(means(made)[:, 0], QUALITY, atol=0.05)
    plays = made.policy.state()["plays"]
    np.testing.assert_allclose(plays / 2_000, SHARES, atol=0.04)


@pytest.mark.parametrize("policy", ["lex-tree", "random"])  # row by row, and as a sum
def test_values_taken_otherwise_than_given_are_counted(
    policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = {
        "tokens": [5.0, 20.0, 30.0, 7.0],  # its range ends at 10
        "task": ["code", "poetry", None, "chat"],
        "arm": ["a", "b", "a", "b"],
        "minutes": [1.0, 90.0, 300.0, None],  # and this at 60
    }

    def fresh() -> lb.Chooser:
        return lb.Chooser(
            objectives=lb.Objective("minutes", goal="min", range=(0, 60)),
            arms=["a", "b"],
            context=[lb.Number("tokens", 0, 10), lb.Category("task", ["code", "chat"])],
            policy=policy,
            horizon=100,
        )

    by_log, by_table = fresh(), fresh()
    assert by_log.learn(lb.Log(pl.DataFrame(rows), like=by_log)) == 3
    assert "a reward of minutes lies outside its range from 0 to 60" in caplog.text
    assert by_log.summary().outside == {"minutes": 2}
    assert by_log.summary().contexts == {
        "tokens": {"outside its range": 2},
        "task": {"unknown": 1, "missing": 1},
    }
    assert by_table.learn(rows) == 3
    assert by_table.summary().outside == by_log.summary().outside
    assert by_table.summary().contexts == by_log.summary().contexts
