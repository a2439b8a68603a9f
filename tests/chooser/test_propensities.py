"""The propensity is the exact probability of what was done."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]

# The 99.99 % point of chi-square with 0 to 4 degrees of freedom; seeds are fixed.
LIMIT = (0.0, 15.1, 18.4, 21.1, 23.5)
N = 6000


def check(chooser: RecordingChooser, allowed: Any) -> dict[str, float]:
    """Compare propensities, explanations and frequencies; returns the propensities seen."""
    told = {arm.name: arm.propensity for arm in chooser.explain(CONTEXT, allowed).arms}
    assert sum(told.values()) == pytest.approx(1.0)
    seen: Counter[str] = Counter()
    for _ in range(N):
        decision = chooser.choose(CONTEXT, allowed)
        assert math.isclose(decision.propensity, told[decision.arm], rel_tol=1e-12)
        seen[decision.arm] += 1
    possible = {arm: p for arm, p in told.items() if p > 0}
    assert set(seen) <= set(possible)
    chi = sum((seen[arm] - N * p) ** 2 / (N * p) for arm, p in possible.items())
    assert chi <= LIMIT[len(possible) - 1]
    return possible


def taught(make: Make, **settings: Any) -> RecordingChooser:
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


CONTEXTS = [{**CONTEXT, "tokens": 8000.0 * n / 40, "task": "maths"} for n in range(40)]


def adaptive(make: Make, **settings: Any) -> RecordingChooser:
    """Learned from what it chose itself; four arms, one of them retired."""
    chooser = make(arms=["small", "medium", "large", "gone"], **settings)
    for n in range(60):
        context = CONTEXTS[n % 40]
        decision = chooser.choose(context)
        level = {"small": 0.6, "medium": 0.85, "large": 0.86, "gone": 0.5}[decision.arm]
        chooser.reward(decision, quality=level + 0.1 * (n % 3), cost=0.01 * (n % 4))
    chooser.retire_arm("gone")
    return chooser


@pytest.mark.parametrize("explore", [0.0, 0.1])
@pytest.mark.parametrize("allowed", [None, ["small", "large"], ["medium"]])
def test_the_probabilities_of_all_arms(
    make: Make, explore: float, allowed: list[str] | None
) -> None:
    chooser = adaptive(make, explore=explore)
    for context in CONTEXTS[::8]:
        told = chooser.propensities(context, allowed)
        assert tuple(told) == chooser.arms == ("small", "medium", "large")
        assert sum(told.values()) == pytest.approx(1.0, abs=1e-9)
        for arm, share in told.items():
            if allowed is not None and arm not in allowed:
                assert share == 0.0
            else:
                assert share >= explore / len(allowed or told) - 1e-12
        decision = chooser.choose(context, allowed)
        assert math.isclose(decision.propensity, told[decision.arm], abs_tol=1e-9)


def test_the_probabilities_of_all_arms_are_the_frequencies(make: Make) -> None:
    chooser = adaptive(make, explore=0.05)
    told = chooser.propensities(CONTEXT)
    seen = Counter(chooser.choose(CONTEXT).arm for _ in range(N))
    chi = sum((seen[arm] - N * p) ** 2 / (N * p) for arm, p in told.items())
    assert chi <= LIMIT[2]


def test_the_probabilities_of_many_contexts(make: Make) -> None:
    chooser = adaptive(make, explore=0.05)
    masks = [None, ["small", "large"], ["medium"], None] * 10
    for allowed in (None, ["small", "medium"], masks):
        shares = chooser.propensities_many(CONTEXTS, allowed)
        assert shares.shape == (40, 3)
        for row, context in enumerate(CONTEXTS):
            own = allowed[row] if allowed is masks else allowed
            single = chooser.propensities(context, own)  # type: ignore[arg-type]
            assert shares[row].tolist() == list(single.values())
    assert chooser.propensities_many([], None).shape == (0, 3)


def test_asking_for_probabilities_changes_nothing(make: Make) -> None:
    chooser = adaptive(make)
    digest = chooser.digest()
    chooser.propensities({**CONTEXT, "task": "poetry"})
    chooser.propensities_many(CONTEXTS)
    assert chooser.digest() == digest


def test_no_closed_form_is_nan_and_what_is_not_allowed_is_0(make: Make) -> None:
    chooser = make(policy="pareto-ts", horizon=1000, explore=0.1)
    told = chooser.propensities(CONTEXT, ["small", "large"])
    assert told["medium"] == 0.0
    assert math.isnan(told["small"])
    assert math.isnan(told["large"])


@pytest.mark.parametrize("policy", ["lex-linucb", "moc-mab", "lex-tree", "random", "epoch-greedy"])
def test_other_policies_have_the_probabilities_of_all_arms(make: Make, policy: str) -> None:
    chooser = taught(make, policy=policy, horizon=10_000, explore=0.1)
    told = chooser.propensities(CONTEXT, ["small", "medium"])
    assert sum(told.values()) == pytest.approx(1.0, abs=1e-9)
    for _ in range(20):
        decision = chooser.choose(CONTEXT, ["small", "medium"])
        assert math.isclose(decision.propensity, told[decision.arm], abs_tol=1e-9)
