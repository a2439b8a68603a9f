"""A plugin for pytest: no test runs for ever, nor does the end of the suite.

A test that takes too long fails. Where that cannot be, since it waits in code that hears of no
signal or waits again while it ends, its process writes where all threads are, and ends.
"""

import faulthandler
import os
import signal
from collections.abc import Generator
from typing import Any, TextIO

import pytest

# A slow test may take so many times as long.
_SLOW = 12
_STDERR = pytest.StashKey[TextIO]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the limit; the longest test takes half a minute on a quiet, warm machine."""
    parser.addini("time_limit", "seconds that a test may take, with its fixtures", default="300")
    parser.addini("time_to_end", "seconds more until its process ends", default="60")


def pytest_configure(config: pytest.Config) -> None:
    """Keep standard error: while a test runs, pytest has it for itself."""
    config.stash[_STDERR] = open(os.dup(2), "w")  # noqa: SIM115


def _end_after(seconds: float, config: pytest.Config) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[_STDERR])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that takes too long."""
    if item.config.getoption("usepdb"):
        return (yield)
    limit = float(item.config.getini("time_limit"))
    if item.get_closest_marker("slow"):
        limit *= _SLOW

    def over(*_: Any) -> None:
        pytest.fail(f"it is not done after {limit:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, limit)
    _end_after(limit + float(item.config.getini("time_to_end")), item.config)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the process when threads or processes that tests left keep it for long."""
    _end_after(2 * float(session.config.getini("time_to_end")), session.config)
