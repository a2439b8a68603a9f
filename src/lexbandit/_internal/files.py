"""Write files whole or not at all: each is written beside its place and then moved there."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from lexbandit.errors import InvalidInput


@contextlib.contextmanager
def placing(path: Path) -> Iterator[Path]:
    """Give the folder in which a file is written; an error with it names the file and the folder.

    An error of the system without a file's name, as of a full disk, is raised as it is.
    """
    folder = path.parent.resolve()
    try:
        if not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder} to write {path.name} into.")
        yield folder
    except OSError as error:
        if error.filename is None:
            raise
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}, in the folder {folder}."
        ) from error


@contextlib.contextmanager
def written_whole(path: Path, *, mode: int | None = None, prefix: str = ".") -> Iterator[Path]:
    """Give an empty file beside `path` to write to; at the end it replaces `path`, on the disk.

    After an error nothing is left of it, and `path` is as it was. The file has the permissions
    `mode`, or those of the file it replaces, or the usual ones of a new file. Its name begins with
    `prefix` until it is whole.
    """
    if mode is None:
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.stat().st_mode)
    beside = path.with_name(f"{prefix}{path.name}.{secrets.token_hex(6)}")
    try:
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode or 0o666))
        if mode is not None:
            beside.chmod(mode)  # whatever the umask says
        yield beside
        _flush(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # not every system can flush a folder
        _flush(path.parent)


def _flush(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk when this returns."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
