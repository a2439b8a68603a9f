"""Keys are found on their lines."""

import pytest

from lexbandit.toml_lines import line_of

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
