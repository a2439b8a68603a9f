"""Check the write-ahead log of a SQLite file.

SQLite itself stops reading a write-ahead log at the first frame that does not match its checksum,
and takes what follows for the remains of a transaction that was never finished. So damage there
looks like a log that is shorter. Each checksum goes on from the one that is stored in the frame
before; so a frame that matches, after one that does not, shows that the latter was once whole.

A transaction that was given up, such as on a full disk, may leave frames behind those of the next
one. They go on from each other too, but the last frame of a transaction, which says how many pages
the file then has, is not among them.

The format: https://www.sqlite.org/fileformat2.html#walformat
"""

import struct
from pathlib import Path
from typing import NamedTuple

_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_MAGIC = 0x377F0682  # the lowest bit tells the byte order of checksums
_WORD = 0xFFFFFFFF

Sums = tuple[int, int]


class Damage(NamedTuple):
    """What is wrong with a write-ahead log.

    `at_end`: nothing that is whole comes after it, so a loss of power may have left it so.
    """

    reason: str
    at_end: bool


def wal_damage(wal: Path) -> Damage | None:
    """Return what is wrong with a write-ahead log; None if it is whole, or not there."""
    data = wal.read_bytes() if wal.exists() else b""
    return _damage(data) if data else None


def _damage(data: bytes) -> Damage | None:
    if len(data) < _HEADER.size:
        return Damage("its header is cut", at_end=True)
    magic, _, page, _, *salts, first, second = _HEADER.unpack_from(data)
    order = ">" if magic & 1 else "<"
    sums = _sums((0, 0), data[:24], order)
    if magic & ~1 != _MAGIC or sums != (first, second):
        return Damage("its header does not match its checksum", at_end=False)
    broken: int | None = None
    committed = several = False  # after a broken frame
    size = _FRAME.size + page
    for n, at in enumerate(range(_HEADER.size, len(data) - size + 1, size), 1):
        _, pages, salt, other_salt, first, second = _FRAME.unpack_from(data, at)
        ours = [salt, other_salt] == salts
        expected = _sums(sums, data[at : at + 8] + data[at + 24 : at + size], order)
        if ours and expected == (first, second):
            if broken is not None and pages:
                return Damage(f"frame {broken} does not match its checksum", at_end=False)
            several = broken is not None
        elif ours or salt == salts[0] or other_salt == salts[1]:
            broken = broken or n
            committed |= pages > 0
        elif broken is None:
            if not any(_is_ours(data, n, size, salts) for n in range(at + size, len(data), size)):
                return None  # the rest is of an earlier round, which was copied to the file
            broken = n
        sums = (first, second)
    if broken is not None and (committed or not several):
        return Damage(f"frame {broken}, its last, does not match its checksum", at_end=True)
    return None


def _is_ours(data: bytes, at: int, size: int, salts: list[int]) -> bool:
    """Tell whether the frame at a place is of the present round."""
    return at + size <= len(data) and list(_FRAME.unpack_from(data, at)[2:4]) == salts


def _sums(sums: Sums, data: bytes, order: str) -> Sums:
    """Return the checksum of data, going on from another one."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for n in range(0, len(words), 2):
        first = (first + words[n] + second) & _WORD
        second = (second + words[n + 1] + first) & _WORD
    return first, second
