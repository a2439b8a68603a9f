"""Arms: added, retired, taken back, allowed by request, with priors."""

from collections.abc import Callable
from typing import Any

import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT

Make = Callable[..., lb.Chooser]


def of(chooser: lb.Chooser, arm: str) -> Any:
    return next(one for one in chooser.explain(CONTEXT).arms if one.name == arm)


def test_an_added_arm_loses_nothing_and_is_tried(make: Make) -> None:
    chooser = make()
    for _ in range(30):
        chooser.reward(chooser.choose(CONTEXT), quality=0.5, cost=0.01)
    before = [of(chooser, arm) for arm in chooser.arms]
    chooser.add_arm("new")
    assert chooser.arms == ("small", "medium", "large", "new")
    after = [of(chooser, arm) for arm in ("small", "medium", "large")]
    assert [(a.name, a.plays, a.estimates) for a in before] == [
        (a.name, a.plays, a.estimates) for a in after
    ]
    assert chooser.propensities(CONTEXT)["new"] > 0.2  # nothing is known of it


def test_a_retired_arm_is_not_chosen_but_learns_and_comes_back(make: Make) -> None:
    chooser = make()
    open_one = chooser.choose(CONTEXT, allowed=["small"])
    chooser.retire_arm("small")
    assert list(chooser.arms) == ["medium", "large"]
    assert "small" not in {chooser.choose(CONTEXT).arm for _ in range(50)}
    chooser.reward(open_one, quality=0.7)
    told = of(chooser, "small")
    assert (told.plays, told.retired, told.propensity, told.why) == (1, True, 0.0, "It is retired.")
    chooser.add_arm("small")
    assert list(chooser.arms) == ["small", "medium", "large"]  # at its old place
    assert of(chooser, "small").plays == 1
    with pytest.raises(lb.InvalidInput, match="already"):
        chooser.add_arm("small")


def test_arm_numbers_do_not_move(make: Make) -> None:
    """Rewards go to the arm that was chosen, whatever was added and retired in between."""
    chooser = make()
    first = chooser.choose(CONTEXT, allowed=["large"])
    chooser.retire_arm("small")
    chooser.add_arm("extra")
    chooser.reward(first, quality=1.0)
    assert [a.plays for a in chooser.explain(CONTEXT).arms] == [0, 0, 1, 0]


def test_only_allowed_arms_are_chosen(make: Make) -> None:
    chooser = make(explore=0.5)
    for allowed in (["small"], ["medium", "large"], ("large", "small"), {"medium"}):
        assert {chooser.choose(CONTEXT, allowed).arm for _ in range(60)} <= set(allowed)
    names = iter(["small", "medium"])
    assert chooser.choose(CONTEXT, allowed=names).arm in {"small", "medium"}


def test_a_prior_is_where_an_arm_starts(make: Make) -> None:
    known, unknown = make(), make()
    known.add_arm("new", prior={"quality": 0.9, "cost": 0.01}, weight=50)
    unknown.add_arm("new")
    told = known.policy.explain(known.contexts.encode(CONTEXT)[0]).arms[3]
    assert told.mean[0] == pytest.approx(0.9, abs=0.05)
    assert told.mean[1] == pytest.approx(0.8, abs=0.05)  # a cost of 0.01 in (0, 0.05)
    assert (
        told.width[0] < unknown.policy.explain(known.contexts.encode(CONTEXT)[0]).arms[3].width[0]
    )
    assert of(known, "new").plays == 0


def test_a_prior_gives_way_to_rewards(make: Make) -> None:
    chooser = make()
    chooser.add_arm("new", prior={"quality": 0.9, "cost": 0.01}, weight=2)
    for _ in range(300):
        chooser.reward(chooser.choose(CONTEXT, ["new"]), quality=0.2, cost=0.04)
    assert of(chooser, "new").estimates["quality"].value == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(
    ("prior", "weight", "words"),
    [
        ({"quality": 0.9}, 5, "no mean of 'cost'"),
        ({"quality": 0.9, "cots": 0.1}, 5, "did you mean 'cost'"),
        ({"quality": 0.9, "cost": 0.01}, None, "a mean for each objective and a weight"),
        (None, 5, "a mean for each objective and a weight"),
        ([0.9, 0.01], 5, "a mean for each objective and a weight"),
        ({"quality": 0.9, "cost": 0.01}, 0, "at least 1"),
        ({"quality": 0.9, "cost": 0.01}, 1.5, "whole number"),
        ({"quality": float("nan"), "cost": 0.01}, 5, "finite"),
    ],
)
def test_wrong_priors_are_refused(make: Make, prior: Any, weight: Any, words: str) -> None:
    chooser = make()
    with pytest.raises(lb.InvalidInput, match=words):
        chooser.add_arm("new", prior=prior, weight=weight)
    assert chooser.arms == ("small", "medium", "large")
    assert chooser.policy.arms == 3


def test_a_prior_is_not_for_an_arm_that_comes_back(make: Make) -> None:
    chooser = make()
    chooser.retire_arm("small")
    with pytest.raises(lb.InvalidInput, match="taken back with all it learned"):
        chooser.add_arm("small", prior={"quality": 0.9, "cost": 0.01}, weight=5)
    assert chooser.arms == ("medium", "large")


@pytest.mark.parametrize("policy", ["moc-mab", "lex-linucb", "cs-ucb1", "random"])
def test_rewards_of_earlier_decisions_survive_a_new_arm(make: Make, policy: str) -> None:
    chooser = make(policy=policy, horizon=1000)
    decisions = [chooser.choose(CONTEXT, a) for a in (None, ["small", "large"])]
    chooser.add_arm("new")
    for decision in decisions:
        chooser.reward(decision, quality=0.5, cost=0.01)
    assert chooser.choose(CONTEXT).arm in chooser.arms


def test_a_prior_outside_the_range_is_said(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    chooser = make()
    with caplog.at_level("WARNING", "lexbandit"):
        chooser.add_arm("new", prior={"quality": 90, "cost": 0.01}, weight=50)
    assert [record.getMessage() for record in caplog.records] == [
        "the prior mean of quality of arm 'new' lies outside its range from 0 to 1 and is taken as "
        "the nearest end."
    ]
    estimate = chooser.explain(CONTEXT).arms[3].estimates["quality"]
    assert estimate.value == pytest.approx(1.0, abs=0.02)
    strict = make(objectives=[lb.Objective("quality", outside="refuse")])
    with pytest.raises(lb.InvalidInput, match="quality must lie between 0 and 1, got 90"):
        strict.add_arm("new", prior={"quality": 90}, weight=50)
    assert strict.arms == ("small", "medium", "large")
