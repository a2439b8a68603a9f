"""Text of SVG pictures: its width, how it is shortened, and what XML cannot hold."""

from lexbandit._internal.svg import html_table, printable, short, text, wide


def test_wide_characters_count_as_two() -> None:
    assert wide("abc") == 3
    assert wide("漢字a") == 5


def test_text_is_shortened_by_its_width() -> None:
    assert short("abcdef", 6) == "abcdef"
    assert short("abcdefg", 6) == "abcde…"
    assert short("漢字漢字", 8) == "漢字漢字"
    assert short("漢字漢字", 6) == "漢字…"


def test_what_was_shortened_is_in_a_tooltip() -> None:
    assert text(1, 2, "abcdefg", 6) == '<text x="1" y="2"><title>abcdefg</title>abcde…</text>'
    assert text(1, 2, "abc", 6, font_size="9") == '<text x="1" y="2" font-size="9">abc</text>'


def test_names_cannot_break_the_markup() -> None:
    assert printable("a\x00b\nc") == "a\ufffdb\ufffdc"
    assert html_table(["<a>"], [["&"]]) == (
        "<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>&amp;</td></tr></tbody></table>"
    )
