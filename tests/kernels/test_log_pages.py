"""Checksums and numbers of pages of a log, as zlib and Python have them."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.kernels.log_pages import TABLES, checksums, whole_numbers


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=8),
    heads=st.lists(st.binary(max_size=9), min_size=1, max_size=3),
    data=st.data(),
)
def test_checksums_are_those_of_zlib(
    bodies: list[bytes], heads: list[bytes], data: st.DataObject
) -> None:
    which = data.draw(
        st.lists(st.sampled_from(range(len(heads))), min_size=len(bodies), max_size=len(bodies))
    )
    found = np.empty(len(bodies), np.int64)
    checksums(
        TABLES,
        np.frombuffer(b"".join(bodies), np.uint8),
        np.cumsum([len(body) for body in bodies], dtype=np.int64),
        np.array(which, np.int64),
        np.array([zlib.crc32(head) for head in heads], np.uint32),
        found,
    )
    expected = [zlib.crc32(heads[n] + body) for body, n in zip(bodies, which, strict=True)]
    assert found.tolist() == expected


def read(text: str, room: int = 100) -> list[int] | None:
    found = np.empty(room, np.int64)
    count = whole_numbers(np.frombuffer(text.encode(), np.uint8), found)
    return None if count < 0 else found[:count].tolist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_whole_numbers_are_those_of_python(numbers: list[int]) -> None:
    text = ",".join(map(str, numbers))
    assert read(text) == numbers
    assert read(text, room=len(numbers)) == numbers
    assert read(text, room=len(numbers) - 1) is None


@pytest.mark.parametrize(
    "text", ["", ",", "1,", ",1", "1,,2", "-", "1-1", "--1", "1.5", "1e5", "x"]
)
def test_anything_else_is_refused(text: str) -> None:
    assert read(text) is None
