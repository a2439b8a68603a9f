"""The public API as a typed program uses it: mypy --strict reads this file with the others."""

import logging
from importlib.resources import files
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import lexbandit as lb
from lexbandit.chooser.batches import Decisions


def test_types(tmp_path: Path) -> None:
    chooser = lb.Chooser(
        objectives=[
            lb.Objective("quality", range=(0, 1), tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05), outside="refuse", default=None),
        ],
        arms=("small", "large"),
        context=[
            lb.Number("tokens", 1, 8000, scale="log", missing="middle"),
            lb.Category("task", ["code", "chat"]),
            lb.Cycle("hour", 24),
            lb.Flag("new"),
            lb.Vector("embedding", 2, -1, 1),
        ],
        explore=0.1,
        wait=3600,
    )
    context = {"tokens": 9, "task": "code", "hour": 1.5, "new": True, "embedding": [0.1, 0.2]}
    decision = chooser.choose(context, allowed=["small"])
    assert_type(decision, lb.Decision)
    assert_type(decision.arm, str)
    assert_type(decision.propensity, float)
    chooser.reward(decision, quality=1)
    chooser.reward(decision.id, {"cost": 0.01})
    choices = chooser.choose_many([context])
    assert_type(choices, Decisions)
    assert_type(choices.propensities, NDArray[np.float64])
    chooser.reward_many(choices, {"quality": np.array([0.5])})
    assert_type(chooser.arms, tuple[str, ...])
    assert_type(chooser.explain(context).svg(), str)
    assert_type(chooser.summary().against["small"]["cost"].value, float | None)
    chooser.add_arm("new", prior={"quality": 0.5, "cost": 0.01}, weight=3)
    chooser.retire_arm("new")
    chooser.save(tmp_path / "it")
    assert_type(lb.Chooser.load(tmp_path / "it"), lb.Chooser)
    policy = lb.make_policy("random", arms=2, dimension=1)
    assert_type(policy.select([0.5]).arm, int)


def test_the_package_says_it_is_typed() -> None:
    assert (files("lexbandit") / "py.typed").is_file()


def test_nothing_is_logged_unless_asked_for() -> None:
    """As a library should: a logger of its own, whose handlers are the program's to set."""
    assert logging.getLogger("lexbandit").handlers == []
