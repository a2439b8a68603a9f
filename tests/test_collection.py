"""The suite is the same in every process: workers that share it out must agree on its names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import policy_in

ROOT = Path(__file__).parents[1]

# A plugin of one process: its clock is four months ahead and a fraction of a second off.
_OTHER_CLOCK = """
import time
seconds, nanoseconds = time.time, time.time_ns
time.time = lambda: seconds() + 1e7 + 0.567
time.time_ns = lambda: nanoseconds() + 10**16 + 567_000_000
"""


def _collected(plugins: Path, hash_seed: str, *options: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(plugins)}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:xdist", *options]
    # The project's own "-q" shows the names of tests; a line "N tests collected" follows.
    done = subprocess.run(
        [*command, "tests"],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_names_of_tests_depend_neither_on_the_clock_nor_on_the_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "other_clock.py").write_text(_OTHER_CLOCK)
    one = _collected(tmp_path, "1")
    other = _collected(tmp_path, "2", "-p", "other_clock")
    assert len(one) > 1000
    assert one == other


@pytest.mark.parametrize(
    ("test", "policy"),
    [
        ("test_one[plain-moc-mab]", "moc-mab"),
        ("test_one[cs-ucb1-0.1]", "cs-ucb1"),
        ("test_one[lex-thompson]", "lex-thompson"),
        ("test_one[3]", None),
        ("test_one", None),
    ],
)
def test_the_policy_of_a_test_is_found_in_its_parameters(test: str, policy: str | None) -> None:
    assert policy_in(test) == policy
