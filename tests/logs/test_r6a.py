"""From R6A files to contexts and clicks: as in the paper, made once, whole or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs import r6a
from lexbandit.logs.r6a import convert, prepare
from lexbandit.logs.r6a_lines import parse_line
from lexbandit.logs.r6a_synthetic import prepare_synthetic, write_synthetic
from lexbandit.logs.recording import Recording
from support import as_if_real

NAME = "ydata-fp-td-clicks-v1_0.20090501"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Return a file that nothing tells to be synthetic."""
    return as_if_real(write_synthetic(tmp_path, rows=3_000, seed=4), tmp_path / NAME)


def plain_contexts(rows: Floats, among: Floats) -> Floats:
    centred = among - among.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    values, components = (rows - among.mean(axis=0)) @ axes, centred @ axes
    least, greatest = components.min(axis=0), components.max(axis=0)
    return np.asarray((values - least) / (greatest - least))


def test_the_preparation_is_the_papers(text: Path, tmp_path: Path) -> None:
    table = pl.read_parquet(prepare([text], tmp_path / "cache"))
    events = [parse_line(line) for line in text.read_text().splitlines()]
    users = np.array([event.user for event in events])
    shown = np.array([event.shown for event in events])
    assert table["click"].to_list() == [event.click for event in events]
    contexts = table.select("x1", "x2", "x3", "x4").to_numpy()
    np.testing.assert_allclose(contexts[:, :2], plain_contexts(users, users), atol=2e-7)
    unique = np.unique(shown, axis=0)
    np.testing.assert_allclose(contexts[:, 2:], plain_contexts(shown, unique), atol=2e-7)
    assert contexts.min(axis=0).tolist() == [0.0] * 4
    assert contexts.max(axis=0).tolist() == [1.0] * 4


def test_several_files_are_one_recording(text: Path, tmp_path: Path) -> None:
    lines = text.read_text().splitlines(keepends=True)
    parts = [tmp_path / f"{NAME}-{k}" for k in range(2)]
    parts[0].write_text("".join(lines[:1000]))
    parts[1].write_text("".join(lines[1000:]))
    whole = pl.read_parquet(prepare([text], tmp_path / "cache"))
    assert pl.read_parquet(prepare(parts, tmp_path / "cache")).equals(whole)


def test_the_synthetic_day_is_the_same_through_text_and_without_it(tmp_path: Path) -> None:
    path = write_synthetic(tmp_path, rows=70_000, seed=1, compressed=True)
    read = Recording.open(prepare([path], tmp_path))
    direct = Recording.open(prepare_synthetic(rows=70_000, seed=1, cache=tmp_path))
    assert read.rows == direct.rows == 70_000
    for (x, clicks), (y, others) in zip(read.blocks(), direct.blocks(), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)
        np.testing.assert_array_equal(clicks, others)


def test_a_file_is_read_once_and_again_when_it_changes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare([text], tmp_path / "cache")
    with monkeypatch.context() as patched:
        patched.setattr(r6a, "read_events", None)  # would fail if it were called
        assert prepare([text], tmp_path / "cache") == first
        assert convert([text], tmp_path / "cache").exists()
        with monkeypatch.context() as newer:
            newer.setattr(r6a, "_PREPARATION", 99)
            assert prepare([text], tmp_path / "cache") != first
    later = text.stat().st_mtime_ns + 1_000_000_000
    os.utime(text, ns=(later, later))
    assert prepare([text], tmp_path / "cache") != first
    monkeypatch.setattr(r6a, "VERSION", 99)
    with monkeypatch.context() as patched:
        patched.setattr(r6a, "read_events", lambda *_: iter(()))
        with pytest.raises(InvalidInput, match="nothing to prepare"):
            prepare([text], tmp_path / "cache")


def test_a_malformed_file_leaves_nothing_behind(text: Path, tmp_path: Path) -> None:
    lines = text.read_text().splitlines()
    lines[2_500] = lines[2_500].replace("|user", "|users")
    text.write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInput) as caught:
        prepare([text], tmp_path / "cache")
    assert f"{text}:2501: expected '|user' before the pool" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_rows_without_article_features_are_left_out_and_counted(text: Path, tmp_path: Path) -> None:
    lines = text.read_text().splitlines()
    for row in (7, 2_000):
        timestamp, _, rest = lines[row].split(" ", 2)
        lines[row] = f"{timestamp} 109528 {rest} |109528"
    text.write_text("\n".join(lines) + "\n")
    recording = Recording.open(prepare([text], tmp_path / "cache"))
    assert recording.rows == 2_998
    assert recording.facts["left_out_without_article_features"] == 2
    assert recording.facts["unique_articles"] == 55
    text.write_text("\n".join([lines[7], lines[2_000]]) + "\n")
    with pytest.raises(InvalidInput, match="nothing to prepare"):
        prepare([text], tmp_path / "cache")


def test_what_is_made_says_where_it_comes_from(text: Path, tmp_path: Path) -> None:
    real = prepare([text], tmp_path / "cache")
    assert "synthetic" not in real.name
    assert Recording.open(real).facts["source"] == "Yahoo! R6A files"
    assert Recording.open(real).facts["files"] == [NAME]
    made_up = write_synthetic(tmp_path, rows=500, seed=0)
    for path in (prepare([made_up], tmp_path), convert([made_up], tmp_path)):
        assert "synthetic" in path.name
        facts = json.loads(pl.read_parquet_metadata(path)["lexbandit"])
        assert facts["source"] == "synthetic"


@pytest.mark.parametrize("compressed", [False, True])
def test_a_renamed_synthetic_file_is_still_called_synthetic(
    tmp_path: Path, compressed: bool
) -> None:
    made_up = write_synthetic(tmp_path, rows=500, seed=0, compressed=compressed)
    renamed = made_up.rename(tmp_path / f"{NAME}{'.gz' if compressed else ''}")
    recording = Recording.open(prepare([renamed], tmp_path / "cache"))
    assert recording.facts["source"] == "synthetic"


def test_progress_is_told(text: Path, tmp_path: Path) -> None:
    seen: dict[str, tuple[int, int]] = {}

    def progress(stage: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        seen[stage] = (done, total)

    prepare([text], tmp_path / "cache", progress)
    size = text.stat().st_size
    assert seen == {
        f"reading {NAME}": (size, size),
        "principal components": (3_000, 3_000),
        "ranges": (3_000, 3_000),
        "contexts": (3_000, 3_000),
    }


def test_bad_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one R6A file"):
        prepare([], tmp_path)
    with pytest.raises(InvalidInput, match="must be a list"):
        prepare(tmp_path / "x", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="absent does not exist"):
        prepare([tmp_path / "absent"], tmp_path)
    with pytest.raises(InvalidInput, match="is not a file"):
        prepare([tmp_path], tmp_path)


def test_a_cache_that_cannot_be_a_folder_is_refused(text: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot make the folder .*taken"):
        prepare([text], tmp_path / "taken")


_FULL = """
import resource, signal, sys
from pathlib import Path
from lexbandit.logs.r6a import prepare
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    prepare([Path(sys.argv[1])], Path(sys.argv[2]))
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as Unix does")
def test_a_full_disk_is_said_and_leaves_nothing_behind(text: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", _FULL, str(text), str(cache)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "events.parquet could not be written" in said
    assert list(cache.iterdir()) == []


def test_other_files_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        Recording.open(tmp_path / "absent.parquet")
    noise = tmp_path / "noise.parquet"
    noise.write_bytes(b"not parquet at all")
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        Recording.open(noise)
    other = tmp_path / "other.parquet"
    pl.DataFrame({"x1": [0.5], "click": [1]}).write_parquet(other)
    with pytest.raises(InvalidInput, match="has no column x2, x3, x4"):
        Recording.open(other)


@pytest.mark.parametrize(
    "rows",
    [
        20_000,
        # The first day of R6A: 7 GB of text, a gigabyte packed.
        pytest.param(4_500_000, marks=pytest.mark.slow),
    ],
)
def test_a_day_in_the_published_format_is_read_whole(rows: int, tmp_path: Path) -> None:
    """A gzip file like the published one gives the contexts and clicks that it was written from."""
    day = write_synthetic(tmp_path, rows=rows, seed=5, compressed=True)
    read = Recording.open(prepare([day], tmp_path / "cache"))
    written = Recording.open(prepare_synthetic(rows=rows, seed=5, cache=tmp_path / "made"))
    assert read.rows == written.rows == rows
    ours, theirs = (
        [np.concatenate(parts) for parts in zip(*recording.blocks(), strict=True)]
        for recording in (read, written)
    )
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)
    np.testing.assert_array_equal(ours[1], theirs[1])
