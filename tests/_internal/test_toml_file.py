"""Keys are found on their lines, and what cannot be read is refused in words."""

from pathlib import Path

import pytest

from lexbandit._internal.toml_file import line_of, table_of
from lexbandit.errors import InvalidInput

TEXT = """\
# a comment
a = 1
"quoted" = 2

[table]
a = 3
in.side = 4

[[list]]
a = 5
[list.sub]
b = 6
[[list]]
a = { c = 7 }
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("a",), 2),
        (("quoted",), 3),
        (("table",), 5),
        (("table", "a"), 6),
        (("table", "in", "side"), 7),
        (("table", "absent"), 5),
        (("list",), 9),
        (("list", 0, "a"), 10),
        (("list", 0, "sub", "b"), 12),
        (("list", 1), 13),
        (("list", 1, "a", "c"), 14),
        (("absent",), None),
    ],
)
def test_lines(place: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(TEXT, place) == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = ", "a.toml: not valid TOML: Invalid value"),
        (f"a = {'9' * 5000}", "more than 4,300 digits"),
        (f"a = {'[' * 3000}{']' * 3000}", "nested too deeply"),
    ],
    ids=["broken", "digits", "brackets"],
)
def test_what_cannot_be_read_is_refused(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        table_of(text, Path("a.toml"))
