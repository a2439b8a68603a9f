"""Walks through the package: which of its files run code on the way of a round or a request.

    NUMBA_DISABLE_JIT=1 python tests/walks.py replay|choose|request|restart|study

prints the files as a JSON list, in the order in which they are entered. Import time does not count,
and each walk is taken once before it is traced, so that what happens only at first does not count
either. Kernels are visible without the JIT only.
"""

import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import lexbandit as lb

PACKAGE = Path(lb.__file__).parent
SAMPLE = PACKAGE.parents[1] / "samples" / "router.toml"
HOST = "127.0.0.1"


class Walk:
    """The files that run code while `active` is set, in the order in which they are entered."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.active = True

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the file of a call; `sys.setprofile` and `threading.setprofile` call this."""
        code = frame.f_code
        if not self.active or event != "call" or code.co_name == "<module>":
            return
        if code.co_filename.startswith(str(PACKAGE)):
            file = Path(code.co_filename).relative_to(PACKAGE).as_posix()
            if file not in self.files:
                self.files.append(file)

    def trace(self, work: Callable[[], object]) -> None:
        """Run `work` and note its files, in every thread that it starts."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def replay(walk: Walk) -> None:
    """Replay a block of rounds with MOC-MAB."""
    rounds = lb.make_environment("multichannel").rounds(50, seed=1)
    policy = lb.make_policy("moc-mab", arms=8, dimension=2, horizon=1000)
    policy.replay(rounds)
    walk.trace(lambda: policy.replay(rounds))


def choose(walk: Walk) -> None:
    """Choose an arm and learn from its rewards."""
    chooser = lb.Chooser(
        objectives=[lb.Objective("quality", tolerance=0.02), lb.Objective("cost", goal="min")],
        arms=["a", "b"],
        context=[lb.Number("x", 0, 1), lb.Category("kind", ["k", "l"])],
    )

    def once() -> None:
        decision = chooser.choose({"x": 0.5, "kind": "k"})
        chooser.reward(decision, quality=1.0, cost=0.1)

    once()
    walk.trace(once)


def _command(words: list[str]) -> None:
    """Run the command line; an error ends the walk."""
    from lexbandit.cli import main  # it needs packages that the other walks do not

    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"lexbandit {words[0]} fails") from end


def study(walk: Walk) -> None:
    """Run a study from its file to its report."""
    text = """
        name = "s"
        objectives = ["one", "two"]
        horizon = 200
        runs = 1
        [environment]
        name = "synthetic"
        [[policies]]
        name = "moc-mab"
    """

    def run(out: Path) -> None:
        _command(["run", str(file), "--out", str(out), "--workers", "1", "--quiet"])

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "s.toml")
        file.write_text(text)
        run(Path(folder, "first"))
        walk.trace(lambda: run(Path(folder, "second")))


def _serve(walk: Walk, folder: Path, use: Callable[[str], None]) -> None:
    """Serve the sample in this thread, `use(url)` it in another, and stop it."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        os.environ["LEXBANDIT_PORT"] = str(free.getsockname()[1])
    url = f"http://{HOST}:{os.environ['LEXBANDIT_PORT']}"

    def helper() -> None:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(url + "/ready", timeout=2).read()
                    break
                except OSError:
                    time.sleep(0.1)
            use(url)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=helper, daemon=True).start()
    os.environ["LEXBANDIT_DRAIN"] = "0"
    os.chdir(folder)
    walk.trace(lambda: _command(["serve", "router.toml", "--no-auth"]))


def _post(url: str, body: object) -> Any:
    data = json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"content-type": "application/json"})
    return json.loads(urllib.request.urlopen(asked, timeout=20).read())


def _decide_twice(walk: Walk, url: str) -> None:
    """Send a decision and its reward twice; the second time is traced."""
    for walk.active in (False, True):
        time.sleep(0.5)  # what the service does once, after its start, is over
        context = {"prompt_tokens": 9, "task": "code"}
        made = _post(f"{url}/v1/router/decisions", {"context": context})
        rewards = {"quality": 1.0, "cost": 0.01}
        _post(f"{url}/v1/router/decisions/{made['id']}/rewards", rewards)
    walk.active = False


def request(walk: Walk) -> None:
    """Send a decision and its reward over HTTP, from the socket to the durable answer."""
    _in_service(walk, restart=False)


def restart(walk: Walk) -> None:
    """Send the same requests, then start the service again, which reads its log."""
    _in_service(walk, restart=True)


def _in_service(walk: Walk, *, restart: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SAMPLE, folder)
        walk.active = False
        _serve(walk, Path(folder), lambda url: _decide_twice(walk, url))
        if restart:

            def ready(_: str) -> None:
                time.sleep(0.5)  # the start goes on for a moment after the first answer
                walk.active = False

            walk.active = True
            _serve(walk, Path(folder), ready)
        os.chdir("/")


WALKS = {one.__name__: one for one in (replay, choose, request, restart, study)}


def main(name: str) -> None:
    """Print the files of a walk."""
    warnings.simplefilter("ignore")
    walk = Walk()
    shown = sys.stdout
    sys.stdout = sys.stderr  # the service and the study print, too
    WALKS[name](walk)
    logging.shutdown()
    print(json.dumps(walk.files), file=shown)


if __name__ == "__main__":
    main(sys.argv[1])
