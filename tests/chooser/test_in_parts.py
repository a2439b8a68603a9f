"""Policies that cannot learn in parts are told all rewards of a decision at once."""

from collections.abc import Callable

import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from support import EVERY_POLICY
from support import make as make_policy

Make = Callable[..., lb.Chooser]
WHOLE = ["cs-ucb1", "suplinucb"]


def plays(chooser: lb.Chooser) -> int:
    return sum(chooser.summary().plays.values())


@pytest.mark.parametrize("policy", WHOLE)
def test_a_part_waits_for_the_rest(make: Make, policy: str) -> None:
    chooser = make(policy=policy, horizon=1000)
    decision = chooser.choose(CONTEXT)
    chooser.reward(decision, quality=0.5)
    assert plays(chooser) == 0
    with pytest.raises(lb.Contradiction):
        chooser.reward(decision, quality=0.6)
    chooser.reward(decision, cost=0.01)
    chooser.reward(decision, cost=0.01)
    assert plays(chooser) == 1
    assert chooser.summary().received["quality"].count == 1


@pytest.mark.parametrize("policy", WHOLE)
def test_what_is_held_back_is_learned_when_the_decision_leaves(
    make: Make, policy: str, clock: Clock
) -> None:
    chooser = make(policy=policy, horizon=1000, keep=1, wait=60, clock=clock)
    chooser.reward(chooser.choose(CONTEXT), quality=0.5)
    chooser.choose(CONTEXT)  # no room
    assert plays(chooser) == 1
    chooser.reward(chooser.choose(CONTEXT), quality=0.5)
    clock.now += 61
    chooser.choose(CONTEXT)  # no time
    assert plays(chooser) == 2


def test_a_default_completes_it(make: Make, clock: Clock) -> None:
    chooser = make(
        policy="cs-ucb1", horizon=1000, wait=60, clock=clock,
        objectives=[lb.Objective("clicks", default=0.0), lb.Objective("rating")],
    )  # fmt: skip
    chooser.reward(chooser.choose(CONTEXT), rating=0.5)
    clock.now += 61
    chooser.choose(CONTEXT)
    assert plays(chooser) == 1


@pytest.mark.parametrize("name", EVERY_POLICY)
def test_it_is_known_of_every_policy_whether_it_learns_in_parts(name: str) -> None:
    policy = make_policy(name)
    policy.update([0.5, 0.5], 0, [0.5, float("nan")])
    try:
        policy.amend([0.5, 0.5], 0, [float("nan"), 0.5])
        can = True
    except lb.InvalidInput:
        can = False
    assert policy.learns_in_parts == can
