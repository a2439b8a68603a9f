"""The limit of time for tests: what waits for ever fails, and the suite ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import asyncio, subprocess, threading, time
from concurrent.futures import ThreadPoolExecutor

def test_loop():
    asyncio.run(asyncio.Event().wait())

def test_child():
    subprocess.run(["sleep", "60"])

def test_leaves_a_thread():
    threading.Thread(target=time.sleep, args=(60,)).start()

def test_waits_again():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, 60).result()
"""


def run(folder: Path, chosen: str, to_end: float) -> "subprocess.CompletedProcess[str]":
    """Run some of the tests with a limit that they do not keep."""
    (folder / "test_waiting.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "time_limit", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-o", "time_limit=0.3", "-o", f"time_to_end={to_end}", "-k", chosen, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 1
    return done


def test_what_waits_for_ever_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "loop or child", 20)
    assert done.stdout.count("\nE       Failed: it is not done after 0.3 s") == 2
    assert "2 failed" in done.stdout


@pytest.mark.parametrize("test", ["test_waits_again", "test_leaves_a_thread"])
def test_what_cannot_fail_ends_the_process(tmp_path: Path, test: str) -> None:
    done = run(tmp_path, test, 0.3)
    assert "Timeout (0:00:00." in done.stderr
    assert "in _bootstrap" in done.stderr  # where the threads are
    assert ("1 passed" in done.stdout) == (test == "test_leaves_a_thread")
