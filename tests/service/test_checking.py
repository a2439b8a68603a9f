"""What would keep a service from starting is told by --check, and by its right name."""

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lexbandit.cli.main import status_of
from lexbandit.cli.serve import sample
from lexbandit.errors import InvalidInput
from lexbandit.service import process as server
from lexbandit.service.config.file import Config, read_config
from lexbandit.service.engine import start as opening
from lexbandit.service.events import CorruptLog
from lexbandit.service.http.access import hash_of
from lexbandit.service.storage import Storage, StorageFailed, check_storage, make_storage
from lexbandit.service.storage.sqlite import unreadable
from service.homes import HOMES, Home, in_loop, numbered
from service.real_postgres import Postgres
from service.world import CONTEXT, engine_on


@pytest.fixture(params=sorted(HOMES))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return HOMES[request.param](tmp_path)


@in_loop
async def test_a_storage_is_checked_and_nothing_is_written(home: Home, tmp_path: Path) -> None:
    await check_storage(home.url)
    assert [*tmp_path.iterdir()] == []
    async with home.opened() as storage:
        await storage.append(numbered(1, 2))
    await check_storage(home.url)
    home.sql("DELETE FROM {log} WHERE seq = 2")
    with pytest.raises(CorruptLog, match="event 2 was the last"):
        await check_storage(home.url)


def _check(url: str) -> int:
    return status_of(["serve", str(sample()), "--check", "--no-auth", "--storage", url])


def test_a_log_in_memory_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert _check("sqlite::memory:") == 1
    assert "sqlite:FILE, got sqlite::memory:" in capsys.readouterr().err


def test_check_refuses_what_may_not_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.db"
    may = os.access
    monkeypatch.setattr(os, "access", lambda place, how: place != tmp_path and may(place, how))
    assert _check(f"sqlite:{log}") == 1
    assert f"log.db: this process may not write to {tmp_path}." in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert _check(f"sqlite:{tmp_path / 'file' / 'log.db'}") == 1
    assert "file is no folder." in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda place, how: place != log and may(place, how))
    log.write_bytes(b"")
    assert _check(f"sqlite:{log}") == 1
    assert f"this process may not write to {log}." in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--check"], ["--port", "0"]], ids=["check", "start"])
def test_a_mistyped_folder_is_refused_and_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    log = tmp_path / "losg" / "log.db"
    assert (
        status_of(["serve", str(sample()), "--no-auth", "--storage", f"sqlite:{log}", *more]) == 1
    )
    assert f"log.db cannot be made: there is no folder {log.parent}." in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_check_refuses_a_user_of_postgresql_who_may_not_write(
    postgres: Postgres, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ((schema,),) = postgres.execute("SELECT current_schema()", url=postgres_url)
    guest = f"guest_of_{schema}"
    postgres.execute(f"CREATE ROLE {guest} LOGIN")
    postgres.execute(f"GRANT USAGE ON SCHEMA {schema} TO {guest}")
    url = postgres_url.replace("//postgres:", f"//{guest}:", 1)
    assert url != postgres_url
    assert _check(url) == 1
    assert f"{guest} may not create tables in the schema '{schema}'." in capsys.readouterr().err
    postgres.execute(f"GRANT CREATE ON SCHEMA {schema} TO {guest}")
    assert _check(url) == 0
    asyncio.run(_opened_once(make_storage(postgres_url)))
    postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {guest}")
    assert _check(url) == 1
    assert f"{guest} may not write to the tables" in capsys.readouterr().err
    postgres.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {guest}")
    assert _check(url) == 0


async def _opened_once(storage: Storage) -> None:
    await storage.open()
    await storage.append(numbered(1, 1))
    await storage.close()


def _error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (_error(sqlite3.SQLITE_CANTOPEN), StorageFailed, "cannot be read: as SQLite says it"),
        (_error(sqlite3.SQLITE_READONLY_DIRECTORY), StorageFailed, "write in its folder"),
        (_error(sqlite3.SQLITE_NOTADB), CorruptLog, "is not a SQLite file. If that is"),
        (_error(sqlite3.SQLITE_CORRUPT_INDEX), CorruptLog, "is damaged where the log is"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), CorruptLog, "is damaged where the log is"),
    ],
)
def test_what_is_out_of_reach_is_not_called_damaged(
    error: Exception, kind: type[Exception], told: str
) -> None:
    found = unreadable(Path("log.db"), "the log", error)
    assert type(found) is kind
    assert told in str(found)
    assert ("backup" in str(found)) == (kind is CorruptLog)


def test_a_file_that_cannot_be_opened_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_opened_once(make_storage(f"sqlite:{tmp_path / 'log.db'}")))
    connect = sqlite3.connect

    def refused(_: Any, **named: Any) -> Any:
        """As for a user who may not: the tests may run as one who may everything."""
        return connect("file:/no/such/folder/log.db?mode=ro", **named)

    monkeypatch.setattr(sqlite3, "connect", refused)
    ways = (["copy", f"sqlite:{tmp_path / 'log.db'}", f"sqlite:{tmp_path / 'copy.db'}"],)
    for way in (*ways, ["export", "router", "--to", "x.csv", "--storage", ways[0][1]]):
        assert status_of(way) == 1
        told = capsys.readouterr().err
        assert "log.db cannot be read: unable to open database file." in told
        assert "backup" not in told


def test_a_file_of_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, log = tmp_path / "other.db", tmp_path / "log.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    asyncio.run(_opened_once(make_storage(f"sqlite:{log}")))
    before = other.read_bytes()
    assert status_of(["copy", f"sqlite:{log}", f"sqlite:{other}"]) == 1
    assert "other.db has tables that are not lexbandit's." in capsys.readouterr().err
    (tmp_path / "text.py").write_text("print('this is no database, but it is long enough')" * 40)
    assert status_of(["copy", f"sqlite:{tmp_path / 'text.py'}", f"sqlite:{other}"]) == 1
    assert "text.py is not a SQLite file." in capsys.readouterr().err
    assert other.read_bytes() == before


@in_loop
async def test_a_storage_that_cannot_be_copied_to_says_so() -> None:
    class Plain(Storage):
        shared = False
        open = close = append = read_since = save_snapshot = load_snapshot = None  # type: ignore[assignment]

    with pytest.raises(StorageFailed, match="cannot be copied to"):
        await Plain().restore([])


@in_loop
async def test_it_is_said_how_far_a_long_log_was_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_on(tmp_path / "log.db") as engine:
        await engine.decide("router", CONTEXT)
    monkeypatch.setattr(opening, "_REPORT", 0.0)
    caplog.set_level("INFO", "lexbandit.service")
    async with opening.reporting(lambda: 1200):
        await asyncio.sleep(0.05)
    assert "reading the log: 1,200 events so far" in caplog.messages
    before = len(caplog.messages)
    await asyncio.sleep(0.05)
    assert len(caplog.messages) == before


def test_keys_that_others_can_read_on_the_way_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXBANDIT_KEY_WEB", f"decide:{hash_of('a key')}")
    storage = f"sqlite:{tmp_path / 'log.db'}"
    for host, behind_tls, warned in (
        ("0.0.0.0", "false", True),
        ("0.0.0.0", "true", False),
        ("127.0.0.1", "false", False),
    ):
        monkeypatch.setenv("LEXBANDIT_BEHIND_TLS", behind_tls)
        options = ["--check", "--host", host, "--storage", storage]
        assert status_of(["serve", str(sample()), *options]) == 0
        said = capsys.readouterr().err
        assert ("Warning: API keys come to 0.0.0.0:8080 in plain text" in said) == warned, said
        assert ("Behind a proxy that ends TLS it is fine" in said) == warned


def test_a_start_warns_of_them_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXBANDIT_KEY_WEB", f"decide:{hash_of('a key')}")
    flags = {"storage": f"sqlite:{tmp_path / 'log.db'}", "host": "0.0.0.0", "tls_cert": None}
    config = read_config(sample(), flags=flags)

    def taken(_config: Config) -> None:
        raise InvalidInput("the port is taken")  # it comes after the warning

    monkeypatch.setattr(server, "bound", taken)
    with pytest.raises(InvalidInput, match="the port is taken"):
        asyncio.run(server.serve(config, no_auth=False, started=print))
    assert "API keys come to 0.0.0.0:8080 in plain text" in caplog.text
