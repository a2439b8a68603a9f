"""How soon an arm is believed to be different in a rare category, as its page says."""

import random

import numpy as np
import pytest

import lexbandit as lb

COMMON, RARE = "uvwxy", "z"


def needed(seed: int, *, drop: float, noise: float) -> int:
    """Return after how many rewards in the rare category half of the drop is believed."""
    dice = random.Random(seed)
    chooser = lb.Chooser(
        objectives=[lb.Objective("quality"), lb.Objective("cost")],
        arms=["usual", "odd"],
        context=[lb.Category("kind", list(COMMON + RARE))],
        seed=seed,
    )

    def row(kind: str, arm: str) -> dict[str, object]:
        mean = 0.9 - drop * (kind == RARE and arm == "odd")
        return {"kind": kind, "arm": arm, "quality": min(dice.gauss(mean, noise), 1), "cost": 0.5}

    chooser.learn([row(dice.choice(COMMON), dice.choice(chooser.arms)) for _ in range(1000)])
    for count in range(1, 60):
        chooser.learn([row(RARE, "odd")])
        [odd] = [arm for arm in chooser.explain({"kind": RARE}).arms if arm.name == "odd"]
        value = odd.estimates["quality"].value
        assert value is not None
        if value < 0.9 - drop / 2:
            return count
    return 60


@pytest.mark.parametrize(
    ("drop", "noise", "least", "most"), [(0.3, 0.05, 4, 8), (0.6, 0.1, 4, 8), (0.3, 0.1, 15, 35)]
)
def test_large_differences_are_believed_soon_and_smaller_ones_later(
    drop: float, noise: float, least: float, most: float
) -> None:
    counts = [needed(seed, drop=drop, noise=noise) for seed in range(10)]
    assert least <= np.mean(counts) <= most
