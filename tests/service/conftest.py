"""What the tests of the service share."""

import logging
import os
from collections.abc import Iterator

import pytest

from service.real_postgres import Postgres, running

# Services that tests start end at once when they are told to, unless a test is about that.
os.environ.setdefault("LEXBANDIT_DRAIN", "0")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Put the loggers back, should a test have set them up as the process does."""
    root, ours = logging.getLogger(), logging.getLogger("lexbandit")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:], root.level, ours.level = before


@pytest.fixture
def postgres() -> Postgres:
    """The running PostgreSQL; a test may restart or kill it, and leaves it running."""
    return running()


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The URL of an empty place in it."""
    return postgres.new_schema()
