"""Logs as people have them: files that differ, odd types, nulls, values that cannot be right."""

import gzip
import json
import logging
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.errors import InvalidInput
from logs.made import ARMS, OBJECTIVES, chooser, frame, log_of

N = 300
NUMBERS = {arm: n for n, arm in enumerate(ARMS, start=1)}


def rewards(log: lb.Log) -> np.ndarray:
    return np.concatenate([rows.rewards for rows in log.batches()])


def played(log: lb.Log) -> list[str]:
    return [log.arms[k] for rows in log.batches() for k in rows.arms.tolist()]


def with_null(table: pl.DataFrame, column: str, row: int = 17) -> pl.DataFrame:
    value = pl.when(pl.int_range(pl.len()) == row).then(None).otherwise(pl.col(column))
    return table.with_columns(value.alias(column))


def refused(table: Any, **settings: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        lb.evaluate(log_of(table, **settings), "always:medium")
    return str(error.value)


def write(table: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        table.write_parquet(path)
    elif path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_ndjson(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_packed_files(tmp_path: Path, ending: str) -> None:
    write(frame(N), tmp_path / f"log.{ending}")
    packed = tmp_path / f"log.{ending}.gz"
    packed.write_bytes(gzip.compress((tmp_path / f"log.{ending}").read_bytes()))
    np.testing.assert_array_equal(rewards(log_of(packed)), rewards(log_of(frame(N))))
    packed.rename(tmp_path / "log.parquet.gz")
    with pytest.raises(InvalidInput, match=r"log\.parquet\.gz must end in .parquet, .csv"):
        log_of(tmp_path / "log.parquet.gz")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "change",
    [
        lambda part: part.with_columns(pl.col("quality").cast(pl.Int64)),
        lambda part: part.select(reversed(part.columns)),
        lambda part: part.with_columns(pl.lit(None).alias("cost")),
        lambda part: part.drop("cost"),
        lambda part: part.with_columns(pl.lit("x").alias("note")),
    ],
    ids=["whole numbers", "order", "no value", "no column", "a further column"],
)
@pytest.mark.parametrize("first", [True, False])
def test_files_of_one_log_may_differ(
    tmp_path: Path, ending: str, change: Callable[[pl.DataFrame], pl.DataFrame], first: bool
) -> None:
    """The newest day has no rewards yet, an export had whole numbers only, and the like."""
    parts = [frame(N)[:100], frame(N)[:0], frame(N)[100:]]
    changed = 0 if first else 2
    parts[changed] = change(parts[changed])
    for n, part in enumerate(parts):
        write(part, tmp_path / f"part-{n}.{ending}")
    log = log_of(str(tmp_path / f"part-*.{ending}"))
    assert len(log) == N
    expected = frame(N).select("quality", "cost").to_numpy().copy()
    if "cost" not in parts[changed].columns or parts[changed]["cost"].null_count():
        expected[slice(0, 100) if first else slice(100, N), 1] = np.nan
    np.testing.assert_array_equal(rewards(log), expected)
    assert log.span == (0.0, 60.0 * (N - 1))


def test_a_row_of_a_file_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    frame(N)[:100].write_parquet(tmp_path / "0.parquet")
    frame(N)[100:].drop("propensity").write_parquet(tmp_path / "1.parquet")
    said = refused(str(tmp_path / "*.parquet"))
    assert "1.parquet, row 0, column 'propensity': the propensity is missing" in said


def test_arms_as_numbers_and_as_truth_values() -> None:
    names = ["1", "2", "3"]
    numbers = frame(N).with_columns(pl.col("arm").replace_strict(NUMBERS))
    expected = numbers["arm"].cast(pl.String).to_list()
    for kind in (pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Categorical):
        given = numbers.with_columns(pl.col("arm").cast(pl.String).cast(kind))
        assert played(log_of(given, arms=names)) == expected
    half = with_null(numbers, "arm").to_pandas()  # whole numbers and a gap: fractions there
    with pytest.raises(InvalidInput, match="row 17, column 'arm': no arm is given"):
        log_of(half, arms=names).describe()
    flags = frame(N, arm=[n % 2 == 0 for n in range(N)])
    for no, yes in (("False", "True"), ("false", "true")):
        assert played(log_of(flags, arms=[no, yes])) == [yes, no] * (N // 2)
    with pytest.raises(InvalidInput, match=r"row 0, column 'arm': unknown arm '1\.5'"):
        log_of(frame(N, arm=[1.5] * N), arms=names).describe()


def test_categories_and_flags_in_the_types_of_files(tmp_path: Path) -> None:
    """A file of text has whole numbers for the categories "1" and "2", and 0 and 1 for flags."""
    context = [lb.Category("zone", ["1", "2"]), lb.Flag("vip")]
    zones, vips = [1 + n % 2 for n in range(N)], [n % 3 == 0 for n in range(N)]
    own = frame(N, zone=list(map(str, zones)), vip=vips)
    expected = lb.evaluate(log_of(own, context=context), "always:medium")
    assert [segment.rows for segment in expected.segments] == [150, 150, 100, 200]
    kinds: list[dict[str, Any]] = [
        {"zone": zones, "vip": [int(vip) for vip in vips]},
        {"zone": list(map(float, zones)), "vip": [str(vip) for vip in vips]},
    ]
    frame(N, **kinds[0]).write_csv(tmp_path / "log.csv")
    for given in (*(frame(N, **kind) for kind in kinds), tmp_path / "log.csv"):
        assert lb.evaluate(log_of(given, context=context), "always:medium") == expected
    kinds = [{"vip": [float(vip) for vip in vips]}, {"vip": list(map(Decimal, vips))}]
    coded = pl.Series([str(vip).lower() for vip in vips], dtype=pl.Categorical)
    for kind in (*kinds, {"vip": coded}):  # fractions, as pandas has flags with a gap
        given = frame(N, zone=list(map(Decimal, zones)), **kind)
        assert lb.evaluate(log_of(given, context=context), "always:medium") == expected
    assert (
        "row 4, column 'vip': context feature 'vip' must be True or False, or 1 or 0, got 2"
        in refused(frame(N, zone=zones, vip=[int(n == 4) * 2 for n in range(N)]), context=context)
    )
    said = refused(
        frame(N, zone=[3] * N, vip=vips),
        context=[lb.Category("zone", ["1", "2"], outside="refuse")],
    )
    assert "row 0, column 'zone'" in said


def test_numbers_and_rewards_that_are_stored_as_codes() -> None:
    coded = [pl.col(name).cast(pl.String).cast(pl.Categorical) for name in ("tokens", "quality")]
    given = log_of(frame(N).with_columns(coded))
    assert lb.evaluate(given, "always:medium") == lb.evaluate(log_of(frame(N)), "always:medium")


def test_names_in_a_csv_file_are_as_they_are_written(tmp_path: Path) -> None:
    """1.10 is not 1.1, 007 is not 7, and 08:00 no time of day."""
    path = tmp_path / "log.csv"
    for names in (
        ["1.1", "1.10", "1.2"],
        ["007", "07", "7"],
        ["08:00", "8:00", "2026-01-02T10:00"],
    ):
        arms = [names[n % 3] for n in range(N)]
        frame(N, arm=arms, task=arms, proposed=[names[1]] * N).write_csv(path)
        log = log_of(path, arms=names, context=[lb.Category("task", names)])
        assert played(log) == arms
        report = lb.evaluate(log, "column:proposed")
        labels = [f"task = {name}" for name in names]
        assert {one.label: one.rows for one in report.segments} == dict.fromkeys(labels, N // 3)
        always = lb.evaluate(log, f"always:{names[1]}")
        assert report.differences == always.differences
    frame(N, arm=["1.0", "2.0", "3"] * (N // 3)).write_csv(path)  # of a column that had nulls
    assert played(log_of(path, arms=["1", "2", "3"])) == ["1", "2", "3"] * (N // 3)
    frame(N, arm=["1.10"] * N).write_csv(path)
    with pytest.raises(InvalidInput, match=r"row 0, column 'arm': unknown arm '1\.10'"):
        log_of(path, arms=["1.1", "1.2"]).describe()


def test_context_values_that_are_not_known_are_told() -> None:
    table = frame(N, task=["Code"] * 200 + ["code"] * 100)
    context = [lb.Number("tokens", 0, 400), lb.Category("task", ["code", "chat"])]
    said = str(lb.evaluate(log_of(table, context=context), "always:medium"))
    outside = table.filter(pl.col("tokens") > 400).height
    assert (
        f"Context values taken otherwise than given: {outside} of tokens (outside its range), "
        "200 of task (unknown)."
    ) in said
    assert "Context values" not in str(lb.evaluate(log_of(frame(N)), "always:medium"))


def test_probabilities_in_a_csv_file(tmp_path: Path) -> None:
    shares = [[0.2, 0.5, 0.3], [0, 1, 0]] * (N // 2)
    frame(N, p=list(map(json.dumps, shares))).write_csv(tmp_path / "log.csv")
    expected = lb.evaluate(log_of(frame(N, p=shares)), "column:p")
    assert lb.evaluate(log_of(tmp_path / "log.csv"), "column:p") == expected
    texts = [*map(json.dumps, shares[1:]), "[0.2, 0.8"]
    with pytest.raises(InvalidInput, match=r"row 299, column 'p': a list of numbers in JSON"):
        lb.evaluate(log_of(frame(N, p=texts)), "column:p")


def test_a_text_among_the_numbers_of_a_feature_is_named(tmp_path: Path) -> None:
    texts = [str(n) for n in range(N)]
    texts[123] = "n/a"
    frame(N, tokens=texts).write_csv(tmp_path / "log.csv")
    said = refused(tmp_path / "log.csv")
    assert "row 123, column 'tokens': context feature 'tokens' must be numbers, got 'n/a'" in said
    texts[123] = "123"
    assert lb.evaluate(log_of(frame(N, tokens=texts)), "always:medium").rows == N


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("arm", "no arm is given"),
        ("propensity", "the propensity is missing"),
        ("tokens", "context feature 'tokens' is missing"),
        ("time", "the time is missing"),
        ("id", "the id is missing"),
    ],
)
def test_a_null_is_refused_with_its_row_and_column(column: str, words: str) -> None:
    table = with_null(frame(N), column)
    for given in (table, table.to_pandas(), table.to_arrow()):
        assert f"row 17, column {column!r}: {words}" in refused(given)
    nothing = frame(N).with_columns(pl.lit(None).alias(column))
    assert f"row 0, column {column!r}: {words}" in refused(nothing)


@pytest.mark.parametrize("column", ["quality", "cost", "task"])
def test_nulls_that_a_log_may_have(column: str) -> None:
    whole = lb.evaluate(log_of(frame(N)), "always:medium")
    for table in (with_null(frame(N), column), frame(N).with_columns(pl.lit(None).alias(column))):
        report = lb.evaluate(log_of(table), "always:medium")
        missing = table[column].null_count() if column != "task" else 0
        assert whole["quality"].rows - report["quality"].rows == missing * (column == "quality")
        assert whole["cost"].rows - report["cost"].rows == missing * (column == "cost")
        json.dumps(report.to_dict(), allow_nan=False)


def test_the_row_of_allowed_arms_that_are_no_list() -> None:
    lists = [json.dumps(ARMS)] * N
    lists[201] = "small medium"
    said = refused(frame(N, allowed=lists))
    assert "row 201, column 'allowed'" in said
    assert "got 'small medium'" in said
    arrays = pl.Series([ARMS] * N, dtype=pl.Array(pl.String, 3))
    for given in (arrays, pl.Series([ARMS] * N, dtype=pl.List(pl.Categorical))):
        assert all(rows.allowed is None for rows in log_of(frame(N, allowed=given)).batches())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["noon"] * N, "row 0, column 'time': 'noon' is no time that can be read"),
        ([None] * N, "row 0, column 'time': the time is missing"),
        ([datetime(2026, 1, 1).time()] * N, "column 'time' must hold times.*the type Time"),
    ],
)
def test_times_that_are_none(given: list[Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        log_of(frame(N, time=given)).describe()


def test_times_of_other_kinds() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    kinds = {
        "durations": [timedelta(seconds=60 * n) for n in range(N)],
        "aware": [start + timedelta(seconds=60 * n) for n in range(N)],
        "dates": [date(2026, 1, 1)] * N,
        "texts": [f"{start + timedelta(seconds=60 * n):%Y-%m-%dT%H:%M:%SZ}" for n in range(N)],
    }
    spans = {name: log_of(frame(N, time=given)).span for name, given in kinds.items()}
    assert spans["durations"] == (0.0, 60.0 * (N - 1))
    assert spans["aware"] == spans["texts"]
    assert spans["dates"] == (start.timestamp(), start.timestamp())
    milliseconds = frame(N, time=1.7e12 + 60_000.0 * np.arange(N))
    for wait in (None, 60.0):
        with pytest.raises(InvalidInput, match=r"row 0, column 'time': .* divide .* by 1,000"):
            log_of(milliseconds, wait=wait).describe()


def test_a_waiting_time_needs_times() -> None:
    with pytest.raises(InvalidInput, match=r"wait=60 needs a column of times"):
        log_of(frame(N).drop("time"), wait=60)
    assert lb.Log(frame(N).drop("time"), like=chooser(wait=60.0)).wait == 60.0


def test_one_row_and_few() -> None:
    assert str(log_of(frame(1)).describe()).startswith("1 row, 1970-01-01")
    with pytest.raises(InvalidInput, match="every row played"):
        lb.evaluate(log_of(frame(1)), "always:medium")
    few = frame(3, arm=["small", "medium", "large"])
    report = lb.evaluate(log_of(few), "always:medium")
    assert report.verdict == "cannot tell"
    json.dumps(report.to_dict(), allow_nan=False)
    assert report.svg().startswith("<svg")


def test_rewards_outside_of_their_range_are_counted() -> None:
    costs = frame(N)["cost"].to_numpy() * 10
    beyond = int((costs > 0.2).sum())
    log = log_of(frame(N, cost=costs))
    said = f"{beyond:,} rewards of cost lie outside of its range and count as the nearer end"
    assert [one.outside for one in log.describe().objectives] == [0, beyond]
    assert said in str(log.describe())
    assert said in str(lb.evaluate(log, "always:medium"))
    inside = log_of(frame(N, cost=costs / 100))
    assert "outside" not in str(lb.evaluate(inside, "always:medium"))
    assert "outside" not in str(inside.describe())
    strict = [OBJECTIVES[0], lb.Objective("cost", goal="min", range=(0, 0.2), outside="refuse")]
    first = int(np.argmax(costs > 0.2))
    said = refused(frame(N, cost=costs), objectives=strict)
    assert f"row {first}, column 'cost': the reward {costs[first]:g} lies outside" in said


def test_a_propensity_that_is_next_to_nothing() -> None:
    tiny = frame(N)["propensity"].to_numpy().copy()
    tiny[9] = 1e-300
    assert "row 9, column 'propensity': the propensity is 1e-300, too small" in refused(
        frame(N, propensity=tiny)
    )
    tiny[9] = 1e-6
    with pytest.raises(
        InvalidInput, match=r"row 9, column 'propensity': .* more than 10,000 times"
    ):
        chooser().learn(log_of(frame(N, propensity=tiny)), weigh="propensity")
    assert lb.evaluate(log_of(frame(N, propensity=tiny)), "always:medium").rows == N


def test_propensities_that_are_too_small_refuse_a_verdict() -> None:
    wrong = frame(2_000)["propensity"] / 2
    report = lb.evaluate(log_of(frame(2_000, propensity=wrong)), "always:medium")
    assert report.verdict == "cannot tell"
    assert "instead of 1, so the logged propensities are too small" in report.decision.sentence
    for one in report.differences.values():
        assert np.isnan(one.low) or one.low <= one.high


@pytest.mark.parametrize("given", [None, [0.5, 0.5], [0.5, 0.5, None]])
def test_a_column_of_probabilities_with_a_bad_row(given: Any) -> None:
    lists = [[0.2, 0.3, 0.5]] * N
    lists[211] = given
    with pytest.raises(InvalidInput, match="row 211, column 'x': a list with a probability for"):
        lb.evaluate(log_of(frame(N, x=pl.Series(lists, dtype=pl.List(pl.Float64)))), "column:x")


def test_a_policy_without_tolerances_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lexbandit"):
        lb.evaluate(log_of(frame(N)), "random", train_until=0.5)
    assert caplog.text.count("does not read the objectives' tolerances") == 1


def test_a_log_of_an_export_with_categories_that_look_like_numbers(tmp_path: Path) -> None:
    """What is written as text is read as what it was."""
    context = [lb.Category("zone", ["1", "2"])]
    table = frame(N, zone=[str(1 + n % 2) for n in range(N)])
    names = {"zone": "context.zone", "quality": "reward.quality", "cost": "reward.cost"}
    table.rename(names).write_csv(tmp_path / "decisions.csv")
    points = [
        np.concatenate([rows.points(log.contexts) for rows in log.batches()])
        for log in (
            log_of(tmp_path / "decisions.csv", context=context),
            log_of(table, context=context),
        )
    ]
    np.testing.assert_array_equal(points[0], points[1])


def test_the_types_of_a_file_of_text_are_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find them takes longer than to read the rows, which is done several times."""
    times = [datetime(2026, 1, 1) + timedelta(minutes=n) for n in range(N)]
    table = frame(N, time=times)
    table.write_csv(tmp_path / "log.csv")
    found, scan = [], pl.scan_csv

    def counted(*given: Any, schema: Any, **settings: Any) -> pl.LazyFrame:
        found.append(schema is None)
        return scan(*given, schema=schema, **settings)

    monkeypatch.setattr(pl, "scan_csv", counted)
    report = lb.evaluate(log_of(tmp_path / "log.csv"), "always:medium")
    assert found.count(True) == 1
    assert found.count(False) > 2
    assert report == lb.evaluate(log_of(table), "always:medium")


@pytest.mark.parametrize("packed", [False, True])
def test_a_row_with_more_values_than_columns_is_refused(tmp_path: Path, packed: bool) -> None:
    """A decimal comma in the last column would be read as a smaller number."""
    lines = frame(50).write_csv().splitlines()
    lines[8] = lines[8].rpartition(",")[0] + ",0,75"
    path = tmp_path / ("log.csv.gz" if packed else "log.csv")
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(InvalidInput, match=r"row 7: 9 values for 8 columns: .*,0,75\. Put quotes"):
        log_of(path).describe()


@pytest.mark.parametrize("ending", ["csv", "jsonl.gz"])
def test_a_file_that_is_not_in_utf_8(tmp_path: Path, ending: str) -> None:
    table = frame(50, task=["café"] * 50)
    text = table.write_csv() if ending == "csv" else table.write_ndjson()
    path, latin = tmp_path / f"log.{ending}", text.encode("latin-1")
    path.write_bytes(gzip.compress(latin) if ending.endswith("gz") else latin)
    with pytest.raises(InvalidInput, match="is not in UTF-8: it has the byte 0xe9"):
        log_of(path).describe()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"arm": "small", "quality": NaN}', "JSON has no NaN; write null"),
        ('["small", 0.5]', "a line must be an object in JSON, got"),
        ('{"arm": "small",', "Expecting property name"),
    ],
)
def test_a_line_that_is_no_json_is_named(tmp_path: Path, line: str, words: str) -> None:
    lines = frame(50).write_ndjson().splitlines()
    lines[8] = line
    (tmp_path / "log.jsonl").write_text("\n\n".join(lines))
    with pytest.raises(InvalidInput, match=rf"log\.jsonl, row 8: {words}"):
        log_of(tmp_path / "log.jsonl").describe()


def test_a_promise_that_is_missed_shows_its_digits() -> None:
    table = frame(N, propensity=[0.3329] * N)
    said = str(lb.evaluate(log_of(table, explore=1), "always:medium"))
    assert "at least 0.333333333, but the log has one of 0.3329:" in said


@pytest.mark.parametrize("rounded", [0.333, 0.3333, 0.333333])
def test_a_rounded_propensity_keeps_the_promise(rounded: float) -> None:
    """The intervals are those of the full digits, nearly; 0.32 is no rounding."""
    draws = np.random.default_rng(3).integers(3, size=N)
    table = frame(N, arm=[ARMS[k] for k in draws])

    def found(propensity: float) -> lb.Evaluation:
        logged = table.with_columns(propensity=pl.lit(propensity))
        return lb.evaluate(log_of(logged, explore=1), "always:medium", segments=())

    exact, near, broken = found(1 / 3), found(rounded), found(0.32)
    assert "promise" not in str(near)
    assert "the promise is not kept" in str(broken)
    for name in ("quality", "cost"):
        width = exact[name].high - exact[name].low
        assert near[name].low == pytest.approx(exact[name].low, abs=0.01 * width)
        assert near[name].high == pytest.approx(exact[name].high, abs=0.01 * width)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_columns_that_are_not_separated_by_commas(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "log.csv"
    frame(20).write_csv(path, separator=separator)
    with pytest.raises(InvalidInput, match=r"has one column, 'id.*separate the columns by commas"):
        log_of(path)


def test_a_column_may_have_no_name(tmp_path: Path) -> None:
    """Pandas writes its index so."""
    path = tmp_path / "log.csv"
    path.write_text(",arm,propensity,click\n" + "".join(f"{n},a,0.5,1\n" for n in range(20)))
    log = lb.Log(path, arms=["a", "b"], objectives=[lb.Objective("click")])
    assert log.describe().rows == 20
