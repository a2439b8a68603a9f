"""A chooser as a file: a zip of one JSON document and plain arrays. Nothing in it is executed.

    chooser.json      {"format": "lexbandit.chooser", "version": 3, "definition": ..., ...}
    policy/NAME.npy   the arrays of policy.state()
    waiting/NAME.npy  the decisions that wait for rewards: arms, points, ...

The file is written beside its place and then moved there, so a crash leaves the old one or the new
one. A newer version is refused; older ones are read. docs/saving.md describes it.
"""

import io
import json
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit._internal.files import placing, written_whole
from lexbandit.errors import InvalidInput

FORMAT = "lexbandit.chooser"
VERSION = 3

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


def place_of(path: Any) -> Path:
    """Return the path of a file."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InvalidInput(f"path must be a text or a Path, got {path!r}.") from None
    try:
        storable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        storable = False
    if not storable:
        raise InvalidInput(f"path must have characters that a file's name can have, got {path!r}.")
    return Path(text)


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of a file. They are not compressed: what was learned hardly gets smaller."""
    head = {"format": FORMAT, "version": VERSION, **document}
    text = text_of(head, "saved")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("chooser.json", text)
        for key, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(f"{key}.npy", member.getbuffer())
    return buffer.getvalue()


def text_of(document: dict[str, Any], purpose: str, *, sort: bool = False) -> str:
    """Return a document as JSON."""
    try:
        return json.dumps(document, allow_nan=False, sort_keys=sort)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"this chooser cannot be {purpose}: {error}; settings of the policy must be plain "
            "numbers, texts and lists."
        ) from error


def write(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    with placing(path):
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder; a chooser is saved to a file.")
        with written_whole(path) as beside:
            beside.write_bytes(data)


def read(path: Path) -> bytes:
    """Read a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def unpack(where: str, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays; what is damaged, foreign or newer is refused."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "chooser.json" not in archive.namelist():
                raise InvalidInput(f"{where} is not a saved chooser: it has no chooser.json.")
            document = json.loads(archive.read("chooser.json"))
            _check(where, document)
            arrays = {
                name.removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except InvalidInput:
        raise
    except (OSError, *_DAMAGE) as error:
        raise InvalidInput(f"{where} is not a saved chooser, or is damaged: {error}.") from error
    return document, arrays


def _check(where: str, document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(f"{where} is not a saved chooser: its format is another.")
    version = document.get("version")
    if version.__class__ is not int or version < 1:
        raise InvalidInput(f"{where} is damaged: its version is {version!r}.")
    if version > VERSION:
        raise InvalidInput(
            f"{where} was saved in version {version!r} of the format; this lexbandit reads "
            f"versions up to {VERSION}: install a newer one."
        )
