"""A log's SQLite file: its tables and their versions, where it ends, and what is wrong with it."""

import os
import sqlite3
from pathlib import Path

from lexbandit.service.events import CorruptLog
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
SELECT coalesce(seq, 0), coalesce(time, 0.0), written FROM
    (SELECT coalesce(max(seq), 0) AS written FROM sqlite_sequence WHERE name = 'log')
    LEFT JOIN (SELECT seq, time FROM log ORDER BY seq DESC LIMIT 1)
"""

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
