"""Any number of objectives: each decides among the arms that are as good on all above it."""

import itertools
import random

import pytest

import lexbandit as lb

NAMES = ["safety", "quality", "speed", "cost"]


def chooser_of(depth: int, arms: int) -> lb.Chooser:
    objectives = [lb.Objective(name, tolerance=0.05) for name in NAMES[: depth - 1]]
    last = lb.Objective(NAMES[depth - 1], goal="min", range=(0, 10))
    return lb.Chooser(
        objectives=[*objectives, last],
        arms=[f"arm {k}" for k in range(arms)],
        context=[lb.Number("x")],
        seed=1,
    )


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_last_objective_decides_between_arms_that_are_tied_above(depth: int) -> None:
    """Two arms differ in the last one only; each of the others is behind in one above it."""
    chooser = chooser_of(depth, depth + 1)
    dice = random.Random(0)
    for _, arm in itertools.product(range(400), range(depth + 1)):
        values = [0.9] * (depth - 1) + [4.0]
        if 0 < arm < depth:
            values[arm - 1] = 0.4  # behind in objective `arm`, and cheap
            values[-1] = 1.0
        elif arm == depth:
            values[-1] = 8.0  # tied above, and dear
        decision = chooser.choose({"x": dice.random()}, [f"arm {arm}"])
        noisy = {n: v + dice.uniform(-0.05, 0.05) for n, v in zip(NAMES, values, strict=False)}
        chooser.reward(decision, noisy)
    told = chooser.explain({"x": 0.5})
    assert told.arms[0].propensity > 0.99
    assert [arm.as_good for arm in told.arms] == [True, *[False] * (depth - 1), True]
    for level in range(1, depth):
        within = f"in {NAMES[level - 1]} with probability less than 0.01"
        assert f"ithin 0.05 of the best {within}" in told.arms[level].why
        assert told.arms[level].within == pytest.approx(0.0, abs=0.01)
    assert len(chooser.summary().received) == depth
    assert lb.Chooser.from_bytes(chooser.to_bytes()).explain({"x": 0.5}) == told


def test_a_single_objective_is_a_plain_bandit() -> None:
    chooser = chooser_of(1, 2)
    dice = random.Random(0)
    for k in range(400):
        safety = 4.0 * (1 + k % 2) + dice.uniform(-0.1, 0.1)
        chooser.reward(chooser.choose({"x": dice.random()}, [f"arm {k % 2}"]), safety=safety)
    assert chooser.propensities({"x": 0.5})["arm 0"] > 0.99
