"""The charts' script: made once, kept for the next process, made anew if that file is no good."""

import asyncio
import errno
import gzip
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from lexbandit._internal import vega_script
from lexbandit._internal.vega_script import NAME, Bundle, Script


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the script be made quickly, in a cache of its own; each time it is, that is noted."""
    noted: list[str] = []

    def run(command: list[str], **_: Any) -> Any:
        noted.append(command[-1])
        return subprocess.CompletedProcess(command, 0, stdout=b"the script")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", run)
    return noted


def _script() -> Script:
    """Return the script as another process would have it."""
    return Bundle().begin().result(60)


def test_it_is_made_once_and_kept_for_the_next_process(tmp_path: Path, made: list[str]) -> None:
    one = Bundle()
    assert one.begin() is one.begin()
    first = one.begin().result(60)
    assert gzip.decompress(first.compressed) == first.plain == b"the script"
    assert [place.name for place in (tmp_path / "lexbandit").iterdir()] == [f"{NAME}.gz"]
    assert _script() == first
    assert len(made) == 1


_WHOLE = gzip.compress(b"the script", mtime=0)
_DAMAGED = _WHOLE[:10] + b"\xff" * 4 + _WHOLE[14:]


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", _WHOLE[:-9], _DAMAGED],
    ids=["empty", "no gzip", "cut short", "bytes changed"],
)
def test_a_damaged_file_is_made_anew(tmp_path: Path, made: list[str], damage: bytes) -> None:
    first = _script()
    place = tmp_path / "lexbandit" / f"{NAME}.gz"
    place.write_bytes(damage)
    assert _script() == first
    assert len(made) == 2
    assert place.read_bytes() == first.compressed


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path: Path, made: list[str]) -> None:
    (tmp_path / "lexbandit").write_text("not a folder")
    assert _script() == _script()
    assert len(made) == 2


def test_what_a_process_that_failed_has_made_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vega_script, "_PROGRAM", "print('half of it', flush=True); 1 / 0")
    with pytest.raises(subprocess.CalledProcessError):
        _script()
    assert [*tmp_path.iterdir()] == []


def test_after_a_failure_it_is_tried_again(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Bundle()
    with monkeypatch.context() as away:
        away.setattr(subprocess, "run", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            one.begin().result(60)
    assert one.begin().result(60).plain == b"the script"
    assert len(made) == 1


def test_of_a_file_that_could_not_be_kept_nothing_is_left(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(os, "replace", full)
    assert _script().plain == b"the script"
    assert len(made) == 1
    assert [*(tmp_path / "lexbandit").iterdir()] == []


def test_a_viewer_who_leaves_does_not_spoil_it(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, run = threading.Event(), subprocess.run

    def slow(*given: Any, **named: Any) -> Any:
        assert go_on.wait(60)
        return run(*given, **named)

    async def leave(one: Bundle) -> None:
        viewer = asyncio.create_task(one.script())
        await asyncio.sleep(0)  # it has asked
        viewer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await viewer

    monkeypatch.setattr(subprocess, "run", slow)
    one = Bundle()
    asyncio.run(leave(one))
    go_on.set()
    assert one.begin().result(60).plain == b"the script"
    assert len(made) == 1
