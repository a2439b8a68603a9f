"""Many events folded in blocks lead to the state of one after the other, bit for bit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lexbandit.contexts import Category, Flag, Number
from lexbandit.objectives import Objective
from lexbandit.service.definition import Definition
from lexbandit.service.engine import blocks
from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.point import Point
from lexbandit.service.events import Event, Kind, body_of

ARMS = ("small", "medium", "large")


def definition(**changed: Any) -> Definition:
    given: dict[str, Any] = {
        "objectives": [Objective("quality"), Objective("cost", range=(0, 0.05), goal="min")],
        "context": [Number("tokens", 0, 1000), Category("task", ["code", "chat"]), Flag("new")],
        "wait": 50.0,
        "keep": 12,
        "explore": 0.1,
        "horizon": 1000,
    }
    return Definition(name="router", arms=ARMS, **{**given, **changed})


DEFINITIONS = {
    "usual": definition(),
    "for ever": definition(wait=None),
    "much": definition(keep=1000),
    "defaults": definition(
        objectives=[Objective("quality", default=0.0), Objective("cost", range=(0, 0.05))]
    ),
    "clipped": definition(
        objectives=[Objective("quality", outside="clip"), Objective("cost", range=(0, 0.05))]
    ),
    "cells": definition(policy="moc-mab"),
    "at once": definition(policy="p-ucb1"),
    "other features": definition(context=[Number("tokens", 0, 500), Flag("task"), Flag("new")]),
}

IDS = st.integers(0, 30).map(str)
CONTEXTS = st.fixed_dictionaries(
    {
        "tokens": st.one_of(st.floats(0, 1000), st.integers(-10, 1100)),
        "task": st.sampled_from(["code", "chat", "song", None]),
        "new": st.booleans(),
    }
)
VALUES = st.dictionaries(
    st.sampled_from(["quality", "cost"]),
    st.sampled_from([0.0, 0.01, 0.02, 0.05, 0.3, 1.0, 1.5, 1]),
    min_size=1,
)


@st.composite
def decision(draw: st.DrawFn) -> dict[str, Any]:
    arm = draw(st.sampled_from(ARMS))
    row: dict[str, Any] = {
        "id": draw(IDS),
        "arm": arm,
        "propensity": draw(st.sampled_from([None, 0.2, 1.0])),
    }
    row["context"] = draw(st.one_of(CONTEXTS, CONTEXTS, CONTEXTS, st.none()))
    if draw(st.integers(0, 3)) == 0:
        row["allowed"] = draw(st.sampled_from([[arm], list(ARMS), ["small"], None]))
    if draw(st.integers(0, 3)) == 0:
        row["key"] = draw(st.sampled_from(["k", "l"]))
    return row


DECISIONS = st.lists(decision(), min_size=1, max_size=3, unique_by=lambda row: row["id"]).map(
    lambda rows: ("decisions", {"by": "x", "version": 7, "rows": rows})
)
COLUMNS = st.lists(
    st.tuples(IDS, CONTEXTS), min_size=1, max_size=3, unique_by=lambda one: one[0]
).map(
    lambda rows: (
        "decisions",
        {
            "by": "x",
            "version": 3,
            "ids": [id for id, _ in rows],
            "arms": ["small"] * len(rows),
            "propensities": [0.5] * len(rows),
            "contexts": {name: [one[name] for _, one in rows] for name in rows[0][1]},
            "allowed": None,
        },
    )
)
REWARD: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"id": IDS, "values": VALUES})
REWARDS = st.lists(
    REWARD,
    min_size=1,
    max_size=3,
    unique_by=lambda row: row["id"],
).map(lambda rows: ("rewards", {"rows": rows}))
OTHERS = st.sampled_from(
    [
        ("tick", {}),
        ("erase", {"ids": ["1", "2"]}),
        ("erase", {"ids": ["1", "1"]}),  # an id whose first decision left, and that came again
        ("arm", {"arm": "huge", "change": "add"}),
        ("arm", {"arm": "small", "change": "retire"}),
        ("arm", {"arm": "small", "change": "add"}),
    ]
)
STEPS = st.tuples(
    st.sampled_from([0.0, 0.25, 0.5, 3.0, 30.0]),
    st.one_of(DECISIONS, DECISIONS, REWARDS, REWARDS, REWARDS, COLUMNS, OTHERS),
)


def log_of(steps: Sequence[tuple[float, tuple[Kind, dict[str, Any]]]]) -> list[Event]:
    begin = body_of({"arms": list(ARMS), "definition": {}})
    events, time = [Event(1, 1000.0, "router", "begin", begin)], 1000.0
    for seq, (passed, (kind, body)) in enumerate(steps, 2):
        time += passed
        events.append(Event(seq, time, "router", kind, body_of(body)))
    return events


def one_by_one(definition: Definition, events: Sequence[Event]) -> Point:
    point = Point(definition)
    for event in events:
        point.fold(event)
    return point


def state(point: Point) -> tuple[Any, ...]:
    return point.digest(), point.seq, point.unfit, point.last_untaken, point.first_unfit


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=10, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    steps=st.lists(STEPS, max_size=30),
    block=st.sampled_from([1, 2, 7, 2000]),
    alone=st.sampled_from([1, 1, 20]),
    data=st.data(),
)
def test_blocks_lead_where_single_events_lead(
    name: str, steps: list[Any], block: int, alone: int, data: st.DataObject
) -> None:
    events = log_of(steps)
    expected = one_by_one(DEFINITIONS[name], events)
    point = Point(DEFINITIONS[name])
    cut = data.draw(st.integers(0, len(events)))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(blocks, "_BLOCK", block)
        changed.setattr(blocks, "_ALONE", alone)
        fold_many(point, events[:cut])
        fold_many(point, events[cut:])
    assert state(point) == state(expected)


def test_points_of_open_decisions_hold_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards that come in parts and late do not multiply the memory of the points."""
    monkeypatch.setattr(blocks, "_BLOCK", 200)
    context = {"tokens": 5.0, "task": "code", "new": True}
    row = {"arm": "small", "propensity": 0.5, "context": context}
    steps: list[tuple[float, tuple[Kind, dict[str, Any]]]] = []
    for n in range(1200):
        made = {"by": "x", "version": 3, "rows": [{"id": str(n), **row}]}
        steps.append((0.0, ("decisions", made)))
        for ago, name in ((150, "quality"), (350, "cost")):
            if n >= ago and n % 10:
                rewards = {"rows": [{"id": str(n - ago), "values": {name: 0.01}}]}
                steps.append((0.0, ("rewards", rewards)))
    point = Point(definition(wait=None, keep=10_000))
    fold_many(point, log_of(steps))
    held, needed = {}, 0
    for pending in point.chooser._ledger.pending.values():
        array = pending.point
        needed += array.nbytes
        while isinstance(array.base, np.ndarray):
            array = array.base
        held[id(array)] = array.nbytes
    assert sum(held.values()) <= 1.1 * needed
