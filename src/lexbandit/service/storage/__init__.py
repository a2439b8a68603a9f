"""Where events are kept: a file (SQLite), or a server that replicas share (PostgreSQL)."""

from lexbandit.errors import InvalidInput
from lexbandit.service.storage.base import Storage, StorageFailed, StorageInUse

__all__ = ["Storage", "StorageFailed", "StorageInUse", "make_storage"]


def make_storage(url: str, *, reading: bool = False) -> Storage:
    """Return the storage of a URL: sqlite:FILE, or postgresql://USER:PASSWORD@HOST/DATABASE.

    `reading`: the log is read only, so another process may be serving it.
    """
    scheme, _, place = url.partition(":")
    if scheme == "sqlite" and place:
        from lexbandit.service.storage.sqlite import SqliteReader, SqliteStorage  # noqa: PLC0415

        kind = SqliteReader if reading else SqliteStorage
        return kind(place.removeprefix("//"))
    if scheme in ("postgresql", "postgres"):
        from lexbandit.service.storage.postgres import PostgresStorage  # noqa: PLC0415

        return PostgresStorage(url)
    raise InvalidInput(  # only the scheme is shown: the rest may hold a password
        "storage must be sqlite:FILE or postgresql://USER:PASSWORD@HOST/DATABASE, "
        f"got one that starts with {scheme[:20]!r}."
    )
