"""A changed definition: at once where nothing is learned otherwise, else beside the requests."""

import asyncio
import os
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import lexbandit as lb
from lexbandit.service.definition import Definition
from lexbandit.service.engine import background_replay as replaying
from lexbandit.service.engine import engine as engines
from lexbandit.service.engine import start as opening
from lexbandit.service.engine.engine import Engine
from lexbandit.service.storage import make_storage
from service.homes import HOMES, Home, in_loop
from service.world import CONTEXT, definition, engine_on, replayed

POLICIES: dict[str, dict[str, Any]] = {
    "lex-thompson": {},
    "lex-linucb": {"policy": "lex-linucb"},
    "moc-mab": {"policy": "moc-mab", "horizon": 1000},
}


@pytest.fixture(params=sorted(HOMES))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return HOMES[request.param](tmp_path)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays go on beside the requests however short the log is, a few events at a time."""
    monkeypatch.setattr(opening, "_BEHIND", 0)
    monkeypatch.setattr(replaying, "_PAGE", 3)


async def traffic(engine: Engine, n: int) -> list[str]:
    ids = []
    for k in range(n):
        ids.append((await engine.decide("router", {**CONTEXT, "tokens": 100 * k})).id)
        if k % 3:
            await engine.reward("router", ids[-1], {"quality": k % 4 / 3, "cost": 0.01})
    return ids


def serves(engine: Engine, one: Definition) -> bool:
    return engine.points["router"].definition.plain() == one.plain()


async def anew(home: Home, changed: Definition) -> str:
    """Return the digest of the state that the log alone leads to."""
    home.sql("DELETE FROM {snapshots}")
    engine = await Engine.start({"router": changed}, make_storage(home.url))
    try:
        return engine.points["router"].digest()
    finally:
        await engine.stop()


async def until_replayed(engine: Engine) -> None:
    async with asyncio.timeout(60):
        while engine.replays:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("policy", POLICIES)
@in_loop
async def test_a_changed_tolerance_takes_effect_without_a_replay(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, path = POLICIES[policy], tmp_path / "log.db"
    async with engine_on(path, **settings) as engine:
        await traffic(engine, 40)
    with monkeypatch.context() as none:
        for fold in ("_fold", "_fold_many"):
            none.setattr(Engine, fold, lambda *_: pytest.fail("the log was read anew"))
        async with engine_on(path, tolerance=0.3, **settings) as engine:
            chooser = engine.points["router"].chooser
            assert chooser.objectives[0].tolerance == 0.3
            tolerances = chooser.policy.read_tolerances
            assert tolerances is not None
            assert tolerances[0] == 0.3
            assert not engine.replays
    async with engine_on(path, tolerance=0.3, **settings) as engine:
        await traffic(engine, 10)
    assert await replayed(path, tolerance=0.3, **settings) == engine.points["router"].digest()


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("change", ["policy", "features"])
@in_loop
async def test_the_definition_of_before_serves_while_the_changed_one_learns(
    home: Home, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lexbandit.service")
    if change == "policy":
        changed = definition(policy="lex-linucb")
    else:
        changed = definition(context=[lb.Number("tokens", 0, 9000), lb.Cycle("hour", 24),
                                      lb.Category("task", ["code", "chat", "maths"])])  # fmt: skip
    engine = await Engine.start({"router": definition()}, make_storage(home.url))
    ids = await traffic(engine, 60)
    await engine.stop()

    engine = await Engine.start({"router": changed}, make_storage(home.url))
    assert 0 <= engine.replay_progress["router"] < 1
    assert serves(engine, definition())
    during = await traffic(engine, 5)
    assert (await engine.reward("router", ids[0], {"quality": 1.0})).learned
    await until_replayed(engine)
    assert engine.replay_progress == {}
    assert serves(engine, changed)
    assert (await engine.reward("router", during[0], {"quality": 1.0})).learned
    await traffic(engine, 5)
    digest = engine.points["router"].digest()
    await engine.stop()
    assert "the changed definition serves from here on" in caplog.text

    engine = await Engine.start({"router": changed}, make_storage(home.url))
    assert (engine.replays, engine.points["router"].digest()) == ({}, digest)
    await engine.stop()
    assert await anew(home, changed) == digest


@pytest.mark.usefixtures("slowly")
@in_loop
async def test_a_replay_goes_on_where_it_stopped(home: Home) -> None:
    engine = await Engine.start({"router": definition()}, make_storage(home.url))
    await traffic(engine, 60)
    await engine.stop()
    changed = definition(policy="lex-linucb")
    begun = []
    for _ in range(20):
        engine = await Engine.start({"router": changed}, make_storage(home.url))
        if not engine.replays:
            break
        begun.append(engine.replays["router"].point.seq)
        async with asyncio.timeout(60):  # some pages, then it ends
            while engine.replays and engine.replays["router"].point.seq < begun[-1] + 20:
                await asyncio.sleep(0)
        await engine.stop()
    await engine.stop()
    assert len(begun) > 2
    assert begun == sorted(set(begun))  # each time from later on
    assert await anew(home, changed) == engine.points["router"].digest()


def _replay_until_killed(url: str, changed: Definition, begun: Path) -> None:
    """Note where a replay begins, let it save snapshots and go further, and be killed."""

    async def run() -> None:
        engine = await Engine.start({"router": changed}, make_storage(url))
        replay = engine.replays["router"]
        first = replay.point.seq
        with begun.open("a") as file:
            file.write(f"{first}\n")
        async with asyncio.timeout(60):
            while replay.point.seq < first + 20:
                await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(run())


@pytest.mark.usefixtures("slowly")
def test_a_replay_goes_on_where_a_kill_stopped_it(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "_SAVE", 0.0)  # a snapshot after every page

    async def fill() -> None:
        engine = await Engine.start({"router": definition()}, make_storage(home.url))
        await traffic(engine, 60)
        await engine.stop()

    async def end(changed: Definition) -> str:
        engine = await Engine.start({"router": changed}, make_storage(home.url))
        await until_replayed(engine)
        await engine.stop()
        return engine.points["router"].digest()

    asyncio.run(fill())
    changed, begun = definition(policy="lex-linucb"), tmp_path / "begun"
    for _ in range(3):
        child = get_context("fork").Process(
            target=_replay_until_killed, args=(home.url, changed, begun)
        )
        child.start()
        child.join(100)
        assert child.exitcode == -signal.SIGKILL
    first, second, third = map(int, begun.read_text().split())
    assert first < second - 10  # all but the last page was in a snapshot
    assert second < third - 10
    digest = asyncio.run(end(changed))
    assert asyncio.run(anew(home, changed)) == digest


@pytest.mark.usefixtures("slowly")
@in_loop
async def test_where_the_log_does_not_fit_the_definition_of_before_goes_on(home: Home) -> None:
    engine = await Engine.start({"router": definition()}, make_storage(home.url))
    await traffic(engine, 30)
    await engine.stop()
    changed = definition(context=[lb.Number("tokenz", 0, 9000)])
    for _ in range(2):  # the next start finds the same
        engine = await Engine.start({"router": changed}, make_storage(home.url))
        async with asyncio.timeout(60):
            while engine.replays["router"].stopped is None:
                await asyncio.sleep(0.01)
        assert "do not fit its changed definition" in str(engine.replays["router"].stopped)
        await traffic(engine, 3)
        assert serves(engine, definition())
        await engine.stop()
    engine = await Engine.start({"router": changed}, make_storage(home.url), skip_untaken=True)
    await until_replayed(engine)
    assert serves(engine, changed)
    await engine.stop()


async def definitions_in(engine: Engine) -> list[str]:
    return [key.definition for key in await engine.storage.snapshots()]


@pytest.mark.parametrize("retain", [None, 3600.0])
@in_loop
async def test_snapshots_of_former_definitions_go_but_for_the_last(
    home: Home, retain: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `retain` they go with the events: what left the log is in them alone."""
    monkeypatch.setattr(engines, "_LOOK", 0.02)
    monkeypatch.setattr(engines, "_LONGEST", 0.02)
    first, former, serving = (definition(explore=explore) for explore in (0.1, 0.2, 0.3))
    for one in (first, former):
        engine = await Engine.start({"router": one}, make_storage(home.url))
        await traffic(engine, 10)
        await engine.snapshots.take()
        await engine.stop()
    engine = await Engine.start({"router": serving}, make_storage(home.url), retain=retain)
    assert {first.fingerprint, former.fingerprint} <= set(await definitions_in(engine))
    async with asyncio.timeout(30):
        while (await definitions_in(engine)).count(serving.fingerprint) < 2:
            await traffic(engine, 1)
            await asyncio.sleep(0.01)
    await traffic(engine, 3)
    await asyncio.sleep(0.2)
    kept = {former.fingerprint, serving.fingerprint} | ({first.fingerprint} if retain else set())
    assert set(await definitions_in(engine)) == kept
    await engine.stop()

    for one in (former, first):  # both can be returned to
        engine = await Engine.start({"router": one}, make_storage(home.url))
        digest = engine.points["router"].digest()
        await engine.stop()
        assert await anew(home, one) == digest
