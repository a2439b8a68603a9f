"""What a chooser says is true of every policy: whose plays they are, and by which names."""

import pickle
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.decisions import Reason
from support import EVERY_POLICY
from support import make as make_policy

QUALITY = {"small": 0.3, "medium": 0.6, "large": 0.6, "huge": 0.9, "new": 0.5}


def chooser_of(name: str, **settings: Any) -> lb.Chooser:
    return lb.Chooser(
        objectives=[lb.Objective("quality"), lb.Objective("cost", goal="min")],
        arms=["small", "medium", "large", "huge"],
        context=[lb.Number("load"), lb.Number("size")],
        policy=make_policy(name),
        **settings,
    )


def contexts(n: int, seed: int = 0) -> list[dict[str, float]]:
    points = np.random.default_rng(seed).random((n, 2)).tolist()
    return [{"load": load, "size": size} for load, size in points]


def tell(chooser: lb.Chooser, decision: lb.Decision) -> str:
    chooser.reward(decision, quality=QUALITY[decision.arm], cost=0.5)
    return decision.arm


def count(chooser: lb.Chooser) -> dict[str, int]:
    """What the summary says, which is what explain says in any context."""
    plays = chooser.summary().plays
    for context in contexts(3, seed=9):
        assert {arm.name: arm.plays for arm in chooser.explain(context).arms} == plays
    return plays


@pytest.mark.parametrize("name", EVERY_POLICY)
def test_plays_are_those_of_the_arm(name: str) -> None:
    chooser = chooser_of(name)
    mine = Counter(dict.fromkeys(chooser.arms, 0))
    for context in contexts(150):
        mine[tell(chooser, chooser.choose(context))] += 1
    assert count(chooser) == mine
    choices = chooser.choose_many(contexts(20, seed=1))
    chooser.reward_many(choices, {"quality": [0.5] * 20, "cost": [0.5] * 20})
    mine.update(choices.arms)
    arms = ["small", "huge"]
    chooser.learn({"load": [0.1, 0.9], "size": [0.5, 0.5], "arm": arms, "quality": [0.3, 0.9]})
    mine.update(arms)
    chooser.choose(contexts(1)[0])  # without a reward: not learned from
    assert count(chooser) == mine
    again = lb.Chooser.from_bytes(chooser.to_bytes(), policy=make_policy(name))
    assert count(again) == mine
    chooser.retire_arm("huge")
    assert count(chooser) == mine
    if name == "oracle":
        return  # it knows the means of the arms it was made with
    chooser.add_arm("new")
    mine["new"] = 0
    assert count(chooser) == mine
    for context in contexts(10, seed=2):
        mine[tell(chooser, chooser.choose(context, ["new", "small"]))] += 1
    assert count(chooser) == mine


# A number of an arm or of an objective, which nobody gave it.
NUMBER = re.compile(r"\b(arms?|objectives?) \d", re.IGNORECASE)


@pytest.mark.parametrize("name", EVERY_POLICY)
def test_explanations_have_the_names_of_arms_and_objectives(name: str) -> None:
    chooser = chooser_of(name, explore=0.1)
    told = [chooser.explain(contexts(1)[0])]
    for n, context in enumerate(contexts(400)):
        if n == 200:
            chooser.retire_arm("huge")
        tell(chooser, chooser.choose(context))
        if n % 5 == 0:
            told += [chooser.explain(context), chooser.explain(context, ["small", "medium"])]
    for explanation in told:
        texts = [explanation.reason, *(arm.why for arm in explanation.arms)]
        assert not any(NUMBER.search(text) or "{" in text for text in texts), texts
    mentioned = {arm for one in told for arm in QUALITY if re.search(rf"\b{arm}\b", one.reason)}
    drawn_from_all = {"random", "pareto-ts", "oracle"}
    assert mentioned == set() if name in drawn_from_all else len(mentioned) > 1


def test_the_reason_of_a_policy_itself_has_numbers() -> None:
    chooser = chooser_of("cd-ucb1")
    policy, context = chooser.policy, contexts(1)[0]
    reason = policy.explain(chooser.contexts.encode(context)[0]).reason
    tied = "(4 tied, one is drawn uniformly)"
    assert reason == f"Arms 0, 1, 2 and 3: highest index in objective 1 {tied}."
    assert chooser.explain(context).reason == (
        f"small, medium, large and huge: highest index in quality {tied}."
    )
    assert pickle.loads(pickle.dumps(reason)).named(["a"] * 4, ["q"]) == (
        f"a, a, a and a: highest index in q {tied}."
    )


def test_names_are_never_taken_for_places() -> None:
    reason = Reason("a {round} with {arms 1}: best in {objective 0}.")
    assert reason == "A {round} with arm 1: best in objective 1."
    assert reason.named(["x", "{arms 0}"], ["{objective 0}"]) == (
        "A {round} with {arms 0}: best in {objective 0}."
    )


def test_plays_of_two_add_up() -> None:
    one, other = chooser_of("moc-mab"), chooser_of("moc-mab")
    for chooser in (one, other):
        for context in contexts(10):
            tell(chooser, chooser.choose(context, ["small"]))
    one.merge(other)
    assert count(one) == {"small": 20, "medium": 0, "large": 0, "huge": 0}


def test_a_policy_that_learned_before_brings_its_plays() -> None:
    policy = make_policy("projected")
    for _ in range(3):
        policy.update([0.5, 0.5], 2, [0.5, 0.5])
    chooser = lb.Chooser(
        objectives=[lb.Objective("quality"), lb.Objective("cost", goal="min")],
        arms=["small", "medium", "large", "huge"],
        context=[lb.Number("load"), lb.Number("size")],
        policy=policy,
    )
    assert count(chooser) == {"small": 0, "medium": 0, "large": 3, "huge": 0}
