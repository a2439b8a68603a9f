"""Files of before tolerances belonged to objectives alone: they go on exactly as they did.

The files in fixtures/tolerances were written by lexbandit at commit 22f016a, with
`Chooser(objectives=OBJECTIVES, arms=["a", "b", "c"], context=[lb.Number("x")], horizon=500, ...)`
after `use(chooser, 300, seed=1)`; beside them is what `use(chooser, 60, seed=2)` chose then.

    setting, wide-setting   policy="lex-linucb", tolerance=[0.1, 0] and [2.0, 0]
    object, wide-object     policy=mine(0.05) and mine(2.0)
    no-tolerances           policy=make_policy("cs-ucb1", **SHAPE), the tolerance of q is 0.2
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.chooser import saving
from lexbandit.policies import Policy

FOLDER = Path(__file__).parent / "fixtures" / "tolerances"
OBJECTIVES = [lb.Objective("q", range=(0.0, 0.7)), lb.Objective("c", goal="min")]
SHAPE = {"arms": 3, "dimension": 1, "objectives": 2, "horizon": 500}

# "a" is as good as "b" within 0.03, and much cheaper.
QUALITY = {"a": 0.40, "b": 0.42, "c": 0.30}
COST = {"a": 0.2, "b": 0.6, "c": 0.1}


def use(chooser: lb.Chooser, n: int, seed: int) -> list[tuple[str, float]]:
    """Choose and reward; returns what was chosen."""
    random = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        decision = chooser.choose({"x": float(random.random())})
        q = QUALITY[decision.arm] + 0.05 * float(random.random())
        chooser.reward(decision, q=q, c=COST[decision.arm])
        out.append((decision.arm, decision.propensity))
    return out


def mine(tolerance: Any) -> Policy:
    """Return a policy as a user makes it."""
    return lb.make_policy("lex-linucb", tolerance=tolerance, seed=3, **SHAPE)


@pytest.mark.parametrize(
    ("name", "shares", "tolerances"),
    [
        # No number is 0.1 when it is divided by 0.7.
        ("setting", [0.1, 0.0], [0.07, 0.0]),
        ("wide-setting", [2.0, 0.0], [0.7, 0.0]),
    ],
)
def test_a_setting_goes_on_exactly(name: str, shares: list[float], tolerances: list[float]) -> None:
    told = json.loads((FOLDER / f"{name}.json").read_text())
    loaded = lb.Chooser.load(FOLDER / f"{name}.lexbandit")
    again = lb.Chooser.from_bytes(loaded.to_bytes())
    assert loaded.digest() == again.digest()
    for chooser in (loaded, again):
        assert [o.tolerance for o in chooser.objectives] == pytest.approx(tolerances, rel=1e-12)
        assert chooser.policy.tolerances.tolist() == shares  # type: ignore[attr-defined]
        assert [list(one) for one in use(chooser, 60, seed=2)] == told


@pytest.mark.parametrize(
    ("name", "share", "tolerances"),
    [("object", 0.05, [0.035, 0.05]), ("wide-object", 2.0, [0.7, 1.0])],
)
def test_a_policy_object_goes_on_exactly(name: str, share: float, tolerances: list[float]) -> None:
    told = json.loads((FOLDER / f"{name}.json").read_text())
    loaded = lb.Chooser.load(FOLDER / f"{name}.lexbandit", policy=mine(share))
    again = lb.Chooser.from_bytes(loaded.to_bytes(), policy=mine(share))
    assert loaded.digest() == again.digest()
    for chooser in (loaded, again):
        assert [o.tolerance for o in chooser.objectives] == pytest.approx(tolerances, rel=1e-12)
        assert [list(one) for one in use(chooser, 60, seed=2)] == told


def test_a_policy_of_another_shape_is_told_so() -> None:
    policy = lb.make_policy("moc-mab", tolerance=0.05, **{**SHAPE, "objectives": 3})
    with pytest.raises(lb.InvalidInput, match="the policy has 3 objectives, the chooser 2"):
        lb.Chooser.load(FOLDER / "object.lexbandit", policy=policy)


def test_a_policy_without_tolerances_leaves_those_of_the_file() -> None:
    policy = lb.make_policy("cs-ucb1", **SHAPE)
    chooser = lb.Chooser.load(FOLDER / "no-tolerances.lexbandit", policy=policy)
    assert [o.tolerance for o in chooser.objectives] == [0.2, 0.0]


def test_in_files_of_now_another_tolerance_is_refused() -> None:
    loaded = lb.Chooser.load(FOLDER / "object.lexbandit", policy=mine(0.05))
    with pytest.raises(lb.InvalidInput, match=r"a tolerance of q 0\.28, c 0\.4, the objectives"):
        lb.Chooser.from_bytes(loaded.to_bytes(), policy=mine(0.4))


def test_a_tolerance_that_says_the_same_stays_as_it_was_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pack: Callable[..., bytes] = saving.pack

    def older(document: dict[str, Any], arrays: Any) -> bytes:
        document["definition"]["settings"]["tolerance"] = [0.1, 0.0]
        return pack(document, arrays)

    monkeypatch.setattr(saving, "pack", older)
    objectives = [lb.Objective("q", range=(0.0, 0.7), tolerance=0.07), OBJECTIVES[1]]
    chooser = lb.Chooser.from_bytes(lb.Chooser(objectives=objectives, arms=["a", "b"]).to_bytes())
    assert chooser.objectives[0].tolerance == 0.07
    assert chooser.policy.tolerances.tolist() == [0.1, 0.0]  # type: ignore[attr-defined]
