"""A log's SQLite file: its tables and their versions, where it ends, and what is wrong with it."""

import os
import sqlite3
from pathlib import Path

from lexbandit.service.events import CorruptLog
from lexbandit.service.storage._sqlite_wal import wal_damage
from lexbandit.service.storage.base import StorageFailed

# What brings a file from version n to n + 1; a new file takes all of them. AUTOINCREMENT has SQLite
# keep the last place in a table of its own, by which a log that lost its end is noticed.
MIGRATIONS = (
    """
    CREATE TABLE log (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        time REAL NOT NULL,
        point TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        checksum INTEGER NOT NULL
    );
    CREATE INDEX log_by_point ON log (point, seq);
    CREATE TABLE first_events (
        seq INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        point TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        checksum INTEGER NOT NULL
    );
    CREATE TABLE removed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
    INSERT INTO removed VALUES (1, 0);
    CREATE TABLE snapshots (
        point TEXT NOT NULL,
        definition TEXT NOT NULL,
        seq INTEGER NOT NULL,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (point, definition, seq)
    );
    """,
)

# The last event that is there, and the last place written; in one statement, so that no batch of
# another process comes between them.
_END = """
SELECT coalesce(last.seq, removed.seq), coalesce(last.time, 0.0), written
FROM removed, (SELECT coalesce(max(seq), 0) AS written FROM sqlite_sequence WHERE name = 'log')
LEFT JOIN (SELECT seq, time FROM log ORDER BY seq DESC LIMIT 1) AS last
"""

# Writes to the disk, and changes nothing.
TOUCH = ("UPDATE removed SET seq = seq", ())

_COLUMNS = "log.seq, time, point, kind, body, checksum"
# Each row ends with the last event that was removed: one statement sees one state of the file.
READ = f"""
SELECT {_COLUMNS}, (SELECT seq FROM removed) FROM log
WHERE seq > max(?, (SELECT seq FROM removed)) ORDER BY seq LIMIT ?
"""
READ_POINT = f"SELECT {_COLUMNS} FROM log WHERE point = ? AND seq > ? ORDER BY seq LIMIT ?"
FIRST_EVENTS = "SELECT * FROM first_events ORDER BY seq"
# By the index, from each point to the next.
POINTS = """
WITH RECURSIVE points (name) AS (
    SELECT min(point) FROM log
    UNION ALL
    SELECT (SELECT min(point) FROM log WHERE point > name) FROM points WHERE name IS NOT NULL
) SELECT name FROM points WHERE name IS NOT NULL
"""
# Of the events after ?1 and up to ?2, those stay that say which arms a point has.
REMOVE = (
    "INSERT INTO first_events SELECT * FROM log "
    "WHERE seq > ?1 AND seq <= ?2 AND kind IN ('begin', 'arm')",
    "DELETE FROM log WHERE seq > ?1 AND seq <= ?2",
    "UPDATE removed SET seq = ?2 WHERE seq = ?1",
)
BEGIN_AT = (
    "UPDATE removed SET seq = ?1",
    "DELETE FROM sqlite_sequence WHERE name = 'log' AND seq < ?1",
    "INSERT INTO sqlite_sequence (name, seq) VALUES ('log', ?1)",
)

# In a damaged file, also SQLite's messages may be no text.
UNREADABLE = (sqlite3.Error, UnicodeError)
# With these the file may be as good as ever.
_NOT_ALLOWED = (
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is another program's."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and not version(connection, path):
        raise StorageFailed(
            f"{path} has tables that are not lexbandit's. Name another file.", final=True
        )


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file to the present version, whole or not at all."""
    for n in range(version(connection, path), len(MIGRATIONS)):
        connection.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[n]}; PRAGMA user_version = {n + 1}; COMMIT;"
        )


def version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a file's tables, 0 if there are none; refuse those of later ones."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > len(MIGRATIONS):
        raise StorageFailed(
            f"{path} has tables of version {found}, made by a newer lexbandit; this one knows "
            f"versions up to {len(MIGRATIONS)}. Upgrade lexbandit, or use another file.",
            final=True,
        )
    return int(found)


def end(connection: sqlite3.Connection, path: Path) -> tuple[int, float]:
    """Return the place and the time of a log's last event; refuse a log that lost its end."""
    seq, time, written = connection.execute(_END).fetchone()
    if seq != written or not isinstance(time, float):
        raise CorruptLog(
            f"{path} is damaged: its log ends with event {seq}, and event {written} was the last "
            "one written. Restore it from a backup."
        )
    return seq, time


def removed(connection: sqlite3.Connection) -> int:
    """Return the last event that was removed from the log's beginning."""
    return int(connection.execute("SELECT seq FROM removed").fetchone()[0])


def check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose pages do not fit together, or whose write-ahead log is damaged."""
    for (found,) in connection.execute("PRAGMA integrity_check(1)"):
        if found != "ok":
            raise CorruptLog(f"{path} is damaged: {found}. Restore it from a backup.")
    damage = wal_damage(path)
    if damage is not None and not damage.at_end:
        damage = wal_damage(path)  # a process may have written while it was read
    if damage is None:
        return
    last = end(connection, path)[0] if version(connection, path) else 0
    reason = f"{path}-wal is damaged: {damage.reason}. So event {last} is the last that can be read"
    if damage.at_end:
        raise CorruptLog(
            f"{reason}. If the power was lost, nobody was told of what came after it: start the "
            "service once, and check again. Otherwise restore the file from a backup."
        )
    raise CorruptLog(
        f"{reason}, and the first damaged one is event {last + 1} or later. Restore the file from "
        "a backup."
    )


def unreadable(path: Path, what: str, error: Exception) -> CorruptLog | StorageFailed:
    """Return what it means that `what` could not be read: the file is damaged, or out of reach."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _NOT_ALLOWED:
        return StorageFailed(
            f"{path} cannot be read: {error}. This process must be allowed to read it, and to "
            "write in its folder, where SQLite keeps what belongs to it.",
            final=True,
        )
    if code == sqlite3.SQLITE_NOTADB:
        return CorruptLog(
            f"{path} is not a SQLite file. If that is its right name, restore it from a backup."
        )
    return CorruptLog(f"{path} is damaged where {what} is: {error}. Restore it from a backup.")


def touch(connection: sqlite3.Connection) -> None:
    """Write to the disk what changes nothing; a write-ahead log that is missing is made."""
    connection.execute(*TOUCH)


def identity(path: Path) -> tuple[int, int]:
    """Return what tells a file from another one that has its name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def check_writable(path: Path) -> None:
    """Refuse a place that this process may not write at."""
    folder = path.absolute().parent
    while not folder.exists():  # those that are missing will be made
        folder = folder.parent
    if not folder.is_dir():
        raise StorageFailed(f"{path} cannot be made: {folder} is no folder.", final=True)
    for place in (path, folder):
        if place.exists() and not os.access(place, os.W_OK):
            raise StorageFailed(f"{path}: this process may not write to {place}.", final=True)
