"""Many at once, from columns, rows, arrays, Polars, pandas and Arrow."""

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]

N = 40
COLUMNS: dict[str, list[Any]] = {
    "tokens": [(97.5 * n) % 8000 for n in range(N)],
    "task": [("code", "maths", "chat", "poetry", None)[n % 5] for n in range(N)],
    "hour": [0.7 * n for n in range(N)],
}
ROWS = [{name: COLUMNS[name][n] for name in COLUMNS} for n in range(N)]


def polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def pandas(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def pandas_nullable(columns: dict[str, Any]) -> Any:
    return pandas(columns).convert_dtypes()


def arrow(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def arrow_batch(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").RecordBatch.from_pydict(columns)


def arrow_chunks(columns: dict[str, Any]) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    return pyarrow.concat_tables([table[:7], table[7:]])


def rows(columns: dict[str, Any]) -> Any:
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def arrays(columns: dict[str, Any]) -> Any:
    return {name: np.array(column) for name, column in columns.items()}


FRAMES = [dict, rows, arrays, polars, pandas, pandas_nullable, arrow, arrow_batch, arrow_chunks]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("settings", [{}, {"explore": 0.3}, {"policy": "moc-mab", "horizon": 99}])
def test_the_same_decisions_as_one_at_a_time(make: Make, frame: Any, settings: Any) -> None:
    many, single = make(**settings), make(**settings)
    for n in range(3):
        allowed = [["small", "large"], None, [["small"], ["large", "medium"]] * (N // 2)][n]
        each: Any = allowed if n == 2 else [allowed] * N
        choices = many.choose_many(frame(COLUMNS), allowed)
        decisions = [
            single.choose(row, arms) for row, arms in zip(ROWS, each or [None] * N, strict=True)
        ]
        assert choices.arms == [decision.arm for decision in decisions]
        np.testing.assert_allclose(
            choices.propensities, [decision.propensity for decision in decisions], rtol=1e-12
        )
        quality = [(0.1 * k) % 1 for k in range(N)]
        cost = [None if k % 3 else 0.01 for k in range(N)]
        many.reward_many(choices if n else choices.ids, frame({"quality": quality, "cost": cost}))
        for k, decision in enumerate(decisions):
            single.reward(decision, quality=quality[k])
            if cost[k] is not None:
                single.reward(decision, cost=0.01)
    assert many.contexts.counts == single.contexts.counts
    for one, other in zip(many.explain(CONTEXT).arms, single.explain(CONTEXT).arms, strict=True):
        assert (one.plays, one.as_good) == (other.plays, other.as_good)
        for name in ("quality", "cost"):
            a, b = one.estimates[name], other.estimates[name]
            assert a.observations == b.observations
            assert a.value == pytest.approx(b.value)


def test_plain_arrays(make: Make) -> None:
    features = [lb.Number("x", 0, 10), lb.Number("y", -1, 1)]
    table = np.array([[1.0, 0.5], [9.0, -0.5]])
    one, other = make(context=features), make(context=features)
    first = one.choose_many(table)
    assert first.arms == other.choose_many({"x": table[:, 0], "y": table[:, 1]}).arms
    one.reward_many(first, np.array([[0.5, 0.01], [0.7, np.nan]]))
    assert one.summary().received["cost"].count == 1
    vector = make(context=[lb.Vector("v", 2)])
    assert len(vector.choose_many(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])).ids) == 3
    records = np.array([(1.0, 0.5)], dtype=[("x", float), ("y", float)])
    assert len(one.choose_many(records).ids) == 1
    for wrong in (np.zeros((2, 3)), np.zeros(2), np.zeros((2, 2, 2))):
        with pytest.raises(lb.InvalidInput, match=r"2 columns \(x, y\)"):
            one.choose_many(wrong)


def test_numbers_are_not_copied() -> None:
    from lexbandit.chooser.frames import columns_of

    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numbers = np.arange(1000.0)
    frame = pl.DataFrame({"x": pl.Series(numbers)})
    assert np.shares_memory(columns_of(frame, ["x"])["x"], frame["x"].to_numpy())
    table = pa.table({"x": numbers})
    assert np.shares_memory(columns_of(table, ["x"])["x"], numbers)


def test_nothing_is_nothing(make: Make) -> None:
    chooser = make()
    empties: list[Any] = [[], {"tokens": [], "task": [], "hour": []}]
    for empty in empties:
        assert chooser.choose_many(empty).ids == []
    chooser.reward_many([], {"quality": []})
    assert chooser.waiting == 0


@pytest.mark.parametrize(
    ("contexts", "allowed", "kind", "words"),
    [
        (3, None, lb.InvalidInput, "Polars or pandas frame"),
        ("tokens", None, lb.InvalidInput, "is wanted"),
        ({"tokens": 3}, None, lb.InvalidInput, "must be a list or an array"),
        ({"tokens": [1, 2], "hour": [1]}, None, lb.InvalidInput, "differ in length"),
        ({"token": [1]}, None, lb.UnknownName, "did you mean 'tokens'"),
        ([CONTEXT, 3], None, lb.InvalidInput, "row 1 must be a mapping"),
        ([CONTEXT, {**CONTEXT, "tokens": None}], None, lb.InvalidInput, "row 1: .*'tokens'"),
        ([CONTEXT, {**CONTEXT, "tokens": "x"}], None, lb.InvalidInput, "row 1: .*'tokens'"),
        ([CONTEXT, {**CONTEXT, "hour": math.inf}], None, lb.InvalidInput, "row 1: .*'hour'"),
        ([{**CONTEXT, "tokens": 10**6}], ["larg"], lb.UnknownName, "did you mean 'large'"),
        ([{**CONTEXT, "tokens": 10**6}], [], lb.InvalidInput, "allowed is empty"),
        ([{**CONTEXT, "tokens": 10**6}], "large", lb.InvalidInput, "must be a list of arms"),
        ([{**CONTEXT, "tokens": 10**6}], 3, lb.InvalidInput, "must be a list of arms"),
        ([CONTEXT], [["small"], ["large"]], lb.InvalidInput, "2 lists for 1 context"),
        ([CONTEXT, CONTEXT], [["small"], []], lb.InvalidInput, "row 1: allowed is empty"),
    ],
)
def test_wrong_contexts_change_nothing(
    make: Make, contexts: Any, allowed: Any, kind: type[Exception], words: str
) -> None:
    chooser = make()
    with pytest.raises(kind, match=words):
        chooser.choose_many(contexts, allowed)
    assert chooser.waiting == 0
    assert chooser.contexts.counts == {"tokens": {}, "task": {}, "hour": {}}


@pytest.mark.parametrize(
    ("ids", "rewards", "kind", "words"),
    [
        (None, {"quality": [1, 1]}, lb.InvalidInput, "2 rewards for 3 decisions"),
        (None, {"qualty": [1, 1, 1]}, lb.UnknownName, "did you mean 'quality'"),
        (None, {"quality": [1, "x", 1]}, lb.InvalidInput, "row 1: quality must be a finite"),
        (None, {"quality": [1, 1, math.inf]}, lb.InvalidInput, "row 2: quality must be a finite"),
        (["x", "y", "z"], {"quality": [1, 1, 1]}, lb.UnknownDecision, "row 0: no decision 'x'"),
        ([[1], "y", "z"], {"quality": [1, 1, 1]}, lb.InvalidInput, "row 0: decision must be"),
        ("abc", {"quality": [1, 1, 1]}, lb.InvalidInput, "what choose_many returned"),
        (7, {"quality": [1]}, lb.InvalidInput, "what choose_many returned"),
    ],
)
def test_wrong_rewards_change_nothing(
    make: Make, ids: Any, rewards: Any, kind: type[Exception], words: str
) -> None:
    chooser = make()
    choices = chooser.choose_many([CONTEXT] * 3)
    with pytest.raises(kind, match=words):
        chooser.reward_many(choices if ids is None else ids, rewards)
    assert sum(chooser.summary().plays.values()) == 0
    chooser.reward_many(choices, {"quality": [0.1, 0.2, 0.3]})
    assert sum(chooser.summary().plays.values()) == 3


def test_one_decision_in_several_rows(make: Make) -> None:
    chooser = make()
    decision = chooser.choose(CONTEXT)
    twice = [decision.id, decision]
    with pytest.raises(lb.Contradiction, match="row 1: quality of decision"):
        chooser.reward_many(twice, {"quality": [0.1, 0.2]})  # type: ignore[arg-type]
    assert sum(chooser.summary().plays.values()) == 0
    chooser.reward_many(twice, {"quality": [0.1, None], "cost": [None, 0.01]})  # type: ignore[arg-type]
    chooser.reward_many([decision.id] * 2, {"quality": [0.1, 0.1]})
    assert sum(chooser.summary().plays.values()) == 1
    assert chooser.summary().received["quality"].count == 1


LOG = {
    **COLUMNS,
    "arm": [("small", "medium", "large")[n % 3] for n in range(N)],
    "quality": [0.2 + 0.3 * (n % 3) for n in range(N)],
    "cost": [0.01 if n % 2 else None for n in range(N)],
}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_log_is_a_warm_start(make: Make, frame: Any) -> None:
    chooser, single = make(), make()
    assert chooser.learn(frame(LOG)) == N
    for n in range(N):
        decision = single.choose(ROWS[n], [LOG["arm"][n]])
        told = {name: LOG[name][n] for name in ("quality", "cost") if LOG[name][n] is not None}
        single.reward(decision, told)
    assert chooser.waiting == 0
    for one, other in zip(chooser.explain(CONTEXT).arms, single.explain(CONTEXT).arms, strict=True):
        assert one.plays == other.plays
        assert one.estimates["quality"].value == pytest.approx(other.estimates["quality"].value)
        assert one.estimates["cost"].observations == other.estimates["cost"].observations


def test_a_log_may_hold_retired_arms_and_values_outside(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    chooser = make()
    chooser.retire_arm("small")
    with caplog.at_level(logging.WARNING, "lexbandit"):
        chooser.learn({**LOG, "quality": [1.5] * N})
    assert chooser.outside["quality"] == N
    assert len(caplog.records) == 1
    assert chooser.explain(CONTEXT).arms[0].plays == 14


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"arm": None}, lb.InvalidInput, "needs a column 'arm'"),
        ({"arm": ["smal"] * N}, lb.UnknownName, "did you mean 'small'"),
        ({"arm": [None] * N}, lb.UnknownName, "unknown arm None"),
        ({"quality": None, "cost": None}, lb.InvalidInput, "no reward of any objective"),
        ({"quality": [None] * N, "cost": None}, lb.InvalidInput, "no reward of any objective"),
        ({"quality": ["good"] * N}, lb.InvalidInput, "row 0: quality must be a finite number"),
        ({"quality": [0.0] * 3 + [math.inf] * (N - 3)}, lb.InvalidInput, "row 3: quality"),
        ({"qualty": [0.1] * N}, lb.UnknownName, "did you mean 'quality'"),
        ({"quality": [0.1]}, lb.InvalidInput, "differ in length"),
        (
            {"tokens": [900] * 3 + [None] * (N - 3)},
            lb.InvalidInput,
            "row 3: .* is missing",
        ),
        ({"tokens": ["900"] * N}, lb.InvalidInput, r"got '900' \(a text: convert it with float"),
        ({"quality": ["0.731"] * N}, lb.InvalidInput, r"'0.731' \(a text: convert it with float"),
        ({"context.tokens": [900] * N}, lb.UnknownName, "unknown column of a log: 'tokens'"),
        ({"date": ["x"] * N}, lb.UnknownName, "'date'.*learn.Log.frame, like=chooser"),
        ({"tokens": None}, lb.InvalidInput, "the log has no column 'tokens'"),
    ],
)
def test_wrong_logs_change_nothing(
    make: Make, change: dict[str, Any], kind: type[Exception], words: str
) -> None:
    chooser = make()
    log = {name: column for name, column in {**LOG, **change}.items() if column is not None}
    with pytest.raises(kind, match=words):
        chooser.learn(log)
    assert sum(chooser.summary().plays.values()) == 0
    assert chooser.contexts.counts == {"tokens": {}, "task": {}, "hour": {}}
    assert chooser.outside == {"quality": 0, "cost": 0}


def test_a_column_that_may_be_missing_is_said_to_be(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    chooser = make()
    with caplog.at_level(logging.WARNING, "lexbandit"):
        chooser.learn({name: column for name, column in LOG.items() if name != "task"})
    assert [record.getMessage() for record in caplog.records] == [
        "the log has no column 'task': all its rows are learned as if the value were missing."
    ]
    assert chooser.contexts.counts["task"] == {"missing": N}


def test_rows_without_a_reward_are_not_learned(make: Make) -> None:
    chooser, less = make(), make()
    half = {name: column[: N // 2] for name, column in LOG.items()}
    assert less.learn(half) == N // 2
    silent = [None] * (N - N // 2)
    log = {**LOG, "quality": [*half["quality"], *silent], "cost": [*half["cost"], *silent]}
    assert chooser.learn(log) == N // 2
    assert str(chooser.explain(CONTEXT)) == str(less.explain(CONTEXT))


@pytest.mark.parametrize("frame", FRAMES)
def test_what_the_service_exported_is_a_log(make: Make, frame: Any) -> None:
    renamed = {name: f"context.{name}" for name in COLUMNS}
    renamed |= {"quality": "reward.quality", "cost": "reward.cost", "arm": "arm"}
    exported = {renamed[name]: column for name, column in LOG.items()}
    others = {"seq": 7, "time": 1.5, "id": "x", "propensity": 0.5, "policy_version": 3}
    others |= {"allowed": None, "delay.quality": 2.5, "delay.cost": None}
    chooser, plain = make(), make()
    assert chooser.learn(frame({**exported, **{n: [v] * N for n, v in others.items()}})) == N
    plain.learn(LOG)
    assert chooser.digest() == plain.digest()
    with pytest.raises(lb.UnknownName, match=r"'context\.hours'; did you mean 'context\.hour'"):
        chooser.learn({**exported, "context.hours": [1.0] * N})
    assert chooser.digest() == plain.digest()


def test_frames_that_are_not_collected_say_so(make: Make) -> None:
    with pytest.raises(lb.InvalidInput, match=r"call collect\(\) first"):
        make().choose_many(polars(COLUMNS).lazy())
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame([[1.0, 2.0]], columns=["tokens", "tokens"])
    with pytest.raises(lb.InvalidInput, match="two columns of one name"):
        make().choose_many(twice)
    with pytest.raises(lb.InvalidInput, match="names of columns must be texts"):
        make().choose_many(pd.DataFrame([[1.0]], columns=[3]))


def test_categories_and_booleans_of_frames(make: Make) -> None:
    features = [lb.Category("task", ["code", "chat"]), lb.Flag("new", missing="middle")]
    columns = {"task": ["code", "chat", None], "new": [True, None, False]}
    expected = make(context=features).contexts.encode_many(columns)[0]
    frames = []
    if pl := pytest.importorskip("polars"):
        frames += [
            polars(columns),
            polars(columns).with_columns(pl.col("task").cast(pl.Categorical)),
        ]
    if pytest.importorskip("pandas"):
        frames += [pandas(columns), pandas_nullable(columns)]
        frames += [pandas(columns).astype({"task": "category"})]
    if pa := pytest.importorskip("pyarrow"):
        frames += [arrow({**columns, "task": pa.array(columns["task"]).dictionary_encode()})]
    from lexbandit.chooser.frames import columns_of

    for frame in frames:
        chooser = make(context=features)
        points = chooser.contexts.encode_many(columns_of(frame, ["task", "new"]))[0]
        np.testing.assert_array_equal(points, expected)
