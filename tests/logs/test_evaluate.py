"""`evaluate`: candidates of every kind, against the truth, and what is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.chooser import RecordingChooser
from lexbandit.errors import InvalidInput
from lexbandit.logs import evaluate as evaluating
from lexbandit.logs import replay
from lexbandit.logs.candidates import (
    candidate_of,
    checked_probabilities,
    row_until,
    with_tolerances,
)
from logs.made import ARMS, COST, QUALITY, SHARES, chooser, frame, log_of

N = 1_200
TABLE = frame(N)


def taught(**settings: Any) -> RecordingChooser:
    """A chooser that learned from another log."""
    made = chooser(**settings)
    made.learn(frame(300, seed=9).drop("id", "time"))
    return made


def shares_of(candidate: Any, log: lb.Log, **settings: Any) -> np.ndarray:
    """The probabilities of a candidate in all rows."""
    made = candidate_of(candidate, log, **settings)
    parts = [checked_probabilities(made, rows, log.arms) for rows in log.batches(extra=made.extra)]
    return np.concatenate([part for part in parts if part is not None])


@pytest.mark.compiled
def test_always_an_arm_is_near_the_truth_and_covered() -> None:
    log = log_of(frame(3_000))
    for k, arm in enumerate(ARMS):
        report = lb.evaluate(log, f"always:{arm}", segments=())
        truth = {"quality": QUALITY[k] - SHARES @ QUALITY, "cost": SHARES @ COST - COST[k]}
        for name, true in truth.items():
            found = report[name]
            assert found.low <= true <= found.high
            assert found.difference == pytest.approx(true, abs=0.05)
            assert (found.level, found.estimator) == (0.95, "dr")
        assert report.candidate == f"always:{arm}"
    assert report.verdict in ("worse in cost", "cannot tell")
    assert report.diagnostics.effective_rows == pytest.approx(600, abs=60)


def test_the_report_says_all_of_it() -> None:
    report = lb.evaluate(log_of(TABLE), "always:medium")
    text = str(report)
    for word in (report.decision.sentence, "quality", "cost", "exploratory", "task = chat"):
        assert word in text
    told = json.loads(json.dumps(report.to_dict()))
    assert told["verdict"] == report.verdict
    assert told["objectives"]["cost"]["difference"] == report["cost"].difference
    picture = report.svg()
    assert picture.startswith("<svg")
    for word in ("within the tolerance", "effective rows", "task = code", "cost"):
        assert word in picture
    with pytest.raises(InvalidInput, match="did you mean 'cost'"):
        report["costs"]


def test_segments_that_are_no_names_are_refused() -> None:
    with pytest.raises(lb.InvalidInput, match=r"names of context features, got 3"):
        lb.evaluate(log_of(TABLE), "always:medium", segments=3)  # type: ignore[arg-type]
    with pytest.raises(lb.InvalidInput, match="taks"):
        lb.evaluate(log_of(TABLE), "always:medium", segments=["taks"])


def test_segments_are_the_rows_they_say() -> None:
    report = lb.evaluate(log_of(TABLE), "always:medium")
    chat = next(one for one in report.segments if one.label == "task = chat")
    assert chat.rows == (TABLE["task"] == "chat").sum()
    alone = lb.evaluate(
        log_of(TABLE), "always:medium", segments=["task"], estimator="ips", interval="asymptotic"
    )
    assert [one.label for one in alone.segments] == ["task = chat", "task = code"]
    named = lb.evaluate(log_of(TABLE), "always:medium", segments="task")
    assert [one.label for one in named.segments] == ["task = chat", "task = code"]
    only = lb.evaluate(
        log_of(TABLE.filter(pl.col("task") == "chat")),
        "always:medium",
        segments=(),
        estimator="ips",
        interval="asymptotic",
    )
    assert alone.segments[0]["cost"].difference == pytest.approx(only["cost"].difference)
    quarters = [one.rows for one in report.segments if one.feature == "tokens"]
    assert sum(quarters) == N
    assert min(quarters) > N / 5


def test_a_function_and_a_column_and_always_are_one() -> None:
    table = TABLE.with_columns(
        pl.lit("medium").alias("plan"), pl.Series("mix", [[0.0, 1.0, 0.0]] * N)
    )
    log = log_of(table)

    def medium(contexts: pl.DataFrame) -> np.ndarray:
        assert contexts.columns == ["tokens", "task"]
        return np.tile([0.0, 1.0, 0.0], (len(contexts), 1))

    expected = shares_of("always:medium", log)
    for given in (medium, "column:plan", "column:mix"):
        np.testing.assert_array_equal(shares_of(given, log), expected)


def test_a_chooser_as_it_stands(tmp_path: Path) -> None:
    made = taught(explore=0.1)
    table = TABLE.head(150)
    contexts = table.select("tokens", "task")
    expected = made.propensities_many(contexts)
    log = log_of(table)
    np.testing.assert_array_equal(shares_of(made, log), expected)
    made.save(tmp_path / "router.lexbandit")
    np.testing.assert_array_equal(shares_of(str(tmp_path / "router.lexbandit"), log), expected)
    before = made.digest()
    lb.evaluate(log, made, segments=())
    assert made.digest() == before


def test_retired_arms_have_no_probability() -> None:
    made = taught()
    made.retire_arm("large")
    shares = shares_of(made, log_of(TABLE.head(100)))
    assert (shares[:, 2] == 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_another_tolerance_for_the_same_chooser() -> None:
    made = taught()
    wide = with_tolerances(made, {"quality": 1.0})
    assert wide.objectives[0].tolerance == 1.0
    log = log_of(TABLE.head(100))
    shares = shares_of({"chooser": made, "tolerance": {"quality": 1.0}}, log)
    np.testing.assert_array_equal(
        shares, wide.propensities_many(TABLE.head(100)[["tokens", "task"]])
    )
    # With all as good in quality, the cheapest is played.
    assert shares[:, 0].mean() > 0.8
    assert not np.allclose(shares, shares_of(made, log))


def test_rows_that_trained_a_policy_do_not_evaluate_it() -> None:
    log = log_of(TABLE.head(400))
    report = lb.evaluate(log, {"policy": "lex-linucb"}, train_until=0.5, segments=())
    assert (report.rows, report.trained) == (200, 200)
    changed = TABLE.head(400).with_columns(
        quality=pl.when(pl.int_range(400) < 200).then(0.0).otherwise(pl.col("quality"))
    )
    # What "always" is found to give does not depend on the rows before.
    for table in (TABLE.head(400), changed):
        fresh = lb.evaluate(
            log_of(table), "always:small", against="lex-linucb", train_until=0.5, segments=()
        )
        assert fresh.rows == 200
    with pytest.raises(InvalidInput, match="train_until"):
        lb.evaluate(log, "lex-linucb")


def test_all_candidates_of_a_call_are_judged_on_the_same_rows() -> None:
    """Those after `train_until`, also for candidates that do not learn."""
    log, later = log_of(TABLE.head(400)), log_of(TABLE.slice(200, 200))
    found = lb.evaluate(log, "always:small", train_until=60.0 * 200, segments=())
    assert (found.rows, found.trained) == (200, 200)
    assert found["cost"] == lb.evaluate(later, "always:small", segments=())["cost"]
    assert "200 rows, after 200 rows to learn from" in str(found)


def test_more_exploration_is_advised_where_it_helps_only() -> None:
    """A uniform log explores as much as can be; one that rarely plays the arm does not."""
    for seed in range(5):
        uniform = frame(400, seed=seed, arm=[ARMS[n % 3] for n in range(400)])
        log = log_of(uniform.with_columns(propensity=pl.lit(1 / 3)), explore=1.0)
        found = lb.evaluate(log, "always:medium", segments=()).decision
        assert found.kind == "cannot tell"
        assert set(found.needed) == {None}
        assert "explore" not in found.sentence
    random = np.random.default_rng(3)
    arms = random.choice(ARMS, 4_000, p=[0.97, 0.02, 0.01])
    shares = np.array([0.97, 0.02, 0.01])[[ARMS.index(arm) for arm in arms]]
    log = log_of(frame(4_000, arm=arms, propensity=shares))
    report = lb.evaluate(log, "always:medium", segments=(), interval="asymptotic")
    variances = report["quality"].variances
    assert variances[0.1][0] < 0.7 * variances[None][0]


def test_rows_in_no_segment_are_told() -> None:
    """Of many groups the commonest of the first rows are shown."""
    groups = [f"g{n % 30}" if n % 2 else "g1" for n in range(N)]
    report = lb.evaluate(log_of(TABLE.with_columns(group=pl.Series(groups))), "always:small")
    shown = [one for one in report.segments if one.feature == "group"]
    assert len(shown) == 15  # odd ones
    many = TABLE.with_columns(group=pl.Series([f"g{n % 60 if n % 3 else 7}" for n in range(N)]))
    report = lb.evaluate(log_of(many), "always:small")
    shown = [one for one in report.segments if one.feature == "group"]
    assert len(shown) == 20
    assert max(shown, key=lambda one: one.rows).label == "group = g7"
    left = N - sum(one.rows for one in shown)
    words = f"Of group the 20 commonest values of the first 4,096 rows are shown; {left} rows have"
    assert words in str(report)
    assert words in report._repr_html_()
    assert report.to_dict()["outside_segments"] == list(report.outside_segments)
    gaps = TABLE.with_columns(group=pl.Series([None if n == 5 else f"g{n % 2}" for n in range(N)]))
    assert "Of group 1 row has another value, or none." in str(
        lb.evaluate(log_of(gaps), "always:small")
    )


def test_the_last_segment_of_a_number_has_no_upper_end() -> None:
    """Here the upper quartile is the largest number: what lies above it is no segment."""
    table = frame(2_000).with_columns(tokens=pl.int_range(2_000) % 2 * 800.0)
    report = lb.evaluate(log_of(table), "always:small", segments=["tokens"])
    assert {one.label: one.rows for one in report.segments} == {
        "tokens ≤ 0": 1_000,
        "tokens > 400": 1_000,
    }


def test_segments_that_begin_after_the_first_rows_are_told() -> None:
    """A group, or another value of a number, that the first 4,096 rows do not have."""
    rows = 6_000
    later = pl.int_range(rows) >= 5_000
    table = frame(rows).with_columns(
        group=pl.when(later).then(pl.lit("new")).otherwise(pl.lit("old")),
        tokens=pl.when(later).then(700.0).otherwise(300.0),
    )
    report = lb.evaluate(log_of(table), "always:small", segments=["tokens"])
    found = {one.label: one.rows for one in report.segments}
    assert found == {"tokens ≤ 300": 5_000, "tokens > 300": 1_000, "group = old": 5_000}
    assert report.outside_segments == ("Of group 1,000 rows have another value, or none.",)
    # A segment that is the whole log is none.
    whole = lb.evaluate(log_of(table.head(4_500)), "always:small", segments=["tokens"])
    assert (whole.segments, whole.outside_segments) == ((), ())


def test_rows_too_young_for_rewards_are_told() -> None:
    words = "younger than the 600 s in which rewards come, counted from the last row: "
    assert words not in str(lb.evaluate(log_of(TABLE), "always:small", segments=()))
    report = lb.evaluate(log_of(TABLE, wait=600.0), "always:small", segments=())
    told = "\n".join(report.diagnostics.sentences)
    assert f"10 rows are {words}rewards there do not count yet." in told  # they are a minute apart
    assert report["quality"].missing == 10
    finished = lb.evaluate(log_of(TABLE, wait=0), "always:small", segments=())
    assert finished["quality"].missing == 0
    assert words not in str(finished)


@pytest.mark.parametrize(
    ("column", "value"),
    [("propensity", [0.5]), ("quality", [0.5]), ("tokens", [0.5]), ("allowed", [["small"]])],
)
def test_lists_are_neither_numbers_nor_sets_of_arms(column: str, value: Any) -> None:
    table = TABLE.head(50).with_columns(pl.Series(column, [value] * 50))
    with pytest.raises(InvalidInput, match=rf"column '{column}'.* must (be|hold) ") as caught:
        lb.evaluate(log_of(table), "always:small")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", ["arm", "task", "group"])
def test_lists_are_no_names(column: str) -> None:
    table = TABLE.head(50).with_columns(pl.Series(column, [["small"]] * 50))
    with pytest.raises(
        InvalidInput, match=rf"column '{column}' must hold names, .* List\(String\)"
    ):
        lb.evaluate(log_of(table), "always:small")


def test_until_when_a_candidate_learns() -> None:
    """A share, seconds, a date or a text; the rows are a minute apart, from 1970 on."""
    log = log_of(TABLE.head(400))
    third = datetime(1970, 1, 1, 2, tzinfo=UTC)
    for until in (0.3, 7200, third, "1970-01-01T02:00", "1970-01-01T03:00+01:00"):
        assert row_until(log, until) == 120, until
    for wrong, words in (
        ("soon", r"a share of the rows such as 0.5, or a time such as .* got 'soon'"),
        ("1970-01-02", "400 of 400 rows come before it"),
        (0.0, "strictly between 0 and 1, got 0.0"),
        (1.0, "strictly between 0 and 1, got 1.0"),
        (0.001, "0 of 400 rows"),
    ):
        with pytest.raises(InvalidInput, match=words):
            row_until(log, wrong)


def test_unequal_allowed_sets_and_rows_with_one_arm() -> None:
    arms = TABLE["arm"].to_list()
    some: list[list[str]] = [[*{arm, "small"}] if n % 2 else ARMS for n, arm in enumerate(arms)]
    sizes = np.array([len(one) for one in some])
    shares = np.where(sizes == 1, 1.0, np.where(sizes == 2, 0.5, 1 / 3))
    log = log_of(TABLE.with_columns(allowed=pl.Series(some), propensity=pl.Series(shares)))
    with pytest.raises(InvalidInput, match=r"column 'allowed'.*'medium', which was not allowed"):
        lb.evaluate(log, "always:medium")
    found = shares_of("always:medium,small", log)
    medium = np.array(["medium" in one for one in some])
    np.testing.assert_array_equal(found[:, 1], medium.astype(float))
    np.testing.assert_array_equal(found[:, 0], (~medium).astype(float))
    # Where one arm only was allowed there was nothing to decide, whatever the candidate.
    forced = sizes == 1
    assert forced.sum() > 100
    np.testing.assert_array_equal(shares_of("always:small", log)[forced, 0], 1.0)
    retired = chooser()
    retired.retire_arm("small")
    np.testing.assert_array_equal(shares_of(retired, log)[forced, 0], 1.0)
    np.testing.assert_array_equal(shares_of(retired, log)[~forced, 0], 0.0)


def test_rows_that_keep_an_earlier_arm_have_no_support() -> None:
    kept = TABLE.with_columns(
        arm=pl.when(pl.int_range(N) % 2 == 0).then(pl.lit("small")).otherwise("arm"),
        propensity=pl.when(pl.int_range(N) % 2 == 0).then(1.0).otherwise("propensity"),
    )
    report = lb.evaluate(log_of(kept), "always:large", segments=())
    assert report.diagnostics.mean_weight == pytest.approx(0.5, abs=0.1)
    assert report.verdict == "cannot tell"
    # With the arms that were allowed there, these rows decide nothing and do no harm.
    lists = [["small"] if n % 2 == 0 else ARMS for n in range(N)]
    report = lb.evaluate(
        log_of(kept.with_columns(allowed=pl.Series(lists))), "always:large", segments=()
    )
    assert report.diagnostics.mean_weight == pytest.approx(1.0, abs=0.1)


def test_missing_objectives_are_missing() -> None:
    half = TABLE.with_columns(cost=pl.when(pl.int_range(N) % 2 == 0).then("cost"))
    report = lb.evaluate(log_of(half), "always:small", segments=())
    assert (report["quality"].rows, report["quality"].missing) == (N, 0)
    assert (report["cost"].rows, report["cost"].missing) == (N // 2, N // 2)


@pytest.mark.compiled
@pytest.mark.parametrize("given", ["replay:random", "dr-replay:random"])
def test_a_policy_that_is_replayed_from_scratch(given: str) -> None:
    report = lb.evaluate(log_of(frame(3_000)), given, segments=())
    # Uniformly random, the truth is known.
    for name, values, sign in (("quality", QUALITY, 1.0), ("cost", COST, -1.0)):
        truth = sign * (values.mean() - SHARES @ values)
        assert report[name].low <= truth <= report[name].high
        assert report[name].difference == pytest.approx(truth, abs=0.08)
    if given == "replay:random":
        accepted = next(arm for arm in report.diagnostics.arms if arm.arm == "accepted")
        assert accepted.share == pytest.approx(0.2, abs=0.03)  # the least propensity


@pytest.mark.compiled
def test_a_policy_learns_while_it_is_replayed() -> None:
    log = log_of(TABLE, context=[])
    shares = shares_of("dr-replay:lex-thompson", log)
    # It leaves the arm that is worse than the others by five times the tolerance.
    assert shares[-300:, 0].mean() < 0.5 * shares[:50, 0].mean()


@pytest.mark.parametrize(
    ("table", "candidate", "words"),
    [
        (TABLE.filter(pl.col("arm") == "small"), "always:medium", "every row played 'small'"),
        (TABLE.filter(pl.col("arm") != "large"), "always:large", "no overlap"),
        (TABLE, "always:huge", "unknown arm 'huge'"),
        (TABLE, "column:nothing", "unknown column"),
        (TABLE, "column:task", "unknown arm"),
        (TABLE, "logged", "the candidate is what was logged"),
        (TABLE, 3, "a candidate is"),
        (TABLE, "replay:nothing", "unknown policy"),
        (TABLE, lambda frame: np.ones((len(frame), 2)), "a probability for each of 3 arms"),
        (TABLE, lambda frame: np.ones((len(frame), 3)), "row 0: .* add up to 1"),
        (TABLE, lambda frame: np.full((len(frame), 3), np.nan), "no exact probabilities"),
        (TABLE.head(0), "always:small", "empty"),
    ],
)
def test_what_is_refused(table: pl.DataFrame, candidate: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        lb.evaluate(log_of(table), candidate)


def test_a_candidate_of_another_definition_is_refused() -> None:
    other = RecordingChooser(objectives=[lb.Objective("quality")], arms=["small", "tiny"])
    with pytest.raises(InvalidInput, match="'tiny'"):
        lb.evaluate(log_of(TABLE), other)
    other = chooser(context=[lb.Number("length", 0, 1)])
    with pytest.raises(InvalidInput, match=r"'length'.*another definition"):
        lb.evaluate(log_of(TABLE), other)


def test_it_takes_a_log_only() -> None:
    with pytest.raises(InvalidInput, match="takes a Log"):
        lb.evaluate(TABLE, "always:small")  # type: ignore[arg-type]


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "_BLOCKS", 1)
    seen: list[tuple[int, int]] = []
    lb.evaluate(
        log_of(TABLE), "always:small", segments=(), progress=lambda *done: seen.append(done)
    )
    assert seen[-1] == (N, N)
    assert seen == sorted(seen)


def test_a_chooser_that_learned_is_judged_with_a_doubt() -> None:
    """It may have learned from these rows; one that has not, or later rows, leave no doubt."""
    log, fresh, learned = log_of(frame(2_000)), chooser(), chooser()
    learned.learn(log)
    assert "has learned before" not in str(lb.evaluate(log, fresh))
    for candidate in (learned, {"chooser": learned, "tolerance": {"quality": 0.1}}):
        told = str(lb.evaluate(log, candidate, against=learned))
        assert told.count("If it was from these rows, the verdict is too good") == 1
    assert "has learned before" not in str(lb.evaluate(log, "lex-thompson", train_until=0.5))


def test_an_interval_beyond_the_picture_has_an_arrow() -> None:
    report = lb.evaluate(log_of(frame(2_000)), "always:medium")
    assert report.decision.sentence.split(" (")[0] in report.svg()
    bare = report.svg(heading=False)
    assert "right of 0 the candidate is better" not in bare
    reach = [max(abs(one.low), abs(one.high)) for one in report.differences.values()]
    cut = sum(
        (s[name].low < -5 * most) + (s[name].high > 5 * most)
        for s in report.segments
        for name, most in zip(report.differences, reach, strict=True)
    )
    assert bare.count("<polygon") >= cut
    short = lb.evaluate(log_of(frame(2_000), context=[]), "always:medium")
    assert "<polygon" not in short.svg()


def test_reports_and_descriptions_show_themselves_in_notebooks() -> None:
    arms = ["small", "a < b", "large"]
    table = frame(2_000).with_columns(pl.col("arm").replace("medium", "a < b"))
    log = log_of(table, arms=arms)
    report = lb.evaluate(log, "always:a < b")
    page = ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")
    assert page.findtext("p/strong") == report.decision.sentence
    assert [cell.text for cell in page.iter("td")][:2] == [
        "quality",
        f"{report['quality'].candidate:.4g}",
    ]
    assert len(page.findall("table")) == 1
    assert len(page.findall("details/table")) == 1
    assert page.find("{http://www.w3.org/2000/svg}svg") is not None
    assert [item.text for item in page.iter("li")] == list(report.diagnostics.sentences)
    described = ElementTree.fromstring(f"<div>{log.describe()._repr_html_()}</div>")
    assert len(described.findall("table")) == 2
    assert "a < b" in [cell.text for cell in described.iter("td")]


def test_a_promise_that_is_not_kept_does_not_bias_a_replay() -> None:
    """Rows are accepted with probability c·π/p, which must not exceed 1."""
    log = log_of(TABLE, explore=0.9)  # a least propensity of 0.3, where the log has 0.2
    assert replay._rate(log) == SHARES.min()
    assert replay._rate(log_of(TABLE, explore=0.3)) == pytest.approx(0.1)
    assert replay._rate(log_of(TABLE)) == SHARES.min()


def test_the_report_says_what_explore_does_for_it() -> None:
    hint, broken = "No explore is declared", "explore = 0.9 promises every arm"
    said = {
        explore: str(lb.evaluate(log_of(TABLE, explore=explore), "always:medium", segments=()))
        for explore in (None, 0.6, 0.9)
    }
    assert "cannot tell" in said[None].lower()
    assert [hint in said[explore] for explore in said] == [True, False, False]
    assert [broken in said[explore] for explore in said] == [False, False, True]
    assert "at least 0.3, but the log has one of 0.2" in said[0.9]
    decided = lb.evaluate(log_of(frame(3_000)), "always:small", segments=())
    assert decided.verdict == "worse in quality"
    assert hint not in str(decided)


def sticky(share: float, rows: int) -> pl.DataFrame:
    """Rows that play b with probability 0.1; a share of them keeps a instead.

    There b would have earned nothing, and elsewhere a little more than a.
    """
    random = np.random.default_rng(1)
    kept = random.random(rows) < share
    chance = np.where(kept, 0.0, 0.1)
    other = random.random(rows) < chance
    mean = np.where(other, 0.65, 0.6)
    return pl.DataFrame(
        {
            "arm": np.where(other, "b", "a"),
            "propensity": np.where(other, chance, 1.0 - chance),
            "quality": (random.random(rows) < mean).astype(np.float64),
            "allowed": [["a"] if one else ["a", "b"] for one in kept.tolist()],
        }
    )


@pytest.mark.compiled
def test_a_promise_that_some_rows_do_not_keep_is_doubted() -> None:
    """An `explore` that is declared for a log in which some rows kept an earlier arm.

    No propensity in it is smaller than promised, but the mean weight is below 1. The truth for
    always b is 0.92 · 0.65 − 0.606 < 0.
    """
    table = sticky(0.08, 60_000)
    settings: dict[str, Any] = {"objectives": lb.Objective("quality"), "arms": ["a", "b"]}
    with_promise = lb.Log(table.drop("allowed"), explore=0.2, **settings)
    without = lb.Log(table.drop("allowed"), **settings)
    words = "explore = 0.2 promises every arm a chance in every row, but the mean weight is below 1"
    report, plain = (lb.evaluate(log, "always:b") for log in (with_promise, without))
    assert report["quality"].low == plain["quality"].low < -0.008
    assert report["quality"].high == plain["quality"].high
    assert words in str(report)
    assert words not in str(plain)
    # Where the table says what could be played, the promise is kept.
    told = lb.evaluate(lb.Log(table, explore=0.2, **settings), "always:b")
    assert words not in str(told)
    assert told["quality"].high - told["quality"].low < 0.5 * (
        report["quality"].high - report["quality"].low
    )


@pytest.mark.parametrize("interval", ["asymptotic", "bootstrap", "anytime"])
def test_approximate_intervals_of_few_rewards_are_doubted(interval: Any) -> None:
    """Rewards of 0 but for 29, or 30, of the rows that play the candidate's arm."""
    medium = np.flatnonzero(TABLE["arm"].to_numpy() == "medium")
    for few in (29, 30):
        quality = np.where(TABLE["arm"].to_numpy() == "medium", 0.0, 1.0)
        quality[medium[:few]] = 0.7
        log = log_of(TABLE.with_columns(quality=pl.Series(quality)), adaptive=False)
        text = str(lb.evaluate(log, "always:medium", segments=(), interval=interval))
        doubted = interval != "anytime" and few < 30
        assert ("rewards of quality that count for the candidate 29 differ" in text) == doubted
        assert "rewards of cost that count" not in text


def test_what_it_is_compared_with_needs_overlap_too() -> None:
    """An arm that was never played has a value by the model's guess alone."""
    table = TABLE.filter(pl.col("arm") != "large")
    log = log_of(table.with_columns(propensity=pl.col("propensity") / 0.8))
    with pytest.raises(InvalidInput, match="compared with always:large, which plays large, where"):
        lb.evaluate(log, "always:small", against="always:large")

    def mostly_small(contexts: Any) -> np.ndarray:
        return np.tile([0.9, 0.0, 0.1], (len(contexts), 1))

    report = lb.evaluate(log, "always:small", against=mostly_small, segments=())
    words = "10.0% of the decisions of what it is compared with fall on arms that the log never"
    assert report.verdict == "cannot tell"
    assert any(words in sentence for sentence in report.diagnostics.sentences)
    assert str(report).count(words) == 2
