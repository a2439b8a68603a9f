"""Times: what a chooser's clock may return, and what it may be asked."""

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]

NO_TIMES = [
    datetime.datetime(2026, 1, 1),
    "12:00",
    "12",
    np.array([1.0]),
    np.array([1.0, 2.0]),
    10**400,
    math.nan,
    math.inf,
    np.float64("nan"),
    Decimal("NaN"),
    None,
    True,
    1j,
]


@pytest.mark.parametrize("wrong", NO_TIMES, ids=lambda value: type(value).__name__)
def test_a_clock_that_tells_no_seconds_is_refused_when_a_chooser_is_made(
    make: Make, wrong: Any
) -> None:
    with pytest.raises(lb.InvalidInput, match=r"clock\(\) returns must be a finite number of sec"):
        make(clock=lambda: wrong)


@pytest.mark.parametrize("wrong", NO_TIMES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("wait", [None, 60])
def test_a_clock_that_goes_wrong_changes_nothing(
    make: Make, clock: Clock, wrong: Any, wait: float | None
) -> None:
    chooser = make(clock=clock, wait=wait)
    first = chooser.choose(CONTEXT)
    before = chooser.digest()
    clock.now = wrong
    calls: list[Callable[[], Any]] = [
        lambda: chooser.choose(CONTEXT),
        lambda: chooser.choose_many([CONTEXT, CONTEXT]),
        lambda: chooser.record("mine", chooser.propose(CONTEXT)),
    ]
    if wait is not None:
        calls += [lambda: chooser.reward(first, quality=0.5), chooser.tick]
    for call in calls:
        with pytest.raises(lb.InvalidInput, match="finite number of seconds"):
            call()
    assert chooser.digest() == before
    clock.now = 1001.0
    chooser.reward(first, quality=0.5)
    chooser.choose(CONTEXT)


@pytest.mark.parametrize("now", [5, np.float64(5), np.int64(5), Decimal(5)])
def test_any_number_is_a_time(make: Make, now: Any) -> None:
    chooser = make(clock=lambda: now, wait=60)
    decision = chooser.choose(CONTEXT)
    since = chooser.decision(decision.id).since
    assert (type(since), since) == (float, 5.0)
    assert RecordingChooser.from_bytes(chooser.to_bytes(), clock=lambda: now).due == 65.0


@pytest.mark.parametrize("wrong", ["x", math.nan, None, True, [1.0]])
def test_overdue_is_asked_with_a_time(make: Make, wrong: Any) -> None:
    chooser = make(wait=60)
    chooser.choose(CONTEXT)
    with pytest.raises(lb.InvalidInput, match="now must be a finite number of seconds"):
        chooser.overdue(wrong)
