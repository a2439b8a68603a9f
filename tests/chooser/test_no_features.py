"""Without features: a plain bandit with prioritised objectives."""

from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.chooser import RecordingChooser

QUALITY, COST = {"a": 0.80, "b": 0.82, "c": 0.5}, {"a": 0.2, "b": 0.8, "c": 0.1}


def plain(**settings: Any) -> RecordingChooser:
    objectives = [lb.Objective("quality", tolerance=0.1), lb.Objective("cost", goal="min")]
    return RecordingChooser(objectives=objectives, arms=["a", "b", "c"], context=[], **settings)


@pytest.mark.parametrize(
    "settings",
    [{}, {"policy": "lex-thompson"}, {"policy": "moc-mab", "horizon": 2000, "scale": 0.1}],
    ids=str,
)
def test_it_learns_the_order_of_priority(settings: dict[str, Any]) -> None:
    chooser, random = plain(**settings), np.random.default_rng(0)
    for _ in range(1500):
        decision = chooser.choose({})
        good = float(random.random() < QUALITY[decision.arm])
        chooser.reward(decision, quality=good, cost=COST[decision.arm])
    plays = chooser.summary().plays
    assert plays["a"] > 0.6 * 1500  # as good as b, and cheaper
    assert chooser.explain({}).likely[0] == "a"


def test_everything_else_works_too() -> None:
    chooser = plain()
    choices = chooser.choose_many([{}] * 4, [["a"], ["b"], ["c"], None])
    assert choices.arms[:3] == ["a", "b", "c"]
    chooser.reward_many(choices, {"quality": [1, 0, 1, 0]})
    assert chooser.learn({"arm": ["a", "a"], "quality": [1, 0]}) == 2
    assert len(chooser.propose_many(np.empty((3, 0))).arms) == 3
    assert chooser.choose_many([]).ids == []
    again = RecordingChooser.from_bytes(chooser.to_bytes())
    assert again.digest() == chooser.digest()
    assert sum(again.summary().plays.values()) == 6
    with pytest.raises(lb.UnknownName, match="unknown context feature 'x'"):
        chooser.choose({"x": 1})
    with pytest.raises(lb.InvalidInput, match="must be a mapping"):
        chooser.choose(None)  # type: ignore[arg-type]


def test_what_is_not_there_can_be_left_out() -> None:
    chooser = RecordingChooser(objectives=lb.Objective("quality"), arms=["a", "b"])
    assert chooser.contexts.names == []
    decision = chooser.choose()
    chooser.reward(decision, quality=1)
    assert chooser.choose(allowed=["b"]).arm == "b"
    assert chooser.propose().arm in ("a", "b")
    assert sum(arm.plays for arm in chooser.explain().arms) == 1
    features = RecordingChooser(
        objectives=lb.Objective("quality"), arms=["a", "b"], context=[lb.Number("x")]
    )
    with pytest.raises(lb.InvalidInput, match="context feature 'x' is missing"):
        features.choose()


def test_all_cells_are_one() -> None:
    partition = plain(policy="moc-mab", horizon=1000).policy.partition  # type: ignore[attr-defined]
    assert partition.cells == 1
