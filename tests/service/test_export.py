"""The log as a table: one row a decision, its rewards beside it, nothing lost and nothing twice."""

import asyncio
import re
import tracemalloc
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lexbandit as lb
from chooser.conftest import router
from lexbandit.cli.main import status_of
from lexbandit.service.events import body_of
from lexbandit.service.maintenance import export as exporting
from lexbandit.service.maintenance.export import export
from lexbandit.service.storage import StorageFailed, make_storage
from service.homes import new_event
from service.http import CONTEXT, Served, served
from service.world import Hands, definition


def exported(folder: Path, name: str = "out.parquet") -> int:
    """Export by the command line."""
    log = f"sqlite:{folder / 'log.db'}"
    return status_of(["export", "router", "--to", str(folder / name), "--storage", log])


async def some(s: Served) -> None:
    """Decide in rows and in columns; tell rewards in parts, in a batch, and of some only."""
    await s.decide(id="a", allowed=["small", "large"])
    await s.decide(id="b")
    columns: dict[str, Any] = {name: [value] * 3 for name, value in CONTEXT.items()}
    columns["task"] = ["code", None, "chat"]
    many = await s.engine.decide_columns("router", columns, ["medium"])
    await s.engine.reward("router", "a", {"quality": 0.25})
    await s.engine.reward("router", "a", {"cost": 0.01})
    await s.engine.reward_many("router", [(id, {"cost": 0.02}) for id in many.ids[:2]])
    await s.engine.add_arm("router", "huge")


def test_one_row_a_decision_while_the_service_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await some(s)
            assert await asyncio.to_thread(exported, tmp_path) == 0
            await s.decide(id="later")  # the service goes on

    asyncio.run(run())
    assert "5 decisions of router are in" in capsys.readouterr().err
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table.columns == [
        "seq", "time", "id", "arm", "propensity", "policy_version", "allowed",
        "context.tokens", "context.task", "context.hour",
        "reward.quality", "delay.quality", "reward.cost", "delay.cost",
    ]  # fmt: skip
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    listed = re.findall(r"`([\w.]+)`", page.partition("One row a decision:")[2].partition("\n")[0])
    assert listed[:7] == table.columns[:7]
    assert listed[7:] == ["context.NAME", "reward.NAME", "delay.NAME"]
    assert table["id"][:2].to_list() == ["a", "b"]
    assert table["arm"][2:].to_list() == ["medium"] * 3
    all_then = ["small", "medium", "large"]  # before "huge" was added
    assert table["allowed"].to_list() == [["small", "large"], all_then, *[["medium"]] * 3]
    assert table["context.task"].to_list() == ["code", "code", "code", None, "chat"]
    assert table["context.tokens"].to_list() == [900.0] * 5
    assert table["reward.quality"].to_list() == [0.25, None, None, None, None]
    assert table["reward.cost"].to_list() == [0.01, None, 0.02, 0.02, None]
    assert (table["delay.cost"].drop_nulls() >= 0).all()
    assert table["time"].is_sorted()
    assert table["propensity"].is_between(0, 1).all()
    assert sorted(one.name for one in tmp_path.iterdir() if "export" in one.name) == []


def test_rows_say_which_arms_could_be_chosen_where_arms_changed(tmp_path: Path) -> None:
    """Before an arm was added, and after one was retired; null where it could be any."""

    async def run() -> None:
        async with served(tmp_path) as s:
            for id in ("a", "b"):
                await s.decide(id=id)
            await s.engine.add_arm("router", "huge")
            await s.engine.add_arm("router", "huge")  # changes nothing
            await s.decide(id="c")
            await s.engine.retire_arm("router", "small")
            await s.decide(id="d")
            await s.decide(id="e", allowed=["huge"])
            reader = s.engine.storage.reader()
            await reader.open()
            arms = s.engine.points["router"].chooser.arms
            first = next(
                event.seq
                for event in await reader.read_since(0, 10, "router")
                if event.kind == "decisions"
            )
            await export(reader, "router", tmp_path / "later.parquet", since=first, arms=arms)
            await reader.close()

    asyncio.run(run())
    assert exported(tmp_path) == 0
    allowed = pl.read_parquet(tmp_path / "out.parquet")["allowed"].to_list()
    before, after = {"small", "medium", "large"}, {"medium", "large", "huge"}
    assert [one and set(one) for one in allowed] == [before, before, None, after, {"huge"}]
    later = pl.read_parquet(tmp_path / "later.parquet")["allowed"].to_list()
    assert [one and set(one) for one in later] == [before, None, after, {"huge"}]
    log = lb.Log(f"sqlite:{tmp_path / 'log.db'}", point="router")
    with pytest.raises(lb.InvalidInput, match=r"row 0, column 'allowed': .* probability to 'huge'"):
        lb.evaluate(log, "always:huge")


def test_a_feature_that_never_had_a_value_has_no_column(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            columns = {name: [value, value] for name, value in CONTEXT.items()}
            await s.engine.decide_columns("router", {**columns, "task": [None, None]})

    asyncio.run(run())
    assert exported(tmp_path) == 0
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table.height == 2
    assert "context.task" not in table.columns
    assert table["context.tokens"].to_list() == [900.0, 900.0]


def test_csv_and_lines_hold_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await some(s)

    asyncio.run(run())
    for name in ("out.parquet", "out.csv", "out.jsonl"):
        assert exported(tmp_path, name) == 0
    table = pl.read_parquet(tmp_path / "out.parquet")
    lines = pl.read_ndjson(tmp_path / "out.jsonl")
    text = pl.read_csv(tmp_path / "out.csv")
    for name in ("id", "arm", "propensity", "context.tokens", "reward.cost"):
        assert lines[name].to_list() == table[name].to_list() == text[name].to_list()
    assert lines["allowed"].to_list() == table["allowed"].to_list()
    assert text["allowed"][0] == '["small", "large"]'


ROUTER = """
[points.router]
arms = ["small", "medium"]
objectives = [{name = "quality"}, {name = "cost", goal = "min", range = [0, 0.05]}]
context = [{kind = "number", name = "tokens", low = 0, high = 8000}]
"""


@pytest.mark.parametrize("name", ["", "out.parquet", "out.csv", "out.jsonl"])
def test_arms_that_were_added_are_those_of_a_log_like_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Of the storage and of its exports; the chooser that learns has them, too."""

    async def run() -> None:
        async with served(tmp_path, arms=("small", "medium")) as s:
            await s.decide(id="a", allowed=["small"])
            for arm in ("1.10", "gone"):
                await s.engine.add_arm("router", arm)
                id = (await s.decide(allowed=[arm]))["id"]
                await s.engine.reward("router", id, {"quality": 1.0, "cost": 0.01})
            await s.engine.retire_arm("router", "gone")
            await s.engine.add_arm("router", "never played")

    asyncio.run(run())
    if name:
        assert exported(tmp_path, name) == 0
    log = str(tmp_path / name) if name else f"sqlite:{tmp_path / 'log.db'}"
    (tmp_path / "router.toml").write_text(ROUTER)
    like = [log, "--like", str(tmp_path / "router.toml")]
    to = tmp_path / "learned.lexbandit"
    capsys.readouterr()
    assert status_of(["learn", *like, "--to", str(to)]) == 0, capsys.readouterr().err
    learned = lb.Chooser.load(to)
    assert learned.policy.state()["plays"].tolist()[:4] == [0, 0, 1, 1]
    assert f"New arms: 1.10, gone{'' if name else ', never played'}." in capsys.readouterr().err
    chosen = ["small", "medium", "1.10"]
    assert learned.arms == (*chosen, *(["gone"] if name else ["never played"]))
    assert status_of(["evaluate", *like, "--candidate", "always:1.10"]) == 0


VECTOR = lb.Vector("embedding", length=2, missing="middle")


@pytest.mark.parametrize("name", ["", "out.parquet", "out.csv"])
def test_an_id_that_was_used_again_is_two_decisions_to_learn_from(
    tmp_path: Path, name: str
) -> None:
    """And a decision that is there twice is refused nevertheless."""

    async def run() -> None:
        hands = Hands()
        async with served(tmp_path, hands=hands, wait=10.0) as s:
            for n in range(3):
                await s.decide(id=f"other-{n}")  # by which the time of those before is over
                if n < 2:
                    await s.decide(id="again")
                    await s.engine.reward("router", "again", {"quality": 1.0, "cost": 0.01})
                hands.pass_by(20.0)

    asyncio.run(run())
    for one in ("out.parquet", "out.csv"):
        assert exported(tmp_path, one) == 0
    like = definition(wait=10.0)
    chooser = like.chooser(like.arms, lambda: 0.0)
    log = lb.Log(str(tmp_path / name) if name else f"sqlite:{tmp_path / 'log.db'}", like=chooser)
    assert (log.rows, chooser.learn(log)) == (5, 4)  # the last one is too young
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table["id"].to_list().count("again") == 2
    twice = lb.Log(pl.concat([table.slice(1, 1), table.tail(-1)]), like=chooser)
    with pytest.raises(lb.InvalidInput, match="the id 'again' was there before"):
        twice.span  # noqa: B018


def test_a_name_with_quotes_is_read_back_from_csv(tmp_path: Path) -> None:
    table = pl.DataFrame({"arm": ["a", "b"], 'say "hi", 2': [1.0, 0.0]})
    table.write_csv(tmp_path / "log.csv")
    log = lb.Log(str(tmp_path / "log.csv"), objectives=lb.Objective('say "hi", 2'), arms=["a", "b"])
    batches = log.batches(propensities=False)
    assert [one for rows in batches for one in rows.rewards[:, 0].tolist()] == [1.0, 0.0]


def test_a_vector_is_read_back_from_every_format(tmp_path: Path) -> None:
    """To the last bit, also where it is missing; and ids stay the texts that they are."""
    vectors = [[0.1 + 0.2, 5e-324], [1, 0], None, [1 / 3, 0.7]]

    async def run() -> None:
        async with served(tmp_path, context=[VECTOR]) as s:
            for id, vector in zip(("1", "1.0", "01", "1e0"), vectors, strict=True):
                await s.decide(context={"embedding": vector}, id=id)
                await s.engine.reward("router", id, {"quality": 1 / 3, "cost": 0.01})

    asyncio.run(run())
    like = definition(context=[VECTOR])
    chooser = like.chooser(like.arms, lambda: 0.0)
    states = []
    for name in ("out.parquet", "out.csv", "out.jsonl"):
        assert exported(tmp_path, name) == 0
        log = lb.Log(str(tmp_path / name), like=chooser)
        points = [one for rows in log.batches() for one in rows.points(log.contexts).tolist()]
        assert log.span is not None  # no id is there twice
        learner = like.chooser(like.arms, lambda: 0.0)
        learner.learn(log)
        states.append((points, learner.digest()))
    assert states[0][0] == [[0.1 + 0.2, 5e-324], [1.0, 0.0], [0.5, 0.5], [1 / 3, 0.7]]
    assert states == states[:1] * 3


@pytest.mark.parametrize("text", ["near", "[0.1, x]", '"[true, 1]"', "0.5"])
def test_what_is_no_vector_in_a_file_of_text_is_refused(tmp_path: Path, text: str) -> None:
    written = text.replace(",", "") if text[0] != '"' else text
    head = "arm,propensity,embedding,quality,cost\n"
    (tmp_path / "log.csv").write_text(f"{head}small,0.5,{written},1,0.01\nsmall,0.5,x,1,0.01\n")
    like = definition(context=[VECTOR])
    log = lb.Log(str(tmp_path / "log.csv"), like=like.chooser(like.arms, lambda: 0.0))
    rows = next(iter(log.batches()))
    with pytest.raises(lb.InvalidInput, match=r"row 0, column 'embedding': .* a list of numbers"):
        rows.points(log.contexts)


def test_what_cannot_be_exported_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path) == 1
    assert "there is no file" in capsys.readouterr().err

    async def run() -> None:
        async with served(tmp_path):
            pass

    asyncio.run(run())
    assert exported(tmp_path, "out.xlsx") == 1
    assert ".parquet, .csv or .jsonl" in capsys.readouterr().err
    log = f"sqlite:{tmp_path / 'log.db'}"
    assert status_of(["export", "rooter", "--to", "x.csv", "--storage", log]) == 1
    assert "did you mean 'router'" in capsys.readouterr().err
    assert exported(tmp_path) == 0  # no decision yet: an empty table
    assert pl.read_parquet(tmp_path / "out.parquet").height == 0


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await some(s)
            reader = make_storage(f"sqlite:{tmp_path / 'log.db'}", reading=True)
            await reader.open()
            assert len(await reader.read_since(0, 100)) == s.engine.seq
            with pytest.raises(StorageFailed, match="reading only"):
                await reader.append([new_event("router", "tick", b"{}")])
            await reader.close()

    asyncio.run(run())


def test_memory_does_not_grow_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six times the rows take about the memory of the few."""
    monkeypatch.setattr(exporting, "_PAGE", 4)
    monkeypatch.setattr(exporting, "_ROWS", 1000)

    async def write(path: Path, batches: int) -> None:
        storage = make_storage(f"sqlite:{path}")
        await storage.open()
        body = {"arms": ["x"], "definition": {"objectives": [{"name": "o"}], "context": []}}
        await storage.append([new_event("p", "begin", body_of(body))])
        for n in range(batches):
            ids = [f"{n}-{k}" for k in range(500)]
            columns = {"by": "r", "version": 1, "ids": ids, "arms": ["x"] * 500, "allowed": None}
            columns |= {"propensities": [0.5] * 500, "contexts": {"f": list(range(500))}}
            rows = [{"id": id, "values": {"o": 1.0}} for id in ids]
            events = [new_event("p", "decisions", body_of(columns))]
            events += [new_event("p", "rewards", body_of({"rows": rows}))]
            await storage.append(events)
        await storage.close()

    async def peak(path: Path, rows: int) -> int:
        reader = make_storage(f"sqlite:{path}", reading=True)
        await reader.open()
        tracemalloc.start()
        done = await export(reader, "p", path.with_suffix(".parquet"))
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        await reader.close()
        assert done.rows == rows
        table = pl.read_parquet(path.with_suffix(".parquet"))
        assert table["reward.o"].sum() == rows
        return memory

    async def run() -> None:
        await write(tmp_path / "few.db", 4)
        await write(tmp_path / "many.db", 24)
        few = await peak(tmp_path / "few.db", 2_000)
        many = await peak(tmp_path / "many.db", 12_000)
        assert many < 1.5 * few, (few, many)

    asyncio.run(run())


def test_an_id_that_came_twice_is_one_row(tmp_path: Path, capsys: Any) -> None:
    """Two replicas may write the same request; the first in the log is the decision."""

    async def run() -> None:
        async with served(tmp_path) as s:
            await s.decide(id="a")
            events = await s.engine.storage.read_since(0, 10, "router")
            (stored,) = [event for event in events if event.kind == "decisions"]
            told = [body_of({"rows": [{"id": "a", "values": {"cost": v}}]}) for v in (0.01, 0.02)]
            events = [new_event("router", "decisions", stored.body)]
            events += [new_event("router", "rewards", one) for one in told]
            await s.engine.storage.append(events)

    asyncio.run(run())
    assert exported(tmp_path) == 0
    assert "1 more was asked of two replicas at once" in capsys.readouterr().err
    assert pl.read_parquet(tmp_path / "out.parquet")["reward.cost"].to_list() == [0.01]


def test_an_id_that_is_used_again_when_it_is_over_has_two_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hands = Hands()

    async def run() -> None:
        async with served(tmp_path, hands=hands, wait=100) as s:
            await s.decide(id="a", allowed=["small"])
            await s.engine.reward("router", "a", {"cost": 0.01})
            hands.pass_by(101)
            await s.decide()  # time passes with the events of the log
            await s.decide(id="a", allowed=["large"])
            await s.engine.reward("router", "a", {"cost": 0.02, "quality": 0.5})

    asyncio.run(run())
    assert exported(tmp_path) == 0
    assert "more" not in capsys.readouterr().err
    table = pl.read_parquet(tmp_path / "out.parquet").filter(pl.col("id") == "a")
    assert table["arm"].to_list() == ["small", "large"]
    assert table["reward.cost"].to_list() == [0.01, 0.02]
    assert table["reward.quality"].to_list() == [None, 0.5]
    assert table["delay.cost"].to_list() == [0.0, 0.0]


def test_an_id_that_is_used_again_when_it_was_dropped_for_room_has_two_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with served(tmp_path, keep=1) as s:
            await s.decide(id="a", allowed=["small"])
            await s.decide(id="b")
            await s.decide(id="a", allowed=["large"])
            await s.engine.reward("router", "a", {"quality": 0.9})

    asyncio.run(run())
    assert exported(tmp_path) == 0
    assert "more" not in capsys.readouterr().err
    table = pl.read_parquet(tmp_path / "out.parquet").filter(pl.col("id") == "a")
    assert table["arm"].to_list() == ["small", "large"]
    assert table["reward.quality"].to_list() == [None, 0.9]


def test_a_wrong_place_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await s.decide()

    asyncio.run(run())
    assert exported(tmp_path, "none/out.csv") == 1
    told = capsys.readouterr().err
    assert f"there is no folder {tmp_path / 'none'} to write out.csv into" in told
    assert "runs" not in told
    long = f"{'x' * 300}.csv"
    assert exported(tmp_path, long) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path / long} cannot be written: File name too long, in the folder" in told


@pytest.mark.parametrize(
    ("name", "read"),
    [("out.parquet", pl.read_parquet), ("out.csv", pl.read_csv), ("out.jsonl", pl.read_ndjson)],
)
def test_a_chooser_learns_from_an_export(tmp_path: Path, name: str, read: Any) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await some(s)

    asyncio.run(run())
    assert exported(tmp_path, name) == 0
    chooser = router()
    assert chooser.learn(read(tmp_path / name)) == 3  # those with a reward
    cost = {arm.name: arm.estimates["cost"].observations for arm in chooser.explain(CONTEXT).arms}
    assert cost["medium"] >= 2
    assert sum(cost.values()) == 3
