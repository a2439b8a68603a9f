"""A Parquet file end to end: rows a second of `evaluate`, and memory, on one core.

    python -m benchmarks.logs_end_to_end [ROWS]

The asked rates are 500,000 rows/s for always:ARM and 100,000 for a frozen default chooser with 3
arms, one core; memory must not grow with the rows. Rates are per second of processor time of this
process, so other load counts little; with several threads these seconds add up.
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

# Before polars is imported: one core.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

import lexbandit as lb

ARMS = ["small", "medium", "large"]
OBJECTIVES = [lb.Objective("quality", tolerance=0.03), lb.Objective("cost", goal="min")]
CONTEXT = [lb.Number("tokens", 0, 1000), lb.Category("task", ["chat", "code", "maths"])]
PART = 1_000_000


def write(folder: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    for first in range(0, rows, PART):
        n = min(PART, rows - first)
        arms = random.choice(3, n, p=shares)
        quality = random.random(n) < np.array([0.7, 0.85, 0.86])[arms]
        pl.DataFrame(
            {
                "time": first + np.arange(n, dtype=np.float64),
                "arm": np.array(ARMS)[arms],
                "propensity": shares[arms],
                "tokens": random.uniform(0, 1000, n),
                "task": random.choice(["chat", "code", "maths"], n),
                "quality": quality.astype(np.float64),
                "cost": np.array([0.1, 0.3, 0.9])[arms] * random.random(n),
            }
        ).write_parquet(folder / f"part-{first:010}.parquet")


def measure(folder: Path, rows: int, candidate: object, name: str) -> None:
    log = lb.Log(str(folder / "*.parquet"), objectives=OBJECTIVES, arms=ARMS, context=CONTEXT)
    begin, wall = time.process_time(), time.perf_counter()
    report = lb.evaluate(log, candidate, segments=())
    spent, passed = time.process_time() - begin, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {rows / spent:,.0f} rows/s of processor time ({passed:.1f} s passed), "
        f"peak {peak:,.0f} MB; {report.verdict}"
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    chooser = lb.Chooser(objectives=OBJECTIVES, arms=ARMS, context=CONTEXT)
    with tempfile.TemporaryDirectory() as made:
        small, large = Path(made) / "small", Path(made) / "large"
        for folder, count in ((small, 100_000), (large, rows)):
            folder.mkdir()
            write(folder, count)
        for name, candidate in (("always:medium", "always:medium"), ("frozen chooser", chooser)):
            if candidate is chooser:
                random = np.random.default_rng(1)
                chooser.learn(
                    {
                        "tokens": random.uniform(0, 1000, 2000),
                        "task": random.choice(["chat", "code", "maths"], 2000),
                        "arm": random.choice(ARMS, 2000),
                        "quality": random.random(2000),
                        "cost": random.random(2000),
                    }
                )
            measure(small, 100_000, candidate, f"{name} (compiling, 100,000 rows)")
            measure(large, rows, candidate, name)


if __name__ == "__main__":
    main()
