"""How long the first call takes in a fresh process, and whether memory stays flat."""

import os
import subprocess
import sys
import tempfile
import time

from rich.console import Console

FIRST_CALLS = """
import numpy as np, lexbandit
rounds = lexbandit.Rounds(np.full((9, 2), .5), np.ones((9, 4, 2)))
for name in ["moc-mab", "cp-ucb1", "cs-ucb1", "cd-ucb1", "p-ucb1", "s-ucb1"]:
    policy = lexbandit.make_policy(name, arms=4, dimension=2, horizon=100)
    policy.replay(rounds)
    policy.update([.5, .5], policy.select([.5, .5]).arm, [1., 1.])
"""

FIRST_CHOICE = """
import lexbandit as lb
chooser = lb.Chooser(
    objectives=[lb.Objective("quality", tolerance=.02), lb.Objective("cost", goal="min")],
    arms=["small", "medium", "large"],
    context=[lb.Number("tokens", 0, 8000), lb.Category("task", ["code", "chat"])],
)
request = {"tokens": 900, "task": "code"}
chooser.reward(chooser.choose(request), quality=.9, cost=.1)
str(chooser.explain(request))
"""

COMPILED = "from lexbandit.kernels.jit import PATIENCE\nPATIENCE.left = 0.0\n"

MEMORY = """
import lexbandit
def peak():  # of this process alone; ru_maxrss remembers the parent's
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
environment = lexbandit.make_environment("multichannel")
policy = lexbandit.make_policy("moc-mab", arms=8, dimension=2, horizon=10**7, scale=.2)
done = 0
for block in environment.stream(8_000_000, seed=0):
    policy.replay(block)
    done += len(block)
    if done in (1_048_576, 8_000_000):
        print(peak())
"""


def timed(code: str, **environment: str) -> tuple[float, str]:
    """Return the seconds and the output of a fresh process."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return time.perf_counter() - start, done.stdout


def starting(console: Console) -> None:
    """Print the time of first calls in a fresh process, compiled anew and from the cache."""
    for what, code in (
        ("Replay, select and update of the paper's six policies", FIRST_CALLS),
        ("choose, reward and explain of a chooser", FIRST_CHOICE),
    ):
        with tempfile.TemporaryDirectory() as folder:
            first, _ = timed(code, NUMBA_CACHE_DIR=folder)
            cold, _ = timed(COMPILED + code, NUMBA_CACHE_DIR=folder)
            warm = min(timed(code, NUMBA_CACHE_DIR=folder)[0] for _ in range(3))
        console.print(
            f"{what}: without a cache {first:.1f} s, run by Python itself, and {cold:.1f} s if all "
            f"is compiled at once; {warm:.2f} s with a cache."
        )
    bare = min(timed("import lexbandit")[0] for _ in range(3))
    console.print(f"`import lexbandit` alone: {bare:.2f} s.")


def memory(console: Console) -> None:
    """Print the peak memory after 1 and after 8 million rounds."""
    early, late = timed(MEMORY)[1].split()
    console.print(f"Peak memory after 10⁶ rounds: {early} MB, after 8·10⁶: {late} MB.")
