"""The log says when kernels are compiled, and only then."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import lexbandit
from lexbandit.kernels import compile_notice, jit
from lexbandit.kernels.intervals import bernstein
from lexbandit.policies import registry

pytestmark = pytest.mark.compiled

# Functions of the program's own are compiled while the log listens: they are no kernels. One of
# them is of no module.
PROGRAM = """
import logging, numba, lexbandit, lexbandit.kernels.compile_notice
from lexbandit.kernels.intervals import bernstein  # a small one
logging.basicConfig(level="INFO", format="%(levelname)s %(name)s %(message)s")
lexbandit.kernels.compile_notice.tell_of_compiling()
numba.njit(lambda x: x + 1)(1)
made = {}
exec("def double(x): return 2 * x", made)
numba.njit(made["double"])(1)
logging.info("first")
bernstein(0.1, 4.0, 2.0)
logging.info("then")
"""


def logged(cache: Path) -> list[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stderr.splitlines()


def test_the_first_run_says_that_it_compiles_and_the_second_nothing(tmp_path: Path) -> None:
    first, told, then = logged(tmp_path)
    assert (first, then) == ("INFO root first", "INFO root then")
    assert told.startswith(
        f"INFO lexbandit.compile compiling, for up to a minute; it is kept in {tmp_path}"
    )
    assert logged(tmp_path) == [first, then]


def test_without_a_folder_it_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(jit, "_FOLDER", jit._cache_folder())
    assert jit._FOLDER is None
    event = SimpleNamespace(data={"dispatcher": bernstein})
    listener = compile_notice._Compiling()
    listener.on_start(event)
    listener.on_start(event)
    (told,) = caplog.records
    assert (told.levelname, told.name) == ("WARNING", "lexbandit.compile")
    assert told.message.startswith("compiling, for up to a minute; there is no folder")
    assert "every start compiles anew: set XDG_CACHE_HOME" in told.message


def test_whoever_makes_a_policy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    monkeypatch.setattr(registry, "tell_of_compiling", lambda: told.append(True))
    lexbandit.make_policy("random", arms=2, dimension=1)
    assert told == [True]
