"""A chooser as a file: a zip of one JSON document and plain arrays. Nothing in it is executed.

    chooser.json      {"format": "lexbandit.chooser", "version": 1, "definition": ..., ...}
    policy/NAME.npy   the arrays of policy.state()
    waiting/NAME.npy  the decisions that wait for rewards: arms, points, ...

The file is written beside its place and then moved there, so a crash leaves the old one or the new
one. A newer version is refused; older ones are read.
"""

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit.errors import InvalidInput

FORMAT = "lexbandit.chooser"
VERSION = 1

Arrays = dict[str, np.ndarray]


def write(path: Path, document: dict[str, Any], arrays: Arrays) -> None:
    """Write a file, whole or not at all."""
    head = {"format": FORMAT, "version": VERSION, **document}
    try:
        text = json.dumps(head, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"this chooser cannot be saved: {error}; settings of the policy must be plain numbers, "
            "texts and lists."
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("chooser.json", text)
                for key, array in arrays.items():
                    buffer = io.BytesIO()
                    np.save(buffer, array, allow_pickle=False)
                    archive.writestr(f"{key}.npy", buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a file; one that is damaged, foreign or of a newer version is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            if "chooser.json" not in archive.namelist():
                raise InvalidInput(f"{path} is not a saved chooser.")
            document = json.loads(archive.read("chooser.json"))
            _check(path, document)
            arrays = {
                name.removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, RuntimeError) as error:
        raise InvalidInput(f"{path} is not a saved chooser, or is damaged: {error}.") from error
    return document, arrays


def _check(path: Path, document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a saved chooser.")
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InvalidInput(
            f"{path} was saved in version {version!r} of the format; this lexbandit reads versions "
            f"up to {VERSION}: install a newer one."
        )
