"""`lexbandit demo`: a real process that learns, ends when it should, and leaves nothing behind."""

import functools
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexbandit.cli.demo import CONFIG, Traffic, World, standing
from lexbandit.cli.main import status_of
from lexbandit.cli.serve import sample
from lexbandit.errors import ServiceError
from lexbandit.service.config.file import Config, read_config
from service.process import killed_after

pytestmark = pytest.mark.compiled

START = "import sys; from lexbandit.cli import main; main(sys.argv[1:])"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator["Demo"]:
    one = Demo(tmp_path)
    yield one
    one.process.kill()
    one.process.communicate()


class Demo:
    """A demo of half a minute, with its temporary folder where the test can look at it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        command = ["demo", "--seconds", "30", "--no-browser", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", START, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        assert self.process.stdout is not None
        with killed_after(180, self.process):  # it may have to compile
            for line in self.process.stdout:
                found = re.match(r"Watch it learn: (http://127\.0\.0\.1:\d+)/$", line)
                if found:
                    self.url = found[1]
                    return
        raise AssertionError(self.process.communicate()[1])


def test_it_makes_traffic_and_ends_by_ctrl_c(demo: Demo) -> None:
    deadline = time.monotonic() + 20
    totals = {"rewards": 0}
    while not totals["rewards"] and time.monotonic() < deadline:
        time.sleep(0.2)
        told = httpx.get(f"{demo.url}/v1/router/history").json()
        totals = told["totals"]
    assert totals["rewards"] > 0
    assert totals["decisions"] > 0
    assert set(told["series"]["arms"]) <= {"small", "medium", "large"}
    assert httpx.get(demo.url).status_code == 200
    assert [place.name[:15] for place in demo.folder.iterdir()] == ["lexbandit-demo-"]
    demo.process.send_signal(signal.SIGINT)
    out, err = demo.process.communicate(timeout=30)
    assert (demo.process.returncode, err) == (0, "")
    assert out.endswith("prints a configuration to begin with.\n")
    assert list(demo.folder.iterdir()) == []


def test_it_keeps_its_log_and_says_how_to_ask_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "a demo"
    kept.mkdir()
    (kept / "demo.toml").write_text(CONFIG.replace("wait = 20", "wait = 0.5"))
    demo = Demo(tmp_path, "--seconds", "5", "--keep", str(kept))
    with killed_after(60, demo.process):
        out, err = demo.process.communicate()
    assert (demo.process.returncode, err) == (0, "")
    assert "wait = 0.5" in (kept / "demo.toml").read_text()  # what is there goes on
    commands = [shlex.split(line) for line in out.splitlines() if line.startswith("  lexbandit ")]
    assert [command[1] for command in commands] == ["evaluate", "export", "evaluate"]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert status_of(command[1:]) == 0
    printed = capsys.readouterr().out
    assert printed.count("always:medium against logged: ") == 2
    assert (tmp_path / "report.html").exists()


def test_a_folder_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert status_of(["demo", "--no-browser", "--keep", str(tmp_path / "file" / "demo")]) == 1
    assert "cannot make the folder" in capsys.readouterr().err


def test_a_minute_of_its_traffic_is_enough_to_learn(tmp_path: Path) -> None:
    place = tmp_path / "demo.toml"
    place.write_text(CONFIG)
    definition = read_config(place, {}).points["router"]
    chooser, world = definition.chooser(definition.arms, time.time), World()
    rights = []
    for _ in range(60 * 80):
        prompt = world.prompt()
        decision = chooser.choose(prompt)
        rights.append(decision.arm == world.right(prompt))
        chooser.reward(decision, world.answer(prompt, decision.arm))
    assert sum(rights[-1000:]) > 600
    assert sum(rights[-1000:]) > sum(rights[:1000]) + 100
    against = chooser.summary().against["large"]
    assert against["cost"].low is not None
    assert against["quality"].value is not None
    assert against["cost"].low > 0.002
    assert against["quality"].value > -0.03
    told = [
        chooser.explain({"prompt_tokens": tokens, "task": task, "hour": 12})
        for tokens, task in ((100, "chat"), (100, "code"), (7500, "code"))
    ]
    assert [one.likely[0] for one in told[:2]] == ["small", "medium"]
    leads = max(told[2].arms, key=lambda arm: arm.estimates["quality"].value or 0.0)
    assert leads.name == "large"


def test_it_says_when_it_compiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first policy compiles, and that is the one which the configuration is checked with."""
    log = logging.getLogger("lexbandit.compile")

    @functools.cache
    def compiles() -> None:
        """As on a machine where nothing is compiled; test_compile_notice.py has the real thing."""
        log.info("compiling, for up to a minute; it is kept in %s", "a folder")

    def run(serving: Any, _: Config) -> None:
        serving.close()

    monkeypatch.setattr("lexbandit.policies.registry.tell_of_compiling", compiles)
    monkeypatch.setattr("lexbandit.service.process.run", run)
    before = log.level, log.propagate, list(log.handlers)
    assert status_of(["demo", "--no-browser"]) == 0
    told = capsys.readouterr()
    assert "Starting…\nCompiling, for up to a minute; it is kept in a folder.\n" in told.out
    assert told.err == ""
    compiles.cache_clear()
    storage = f"sqlite:{tmp_path / 'decisions.db'}"
    assert status_of(["serve", str(sample()), "--no-auth", "--storage", storage]) == 0
    assert capsys.readouterr().err.startswith("Compiling, for up to a minute; it is kept in a fol")
    assert (log.level, log.propagate, log.handlers) == before


@pytest.mark.parametrize("over", [True, False])
def test_the_end_of_the_service_is_no_error(
    over: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service ends while a request is under way; while the demo goes on, it is said."""
    traffic = Traffic("http://127.0.0.1:9", 0.3 if over else 2.0)

    def ask(*_: Any) -> None:
        if over:
            time.sleep(0.3)
        raise ServiceError("no answer.")

    monkeypatch.setattr(traffic, "_ask", ask)
    monkeypatch.setattr("lexbandit.cli.demo._PATIENCE", 0.1)
    traffic.run()
    assert ("the service does not answer: no answer." in capsys.readouterr().err) == (not over)


def test_how_things_stand_in_a_line() -> None:
    nothing = {"quality": {"value": None}, "cost": {"value": None}}
    early = {"decisions": 5, "received": nothing, "against": {"large": nothing}}
    assert standing(1, early, []) == "   1 s       5 decisions"
    later = {
        "decisions": 1200,
        "received": {"quality": {"value": 0.9}, "cost": {"value": 0.004}},
        "against": {"large": {"quality": {"value": -0.01}, "cost": {"value": 0.002}}},
    }
    assert standing(20, later, [True, True, False, True]) == (
        "  20 s   1,200 decisions   quality 0.9000   cost 0.0040   compared with always large: "
        "quality 0.0100 lower, cost 0.0020 lower   right model: 75% of the last 4"
    )


def test_the_right_model_is_the_cheapest_within_the_tolerance() -> None:
    prompts = [
        {"prompt_tokens": tokens, "task": task}
        for tokens, task in ((100, "chat"), (7900, "chat"), (100, "code"), (7900, "code"))
    ]
    assert [World().right(prompt) for prompt in prompts] == ["small", "medium", "medium", "large"]


def test_a_time_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["demo", "--seconds", "0"]) == 1
    assert "--seconds must be above 0" in capsys.readouterr().err
