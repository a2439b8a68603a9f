"""Check pages of a log: whole numbers that come as text, and checksums of many bodies."""

import numpy as np

from lexbandit.kernels.arrays import Bytes, Keys, Words
from lexbandit.kernels.jit import kernel

_COMMA, _MINUS, _ZERO, _NINE = ord(","), ord("-"), ord("0"), ord("9")
_ALL, _BYTE = np.uint32(0xFFFFFFFF), np.uint32(0xFF)
_POLYNOMIAL = 0xEDB88320


def _tables() -> Words:
    """Return tables by which eight bytes are taken at a time ("slicing by 8", Kounavis 2005)."""
    tables = np.arange(256, dtype=np.uint32)[np.newaxis].repeat(8, axis=0)
    for _ in range(8):
        tables[0] = tables[0] >> 1 ^ np.where(tables[0] & 1, _POLYNOMIAL, 0).astype(np.uint32)
    for n in range(1, 8):
        tables[n] = tables[n - 1] >> 8 ^ tables[0][tables[n - 1] & 0xFF]
    return tables


TABLES: Words = _tables()


@kernel
def checksums(
    tables: Words, text: Bytes, ends: Keys, labels: Keys, heads: Words, found: Keys
) -> None:
    """Write the CRC-32 of each body in a text that ends at `ends`, each after heads[label]."""
    at = 0
    for n in range(ends.shape[0]):
        crc = heads[labels[n]] ^ _ALL
        while ends[n] - at >= 8:
            for k in range(4):
                crc ^= np.uint32(text[np.uint64(at + k)]) << np.uint32(8 * k)
            low = tables[7, crc & _BYTE] ^ tables[6, crc >> np.uint32(8) & _BYTE]
            low ^= tables[5, crc >> np.uint32(16) & _BYTE] ^ tables[4, crc >> np.uint32(24)]
            for k in range(4):
                low ^= tables[3 - k, text[np.uint64(at + 4 + k)]]
            crc = low
            at += 8
        while at < ends[n]:
            crc = tables[0, (crc ^ np.uint32(text[np.uint64(at)])) & _BYTE] ^ crc >> np.uint32(8)
            at += 1
        found[n] = crc ^ _ALL


@kernel
def whole_numbers(text: Bytes, found: Keys) -> int:
    """Write the whole numbers that commas separate in a text; returns how many there are.

    -1 if there is anything else in it, or more of them than the array holds.
    """
    count, number, negative, digits = 0, 0, False, 0
    for n in range(text.shape[0] + 1):
        one = int(text[n]) if n < text.shape[0] else _COMMA
        if one == _COMMA:
            if digits == 0 or count == found.shape[0]:
                return -1
            found[count] = -number if negative else number
            count, number, negative, digits = count + 1, 0, False, 0
        elif one == _MINUS and digits == 0 and not negative:
            negative = True
        elif _ZERO <= one <= _NINE:
            number = number * 10 + (one - _ZERO)
            digits += 1
        else:
            return -1
    return count
