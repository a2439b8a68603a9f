"""Reading R6A files: all lines, in order, in bounded memory, with errors that name the line."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.errors import InvalidInput
from lexbandit.logs import r6a_reader
from lexbandit.logs.r6a_lines import Visit, features_of, parse_line
from lexbandit.logs.r6a_reader import SCHEMA, SHOWN, read_events
from lexbandit.logs.r6a_synthetic import write_synthetic
from logs.made import r6a_line

POOL = [(109_490 + j, tuple(np.round(np.arange(1, 6) * (j + 1) / 100, 6))) for j in range(6)]


def sample(n: int = 200) -> list[str]:
    random = np.random.default_rng(0)
    events = [
        Visit(1_241_160_900 + t, article, int(random.random() < 0.3), tuple(user), features)
        for t, user in enumerate(random.random((n, 5)).round(6).tolist())
        for article, features in [POOL[random.integers(len(POOL))]]
    ]
    return [r6a_line(event, POOL) for event in events]


def read(path: Path) -> pl.DataFrame:
    return pl.concat(list(read_events(path)))


def written(folder: Path, lines: list[str], end: str = "\n") -> Path:
    path = folder / "ydata-fp-td-clicks-v1_0.20090501"
    path.write_bytes(("\n".join(lines) + end).encode())
    return path


def plain_rows(lines: list[str]) -> list[tuple[float | None, ...]]:
    events = [parse_line(line) for line in lines]
    return [(*event[:3], *event.user, *(event.shown or [None] * 5)) for event in events]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("chunk", [1000, 8 << 20])
def test_every_line_is_read_in_order(
    tmp_path: Path, packed: bool, end: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(r6a_reader, "_CHUNK", chunk)
    lines = sample()
    path = written(tmp_path, lines, end)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    table = read(path)
    assert table.schema == SCHEMA
    assert table.rows() == plain_rows(lines)


@given(st.lists(st.sampled_from(["sound", "reordered", "spaced", "featureless"]), min_size=1))
@settings(max_examples=40, deadline=None)
def test_unusual_lines_are_read_as_the_plain_reading_has_them(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    lines = sample(len(kinds))
    for row, kind in enumerate(kinds):
        if kind == "reordered":
            lines[row] = lines[row].replace(" 1:1.000000", "").replace("2:", "1:1 2:")
        elif kind == "spaced":
            lines[row] = lines[row].replace(" |user ", "  |user  ") + "\r"
        elif kind == "featureless":
            head, _, rest = lines[row].partition(" |")
            lines[row] = f"{head.split()[0]} 109528 0 |{rest} |109528"
    lines.append(sample(1)[0])
    table = read(written(tmp_path_factory.mktemp("r6a"), lines))
    assert table.rows() == plain_rows(lines)
    assert table[SHOWN[0]].null_count() == kinds.count("featureless")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (" 1:1.000000 |109490", " |109490", "expected 6 features of the user, got 5"),
        ("|user 2:0.", "|user 2:nan 7:0.", "expected a finite number as feature 2 of the user"),
        ("|user 2:0.", "|user 2:1e999 7:0.", "expected a finite number as feature 2 of the user"),
        ("|user", "|", "expected '|user' before the pool"),
        ("", "", "expected the displayed article"),
        ("12411610", "é", "expected plain ASCII text, got the byte 0xc3"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, old: str, new: str, expected: str) -> None:
    lines = sample()
    if expected == "expected the displayed article":
        lines[136] = lines[136].replace(f" {lines[136].split()[1]} ", " 77 ", 1)
    else:
        assert old in lines[136]
        lines[136] = lines[136].replace(old, new, 1)
    path = written(tmp_path, lines)
    with pytest.raises(InvalidInput) as caught:
        read(path)
    assert f"{path}:137: {expected}" in str(caught.value)


def test_line_numbers_go_on_from_chunk_to_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(r6a_reader, "_CHUNK", 3000)
    lines = sample()
    lines[150] = ""
    with pytest.raises(InvalidInput, match=":151: expected 'timestamp article click"):
        read(written(tmp_path, lines))


def test_a_displayed_article_with_wrong_features_is_named(tmp_path: Path) -> None:
    lines = sample()
    article = lines[9].split()[1]
    features = dict(POOL)[int(article)]
    lines[9] = lines[9].replace(
        f"|{article} {features_of(features)}", f"|{article} 2:0.1 3:NaN 4:0.1 5:0 6:0 1:1"
    )
    with pytest.raises(InvalidInput, match=f":10: .* feature 3 of article {article}, got 'NaN'"):
        read(written(tmp_path, lines))


def test_a_file_cut_off_in_its_last_line_is_refused(tmp_path: Path) -> None:
    lines = sample()
    path = written(tmp_path, [*lines[:-1], lines[-1][:-20]], end="")
    with pytest.raises(InvalidInput, match=":200: the file stops inside this line"):
        read(path)


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, sample())
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidInput, match="the gzip data stops early"):
        read(path)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InvalidInput, match="the gzip data is damaged"):
        read(path)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ydata"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="ydata is empty; expected lines such as"):
        read(path)


def test_missing_files_folders_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="is not a file"):
        read(tmp_path)
    other = tmp_path / "zeros"
    other.write_bytes(bytes(3 << 20))
    with pytest.raises(InvalidInput, match="is this an R6A file"):
        read(other)


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, sample())
    seen: list[tuple[str, int, int]] = []
    list(read_events(path, lambda *step: seen.append(step)))
    assert seen[-1] == (f"reading {path.name}", path.stat().st_size, path.stat().st_size)


# Prints the peak of memory in MB when half of the file is read, when all of it is, and at the end.
_PEAKS = """
import re, sys
from pathlib import Path
from lexbandit.logs import r6a_reader, tables
from lexbandit.logs.r6a import prepare

path, cache, keep = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "keep"
tables.ROW_GROUP = 1 << 12  # a group of rows is held at a time
lines, kept, peaks = r6a_reader._lines, [], []
def keeping(*given):
    for found in lines(*given):
        kept.append(found)
        yield found
if keep:
    r6a_reader._lines = keeping
def peak():
    # Not getrusage: there a child starts from the peak of the process that forked it.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024
def progress(stage, done, size):
    if stage.startswith("reading") and (done >= size / 2 and not peaks or done == size):
        peaks.append(peak())
prepare([path], cache, progress)
print(peaks[0], peaks[-1], peak())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """The second half of a file adds nothing, but for a reader that keeps its lines.

    40,000 lines are 63 MB of text. Measured with 60,000 and 120,000: memory reaches its plateau in
    the first third; reading the second half adds 0 to 2 MB, the passes after it 7 to 15 MB in
    either file, and a reader that keeps its lines adds 48 and 103 MB in the second half. The
    plateau of 40,000 may come later, by 10 MB. One that kept the tables alone, 0.1 kB a row, would
    add too little to be seen here.
    """
    path = write_synthetic(tmp_path, rows=40_000, seed=0, compressed=True)
    grown = {}
    for kind in ("plain", "keep"):
        command = [sys.executable, "-c", _PEAKS, str(path), str(tmp_path / kind), kind]
        half, read, end = map(int, subprocess.check_output(command).split())
        grown[kind] = read - half, end - read
    assert grown["plain"][0] < 20, grown
    assert grown["keep"][0] > grown["plain"][0] + 20, grown
    assert grown["plain"][1] < 30, grown
