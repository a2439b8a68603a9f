"""Partial, late, repeated, contradicting and missing rewards."""

import logging
import math
from collections.abc import Callable
from typing import Any

import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]


def state_of(chooser: RecordingChooser) -> dict[str, Any]:
    return {k: v.tolist() for k, v in chooser.policy.state().items() if k != "random"}


def test_parts_in_any_order_are_the_whole(make: Make) -> None:
    whole, parts = make(), make()
    for n in range(40):
        context = {**CONTEXT, "tokens": 200 * n}
        first, second = whole.choose(context), parts.choose(context)
        assert first.arm == second.arm
        whole.reward(first, quality=0.5, cost=0.01)
        if n % 2:
            parts.reward(second, cost=0.01)
            parts.reward(second.id, quality=0.5)
        else:
            parts.reward(second.id, {"quality": 0.5})
            parts.reward(second, cost=0.01)
    one, other = whole.explain(CONTEXT), parts.explain(CONTEXT)
    for a, b in zip(one.arms, other.arms, strict=True):
        assert a.plays == b.plays
        for name in ("quality", "cost"):
            assert a.estimates[name].value == pytest.approx(b.estimates[name].value)
            assert a.estimates[name].low == pytest.approx(b.estimates[name].low)


def test_a_missing_value_is_never_zero(make: Make) -> None:
    chooser = make()
    for _ in range(30):
        chooser.reward(chooser.choose(CONTEXT), quality=0.9)
    arm = max(chooser.explain(CONTEXT).arms, key=lambda arm: arm.plays)
    assert arm.estimates["quality"].value == pytest.approx(0.9, abs=0.02)
    assert arm.estimates["cost"].value is None
    assert arm.estimates["cost"].observations == 0


def test_the_same_reward_twice_is_one_reward(make: Make) -> None:
    chooser = make()
    decision = chooser.choose(CONTEXT)
    chooser.reward(decision, quality=0.9, cost=0.01)
    before = state_of(chooser)
    for _ in range(3):
        chooser.reward(decision, quality=0.9)
        chooser.reward(decision.id, cost=0.01, quality=0.9)
    assert state_of(chooser) == before


def test_a_contradiction_is_an_error_and_changes_nothing(make: Make) -> None:
    chooser = make()
    decision = chooser.choose(CONTEXT)
    chooser.reward(decision, quality=0.9)
    before = state_of(chooser)
    with pytest.raises(lb.Contradiction, match=r"quality of decision .* was given as 0\.9 before"):
        chooser.reward(decision, quality=0.8, cost=0.01)
    assert state_of(chooser) == before
    chooser.reward(decision, cost=0.01)  # the part that was fine is still open


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ({"qualty": 1}, "did you mean 'quality'"),
        ({"quality": math.nan}, "finite"),
        ({"quality": math.inf}, "finite"),
        ({"quality": None}, "finite"),
        ({"quality": "good"}, "finite"),
        ({"cost": 0.01, "quality": []}, "finite"),
    ],
)
def test_wrong_rewards_are_refused(make: Make, rewards: dict[str, Any], words: str) -> None:
    chooser = make()
    decision = chooser.choose(CONTEXT)
    before = state_of(chooser)
    with pytest.raises(lb.InvalidInput, match=words):
        chooser.reward(decision, rewards)
    assert state_of(chooser) == before


def test_unknown_decisions(make: Make) -> None:
    chooser = make()
    with pytest.raises(lb.UnknownDecision, match="'nobody'"):
        chooser.reward("nobody", quality=1)
    with pytest.raises(lb.InvalidInput, match="what choose returned"):
        chooser.reward(3, quality=1)  # type: ignore[arg-type]
    assert issubclass(lb.UnknownDecision, lb.InvalidInput)


def test_the_room_is_bounded_and_says_so(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    chooser = make(keep=5)
    decisions = [chooser.choose(CONTEXT) for _ in range(5)]
    with caplog.at_level(logging.WARNING, "lexbandit"):
        decisions += [chooser.choose(CONTEXT) for _ in range(5)]
    assert chooser.waiting == 5
    assert len(caplog.records) == 1
    assert "keep=5" in caplog.text
    with pytest.raises(lb.UnknownDecision, match="older than the 5 that are kept"):
        chooser.reward(decisions[4], quality=1)
    chooser.reward(decisions[5], quality=1)


def test_after_the_wait_the_default_applies(make: Make, clock: Clock) -> None:
    chooser = make(
        objectives=[lb.Objective("clicks", default=0.0), lb.Objective("rating", range=(1, 5))],
        wait=60,
        clock=clock,
    )
    decision = chooser.choose(CONTEXT)
    clock.now += 59
    chooser.choose(CONTEXT)
    assert chooser.waiting == 2
    clock.now += 1
    chooser.choose({**CONTEXT, "hour": 3})
    report = next(a for a in chooser.explain(CONTEXT).arms if a.name == decision.arm)
    assert (report.plays, report.estimates["clicks"].observations) == (1, 1)
    assert report.estimates["rating"].observations == 0  # no default: still not observed
    with pytest.raises(lb.UnknownDecision, match="60 seconds"):
        chooser.reward(decision, clicks=1)


def test_a_default_does_not_replace_a_reward_that_came(make: Make, clock: Clock) -> None:
    chooser = make(
        objectives=[lb.Objective("clicks", default=0.0), lb.Objective("rating", range=(1, 5))],
        wait=60,
        clock=clock,
    )
    decision = chooser.choose(CONTEXT)
    chooser.reward(decision, clicks=1)
    clock.now += 61
    chooser.choose(CONTEXT)
    report = next(a for a in chooser.explain(CONTEXT).arms if a.name == decision.arm)
    assert report.estimates["clicks"].observations == 1


def test_rewards_outside_the_range_are_clipped_counted_and_said_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    chooser = make()
    with caplog.at_level(logging.WARNING, "lexbandit"):
        for _ in range(3):
            chooser.reward(chooser.choose(CONTEXT), quality=1.7, cost=0.01)
    assert chooser.outside == {"quality": 3, "cost": 0}
    assert len(caplog.records) == 1
    assert "a reward of quality lies outside its range from 0 to 1" in caplog.text
    values = [arm.estimates["quality"].value or 0 for arm in chooser.explain(CONTEXT).arms]
    assert max(values) <= 1.0


def test_rewards_outside_the_range_can_be_refused(make: Make) -> None:
    chooser = make(objectives=lb.Objective("quality", outside="refuse"))
    decision = chooser.choose(CONTEXT)
    with pytest.raises(lb.InvalidInput, match=r"quality must lie between 0 and 1, got 1\.7"):
        chooser.reward(decision, quality=1.7)
    chooser.reward(decision, quality=0.7)


def test_it_says_what_it_is(make: Make) -> None:
    chooser = make()
    chooser.choose(CONTEXT)
    assert repr(chooser) == "<Chooser by lex-thompson: quality, then cost; 3 arms, decisions: 1>"
