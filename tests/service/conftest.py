"""What the tests of the service share."""

import os

import pytest

from service.real_postgres import Postgres, running

# Services that tests start end at once when they are told to, unless a test is about that.
os.environ.setdefault("LEXBANDIT_DRAIN", "0")


@pytest.fixture
def postgres() -> Postgres:
    """The running PostgreSQL; a test may restart or kill it, and leaves it running."""
    return running()


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The URL of an empty place in it."""
    return postgres.new_schema()
