"""What a column may be: masked values are missing, and what is no column is refused."""

import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.frames import columns_of

Make = Callable[..., RecordingChooser]

N = 40
LOG: dict[str, Any] = {
    "tokens": [100.0 * n for n in range(N)],
    "task": ["code", "maths"] * (N // 2),
    "hour": [n % 24 for n in range(N)],
    "arm": ["small", "large"] * (N // 2),
    "quality": [0.5 + 0.01 * n for n in range(N)],
    "cost": [0.01] * N,
}


def masked(column: Any, rows: Any) -> Any:
    return np.ma.array(column, mask=[n in rows for n in range(len(column))])


def without(column: Any, rows: Any) -> list[Any]:
    return [None if n in rows else value for n, value in enumerate(column)]


@pytest.mark.parametrize("column", ["quality", "cost", "task"])
def test_a_masked_value_is_learned_as_a_missing_one(make: Make, column: str) -> None:
    chooser, other, rows = make(), make(), range(3, 17)
    assert chooser.learn({**LOG, column: masked(LOG[column], rows)}) == N
    other.learn({**LOG, column: without(LOG[column], rows)})
    assert chooser.digest() == other.digest()
    unlike = make()
    unlike.learn(LOG)
    assert chooser.digest() != unlike.digest()


def test_a_masked_reward_is_not_told(make: Make) -> None:
    chooser = make()
    choices = chooser.choose_many([CONTEXT] * 3)
    chooser.reward_many(choices, {"quality": masked([0.1, 0.2, 0.3], [1]), "cost": [0.01] * 3})
    assert chooser.decision(choices.ids[1]).rewards == {"cost": 0.01}
    chooser.reward_many(choices.ids[1:2], np.ma.array([[0.7, 9.0]], mask=[[False, True]]))
    assert chooser.decision(choices.ids[1]).rewards == {"cost": 0.01, "quality": 0.7}
    with pytest.raises(lb.InvalidInput, match="got masked"):
        chooser.reward(chooser.choose(CONTEXT), quality=np.ma.masked)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_a_masked_feature_is_missing(make: Make, dtype: Any) -> None:
    features = [lb.Number("tokens", 0, 10, missing="middle"), lb.Cycle("hour", missing="middle")]
    chooser = make(context=features)
    given = {name: masked(np.array([5, 6, 7], dtype), [1]) for name in ("tokens", "hour")}
    points, notes = chooser.contexts.encode_many(columns_of(given, list(given)))
    plain = {name: [5.0, None, 7.0] for name in given}
    assert points.tolist() == chooser.contexts.encode_many(plain)[0].tolist()
    assert notes == (("tokens", "missing", 1), ("hour", "missing", 1))
    chooser.choose_many(np.ma.array([[5, 6], [7, 8]], dtype, mask=np.eye(2, dtype=bool)))
    assert chooser.contexts.counts == {"tokens": {"missing": 1}, "hour": {"missing": 1}}
    with pytest.raises(lb.InvalidInput, match=r"row 1: .*'tokens' is missing"):
        make(context=[lb.Number("tokens", 0, 10)]).choose_many({"tokens": given["tokens"]})


def test_one_masked_value_is_missing_in_every_kind_of_feature(make: Make) -> None:
    kinds: list[Any] = [
        lb.Number("x", missing="middle"),
        lb.Cycle("x", missing="middle"),
        lb.Flag("x", missing="middle"),
        lb.Vector("x", 2, missing="middle"),
        lb.Category("x", ["a"]),
    ]
    for feature in kinds:
        chooser = make(context=[feature])
        chooser.choose({"x": np.ma.masked})
        chooser.choose_many([{"x": np.ma.masked}])
        assert chooser.contexts.counts == {"x": {"missing": 2}}, feature
    vector = make(context=[lb.Vector("x", 2, missing="middle")])
    vector.choose({"x": np.ma.array([0.5, 0.5], mask=[True, False])})
    vector.choose_many(
        {"x": np.ma.array([[0.5, 0.5], [0, 1]], mask=[[True, False], [False, False]])}
    )
    assert vector.contexts.counts == {"x": {"missing": 2}}


def test_a_mask_without_masked_values_changes_nothing(make: Make) -> None:
    chooser, other = make(), make()
    chooser.learn({name: masked(column, []) for name, column in LOG.items()})
    other.learn(LOG)
    assert chooser.digest() == other.digest()


def test_a_masked_arm_is_refused_with_its_row(make: Make) -> None:
    chooser = make()
    with pytest.raises(lb.UnknownName, match="row 7: unknown arm None"):
        chooser.learn({**LOG, "arm": masked(LOG["arm"], [7])})
    assert sum(chooser.summary().plays.values()) == 0


@pytest.mark.parametrize("given", [1j, np.complex128(1j), np.complex64(2), np.array(1j)])
@pytest.mark.parametrize("feature", [lb.Number("x", 0, 5), lb.Cycle("x"), lb.Vector("x", 1)])
@pytest.mark.filterwarnings("error")
def test_complex_numbers_are_refused(make: Make, given: Any, feature: Any) -> None:
    chooser = make(context=[feature])
    value = [given] if feature.kind == "vector" else given
    with pytest.raises(lb.InvalidInput, match="number"):
        chooser.choose({"x": value})
    with pytest.raises(lb.InvalidInput, match="number"):
        chooser.choose_many({"x": np.array([value, value])})
    with pytest.raises(lb.InvalidInput, match="quality must be a finite number"):
        chooser.learn({"x": [[0.5]], "arm": ["small"], "quality": np.array([given])})
    decision = chooser.choose({"x": [0.5] if feature.kind == "vector" else 0.5})
    with pytest.raises(lb.InvalidInput, match="quality must be a finite number"):
        chooser.reward(decision, quality=given)


NO_COLUMNS = [
    {1: 2},
    {1, 2},
    b"ab",
    bytearray(b"ab"),
    memoryview(b"ab"),
    np.array(1.0),
    "ab",
    3,
    None,
]


@pytest.mark.parametrize("column", NO_COLUMNS, ids=lambda column: type(column).__name__)
def test_what_is_no_column_is_refused(make: Make, column: Any) -> None:
    refused(make, column)


@pytest.mark.parametrize("name", ["NA", "NaT", "Timestamp", "DataFrame"])
def test_what_is_no_column_of_pandas_is_refused(make: Make, name: str) -> None:
    pd = pytest.importorskip("pandas")
    given = {"Timestamp": pd.Timestamp(0), "DataFrame": pd.DataFrame({"a": [1]})}
    refused(make, given.get(name, getattr(pd, name)))


def test_what_is_no_column_of_arrow_is_refused(make: Make) -> None:
    pa = pytest.importorskip("pyarrow")
    for column in (pa.scalar(1.0), pa.scalar([1.0]), pa.scalar("ab"), pa.table({"a": [1.0]})):
        refused(make, column)


def refused(make: Make, column: Any) -> None:
    chooser = make()
    for call in (
        lambda: chooser.choose_many({"tokens": column}),
        lambda: chooser.learn({**LOG, "quality": column}),
    ):
        with pytest.raises(lb.InvalidInput, match=r"column '.*' must be a list or an array of val"):
            call()
    assert sum(chooser.summary().plays.values()) == chooser.waiting == 0


def test_columns_of_every_kind_are_taken(make: Make) -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    expected = make().contexts.encode_many({**LOG_CONTEXTS, "tokens": [1.0, 2.0]})[0].tolist()
    for column in (
        (1.0, 2.0),
        range(1, 3),
        array.array("d", [1, 2]),
        {1.0: 0, 2.0: 0}.keys(),
        pd.Series([1, 2]),
        pd.Index([1, 2]),
        pd.array([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
    ):
        proposed = make().propose_many({**LOG_CONTEXTS, "tokens": column})
        assert proposed.points.tolist() == expected
    chooser = make(context=[lb.Number("tokens", 0, 9, missing="middle")])
    chooser.choose_many({"tokens": pd.array([1, None])})
    assert chooser.contexts.counts == {"tokens": {"missing": 1}}


LOG_CONTEXTS = {"task": ["code", "chat"], "hour": [1.0, 2.0]}


def test_two_columns_of_one_name_are_refused_in_arrow(make: Make) -> None:
    pa = pytest.importorskip("pyarrow")
    twice = pa.table([[1.0], [2.0]], names=["tokens", "tokens"])
    for frame in (twice, twice.to_batches()[0]):
        for take in (make().choose_many, make().learn):
            with pytest.raises(lb.InvalidInput, match="two columns of one name"):
                take(frame)


def test_what_is_to_be_read_first_says_how(make: Make) -> None:
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pa.table({"tokens": [1.0]})
    for frame, how in ((table.to_reader(), "read_all"), (dataset.dataset(table), "to_table")):
        for take in (make().choose_many, make().learn):
            with pytest.raises(lb.InvalidInput, match=rf"Arrow table is wanted.*call {how}\(\)"):
                take(frame)


@pytest.mark.parametrize("path", ["past.csv", Path("past.csv")])
def test_a_path_says_what_reads_files(make: Make, path: str | Path) -> None:
    with pytest.raises(lb.InvalidInput, match=r"files are read by lexbandit\.Log\(FILE"):
        make().learn(path)


def test_a_wrong_arm_of_a_log_is_told_with_its_row(make: Make) -> None:
    for wrong in ("smal", None, 3, ["small"]):
        arms = [*LOG["arm"][:5], wrong, *LOG["arm"][6:]]
        with pytest.raises(lb.UnknownName, match="row 5: unknown arm"):
            make().learn({**LOG, "arm": arms})


@pytest.mark.parametrize("wrong", [True, None, "0.5", 0.0, 1j, np.ma.masked])
def test_many_propensities_are_looked_at_as_one_is(make: Make, wrong: Any) -> None:
    chooser = make()
    with pytest.raises(lb.InvalidInput, match="propensity must be a probability"):
        chooser.proposal("small", wrong, CONTEXT)
    with pytest.raises(lb.InvalidInput, match="row 1: propensity must be a probability"):
        chooser.proposals(["small"] * 2, [0.5, wrong], [CONTEXT] * 2)
    for wrong_list in (np.array(0.5), 0.5, "ab"):
        with pytest.raises(lb.InvalidInput, match="must be a list of probabilities"):
            chooser.proposals(["small"], wrong_list, [CONTEXT])
    taken = chooser.proposals(np.array(["small"] * 2), np.array([0.5, np.nan]), [CONTEXT] * 2)
    assert taken.arms == ["small", "small"]
    assert taken.propensities[0] == 0.5
    assert np.isnan(taken.propensities[1])


def test_an_array_of_no_dimension_is_no_list(make: Make) -> None:
    chooser = make()
    none: Any = np.array("small")
    for call in (
        lambda: make(arms=none),
        lambda: make(objectives=np.array(lb.Objective("q"), object)),
        lambda: chooser.choose(CONTEXT, none),
        lambda: chooser.choose_many([CONTEXT], none),
        lambda: chooser.explain(CONTEXT, none),
        lambda: chooser.reward_many(none, {"quality": [1.0]}),
        lambda: chooser.proposals(none, [0.5], [CONTEXT]),
        lambda: chooser.record_many(none, chooser.propose_many([CONTEXT])),
        lambda: chooser.choose_many(np.array(1.0)),
        lambda: lb.Category("x", none),
    ):
        with pytest.raises(lb.InvalidInput, match=r"must (be|have)|one or more"):
            call()
