"""The commands of docs/evaluate-logs.md, run on the log of a demo; a storage as a log."""

import asyncio
import json
import re
import shlex
from pathlib import Path

import pytest

import lexbandit as lb
from lexbandit.cli.demo import CONFIG, POINT, World
from lexbandit.cli.main import status_of
from lexbandit.service.config.file import read_config
from lexbandit.service.dashboard import what_if
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import DecisionRequest
from lexbandit.service.storage import Storage, make_storage
from lexbandit.service.storage.sqlite import SqliteStorage
from service.world import Hands

pytestmark = pytest.mark.compiled

PAGE = Path(__file__).parents[2] / "docs" / "evaluate-logs.md"
COMMAND = re.compile(r"^    (lexbandit .*)$", re.MULTILINE)
BLOCK, BLOCKS = 200, 15


async def play(storage: Storage, config: Path, hands: Hands | None = None) -> Engine:
    """Play the demo's traffic without waiting; returns the engine, which goes on."""
    engine = await Engine.start(read_config(config, {}).points, storage)
    world = World()
    for _ in range(BLOCKS):
        prompts = [world.prompt() for _ in range(BLOCK)]
        decided = await engine.decide_many(POINT, [DecisionRequest(one) for one in prompts])
        told = [
            (decision.id, world.answer(prompt, decision.arm))
            for prompt, decision in zip(prompts, decided, strict=True)
        ]
        await engine.reward_many(POINT, told)
        if hands is not None:
            hands.pass_by(3.0)
    return engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `lexbandit demo --keep demo` leaves behind, but for the waiting."""
    folder = tmp_path_factory.mktemp("walk")
    kept = folder / "demo"
    kept.mkdir()
    (kept / "demo.toml").write_text(CONFIG)
    hands = Hands()

    async def run() -> None:
        storage = SqliteStorage(kept / "demo.db", hands.clock())
        await (await play(storage, kept / "demo.toml", hands)).stop()

    asyncio.run(run())
    return folder


def test_the_commands_of_the_page_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    commands = [shlex.split(line)[1:] for line in COMMAND.findall(PAGE.read_text())]
    assert commands.pop(0) == ["demo", "--keep", "demo", "--seconds", "180"]
    assert [command[0] for command in commands].count("evaluate") >= 4
    printed = {}
    for command in commands:
        assert status_of(command) == 0, command
        printed[" ".join(command)] = capsys.readouterr().out
    stored, by_file, *_ = (text for name, text in printed.items() if name.startswith("evaluate"))
    assert stored.startswith("always:medium against logged: 3,000 rows\n")
    assert stored in by_file  # the exported file says what the storage says
    assert "<svg" in (folder / "report.html").read_text()
    trained = next(text for name, text in printed.items() if "--json" in name)
    assert json.loads(trained)["evaluations"][0]["trained"] == 1500
    learned = lb.Chooser.load(folder / "router.lexbandit").policy.state()["plays"]
    assert learned.sum() == 8 * BLOCK  # those older than the 20 s in which rewards come


def test_postgresql_is_a_log(tmp_path: Path, postgres_url: str) -> None:
    """As a source of `Log`, and for the dashboard's "What if", while the service goes on."""
    config = tmp_path / "demo.toml"
    config.write_text(CONFIG.replace("wait = 20\n", ""))

    async def run() -> tuple[lb.Log, dict[str, object]]:
        engine = await play(make_storage(postgres_url), config)
        try:
            log = await asyncio.to_thread(lb.Log, postgres_url)
            asked = what_if.WhatIf(engine.storage)
            told = asked.ask(engine.points[POINT])
            while told["computing"]:
                await asyncio.sleep(0.05)
                told = asked.ask(engine.points[POINT])
            return log, told["report"]
        finally:
            await engine.stop()

    log, report = asyncio.run(run())
    assert (log.rows, report["error"], report["rows"]) == (3000, None, 3000)
    assert log.objectives[1].tolerance == 0.002
    found = lb.evaluate(log, "always:small")
    assert found["quality"].high < 0.0 < found["cost"].difference
    candidates = {one["candidate"]: one for one in report["candidates"]}  # type: ignore[attr-defined]
    # The page says lower and higher in place of signs.
    shown, sentence = candidates["always:small"]["sentence"], found.decision.sentence
    assert shown.partition(" (")[0] == sentence.partition(" (")[0]
    assert shown.partition(") ")[2] == sentence.partition(") ")[2]
