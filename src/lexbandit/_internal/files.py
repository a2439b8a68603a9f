"""Write files atomically: to a temporary file beside the target, which then replaces it."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from lexbandit.errors import InvalidInput


@contextlib.contextmanager
def placing(path: Path) -> Iterator[Path]:
    """Yield the folder of a file to write; turn errors of the system into ones that name both.

    An error without a file name, such as of a full disk, is raised as it is.
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
    """Yield an empty temporary file; at the end flush it to disk and let it replace `path`.

    After an error it is removed, and `path` is unchanged. The file has the permissions `mode`, or
    those of the file it replaces, or the default ones. The temporary name begins with `prefix`.
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
    """Flush a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
