"""docs/operating.md: its commands give what it says."""

import asyncio
import re
import shutil
import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest

from lexbandit.cli.main import status_of
from lexbandit.cli.serve import sample
from lexbandit.service.engine.engine import Engine
from lexbandit.service.storage import Storage, StorageFailed, make_storage
from service.homes import in_loop, numbered
from service.real_postgres import Postgres
from service.world import CONTEXT, definition, engine_on, replayed

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()


def command(begin: str) -> str:
    """Return the one command of the page that begins so."""
    (found,) = re.findall(rf"(?:^ {{4}}|`)({re.escape(begin)}[^`\n]*)", PAGE, re.MULTILINE)
    return str(found)


async def some(engine: Engine, first: int, count: int) -> None:
    """Make decisions and tell the rewards of most of them."""
    for n in range(first, first + count):
        await engine.decide("router", CONTEXT, id=f"d{n}")
        if n % 4:
            await engine.reward("router", f"d{n}", {"quality": n % 3 / 2, "cost": 0.01})


@in_loop
async def test_a_backup_of_sqlite_under_traffic_is_the_log_up_to_one_moment(tmp_path: Path) -> None:
    log, backup = tmp_path / "decisions.db", tmp_path / "backup.db"
    (statement,) = re.findall(
        r'^sqlite3 -readonly decisions\.db "(.*)"$', command("sqlite3 -readonly")
    )

    def back_up() -> None:  # what the program does, whether it is installed here or not
        connection = sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)
        connection.execute(statement.replace("backup.db", str(backup)))
        connection.close()

    async with engine_on(log) as engine:
        await some(engine, 0, 40)
        before = engine.points["router"].seq
        going_on = asyncio.create_task(some(engine, 40, 40))
        await asyncio.to_thread(back_up)
        await going_on
        with pytest.raises(sqlite3.OperationalError, match="already exists"):
            back_up()
    async with engine_on(backup) as restored:
        kept = restored.points["router"].seq
        assert kept >= before
        digest = restored.points["router"].digest()
    cut = sqlite3.connect(log)
    cut.execute("DELETE FROM log WHERE seq > ?", (kept,))
    cut.execute("UPDATE sqlite_sequence SET seq = ?", (kept,))
    cut.commit()
    cut.close()
    assert await replayed(log) == digest


@pytest.mark.parametrize("without_snapshots", [False, True])
def test_a_dump_of_postgresql_comes_back_the_same(
    tmp_path: Path, postgres: Postgres, without_snapshots: bool
) -> None:
    url, other = postgres.new_database(), postgres.new_database()

    async def digest(url: str, decide: int) -> str:
        point = definition()
        engine = await Engine.start({"router": point}, make_storage(url))
        await some(engine, 0, decide)
        told = engine.points["router"].digest()
        await engine.stop()
        return told

    def run(line: str, *more: str) -> subprocess.CompletedProcess[str]:
        program, *options = line.split()
        given = {
            "postgresql://USER:PASSWORD@HOST/lexbandit": url,
            "--file=backup.dump": f"--file={tmp_path / 'backup.dump'}",
            "--dbname=postgresql://USER:PASSWORD@HOST/restored": f"--dbname={other}",
            "backup.dump": str(tmp_path / "backup.dump"),
        }
        return subprocess.run(
            [postgres.programs / program, *more, *(given.get(one, one) for one in options)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    before = asyncio.run(digest(url, 30))
    fewer = command("--exclude-table-data=")
    dumped = run(command("pg_dump --format"), *([fewer] if without_snapshots else []))
    assert dumped.returncode == 0, dumped.stderr
    restored = run(command("pg_restore --"))
    assert restored.returncode == 0, restored.stderr
    snapshots = postgres.execute("SELECT count(*) FROM lexbandit_snapshots", url=other)
    assert (snapshots == [(0,)]) is without_snapshots
    assert asyncio.run(digest(other, 0)) == before
    assert run(command("pg_restore --")).returncode != 0  # only into an empty one


def test_check_tries_the_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    text = PAGE[PAGE.index("    openssl req") :].partition("    lexbandit serve")[0]
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    def check(cert: Path, key: Path) -> int:
        storage = f"sqlite:{tmp_path / 'log.db'}"
        options = ["--tls-cert", str(cert), "--tls-key", str(key), "--storage", storage]
        return status_of(["serve", str(sample()), "--check", *options])

    assert check(cert, key) == 0
    assert check(key, cert) == 1
    told = capsys.readouterr().err
    assert str(key) in told
    assert "cannot be used" in told


def test_a_file_of_keys_stays_readable_for_the_service(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    assert status_of(["key", "web", "--role", "decide", "--to", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    assert status_of(["key", "web-2", "--role", "decide", "--to", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_text().count("[[keys]]") == 2


def test_check_asks_postgresql_and_makes_no_tables(
    postgres: Postgres, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(url: str) -> int:
        return status_of(["serve", str(sample()), "--check", "--storage", url])

    tables = "SELECT count(*) FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid)"
    assert check(postgres_url) == 0
    assert postgres.execute(tables, "lexbandit_log", url=postgres_url) == [(0,)]

    async def open_once() -> None:
        storage = make_storage(postgres_url)
        await storage.open()
        await storage.close()

    asyncio.run(open_once())
    assert postgres.execute(tables, "lexbandit_log", url=postgres_url) == [(1,)]
    assert check(postgres_url) == 0
    postgres.execute("UPDATE lexbandit_schema SET version = 99", url=postgres_url)
    capsys.readouterr()
    assert check(postgres_url) == 1
    assert "made by a newer lexbandit" in capsys.readouterr().err
    assert check("postgresql://me:hush@127.0.0.1:1/none") == 1
    told = capsys.readouterr().err
    assert told.startswith("error: PostgreSQL at 127.0.0.1:1/none cannot be used")
    assert "hush" not in told


@in_loop
async def test_a_log_that_is_read_is_not_written(postgres_url: str) -> None:
    async def opened(*, reading: bool) -> Storage:
        storage = make_storage(postgres_url, reading=reading)
        await storage.open()
        return storage

    reader = await opened(reading=True)
    assert await reader.read_since(0, 10) == []
    await reader.close()
    writer = await opened(reading=False)
    await writer.append(numbered(1, 3))
    await writer.close()
    reader = await opened(reading=True)
    assert [one.seq for one in await reader.read_since(0, 10)] == [1, 2, 3]
    with pytest.raises(StorageFailed, match="read-only"):
        await reader.append(numbered(4, 1))
    await reader.close()


def test_check_refuses_tables_of_a_newer_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.db"
    connection = sqlite3.connect(log)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("CREATE TABLE log (seq INTEGER)")
    connection.close()
    assert status_of(["serve", str(sample()), "--check", "--storage", f"sqlite:{log}"]) == 1
    assert "made by a newer lexbandit" in capsys.readouterr().err


def test_what_goes_wrong_with_files_says_nothing_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    storage = f"sqlite:{tmp_path / 'file' / 'log.db'}"  # a folder that is none
    given = ["serve", str(sample()), "--no-auth", "--port", "0", "--storage", storage]
    assert status_of(given) == 1
    told = capsys.readouterr().err
    assert f"log.db cannot be made: {tmp_path / 'file'} is no folder." in told
    (tmp_path / "empty.db").write_bytes(b"")
    storage = f"sqlite:{tmp_path / 'empty.db'}"
    out = str(tmp_path / "out.csv")
    assert status_of(["export", "router", "--to", out, "--storage", storage]) == 1
    told = capsys.readouterr().err
    assert "empty.db has no log of lexbandit in it." in told
    locked = tmp_path / "a-folder.toml"
    locked.mkdir()
    assert status_of(["key", "web", "--role", "read", "--to", str(locked / "x" / "k.toml")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "runs are kept" not in told
