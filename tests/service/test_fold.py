"""State = snapshot + replay, bit for bit, whatever happened; and a plain twin keeps count."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.errors import InvalidInput
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import DecisionRequest, Point
from service.world import definition, engine_on, replayed

TASKS = ["code", "maths", "chat", "poetry"]
CONTEXTS = st.fixed_dictionaries(
    {
        "tokens": st.one_of(st.integers(-10, 9000), st.floats(0, 8000)),
        "task": st.sampled_from(TASKS),
        "hour": st.floats(0, 24),
    }
)
ALLOWED = st.none() | st.lists(st.sampled_from(["small", "medium", "large", "huge"]), max_size=3)
KEYS = st.none() | st.sampled_from(["a", "b", "c"])
VALUES = st.dictionaries(
    st.sampled_from(["quality", "cost", "speed"]),
    st.sampled_from([0.0, 0.01, 0.5, 2.0]),
    max_size=2,
)
DID = st.one_of(
    st.tuples(st.just("decide"), CONTEXTS, ALLOWED, KEYS),
    st.tuples(st.just("batch"), st.lists(st.tuples(CONTEXTS, ALLOWED, KEYS), max_size=4)),
    st.tuples(st.just("columns"), st.lists(CONTEXTS, min_size=1, max_size=4)),
    st.tuples(st.just("reward"), st.integers(0, 12), VALUES),
    st.tuples(st.just("rewards"), st.lists(st.tuples(st.integers(0, 12), VALUES), max_size=3)),
    st.tuples(st.just("add"), st.sampled_from(["huge", "small"])),
    st.tuples(st.just("retire"), st.sampled_from(["huge", "small", "large"])),
)


class Twin:
    """What must have been learned, kept in plain dictionaries."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.told: dict[tuple[str, str], float] = {}

    def decided(self, *ids: str) -> None:
        for id in ids:
            if id not in self.made:
                self.made.append(id)

    def rewarded(self, id: str, values: dict[str, float]) -> None:
        for name, value in values.items():
            assert self.told.setdefault((id, name), value) == value

    def count(self, name: str) -> int:
        return sum(objective == name for _, objective in self.told)


async def do(engine: Engine, twin: Twin, did: tuple[Any, ...]) -> None:
    """Do one thing; where it is refused the twin learns nothing either."""
    what, *args = did
    if what == "decide":
        twin.decided((await engine.decide("router", *args)).id)
    elif what == "batch":
        rows = [DecisionRequest(*row) for row in args[0]]
        twin.decided(*[one.id for one in await engine.decide_many("router", rows)])
    elif what == "columns":
        columns = {name: [context[name] for context in args[0]] for name in args[0][0]}
        twin.decided(*(await engine.decide_columns("router", columns)).ids)
    elif what == "add":
        await engine.add_arm("router", args[0])
    elif what == "retire":
        await engine.retire_arm("router", args[0])
    else:
        told: list[Any] = [args] if what == "reward" else args[0]
        named = [(twin.made[n] if n < len(twin.made) else "nobody", v) for n, v in told]
        await engine.reward_many("router", named)
        for id, values in named:
            twin.rewarded(id, values)


@settings(deadline=None, max_examples=20)
@given(st.lists(DID, min_size=1, max_size=25), st.integers(0, 24))
def test_whatever_happens_the_log_leads_to_the_same_state(
    things: list[tuple[Any, ...]], cut: int
) -> None:
    async def run(path: Path) -> None:
        twin = Twin()
        async with engine_on(path) as engine:
            point = engine.points["router"]
            for n, did in enumerate(things):
                if n == cut:
                    early, seq = point.packer()(), engine.seq
                before, at = point.digest(), engine.seq
                try:
                    await do(engine, twin, did)
                except InvalidInput:
                    assert (engine.seq, point.digest()) == (at, before)
            digest = point.digest()
            received = engine.points["router"].chooser.summary().received
            for name in ("quality", "cost"):
                assert received[name].count == twin.count(name)
            assert point.counts["decisions"] == len(twin.made)
            if cut < len(things):
                again = Point.unpack(definition(), early)
                for stored in await engine.storage.read_since(seq, 1000, "router"):
                    again.fold(stored)
                assert again.digest() == digest
        assert await replayed(path) == digest

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "log.db"))
