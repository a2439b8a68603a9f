"""Context features in their own units."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit import (
    Category,
    Chooser,
    Cycle,
    Flag,
    InvalidInput,
    Number,
    Objective,
    UnknownName,
    Vector,
)
from lexbandit.contexts import Contexts, Feature


def one(feature: Feature, value: Any, *, smooth: bool = True) -> list[float]:
    return [float(x) for x in Contexts([feature], smooth=smooth).encode({feature.name: value})[0]]


def test_numbers() -> None:
    assert one(Number("x", 10, 20), 15) == [0.5]
    assert one(Number("x", 10, 20), np.float32(20)) == [1.0]
    assert one(Number("x", 1, 100, scale="log"), 10) == [pytest.approx(0.5)]
    assert one(Number("x", 0, 1), 7) == [1.0]
    assert one(Number("x", 0, 1), 10**400) == [1.0]
    assert one(Number("x", 0, 1, missing="middle"), None) == [0.5]
    assert one(Number("x", 0, 1, missing="middle"), math.nan) == [0.5]


def test_categories() -> None:
    task = Category("task", ["code", "maths", "chat"])
    assert one(task, "maths") == [0, 1, 0]
    assert one(task, "poetry") == one(task, None) == [0, 0, 0]
    places = [one(task, v, smooth=False)[0] for v in ("code", "maths", "chat", "poetry")]
    assert places == [0.125, 0.375, 0.625, 0.875]  # the middles of four cells


@given(st.floats(-1e6, 1e6), st.integers(-5, 5))
def test_a_cycle_comes_round(hour: float, days: int) -> None:
    here = one(Cycle("hour", 24), hour)
    assert one(Cycle("hour", 24), hour + 24 * days) == pytest.approx(here, abs=1e-6)
    assert math.hypot(here[0] - 0.5, here[1] - 0.5) == pytest.approx(0.5)


def test_midnight_is_near_one_minute_before() -> None:
    before, after = one(Cycle("hour", 24), 23 + 59 / 60), one(Cycle("hour", 24), 0.0)
    assert math.dist(before, after) < 0.003
    assert one(Cycle("hour", 24), 6.0, smooth=False) == [0.25]


def test_flags_and_vectors() -> None:
    assert one(Flag("on"), True) == [1.0]
    assert one(Flag("on"), np.False_) == [0.0]
    assert one(Vector("e", 3, -1, 1), [-1, 0, 5]) == [0.0, 0.5, 1.0]


def test_what_was_taken_otherwise_is_counted() -> None:
    contexts = Contexts([Number("x", 0, 1), Category("k", ["a"]), Number("y", missing="middle")])
    assert contexts.encode({"x": 0.5, "k": "a", "y": 0.1})[1] == ()
    _, single = contexts.encode({"x": 2, "k": "b"})
    _, many = contexts.encode_many({"x": [0.1, -3.0], "k": ["a", None], "y": [0.2, None]})
    assert contexts.counts == {"x": {}, "k": {}, "y": {}}  # a look counts nothing
    contexts.count(single)
    contexts.count(many)
    assert contexts.counts == {
        "x": {"outside its range": 2},
        "k": {"unknown": 1, "missing": 1},
        "y": {"missing": 2},
    }


@given(st.lists(st.tuples(st.floats(-1, 9), st.sampled_from("abc"), st.booleans()), min_size=1))
def test_columns_give_what_single_contexts_give(rows: list[tuple[float, str, bool]]) -> None:
    features = [
        Number("x", 0, 8),
        Category("k", ["a", "b"]),
        Flag("f"),
        Number("l", 1, 9, scale="log"),
        Cycle("c", 3),
    ]
    columns: dict[str, Any] = {
        "x": np.array([r[0] for r in rows]), "k": [r[1] for r in rows], "f": [r[2] for r in rows],
        "l": [1 + abs(r[0]) / 2 for r in rows], "c": [r[0] for r in rows],
    }  # fmt: skip
    points = Contexts(features).encode_many(columns)[0]
    single = [
        Contexts(features).encode({name: column[n] for name, column in columns.items()})[0]
        for n in range(len(rows))
    ]
    np.testing.assert_array_equal(points, single)  # to the last bit: a replay may come in batches


@pytest.mark.parametrize("feature", [Number("x", 0, 9), Cycle("x", 24)])
@pytest.mark.parametrize("column", [[2.5, True], [[], [], 2.5], [[1.0, 2.0], [1.0]], [[1.0], 2]])
def test_a_column_with_what_is_no_number_is_refused(feature: Feature, column: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"row \d: context feature 'x' must be a"):
        Contexts([feature]).encode_many({"x": column})


@pytest.mark.parametrize(
    ("feature", "value", "words"),
    [
        (Number("x"), None, 'missing="middle"'),
        (Number("x"), "3", "must be a number"),
        (Number("x"), True, "must be a number"),
        (Number("x"), math.inf, "from 0 to 1"),
        (Number("x", outside="refuse"), 2, "from 0 to 1"),
        (Category("x", ["code"], outside="refuse"), "cod", "did you mean 'code'"),
        (Category("x", ["code"], missing="refuse"), None, "is missing"),
        (Category("x", ["code"]), 3, "unknown value"),
        (Category("x", ["code"]), ["code"], "must be one of"),
        (Flag("x"), 1, "True or False"),
        (Cycle("x", 24), math.inf, "finite"),
        (Cycle("x", 24), "noon", "finite"),
        (Vector("x", 2), [1], "shape"),
        (Vector("x", 2), [0, math.inf], "from 0 to 1"),
    ],
)
def test_wrong_values_are_refused_and_not_counted(feature: Feature, value: Any, words: str) -> None:
    contexts = Contexts([feature])
    with pytest.raises(InvalidInput, match=words):
        contexts.encode({"x": value})
    assert contexts.counts == {"x": {}}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Number("x", 1, 1), "lower first"),
        (lambda: Number("x", 0, 1, scale="log"), "above 0"),
        (lambda: Number("x", scale="cubic"), "scale"),  # type: ignore[arg-type]
        (lambda: Category("x", []), "list of names"),
        (lambda: Category("x", "abc"), "list of names"),
        (lambda: Category("x", ["a", "a"]), "must differ"),
        (lambda: Cycle("x", 0), "period"),
        (lambda: Vector("x", 0), "length"),
        (lambda: Number("x", missing="zero"), "missing of feature"),  # type: ignore[arg-type]
        (lambda: Contexts(Number("x")), "list of features"),  # type: ignore[arg-type]
        (lambda: Contexts("x"), "list of features"),  # type: ignore[arg-type]
        (lambda: Contexts([Number("x"), Flag("x")]), "two context features"),
        (lambda: Contexts(["x"]), "is a Number"),  # type: ignore[list-item]
    ],
)
def test_wrong_features_are_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()


def test_an_unknown_feature_gets_the_nearest_name() -> None:
    contexts = Contexts([Number("tokens", 0, 9)])
    with pytest.raises(UnknownName, match="did you mean 'tokens'"):
        contexts.encode({"token": 3})
    with pytest.raises(UnknownName, match="did you mean 'tokens'"):
        contexts.encode_many({"token": [3]})
    with pytest.raises(UnknownName, match="did you mean 'tokens'"):  # before a wrong value
        Contexts([Number("x"), Number("tokens")]).encode({"x": "wrong", "token": 3})
    with pytest.raises(InvalidInput, match="must be a mapping"):
        contexts.encode([3])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="differ in length"):
        Contexts([Number("a"), Number("b")]).encode_many({"a": [0.1], "b": [0.1, 0.2]})


def test_a_tree_tells_categories_apart_as_it_splits() -> None:
    """Not from the first on, as a grid does: values share a cube until so many came to it."""
    chooser = Chooser(
        objectives=Objective("clicks"), arms=["a", "b"], policy="lex-tree",
        context=[Category("task", ["code", "maths", "chat"])],
    )  # fmt: skip
    partition: Any = getattr(chooser.policy, "partition", None)

    def cubes() -> int:
        tasks = ("code", "maths", "chat", "poetry")
        return len({partition.locate(chooser.contexts.encode({"task": t})[0]) for t in tasks})

    seen = [cubes()]
    for n in range(40):
        task = ("code", "maths", "chat", "poetry")[n % 4]
        chooser.reward(chooser.choose({"task": task}), clicks=n % 2)
        seen.append(cubes())
    assert seen[0] == 1  # nothing came yet
    assert seen[-1] == 4
    assert seen == sorted(seen)
