"""Memory does not grow with the rows of a log: 20 million of them, with times and ids."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logs import made

PART = 1_000_000

# Prints the peak of the memory of its own (no pages of files), in MB, after 2 million rows and
# at the end.
SCRIPT = """
import re, sys, threading, time
from pathlib import Path

import lexbandit as lb
from logs import made

peak, early = 0.0, 0.0
def watch():
    global peak
    while True:
        status = Path("/proc/self/status").read_text()
        peak = max(peak, int(re.search(r"RssAnon:\\s+(\\d+)", status)[1]) / 1024)
        time.sleep(0.01)
def progress(done, rows):
    global early
    if done <= 2_000_000:
        early = peak
threading.Thread(target=watch, daemon=True).start()
report = lb.evaluate(made.log_of(sys.argv[1]), "always:medium", progress=progress)
assert report.rows == 20_000_000
print(early, peak)
"""


def write(folder: Path, first: int) -> None:
    """Write a file of a million rows."""
    random = np.random.default_rng(first)
    arms = random.choice(3, PART, p=made.SHARES)
    places = pl.Series(np.arange(first, first + PART))
    table = pl.DataFrame(
        {
            "id": places.cast(pl.String),
            "time": places.cast(pl.Float64),
            "tokens": random.uniform(0, 1000, PART),
            "task": np.array(["chat", "code"])[random.integers(0, 2, PART)],
            "arm": np.array(made.ARMS)[arms],
            "propensity": made.SHARES[arms],
            "quality": (random.random(PART) < made.QUALITY[arms]).astype(np.float64),
            "cost": made.COST[arms] * random.uniform(0.5, 1.5, PART),
        }
    )
    table.write_parquet(folder / f"part-{first:09}.parquet")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_memory_is_flat_at_20_million_rows(tmp_path: Path) -> None:
    """The last 18 million rows raise the peak by at most a tenth; 397 to 419 MB were seen."""
    for first in range(0, 20 * PART, PART):
        write(tmp_path, first)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "part-*.parquet")]
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=tests, timeout=900
    )
    early, peak = map(float, done.stdout.split())
    assert early > 0.0
    assert peak <= 1.1 * early
