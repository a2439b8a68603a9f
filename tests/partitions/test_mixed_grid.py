"""A grid with sides of its own in each dimension, and choosers on it."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit as lb
from lexbandit.errors import InvalidInput
from lexbandit.partitions import Exact, MixedGrid, UniformGrid
from lexbandit.smoothness import cells_per_side_for
from naive import cell_of


@given(
    sides=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    data=st.data(),
)
def test_agrees_with_the_definition(sides: list[int], data: Any) -> None:
    contexts = data.draw(
        st.lists(st.lists(st.floats(0, 1), min_size=len(sides), max_size=len(sides)), min_size=1)
    )
    grid = MixedGrid(sides)
    keys = grid.assign(contexts)
    for key, context in zip(keys, contexts, strict=True):
        expected = 0
        for x, side in zip(context, sides, strict=True):
            expected = expected * side + cell_of([x], side)[0]
        assert key == expected == grid.locate(np.array(context))


def test_equal_sides_are_the_uniform_grid() -> None:
    contexts = np.random.default_rng(0).random((300, 3))
    mixed, uniform = MixedGrid([7, 7, 7]), UniformGrid(3, 7)
    np.testing.assert_array_equal(mixed.assign(contexts), uniform.assign(contexts))
    assert mixed.cells == uniform.cells
    for L, alpha in ((1, 1), (3, 0.5)):
        assert mixed.margin(L=L, alpha=alpha) == pytest.approx(uniform.margin(L=L, alpha=alpha))


def test_every_cell_has_its_own_key_and_outside_has_none() -> None:
    sides = (2, 5, 3)
    centres = [
        [(k + 0.5) / side for k, side in zip(place, sides, strict=True)]
        for place in product(*(range(side) for side in sides))
    ]
    assert MixedGrid(sides).assign(centres).tolist() == list(range(30))
    for wrong in ([1.1, 0, 0], [0, -0.1, 0], [0, 0, math.nan]):
        assert MixedGrid(sides).locate(np.array(wrong)) == -1


def test_the_margin_counts_what_is_blurred_only() -> None:
    assert MixedGrid([10, Exact(4)]).margin(L=2, alpha=1) == pytest.approx(0.2)
    assert MixedGrid([10, 5]).margin(L=1, alpha=1) == pytest.approx(math.hypot(0.1, 0.2))
    assert MixedGrid([Exact(4)], finest=0.03).margin(L=1, alpha=1) == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ([], "cells_per_side must be a whole number, or one for each"),
        (3, "cells_per_side must be a whole number, or one for each"),
        ("33", "cells_per_side must be a whole number, or one for each"),
        ([3, 0], r"cells_per_side\[1\] must be"),
        ([2.5], r"cells_per_side\[0\] must be"),
        ([2**40, 2**40], "too fine"),
    ],
)
def test_wrong_grids(sides: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        MixedGrid(sides)


def policy(**given: Any) -> Any:
    return lb.make_policy("moc-mab", arms=2, dimension=2, horizon=10_000, **given)


def test_policies_take_one_number_or_one_for_each() -> None:
    assert policy(cells_per_side=5).partition == UniformGrid(2, 5)
    assert policy(cells_per_side=[5, 3]).partition.sides.tolist() == [5, 3]
    assert policy(cells_per_side=np.array([5, 3])).partition.cells == 15
    m = cells_per_side_for(horizon=10_000, alpha=1.0, dimension=1)
    assert policy(cells_per_side=[None, Exact(4)]).partition.sides.tolist() == [m, 4]
    for name in ("pareto-ts", "staged-lex", "cs-ucb1", "pf-lex", "annealing-pareto"):
        made: Any = lb.make_policy(name, arms=2, dimension=2, horizon=100, cells_per_side=[2, 3])
        assert made.partition.sides.tolist() == [2, 3]
    for wrong in ([5], [5, 3, 2], [5, 0], ["a", 2]):
        with pytest.raises(InvalidInput, match="cells_per_side"):
            policy(cells_per_side=wrong)


def test_a_state_of_another_grid_is_refused() -> None:
    one, other = policy(cells_per_side=[5, 3]), policy(cells_per_side=[3, 5])
    one.update([0.1, 0.2], 0, [0.5, 0.5])
    with pytest.raises(InvalidInput, match="partition"):
        other.load_state(one.state())
    same = policy(cells_per_side=[5, 3])
    same.load_state(one.state())
    assert same.explain([0.1, 0.2]).arms[0].plays == 1


def chooser(**settings: Any) -> lb.Chooser:
    given: dict[str, Any] = {
        "objectives": [lb.Objective("quality"), lb.Objective("speed")],
        "arms": ["a", "b"],
        "context": [
            lb.Number("size", 0, 100),
            lb.Category("task", list("abcdefghi")),
            lb.Flag("new"),
            lb.Cycle("hour", 24),
        ],
        "policy": "moc-mab",
        "horizon": 1000,
        **settings,
    }
    return lb.Chooser(**given)


def test_categories_have_cells_of_their_own() -> None:
    made: Any = chooser()
    m = cells_per_side_for(horizon=1000, alpha=1.0, dimension=2)
    assert made.policy.partition.sides.tolist() == [m, 10, 2, m]
    assert made.policy.partition.exact.tolist() == [False, True, True, False]
    assert made.policy.margin == pytest.approx(math.sqrt(2) / m)
    keys = {
        made.policy.partition.locate(
            made.contexts.encode({"size": 3, "task": task, "new": new, "hour": 1})[0]
        )
        for task in [*"abcdefghi", "other"]
        for new in (True, False)
    }
    assert len(keys) == 20


def test_what_is_learned_of_one_category_says_nothing_of_another() -> None:
    made = chooser()
    context = {"size": 3, "task": "a", "new": True, "hour": 1}
    for _ in range(10):
        made.reward(made.choose(context), quality=0.5, speed=0.5)

    def observed(context: dict[str, Any]) -> int:
        return sum(arm.estimates["quality"].observations for arm in made.explain(context).arms)

    for change in ({"task": "b"}, {"new": False}, {"task": "unheard of"}):
        assert observed({**context, **change}) == 0
    assert observed(context) == 10


def test_experts_may_set_the_cells() -> None:
    some: Any = chooser(cells_per_side=3).policy.partition  # type: ignore[attr-defined]
    assert some.sides.tolist() == [3, 10, 2, 3]
    own: Any = chooser(cells_per_side=[4, 5, None, 6]).policy.partition  # type: ignore[attr-defined]
    assert own.sides.tolist() == [4, 5, 2, 6]
    assert own.exact.tolist() == [False, False, True, False]


def test_categories_alone_reach_the_second_objective() -> None:
    """Nothing is blurred; an arm counts as known from a width of T^(-1/3) on."""
    made: Any = chooser(context=[lb.Category("task", ["a"])], scale=0.05)
    assert made.policy.margin == pytest.approx(0.1)
    for _ in range(400):
        decision = made.choose({"task": "a"})
        made.reward(decision, quality=0.5, speed=float(decision.arm == "b"))
    assert made.explain({"task": "a"}).likely == ("b",)
