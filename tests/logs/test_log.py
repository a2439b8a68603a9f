"""`Log`: where rows come from, what the columns are called, and what is refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.errors import InvalidInput
from lexbandit.logs import sources
from logs.made import ARMS, CONTEXT, OBJECTIVES, SHARES, chooser, frame, log_of

N = 300


def arrays(log: lb.Log) -> dict[str, np.ndarray]:
    """All rows of a log, its contexts as points."""
    batches = list(log.batches())
    return {
        "arms": np.concatenate([rows.arms for rows in batches]),
        "propensities": np.concatenate([rows.propensities for rows in batches]),
        "rewards": np.concatenate([rows.rewards for rows in batches]),
        "points": np.concatenate([rows.points(log.contexts) for rows in batches]),
    }


def same(log: lb.Log, other: lb.Log) -> None:
    mine, theirs = arrays(log), arrays(other)
    for name in mine:
        np.testing.assert_array_equal(mine[name], theirs[name])


def test_rows_are_what_the_table_holds() -> None:
    table = frame(N)
    found = arrays(log_of(table))
    assert [ARMS[k] for k in found["arms"]] == table["arm"].to_list()
    np.testing.assert_array_equal(found["propensities"], table["propensity"].to_numpy())
    np.testing.assert_array_equal(found["rewards"], table.select("quality", "cost").to_numpy())
    expected = chooser().contexts.encode_many(
        {"tokens": table["tokens"].to_numpy(), "task": table["task"].to_list()}
    )[0]
    np.testing.assert_array_equal(found["points"], expected)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "columns", "lazy", "rows"])
def test_frames_of_every_kind_are_one_log(kind: str) -> None:
    table = frame(N)
    given: Any = {
        "pandas": table.to_pandas,
        "arrow": table.to_arrow,
        "columns": lambda: table.to_dict(as_series=False),
        "lazy": table.lazy,
        "rows": table.to_dicts,
    }[kind]()
    same(log_of(given), log_of(table))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_one_log_in_any_number(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BATCH", 64)
    table = frame(N)
    for n, part in enumerate([table[:100], table[100:101], table[101:]]):
        path = tmp_path / f"part-{n}.{ending}"
        if ending == "parquet":
            part.write_parquet(path)
        elif ending == "csv":
            part.write_csv(path)
        else:
            part.write_ndjson(path)
    files = sorted(tmp_path.glob(f"*.{ending}"))
    for given in (files, str(tmp_path / f"part-*.{ending}"), [str(file) for file in files]):
        log = log_of(given)
        assert len(log) == N
        same(log, log_of(table))
        assert log.span == log_of(table).span
        same(pickle.loads(pickle.dumps(log)), log)


def test_blocks_do_not_depend_on_where_reading_begins() -> None:
    log = log_of(frame(N))
    whole = {rows.start: rows.arms.tolist() for rows in log.batches()}
    assert list(whole) == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]
    later = {rows.start: rows.arms.tolist() for rows in log.batches(128)}
    assert later == {start: whole[start] for start in (128, 256)}
    moved = [(rows.start, len(rows)) for rows in log.batches(100, origin=100)]
    assert moved[:4] == [(100, 1), (101, 1), (102, 2), (104, 4)]
    assert moved[-1] == (228, 72)


def test_like_a_chooser() -> None:
    like = chooser(explore=0.1, wait=600.0)
    like.retire_arm("large")
    log = lb.Log(frame(N), like=like)
    assert log.arms == tuple(ARMS)
    assert log.objectives == tuple(OBJECTIVES)
    assert log.contexts.features == tuple(CONTEXT)
    assert (log.wait, log.explore) == (600.0, 0.1)


def test_columns_by_other_names() -> None:
    table = frame(N)
    other = table.rename({"arm": "action", "propensity": "p", "quality": "score", "tokens": "len"})
    log = log_of(other, arm="action", propensity="p", columns={"quality": "score", "tokens": "len"})
    same(log, log_of(table))
    roles = {"arm": "action", "propensity": "p", "quality": "score", "tokens": "len"}
    same(log_of(other, columns=roles), log_of(table))


def test_names_of_an_export() -> None:
    table = frame(N)
    names = {"tokens": "context.tokens", "task": "context.task"}
    names |= {"quality": "reward.quality", "cost": "reward.cost"}
    same(log_of(table.rename(names)), log_of(table))


def test_allowed_arms() -> None:
    lists = [None, ARMS, ["small", "medium"]] * 100
    table = frame(N, arm=["small"] * N, allowed=lists)
    expected = np.array([[True] * 3, [True] * 3, [True, True, False]] * 100)
    for given in (table, table.with_columns(allowed=pl.Series([_json(one) for one in lists]))):
        masks = [
            np.ones((len(rows), 3), np.bool_) if rows.allowed is None else rows.allowed
            for rows in log_of(given).batches()
        ]
        np.testing.assert_array_equal(np.concatenate(masks), expected)


def _json(arms: list[str] | None) -> str | None:
    return None if arms is None else str(arms).replace("'", '"')


def test_rewards_of_young_rows_are_missing_and_defaults_fill_old_ones() -> None:
    quality = [None if n % 2 else 0.5 for n in range(N)]
    objectives = [lb.Objective("quality", default=0.1), OBJECTIVES[1]]
    table = frame(N, quality=quality)
    rewards = arrays(log_of(table, objectives=objectives, wait=600.0))["rewards"]
    old = N - 10  # rows are a minute apart
    assert np.isnan(rewards[old:]).all()
    assert rewards[:old, 0].tolist() == [0.1 if n % 2 else 0.5 for n in range(old)]
    assert not np.isnan(rewards[:old, 1]).any()
    finished = arrays(log_of(table, objectives=objectives, wait=0))["rewards"]
    assert finished[:, 0].tolist() == [0.1 if n % 2 else 0.5 for n in range(N)]
    rewards = arrays(log_of(table, objectives=objectives))["rewards"]
    assert np.isnan(rewards[:, 0]).tolist() == [n % 2 == 1 for n in range(N)]


def test_times_of_every_kind() -> None:
    seconds = pl.Series(60.0 * np.arange(N))
    times = pl.from_epoch((seconds * 1000).cast(pl.Int64), time_unit="ms")
    for given in (seconds, times, times.dt.to_string("iso")):
        log = log_of(frame(N, time=given))
        assert log.span == (0.0, 60.0 * (N - 1))
        assert log.row_at(600.0) == 10


def test_description() -> None:
    log = log_of(frame(4_000, quality=[None] * 400 + [1.0] * 3_600), wait=6_000.0)
    told = log.describe()
    assert told.rows == 4_000
    assert told.times == (0.0, 60.0 * 3_999)
    assert told.calibrated
    for arm, share in zip(told.arms, SHARES, strict=True):
        assert arm.share == pytest.approx(share, abs=0.03)
        assert arm.mean_propensity == pytest.approx(share)
        assert arm.mean_weight == pytest.approx(1.0, abs=0.1)
        assert arm.effective_rows == pytest.approx(arm.plays)
    quality = told.objectives[0]
    assert (quality.rewards, quality.immature, quality.missing) == (3_500, 100, 400)
    assert "agree with how often" in str(told)


def test_a_log_in_which_one_arm_was_played_says_so() -> None:
    """Its propensities may be right, but it knows nothing of the others."""
    table = pl.DataFrame({"arm": ["a"] * 20, "propensity": [1.0] * 20, "click": [1.0] * 20})
    log = lb.Log(table, objectives=lb.Objective("click"), arms=["a", "b"])
    told = str(log.describe())
    assert "Only 'a' was played: no other arm can be evaluated." in told
    assert "agree with how often" not in told
    with pytest.raises(InvalidInput):
        lb.evaluate(log, "always:b")


def test_propensities_that_cannot_be_are_told() -> None:
    told = log_of(frame(2_000, propensity=np.full(2_000, 1 / 3))).describe()
    assert not told.calibrated
    assert "do not agree" in str(told)


def changed(row: int, **values: Any) -> pl.DataFrame:
    """The log with other values in one row."""
    rows = frame(N).to_dicts()
    rows[row] |= values
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (changed(7, propensity=0.0), ["row 7", "'propensity'", "is 0", "above 0"]),
        (changed(7, propensity=-0.1), ["row 7", "'propensity'", "-0.1"]),
        (changed(7, propensity=30.0), ["row 7", "'propensity'", "30", "divide the column by 100"]),
        (changed(7, propensity=None), ["row 7", "'propensity'", "missing"]),
        (changed(7, propensity=float("nan")), ["row 7", "'propensity'", "missing"]),
        (changed(7, arm="lage"), ["row 7", "'arm'", "'lage'", "did you mean 'large'"]),
        (changed(7, arm=None), ["row 7", "'arm'", "no arm"]),
        (changed(7, quality=float("inf")), ["row 7", "'quality'", "finite"]),
        (changed(7, id="d3"), ["row 7", "'id'", "'d3'", "row 3"]),
        (changed(7, id=None), ["row 7", "'id'", "missing"]),
        (changed(7, time=1.0), ["row 7", "'time'", "sort the log"]),
        (changed(7, time=None), ["row 7", "'time'", "missing"]),
        (changed(7, tokens=None), ["row 7", "'tokens'", "missing"]),
        (changed(7, arm="small", allowed=["large"]), ["row 7", "'arm'", "'small'", "allowed"]),
        (changed(7, allowed=["other", *ARMS]), ["row 7", "'allowed'", "allowed: 'other'; known"]),
        (changed(7, propensity=1.00001), ["row 7", "'propensity'", "is 1.00001", "at most 1"]),
        (changed(7, allowed=[]), ["row 7", "'a"]),
        (frame(N).head(0), ["empty"]),
        (frame(N).drop("propensity"), ["no column of propensities"]),
        (frame(N).drop("arm"), ["arm", "tokens"]),
        (frame(N).drop("tokens"), ["another definition", "--column tokens=NAME"]),
        (frame(N).rename({"tokens": "Tokens"}), ["no column 'tokens'", "did you mean 'Tokens'?"]),
        (frame(N).rename({"task": "Task"}), ["no column 'task'", "mean 'Task'?", "another def"]),
        (frame(N).rename({"cost": "Cost"}), ["no column 'cost'", "did you mean 'Cost'?"]),
        (frame(N).drop("cost"), ["columns={'cost': ...}", "--column cost=NAME"]),
        (frame(N).drop("quality", "cost"), ["no column of any objective", "--column quality=NAME"]),
        (frame(N, tokens=["many"] * N), ["'tokens'", "number", "'many'"]),
        (frame(N, quality=["good"] * N), ["'quality'", "numbers", "'good'"]),
        (frame(N, time=[True] * N), ["'time'", "times"]),
        (frame(N, id=[["d"]] * N), ["'id'", "strings or numbers", "List(String)"]),
        (frame(N, tokens=[b"x"] * N), ["row 0", "'tokens'", "number", "b'x'"]),
        (frame(N, tokens=[float("inf")] * N), ["row 0", "'tokens'", "number", "inf"]),
    ],
)
def test_bad_logs_are_refused_with_row_and_column(table: pl.DataFrame, words: list[str]) -> None:
    def read() -> None:
        log_of(table).describe()
        arrays(log_of(table))

    with pytest.raises(InvalidInput) as caught:
        read()
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    for name in "uv":
        frame(N).write_csv(tmp_path / f"{name}.csv")
    path = tmp_path / "u.csv"
    (tmp_path / "link.csv").symlink_to(path)
    around = tmp_path / ".." / tmp_path.name / "u.csv"
    for other in (path, tmp_path / "u*.csv", around, tmp_path / "link.csv"):
        with pytest.raises(InvalidInput, match=r"(u|link)\.csv is given twice.* count double"):
            log_of([path, other])
    assert len(log_of([path, tmp_path / "v.csv"])) == 2 * N  # equal rows of two files are two


def test_a_propensity_above_1_by_rounding_is_1() -> None:
    given = np.where(np.arange(N) == 7, 1.0000001, frame(N)["propensity"].to_numpy())
    assert arrays(log_of(frame(N, propensity=given)))["propensities"][7] == 1.0
    assert log_of(frame(N, propensity=given)).describe().rows == N


def test_a_feature_that_is_declared_to_lack_values_may_have_no_column() -> None:
    context = [lb.Number("tokens", 0, 1000, missing="middle")]
    assert len(log_of(frame(N).drop("tokens"), context=context)) == N
    names = {"quality": "reward.quality", "cost": "reward.cost"}
    assert len(log_of(frame(N).drop("task").rename(names))) == N  # an export, no task was given


def test_rows_of_files_are_named_by_file(tmp_path: Path) -> None:
    table = changed(250, propensity=0.0)
    table[:200].write_parquet(tmp_path / "a.parquet")
    table[200:].write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match=r"b\.parquet, row 50, column 'propensity'"):
        log_of(str(tmp_path / "*.parquet")).describe()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere.parquet", ["no such file", "nowhere.parquet"]),
        ("log.xlsx", ["no such file"]),
        (3, ["int"]),
    ],
)
def test_what_is_no_log(given: Any, words: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        log_of(given)
    for word in words:
        assert word in str(caught.value)


def test_wrong_files(tmp_path: Path) -> None:
    for name, words in (("log.txt", "must end in"), ("log.parquet", "cannot be read")):
        (tmp_path / name).write_text("nothing")
        with pytest.raises(InvalidInput, match=words):
            log_of(tmp_path / name)
    with pytest.raises(InvalidInput, match="is a folder"):
        log_of(tmp_path)
    (tmp_path / "log.csv").write_text("arm,propensity,click,click\na,1,0,1\n")
    with pytest.raises(InvalidInput, match="two columns 'click': rename or drop one"):
        lb.Log(tmp_path / "log.csv", objectives=lb.Objective("click"), arms=["a", "b"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objectives": None}, "objectives is missing"),
        ({"like": 3}, "like must be"),
        ({"point": "router"}, "point is for the storage"),
        ({"columns": {"speed": "x"}}, "unknown name in columns"),
        ({"columns": {"quality": "x"}}, "unknown column"),
        ({"propensity": "p"}, "unknown column of the log, for propensity: 'p'"),
        ({"explore": 2.0}, "explore"),
        ({"wait": -1.0}, "wait"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        log_of(frame(N), **settings)


def test_a_log_without_propensities_is_described() -> None:
    told = log_of(frame(N).drop("propensity")).describe()
    assert sum(arm.plays for arm in told.arms) == N
    assert "There are no propensities: a chooser can learn from this log, but" in str(told)
    assert str(told).splitlines()[2].split()[3:] == ["-"] * 4  # of the first arm
    assert "do not agree" not in str(told)


def test_a_first_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no column 'arm'; it has .* Log\(\.\.\., arm=\.\.\.\)"):
        log_of(frame(N).rename({"arm": "model"}))
    frame(3, quality=["yes", "no", "yes"]).write_csv(tmp_path / "log.csv")
    with pytest.raises(InvalidInput, match=r"must be numbers, got 'yes' \(write 1 or 0\)"):
        list(log_of(tmp_path / "log.csv").batches())


def test_a_text_among_numbers_is_named(tmp_path: Path) -> None:
    words = [str(value) for value in frame(50)["quality"]]
    frame(50, quality=[*words[:7], "oops", *words[8:]]).write_csv(tmp_path / "log.csv")
    log = log_of(tmp_path / "log.csv")
    with pytest.raises(InvalidInput, match=r"log.csv, row 7, column 'quality': .* got 'oops'"):
        log.describe()
