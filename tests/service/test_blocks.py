"""Many events folded in blocks lead to the state of one after the other, bit for bit."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
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
from lexbandit.service.engine.bodies import read_decisions, read_rewards
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import DecisionRequest, Point
from lexbandit.service.events import Event, Events, Kind, body_of, by_columns, read_body
from lexbandit.service.storage.sqlite import SqliteStorage

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
    "missing": definition(
        context=[
            Number("tokens", 1, 1000, scale="log", missing="middle", outside="refuse"),
            Category("task", ["code", "chat"], outside="refuse"),
            Flag("new", missing="middle"),
        ]
    ),
    "cells": definition(policy="moc-mab"),
    "at once": definition(policy="p-ucb1"),
    "other features": definition(context=[Number("tokens", 0, 500), Flag("task"), Flag("new")]),
}

ODD_IDS = ('"', "\\", "é", "ключ", '{"id":"1"}', "a,b", "\n", "👍")
IDS = st.one_of(*[st.integers(0, 30).map(str)] * 4, st.sampled_from(ODD_IDS))
WHOLE_CONTEXTS = st.fixed_dictionaries(
    {
        "tokens": st.one_of(
            *[st.floats(0, 1000), st.integers(-10, 1100)] * 3,
            st.sampled_from([1e300, 2**63, 2**64 - 1, -0.0, 5e-324]),
        ),
        "task": st.sampled_from(["code", "chat", "song", 'so"ng', "пе\\сня", None]),
        "new": st.booleans(),
    }
)
CONTEXTS = st.one_of(
    *[WHOLE_CONTEXTS] * 5,
    st.builds(
        lambda context, name, there: (
            {**context, name: None} if there else {k: context[k] for k in context if k != name}
        ),
        WHOLE_CONTEXTS,
        st.sampled_from(["tokens", "task", "new"]),
        st.booleans(),
    ),
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
        row["key"] = draw(st.sampled_from(["k", "l", None]))
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
            "contexts": {name: [one.get(name) for _, one in rows] for name in rows[0][1]},
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


# Bodies as other programs, or other versions of this one, might write them.
CHANGES = st.sampled_from(
    [
        (b"0.01", b"1e-2"),
        (b"0.3", b"3E-1"),
        (b"1.0", b"1E0"),
        (b"1.0", b"1"),
        (b"0.0", b"-0.0"),
        (b"0.0", b"-0"),
        (b"0.5", b"0.5000000000000000000001"),
        (b":0.2", b":2000000000000000000000e-22"),
        (b":0.2", b":true"),
        (b'"tokens":', b'"tokens":1e999,"token":'),
        (b'"tokens":', b'"tokens":1000000000000000000000000000000000,"later":'),
        (b'"tokens":', b'"tokens":[1,2],"more":'),
        (b'"task"', b'"t\\u0061sk"'),
        (b'"task"', b'"task":"code","task"'),
        (b'"id":', b'"id":"5","id":'),
        (b'"id":', b'"extra":{"a":[1,{"rows":[]}]},"id":'),
        (b'"id":', b' "id" : '),
        (b'"id":"', b'"id":"\\u0031'),
        (b'"rows":', b'"new":null,"rows":'),
        (b'"rows":', b'"seen":12345678901234567890123,"rows":'),
        (b'"by":"x"', b'"by":{"name":"x"}'),
        (b'"by":"x"', b'"by":"\xff"'),
        (b'"version":7', b'"version":7.5'),
        (b'"values":', b'"values":{},"others":'),
        (b'"quality":', b'"qualities":'),
        (b'"key":"k"', b'"key":null'),
        (b"}]", b"},]"),
        (b"}", b""),
    ]
)


@st.composite
def body(draw: st.DrawFn, plain: dict[str, Any]) -> bytes:
    """Return a body as the service writes it, and sometimes in another way."""
    how = draw(st.integers(0, 40))
    if how == 0:
        return json.dumps(plain, ensure_ascii=draw(st.booleans())).encode()
    if how == 1:
        return json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
    written = body_of(plain)
    return written.replace(*draw(CHANGES)) if how == 2 else written


def log_of(steps: Sequence[tuple[float, tuple[Kind, Any]]]) -> list[Event]:
    begin = body_of({"arms": list(ARMS), "definition": {}})
    events, time = [Event(1, 1000.0, "router", "begin", begin)], 1000.0
    for seq, (passed, (kind, body)) in enumerate(steps, 2):
        time += passed
        written = body if isinstance(body, bytes) else body_of(body)
        events.append(Event(seq, time, "router", kind, written))
    return events


STEPS = st.tuples(
    st.sampled_from([0.0, 0.25, 0.5, 3.0, 30.0]),
    st.one_of(DECISIONS, DECISIONS, REWARDS, REWARDS, REWARDS, COLUMNS, OTHERS).flatmap(
        lambda step: st.tuples(st.just(step[0]), body(step[1]))
    ),
)


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
    try:
        expected = one_by_one(DEFINITIONS[name], events)
    except Exception as error:  # a body that cannot be read, or has no rows: the log is corrupt
        with pytest.raises(type(error)):
            fold_many(Point(DEFINITIONS[name]), events)
        return
    point = Point(DEFINITIONS[name])
    cut = data.draw(st.integers(0, len(events)))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(blocks, "_BLOCK", block)
        changed.setattr(blocks, "_ALONE", alone)
        fold_many(point, events[:cut])
        fold_many(point, events[cut:])
    assert state(point) == state(expected)


def test_a_reward_at_the_moment_when_its_time_is_over_is_late() -> None:
    context = {"tokens": 5.0, "task": "code", "new": True}
    row = {"id": "1", "arm": "small", "propensity": 0.5, "context": context}
    reward = {"rows": [{"id": "1", "values": {"quality": 1.0}}]}
    for passed, learned in ((49.75, 1), (50.0, 0)):
        events = log_of(
            [
                (0.0, ("decisions", {"by": "x", "version": 1, "rows": [row]})),
                (passed, ("rewards", reward)),
            ]
        )
        expected, point = one_by_one(definition(), events), Point(definition())
        fold_many(point, events)
        assert state(point) == state(expected)
        assert sum(point.chooser.plays.values()) == learned


def test_a_key_that_is_null_is_none() -> None:
    """The same id with another request is refused, one by one and in blocks."""
    context = {"tokens": 5.0, "task": "code", "new": True}
    row = {"id": "1", "arm": "small", "propensity": 0.5, "key": None, "context": context}
    steps: list[tuple[float, tuple[Kind, dict[str, Any]]]] = [
        (0.0, ("decisions", {"by": "x", "version": 1, "rows": [{**row, "arm": arm}]}))
        for arm in ("small", "large")
    ]
    expected, point = one_by_one(definition(), log_of(steps)), Point(definition())
    fold_many(point, log_of(steps))
    assert state(point) == state(expected)
    assert point.counts == {"events": 3, "decisions": 1, "untaken": 1}
    assert not point.keys


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


def test_what_the_service_writes_is_read_by_columns(tmp_path: Path) -> None:
    """Or else a replay takes three times as long."""
    point = definition(wait=None, keep=1000)
    contexts: list[dict[str, Any]] = [
        {"tokens": 5, "task": "code", "new": True},
        {"new": False, "tokens": 1e-7, "task": 'a "new" one\n'},
        {"tokens": 10**18, "task": "ключ", "new": False},
    ]

    async def run() -> Events:
        engine = await Engine.start({"router": point}, SqliteStorage(tmp_path / "log.db"))
        ids = []
        for n, context in enumerate(contexts):
            ids.append((await engine.decide("router", context)).id)
            ids.append((await engine.decide("router", context, id=f'order"{n}')).id)
        asked = [
            DecisionRequest(one, ["small", "large"], f"é{n}") for n, one in enumerate(contexts)
        ]
        ids += [one.id for one in await engine.decide_many("router", asked)]
        for n, id in enumerate(ids):
            await engine.reward("router", id, {"quality": n % 2, "cost": n * 1e-9})
        made = await engine.decide_many("router", [DecisionRequest(contexts[0])] * 120)
        await engine.reward_many("router", [(one.id, {"quality": 0.25}) for one in made])
        events = await engine.storage.read_since(0, 1000, "router")
        await engine.stop()
        return by_columns(events)

    events = asyncio.run(run())
    names = [feature.name for feature in point.context]
    decisions = read_decisions(events, names)
    rewards = read_rewards(events, [objective.name for objective in point.objectives])
    assert (len(decisions.alone), len(rewards.alone)) == (0, 0)
    assert decisions.decisions.ids == [
        row["id"]
        for event in events
        if event.kind == "decisions"
        for row in read_body(event)["rows"]
    ]
    assert len(rewards.rewards.ids) == 9 + 120
