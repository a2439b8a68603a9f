"""Choosers trained on separate traffic add up exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]

TRAFFIC = [(tokens * 37 % 8000, ("small", "medium", "large")[tokens % 3]) for tokens in range(200)]


def teach(chooser: RecordingChooser, traffic: list[tuple[int, str]]) -> list[lb.Decision]:
    out = []
    for tokens, arm in traffic:
        decision = chooser.choose({**CONTEXT, "tokens": tokens}, [arm])
        # Sums of such numbers are exact, whatever their order.
        chooser.reward(decision, quality=(tokens % 64) / 64, cost=0.05 * (tokens % 2))
        out.append(decision)
    return out


@pytest.mark.parametrize("policy", ["moc-mab", "cd-ucb1"])
def test_sums_add_up_exactly(make: Make, policy: str) -> None:
    settings: dict[str, Any] = {"policy": policy, "horizon": 1000}
    whole, one, other = make(**settings), make(**settings), make(**settings, seed=9)
    teach(whole, TRAFFIC)
    teach(one, TRAFFIC[:80])
    teach(other, TRAFFIC[80:])
    one.merge(other)
    expected, state = whole.policy.state(), one.policy.state()
    order, mine = (np.argsort(s["cells"]) for s in (expected, state))
    for name in ("cells", "plays", "counts", "sums"):
        np.testing.assert_array_equal(state[name][mine], expected[name][order])


def test_regressions_add_up(make: Make) -> None:
    whole, one, other = make(), make(), make(seed=9)
    teach(whole, TRAFFIC)
    teach(one, TRAFFIC[:80])
    teach(other, TRAFFIC[80:])
    before = str(other.explain(CONTEXT))
    one.merge(other)
    expected, state = whole.policy.state(), one.policy.state()
    np.testing.assert_array_equal(state["plays"], expected["plays"])
    for name, sums in (("tallies", [0, 1, 2]), ("vectors", [0]), ("matrices", [0])):
        np.testing.assert_allclose(state[name][:, :, sums], expected[name][:, :, sums], rtol=1e-12)
    for mine, theirs in zip(one.explain(CONTEXT).arms, whole.explain(CONTEXT).arms, strict=True):
        for objective, estimate in mine.estimates.items():
            # scales and noise are computed anew from the sums: close, not equal
            assert estimate.value == pytest.approx(theirs.estimates[objective].value, rel=0.05)
    assert str(one.summary().received["cost"]) == str(whole.summary().received["cost"])
    assert one.summary().decisions == 200
    assert str(other.explain(CONTEXT)) == before  # the other is left as it was


def test_waiting_decisions_come_along(make: Make, clock: Clock) -> None:
    one, other = make(wait=100, clock=clock), make(wait=100, clock=clock)
    early = other.choose(CONTEXT)
    clock.now += 50
    late = one.choose(CONTEXT)
    one.merge(other)
    assert one.waiting == 2
    one.reward(early, quality=1.0)
    one.reward(late, quality=1.0)
    other.reward(early, quality=0.5)  # its own copy
    clock.now += 51
    one.choose(CONTEXT)
    with pytest.raises(lb.UnknownDecision):  # the oldest leaves first, though it came second
        one.reward(early, cost=0.01)
    one.reward(late, cost=0.01)


def test_the_room_stays_bounded(make: Make) -> None:
    clock = Clock()
    one, other = make(keep=10, clock=clock), make(keep=10, clock=clock)
    ids = []
    for chooser in (one, other):
        for _ in range(8):
            clock.now += 1
            ids.append(chooser.choose(CONTEXT).id)
    one.merge(other)
    assert [decision.id for decision in one.decisions()] == ids[-10:]  # the oldest left
    assert one.dropped == 6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"arms": ["small", "large"]}, "arms is"),
        ({"arms": ["medium", "small", "large"]}, "arms is"),
        ({"objectives": lb.Objective("quality")}, "objectives is"),
        (
            {"objectives": [lb.Objective("quality", tolerance=0.1), lb.Objective("cost")]},
            "objectives is",
        ),
        ({"context": [lb.Number("tokens", 0, 4000)]}, "context is"),
        ({"policy": "moc-mab", "horizon": 10}, "policy is"),
        ({"scale": 0.5}, "settings is"),
    ],
)
def test_other_definitions_are_refused(make: Make, settings: dict[str, Any], words: str) -> None:
    one = make()
    teach(one, TRAFFIC[:5])
    before = str(one.explain(CONTEXT))
    with pytest.raises(lb.InvalidInput, match=words):
        one.merge(make(**settings))
    assert str(one.explain(CONTEXT)) == before


def test_nothing_counts_twice(make: Make, tmp_path: Path) -> None:
    one, other = make(), make()
    teach(other, TRAFFIC[:9])
    one.save(tmp_path / "it")
    twins = [RecordingChooser.load(tmp_path / "it") for _ in range(2)]
    for pair in ((one, twins[0]), (twins[0], one), (twins[0], twins[1])):
        with pytest.raises(lb.InvalidInput, match="share a past"):
            pair[0].merge(pair[1])
    one.merge(other)
    with pytest.raises(lb.InvalidInput, match="share a past"):
        one.merge(other)
    one.save(tmp_path / "both")
    with pytest.raises(lb.InvalidInput, match="share a past"):
        RecordingChooser.load(tmp_path / "both").merge(other)
    for wrong in (one, None, "chooser"):
        with pytest.raises(lb.InvalidInput, match="merge takes another Chooser"):
            one.merge(wrong)  # type: ignore[arg-type]
    assert sum(one.summary().plays.values()) == 9


def test_what_is_no_sum_is_not_merged(make: Make) -> None:
    with pytest.raises(lb.InvalidInput, match="cannot be merged"):
        make(policy="lex-tree").merge(make(policy="lex-tree"))


def test_which_arms_are_retired_stays(make: Make) -> None:
    here, there = make(), make()
    for chooser in (here, there):
        chooser.reward(chooser.choose(CONTEXT, ["small"]), quality=0.5)
        chooser.reward(chooser.choose(CONTEXT, ["large"]), quality=0.9)
    here.retire_arm("small")
    there.retire_arm("large")
    here.merge(there)
    assert (here.arms, here.retired) == (("medium", "large"), ("small",))
    assert here.summary().plays == {"small": 2, "medium": 0, "large": 2}
