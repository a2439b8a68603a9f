"""The history: bounded whatever the traffic, nothing lost, the same after a restart."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from lexbandit.service.engine.history import MOST_BUCKETS, RECENT, Bucket, History

ARMS = ("small", "large", "<img src=x>")
# From many events in a second to years of silence.
GAPS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 7.0, 100.0, 5_000.0, 1e6, 3e7])
WHAT = st.one_of(
    st.tuples(st.just("decided"), st.lists(st.sampled_from(ARMS), min_size=1, max_size=3)),
    st.tuples(st.just("rewarded"), st.floats(-100, 100)),
    st.tuples(st.just("late"), st.none()),
    st.tuples(st.just("expired"), st.integers(0, 5)),
)
EVENTS = st.lists(st.tuples(GAPS, WHAT), max_size=60)


def feed(history: History, events: list[tuple[float, tuple[str, Any]]], time: float = 1e9) -> float:
    for gap, (what, told) in events:
        time += gap
        if what == "decided":
            history.decided(time, told)
            history.keep(time, {"id": f"{time}", "arm": told[-1], "context": {"x": 1}})
        elif what == "rewarded":
            history.rewarded(time, "quality", told)
        elif what == "late":
            history.late(time)
        else:
            history.expired(time, told)
    return time


def total(history: History, series: str = "whole") -> dict[str, Any]:
    everything = Bucket()
    for _, _, bucket in history.buckets(series):
        everything.add(bucket)
    plain: dict[str, Any] = to_builtins(everything)
    return plain


def assert_spread(found: list[float], values: list[float]) -> None:
    """Compare with the exact count, mean and squared distances; sixteen digits, a few lost."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    squares = sum((value - mean) ** 2 for value in exact)
    size = max(map(abs, values))
    assert found[0] == len(values)
    assert math.isclose(found[1], mean, rel_tol=1e-12, abs_tol=1e-13 * size)
    assert math.isclose(found[2], squares, rel_tol=1e-9, abs_tol=(1e-12 * size) ** 2 * len(values))


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=50))
def test_large_rewards_that_differ_little_keep_their_spread(near: list[float]) -> None:
    values = [1.7e9 + one for one in near]
    history = History()
    for n, value in enumerate(values):
        history.rewarded(float(n // 3), "quality", value)
    found = total(history)["rewards"]["quality"]
    assert_spread(found, values)


@given(EVENTS)
def test_nothing_is_lost_however_often_the_width_doubles(events: Any) -> None:
    history = History()
    feed(history, events)
    arms = Counter(arm for _, (what, told) in events if what == "decided" for arm in told)
    values = [told for _, (what, told) in events if what == "rewarded"]
    found = total(history)
    assert found["arms"] == arms
    assert list(found["rewards"]) == (["quality"] if values else [])
    if values:
        assert_spread(found["rewards"]["quality"], values)
    assert found["late"] == sum(what == "late" for _, (what, _) in events)
    assert found["expired"] == sum(told for _, (what, told) in events if what == "expired")


@given(EVENTS)
def test_buckets_are_few_in_order_and_apart(events: Any) -> None:
    history = History()
    end = feed(history, events)
    for series in ("whole", "hour"):
        buckets = list(history.buckets(series))
        width = history.width(series)
        assert len(buckets) <= MOST_BUCKETS + 1
        for begin, until, _ in buckets:
            assert begin == math.floor(begin / width) * width
            assert begin < until <= begin + width
        for (_, until, _), (begin, _, _) in itertools.pairwise(buckets):
            assert until <= begin
        if buckets:
            assert buckets[-1][1] <= end + 1.0


@given(EVENTS, EVENTS)
def test_after_a_restart_it_goes_on_as_it_would_have(before: Any, after: Any) -> None:
    history = History()
    time = feed(history, before)
    text = json.dumps(history.plain(), allow_nan=False)
    again = History.from_plain(json.loads(text))
    assert json.dumps(again.plain()) == text
    assert again.recent() == history.recent()
    feed(history, after, time)
    feed(again, after, time)
    assert json.dumps(again.plain()) == json.dumps(history.plain())


def test_a_year_of_steady_traffic_has_between_half_and_all_of_the_buckets() -> None:
    history = History()
    for minute in range(365 * 24 * 60 // 10):
        history.decided(minute * 600.0, ["small"])
    buckets = list(history.buckets("whole"))
    assert MOST_BUCKETS // 2 <= len(buckets) <= MOST_BUCKETS + 1
    counts = [bucket.arms["small"] for _, _, bucket in buckets[1:-1]]
    assert max(counts) - min(counts) <= 1
    assert sum(bucket.arms["small"] for _, _, bucket in buckets) == 365 * 24 * 6


def test_the_first_minutes_are_seen_second_by_second() -> None:
    history = History()
    for n in range(200):
        history.decided(1000.0 + n / 2, ["small"])
    assert history.width("whole") == 1.0
    assert [bucket.arms["small"] for _, _, bucket in history.buckets("whole")] == [2] * 100


def test_there_are_never_more_buckets_than_there_is_room_for() -> None:
    history = History()
    most = 0
    for n in range(3 * MOST_BUCKETS):
        history.decided(float(n), ["small"])
        most = max(most, len(list(history.buckets("whole"))))
    assert MOST_BUCKETS <= most <= MOST_BUCKETS + 1


def test_the_hour_forgets_what_is_older_and_the_whole_does_not() -> None:
    history = History()
    for n in range(3 * 3600):
        history.decided(float(n), ["small"])
    assert 3600 - 30 <= total(history, "hour")["arms"]["small"] <= 3600 + 30
    assert total(history)["arms"]["small"] == 3 * 3600


def test_the_last_decisions_are_kept_with_their_rewards() -> None:
    history = History()
    for n in range(RECENT + 7):
        history.keep(float(n), {"id": f"d{n}", "arm": "small"})
    history.rewarded(99.0, "quality", 0.5, f"d{RECENT}")
    history.rewarded(99.0, "quality", 0.25, "d0")  # it has left
    recent = history.recent()
    assert [kept.row["id"] for kept in recent] == [f"d{n}" for n in range(RECENT + 6, 6, -1)]
    told = {kept.row["id"]: kept.rewards for kept in recent if kept.rewards}
    assert told == {f"d{RECENT}": {"quality": 0.5}}
    assert total(history)["rewards"]["quality"] == [2, 0.375, 0.03125]


def test_enormous_rewards_do_not_make_a_history_that_cannot_be_kept() -> None:
    history = History()
    for value in (1e300, -1e300, 1e308):
        history.rewarded(0.0, "quality", value)
    json.dumps(history.plain(), allow_nan=False)
    assert all(math.isfinite(one) for one in total(history)["rewards"]["quality"])


def test_an_id_that_is_used_again_is_a_decision_of_now() -> None:
    history = History()
    for n, id in enumerate(["a", "b", "a"]):
        history.keep(float(n), {"id": id})
    assert [(kept.time, kept.row["id"]) for kept in history.recent()] == [(2.0, "a"), (1.0, "b")]
