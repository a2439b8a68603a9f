"""Where files are put: each is written beside its place and then moved there."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lexbandit.errors import InvalidInput


@contextlib.contextmanager
def placing(path: Path) -> Iterator[Path]:
    """Give the folder in which a file is written; what is wrong with it is told by its name.

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
