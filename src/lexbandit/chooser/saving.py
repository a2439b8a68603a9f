"""A chooser as a file: a zip of one JSON document and plain arrays. Nothing in it is executed.

    chooser.json      {"format": "lexbandit.chooser", "version": 1, "definition": ..., ...}
    policy/NAME.npy   the arrays of policy.state()
    waiting/NAME.npy  the decisions that wait for rewards: arms, points, ...

The file is written beside its place and then moved there, so a crash leaves the old one or the new
one. A newer version is refused; older ones are read. docs/saving.md describes it.
"""

import contextlib
import io
import json
import os
import secrets
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit.errors import InvalidInput

FORMAT = "lexbandit.chooser"
VERSION = 1

Arrays = dict[str, np.ndarray]

# What reading a damaged zip, JSON or array file can raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    EOFError,
    RuntimeError,
    OverflowError,
    MemoryError,
    SyntaxError,
)


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
    beside = path.parent / f".{path.name}.{secrets.token_hex(6)}"
    try:
        with open(beside, "xb") as file:
            _pack(file, text, arrays)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(path.stat().st_mode))  # as the one it replaces
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _settle(path.parent)


def _pack(file: Any, text: str, arrays: Arrays) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("chooser.json", text)
        for key, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(f"{key}.npy", buffer.getbuffer())


def _settle(folder: Path) -> None:
    """Make the new name last through a loss of power, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a file; one that is damaged, foreign or of a newer version is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            if "chooser.json" not in archive.namelist():
                raise InvalidInput(f"{path} is not a saved chooser: it has no chooser.json.")
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
    except _DAMAGE as error:
        raise InvalidInput(f"{path} is not a saved chooser, or is damaged: {error}.") from error
    return document, arrays


def _check(path: Path, document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a saved chooser: its format is another.")
    version = document.get("version")
    if version.__class__ is not int or version < 1:
        raise InvalidInput(f"{path} is damaged: its version is {version!r}.")
    if version > VERSION:
        raise InvalidInput(
            f"{path} was saved in version {version!r} of the format; this lexbandit reads versions "
            f"up to {VERSION}: install a newer one."
        )
