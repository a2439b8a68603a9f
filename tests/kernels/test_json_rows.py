"""The scan of JSON documents against a parser: the same values, or nothing."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.kernels.json_rows import FLOAT, NEEDED, column, form_of, scan

LEVELS = (
    {"by": 0, "version": NEEDED, "rows": NEEDED},
    {"id": NEEDED, "arm": 0, "values": NEEDED},
    {"x": 0, "y": FLOAT},
)
FORM = form_of(*LEVELS)
KEYS = [(level, key) for level, keys in enumerate(LEVELS) for key in keys]
GOOD = b'{"by":"me","version":7,"rows":[{"id":"a","values":{"x":[1,"b"],"y":0.5}}]}'


def scanned(documents: list[bytes]) -> tuple[list[int], dict[tuple[int, str], list[Any]]]:
    """Return the document of each row, and the columns of the values."""
    text = np.frombuffer(b"".join(documents), np.uint8)
    ends = np.cumsum([len(one) for one in documents])
    starts = ends - [len(one) for one in documents]
    room = np.count_nonzero(text == ord("{"))
    found, owners = np.empty((room, len(KEYS), 2), np.int64), np.empty(room, np.int64)
    count = scan(FORM, text, starts, ends, found, owners)
    columns = {
        key: json.loads(column(text, found[:count], n).tobytes())
        for n, key in enumerate(KEYS)
        if key not in ((0, "rows"), (1, "values"))
    }
    return owners[:count].tolist(), columns


def parsed(documents: list[bytes], taken: list[int]) -> dict[tuple[int, str], list[Any]]:
    """Return the columns of the documents that were taken, by a parser."""
    columns: dict[tuple[int, str], list[Any]] = {
        key: [] for key in KEYS if key not in ((0, "rows"), (1, "values"))
    }
    for n in dict.fromkeys(taken):
        document = json.loads(documents[n])
        for row in document["rows"]:
            for (level, key), values in columns.items():
                values.append((document, row, row["values"])[level].get(key))
    return columns


SPECIAL = st.sampled_from(['"', "\\", "\\\\", '{"', "},{", '"id":', "é", "\n", "a,b]", "👍"])
TEXTS = st.one_of(st.text(max_size=4), st.lists(SPECIAL, max_size=4).map("".join))
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers())
PLAIN = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
ROWS = st.fixed_dictionaries(
    {
        "id": TEXTS,
        "values": st.fixed_dictionaries(
            {}, optional={"x": st.one_of(PLAIN, st.lists(PLAIN, max_size=3)), "y": NUMBERS}
        ),
    },
    optional={"arm": PLAIN},
)
DOCUMENTS = st.fixed_dictionaries(
    {"version": NUMBERS, "rows": st.lists(ROWS, min_size=1, max_size=3)}, optional={"by": PLAIN}
)


def in_any_order(draw: st.DrawFn, value: Any) -> Any:
    """Return a value whose objects have their keys in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: in_any_order(draw, value[key]) for key in keys}
    return [in_any_order(draw, one) for one in value] if isinstance(value, list) else value


@st.composite
def written(draw: st.DrawFn) -> bytes:
    document = in_any_order(draw, draw(DOCUMENTS))
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=draw(st.booleans()))
    return text.encode("utf-8", "surrogatepass")


@settings(max_examples=150, deadline=None)
@given(documents=st.lists(written(), min_size=1, max_size=4))
def test_the_values_are_those_of_a_parser(documents: list[bytes]) -> None:
    rows, columns = scanned(documents)
    assert columns == parsed(documents, rows)
    for n, document in enumerate(documents):
        values = [row["values"].get("y", 0.5) for row in json.loads(document)["rows"]]
        is_usual = all(isinstance(value, float) for value in values)
        assert rows.count(n) == (len(values) if is_usual else 0)


@settings(max_examples=300, deadline=None)
@given(document=written(), data=st.data())
def test_a_document_with_a_changed_byte_is_read_as_a_parser_reads_it_or_not_at_all(
    document: bytes, data: st.DataObject
) -> None:
    changed = bytearray(document)
    place = data.draw(st.integers(0, len(document) - 1))
    changed[place] = data.draw(st.sampled_from(b'"\\{}[]:, 09.-+eEtnux\x00\xff'))
    documents = [document, bytes(changed), document]
    try:
        rows, columns = scanned(documents)
    except ValueError:  # a value is no JSON, which the parser of the columns says
        with pytest.raises(ValueError, match=r"."):
            json.loads(changed)
        return
    assert columns == parsed(documents, rows)
    assert rows.count(0) == rows.count(2)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b"[]",
        GOOD[:-1],
        GOOD + b" ",
        GOOD + b"}",
        b" " + GOOD,
        GOOD.replace(b",", b", ", 1),
        GOOD.replace(b'"version":7,', b""),  # a key that is needed
        GOOD.replace(b'"id":"a",', b""),
        GOOD.replace(b'"version"', b'"versions"'),  # one that is not known
        GOOD.replace(b'"x"', b'"z"'),
        GOOD.replace(b'"by":"me"', b'"version":7'),  # twice
        GOOD.replace(b'"id":"a"', b'"id":"a","id":"a"'),
        GOOD.replace(b'"y":0.5', b'"y":0.5,"y":0.5'),
        GOOD.replace(b'"rows"', b'"rows":[],"rows"'),
        GOOD.replace(b'[1,"b"]', b"[[1]]"),  # nested
        GOOD.replace(b'[1,"b"]', b"{}"),
        GOOD.replace(b'[1,"b"]', b"[1,]"),
        GOOD.replace(b'[1,"b"]', b"[1"),
        GOOD.replace(b"0.5", b"5"),  # no point, no exponent
        GOOD.replace(b"0.5", b"null"),
        GOOD.replace(b"0.5", b'"0.5"'),
        GOOD.replace(b'{"x":[1,"b"],"y":0.5}', b"null"),
        b'{"version":7,"rows":[]}',
        b'{"version":7,"rows":[{"id":"a","values":{}},]}',
        b'{"version":7,"rows":[{"id":"a","values":{}}{}]}',
        b'{"version":7,"rows":{"id":"a","values":{}}}',
        b'{"version":7,"rows":[{"id":"a","values":{}}]',
        b'{"version":7,"rows":[{"id":"a\\","values":{}}]}',
    ],
)
def test_what_is_not_of_the_form_has_no_rows(document: bytes) -> None:
    assert scanned([GOOD, document, GOOD])[0] == [0, 2]


def test_without_room_for_its_rows_a_document_has_none() -> None:
    text = np.frombuffer(GOOD * 2, np.uint8)
    ends = np.array([len(GOOD), 2 * len(GOOD)])
    found, owners = np.empty((1, len(KEYS), 2), np.int64), np.empty(1, np.int64)
    assert scan(FORM, text, ends - len(GOOD), ends, found, owners) == 1
    assert owners.tolist() == [0]


@pytest.mark.parametrize("number", ["1e-3", "1E5", "-0.0", "0.5e+2", "12345678901234567890.5"])
def test_floats_in_other_spellings_are_floats(number: str) -> None:
    document = GOOD.replace(b"0.5", number.encode())
    assert scanned([document])[1][2, "y"] == [float(number)]
