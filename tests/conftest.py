"""Settings for the whole suite."""

import gc
import logging
import os
from collections.abc import Iterator
from typing import Any

import numba
import pytest
from hypothesis import settings

from lexbandit.kernels.jit import PATIENCE
from support import policy_in

# Kernels are compiled when they are first called: some tests measure how fast they are.
PATIENCE.left = 0.0

# The first example may compile a kernel, so a single example has no deadline; seeds are fixed.
settings.register_profile("lexbandit", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("lexbandit")


# Files whose tests run for every policy; the policy's name is part of a test's parameters.
_OF_EVERY_POLICY = (
    "tests/chooser/test_every_policy.py",
    "tests/chooser/test_in_parts.py",
    "tests/contracts/test_policies.py",
    "tests/contracts/test_policies_in_bulk.py",
)

# The tests of such a folder share what is made once: a service and a browser, or a report.
_OF_ONE_FIXTURE = ("tests/service/dashboard/", "tests/report/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let tests of a file share a worker with --dist loadfile, and so tests of a policy.

    Two workers would set up the same fixtures, and compile the same kernels at the same time.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class ByFileAndPolicy(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            if file.startswith(_OF_ONE_FIXTURE):
                return file.rpartition("/")[0]
            return policy_in(test) or file if file in _OF_EVERY_POLICY else file

    return ByFileAndPolicy(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Let no setting of whoever runs the tests reach them.

    Without the JIT, 64-bit arithmetic that wraps around on purpose warns; with it, nothing.
    """
    for variable in [name for name in os.environ if name.startswith("LEXBANDIT_")]:
        if variable != "LEXBANDIT_DATA":  # where data are that some tests use
            del os.environ[variable]
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what the imports made, and pass less often.

    With the compiler and its kernels there is much to look through, and nothing of it goes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests an hour, where others have the timeout of pyproject.toml."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Undo what a test does to the loggers, such as a service that is started in this process."""
    names = ["", "lexbandit", *(n for n in logging.root.manager.loggerDict if "lexbandit." in n)]
    loggers = [logging.getLogger(name) for name in names]
    before = [(log.level, log.propagate, log.disabled, list(log.handlers)) for log in loggers]
    yield
    for log, (level, propagate, disabled, handlers) in zip(loggers, before, strict=True):
        log.setLevel(level)
        log.propagate, log.disabled, log.handlers[:] = propagate, disabled, handlers
