"""Ctrl-C, a full disk, a folder that cannot be written: a clear message, and nothing is lost."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

from bench.studies import OWN, written

SLOW = OWN.replace('"mine.py:Coins"\nchance = 0.8', '"mine.py:slow"\nseconds = 0.2').replace(
    "runs = 4", "runs = 40"
)
# Started as the console script starts it.
COMMAND = [sys.executable, "-c", "from lexbandit.cli import main; main()", "run", "--no-report"]


def finished(out: Path) -> list[Path]:
    return [path for path in (out / "runs").glob("own-*.parquet") if ".map." not in path.name]


@pytest.mark.parametrize(
    "where",
    [
        "--executor=threads",
        "--executor=processes",
        pytest.param("--cluster=local", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_finished_runs(tmp_path: Path, where: str) -> None:
    path, out = written(tmp_path, SLOW), tmp_path / "out"
    arguments = [*COMMAND, str(path), "--out", str(out), where]
    process = subprocess.Popen(
        [*arguments, "--workers", "2"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(finished(out)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished runs are kept" in said
    assert "Traceback" not in said
    kept = finished(out)
    assert 3 <= len(kept) < 40
    for file in kept:
        assert pl.read_parquet(file).height > 0
    assert not list((out / "runs").glob(".*"))
    again = [*COMMAND, str(path), "--out", str(out), "--runs", str(len(kept) + 1)]
    told = subprocess.run(again, capture_output=True, text=True, check=True, timeout=120)
    assert "of them found done" in told.stderr


def test_processes_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    path, out = written(tmp_path, SLOW), tmp_path / "out"
    arguments = [*COMMAND, str(path), "--out", str(out), "--executor=processes", "--workers", "2"]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not finished(out) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = psutil.Process(process.pid).children(recursive=True)
    assert len(started) >= 2
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(started, timeout=20)
    for one in alive:
        one.kill()
    assert not alive


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: writing fails in the same place."""
    path, out = written(tmp_path, OWN), tmp_path / "out"
    subprocess.run([*COMMAND, str(path), "--out", str(out), "--runs", "1"], check=True)
    before = {file.name: file.read_bytes() for file in finished(out)}

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    told = subprocess.run(
        [*COMMAND, str(path), "--out", str(out), "--runs", "3"],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
        timeout=120,
    )
    assert told.returncode == 1
    assert "larger than is allowed" in told.stderr
    assert "finished runs are kept" in told.stderr
    assert "Traceback" not in told.stderr
    assert {file.name: file.read_bytes() for file in finished(out)} == before
    assert not list((out / "runs").glob(".*"))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = written(tmp_path, OWN)
    (tmp_path / "file").write_text("")
    told = subprocess.run(
        [*COMMAND, str(path), "--out", str(tmp_path / "file" / "out")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 1
    assert "cannot write to" in told.stderr
    assert "Traceback" not in told.stderr
