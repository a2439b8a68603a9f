"""One line of R6A: what is written is read back, and what is wrong is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.logs.r6a_lines import MalformedLine, Visit, check_whole, parse_line
from logs.made import r6a_line

SAMPLE = (
    "1241160900 109513 0 |user 2:0.000012 3:0.000000 4:0.000006 5:0.000023 6:0.999958 1:1.000000 "
    "|109498 2:0.306008 3:0.000450 4:0.077048 5:0.230439 6:0.386055 1:1.000000 "
    "|109513 2:0.306008 3:0.000450 4:0.077048 5:0.230439 6:0.386050 1:1.000000"
)
six_digits = st.integers(-2_000_000, 2_000_000).map(lambda millionths: millionths / 1e6)
features = st.tuples(*[six_digits] * 5)
pools = st.dictionaries(st.integers(0, 10**9), features, min_size=1, max_size=25)


def test_the_published_sample_is_read() -> None:
    event = parse_line(SAMPLE)
    assert event == Visit(
        timestamp=1241160900,
        article=109513,
        click=0,
        user=(0.000012, 0.0, 0.000006, 0.000023, 0.999958),
        shown=(0.306008, 0.000450, 0.077048, 0.230439, 0.386050),
    )


@given(st.integers(0, 10**10), st.integers(0, 1), features, pools, st.data())
def test_a_written_line_is_read_back(
    timestamp: int,
    click: int,
    user: tuple[float, ...],
    pool: dict[int, tuple[float, ...]],
    data: st.DataObject,
) -> None:
    article = data.draw(st.sampled_from(sorted(pool)))
    event = Visit(timestamp, article, click, user, pool[article])
    line = r6a_line(event, list(pool.items()))
    check_whole(line)
    assert parse_line(line) == event


def test_features_may_stand_in_any_order() -> None:
    moved = SAMPLE.replace(" 1:1.000000", "").replace("2:0.", "1:1.000000 2:0.")
    assert parse_line(moved) == parse_line(SAMPLE)


def test_an_article_without_features_matters_only_if_it_was_displayed() -> None:
    assert parse_line(SAMPLE + " |109528") == parse_line(SAMPLE)
    bare = parse_line(SAMPLE.replace("109513 0", "109528 0") + " |109528")
    assert bare.article == 109528
    assert bare.shown is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SAMPLE, "", "expected 'timestamp article click |user"),
        (SAMPLE, "1241160900 109513 0", "expected 'timestamp article click |user"),
        ("1241160900 ", "", "expected 'timestamp article click |user"),
        ("1241160900", "May", "expected a whole number as the timestamp, got 'May'"),
        ("1241160900", "-5", "expected a whole number as the timestamp, got '-5'"),
        ("109513 0", "x 0", "expected a whole number as the displayed article, got 'x'"),
        ("109513 0", "109513 2", "expected a click of 0 or 1, got '2'"),
        ("|user", "|visitor", "expected '|user' before the pool, got 'visitor 2:0.000012"),
        (" 6:0.999958", "", "expected 6 features of the user, got 5"),
        ("6:0.999958", "7:0.999958", "once each, as number:value, got '7:0.999958'"),
        ("6:0.999958", "5:0.999958", "once each, as number:value, got '5:0.999958'"),
        ("6:0.999958", "0.999958", "once each, as number:value, got '0.999958'"),
        ("0.999958", "nan", "expected a finite number as feature 6 of the user, got 'nan'"),
        ("0.999958", "inf", "expected a finite number as feature 6 of the user, got 'inf'"),
        ("0.999958", "0.99x", "expected a finite number as feature 6 of the user, got '0.99x'"),
        ("0.999958 1:1.", "0.999958 1:2.", "feature 1 of the user to be the constant 1, got 2"),
        ("6:0.386050 ", "", "expected 6 features of article 109513, got 5"),
        ("0.386050", "nan", "expected a finite number as feature 6 of article 109513, got 'nan'"),
        ("109513 0", "109514 0", "expected the displayed article 109514 among the 2 of the pool"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, expected: str) -> None:
    assert old in SAMPLE
    with pytest.raises(MalformedLine) as caught:
        parse_line(SAMPLE.replace(old, new))
    assert expected in str(caught.value)


def test_a_line_that_stops_early_is_noticed() -> None:
    check_whole(SAMPLE)
    last = SAMPLE.rindex("|")
    for kept in range(last + 1, SAMPLE.index("1:1", last) + 3):
        with pytest.raises(MalformedLine):
            check_whole(SAMPLE[:kept])
    check_whole(SAMPLE[:-1])  # a digit of the constant is missing, and nothing with it
