"""The propensity is the exact probability of what was done."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT

Make = Callable[..., lb.Chooser]

# The 99.99 % point of chi-square with 0 to 4 degrees of freedom; seeds are fixed.
LIMIT = (0.0, 15.1, 18.4, 21.1, 23.5)
N = 6000


def check(chooser: lb.Chooser, allowed: Any) -> dict[str, float]:
    """Compare propensities, explanations and frequencies; returns the propensities seen."""
    told = {arm.name: arm.propensity for arm in chooser.explain(CONTEXT, allowed).arms}
    assert sum(told.values()) == pytest.approx(1.0)
    seen: Counter[str] = Counter()
    for _ in range(N):
        decision = chooser.choose(CONTEXT, allowed)
        assert decision.propensity == pytest.approx(told[decision.arm], rel=1e-12)
        seen[decision.arm] += 1
    possible = {arm: p for arm, p in told.items() if p > 0}
    assert set(seen) <= set(possible)
    chi = sum((seen[arm] - N * p) ** 2 / (N * p) for arm, p in possible.items())
    assert chi <= LIMIT[len(possible) - 1]
    return possible


def taught(make: Make, **settings: Any) -> lb.Chooser:
    chooser = make(**settings)
    for n in range(120):
        decision = chooser.choose(CONTEXT, [("small", "medium", "large")[n % 3]])
        chooser.reward(decision, quality=0.9 if decision.arm != "small" else 0.2, cost=0.01)
    return chooser


def test_ties_are_drawn_evenly(make: Make) -> None:
    assert check(make(), None) == pytest.approx({"small": 1 / 3, "medium": 1 / 3, "large": 1 / 3})
    assert check(make(), ["small", "large"]) == {"small": 0.5, "large": 0.5}


@pytest.mark.parametrize("explore", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("allowed", [None, ["small", "large"], ["medium"]])
def test_the_floor_is_exact(make: Make, explore: float, allowed: list[str] | None) -> None:
    seen = check(taught(make, explore=explore), allowed)
    assert len(seen) == len(allowed or ["small", "medium", "large"])
    assert min(seen.values()) >= explore / len(seen) - 1e-12


def test_without_a_floor_the_policy_alone_decides(make: Make) -> None:
    seen = check(taught(make), ["small", "large"])
    assert seen == {"large": 1.0}


@pytest.mark.parametrize("policy", ["moc-mab", "cd-ucb1", "lex-tree", "random", "epoch-greedy"])
def test_other_policies(make: Make, policy: str) -> None:
    chooser = taught(make, policy=policy, horizon=10_000, explore=0.1)
    check(chooser, ["small", "medium"])


def test_retired_arms_have_no_share_in_the_floor(make: Make) -> None:
    chooser = make(explore=0.5)
    chooser.retire_arm("medium")
    assert set(check(chooser, None)) == {"small", "large"}


def test_the_same_seed_gives_the_same_choices(make: Make) -> None:
    def run(seed: int) -> list[tuple[str, float]]:
        chooser = make(seed=seed, explore=0.3)
        out = []
        for n in range(100):
            decision = chooser.choose({**CONTEXT, "tokens": 80 * n})
            chooser.reward(decision, quality=n / 100, cost=0.01)
            out.append((decision.arm, decision.propensity))
        return out

    assert run(1) == run(1)
    assert run(1) != run(2)
