"""Settings for the whole suite."""

import os

import numba
import pytest
from hypothesis import settings

# The first example may compile a kernel, so a single example has no deadline; seeds are fixed.
settings.register_profile("lexbandit", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("lexbandit")


def pytest_configure(config: pytest.Config) -> None:
    """Let no setting of whoever runs the tests reach them.

    Without the JIT, 64-bit arithmetic that wraps around on purpose warns; with it, nothing.
    """
    for variable in [name for name in os.environ if name.startswith("LEXBANDIT_")]:
        if variable != "LEXBANDIT_DATA":  # where data are that some tests use
            del os.environ[variable]
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")
