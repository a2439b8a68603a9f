"""Comparisons with always playing one arm: a plain twin, and what must hold of the sums."""

import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit as lb
from chooser.beliefs import Beliefs
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.reward_sums import Judged, intervals
from lexbandit.kernels import comparison as kernel
from twins import comparison as twin

Make = Callable[..., RecordingChooser]

FEATURES = 3


def some_decisions(seed: int, n: int, arms: int, *, binary: bool = False) -> list[twin.Scored]:
    """Decisions with masks, some of them without a known probability or a prediction."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        allowed = random.random(arms) < 0.7
        arm = int(random.integers(arms))
        allowed[arm] = True
        reward = float(random.random() < 0.3) if binary else float(random.random())
        found.append(
            twin.Scored(
                features=[1.0, *random.random(FEATURES - 1).tolist()],
                predicted=None if random.random() < 0.3 else float(random.random()),
                arm=arm,
                propensity=None if random.random() < 0.1 else float(random.random() ** 4 + 1e-6),
                reward=reward,
                allowed=allowed.tolist(),
            )
        )
    return found


def summed(decisions: list[twin.Scored], arms: int, explore: float = 0.0) -> np.ndarray:
    """Return the kernel's sums of one objective; the second has no rewards."""
    sums = np.zeros((arms, 2, kernel.FIELDS + FEATURES))
    received = np.zeros((2, kernel.RECEIVED))
    for one in decisions:
        every = all(one.allowed)
        kernel.score(
            sums,
            received,
            np.array(one.features),
            np.array([np.nan if one.predicted is None else one.predicted, np.nan]),
            one.arm,
            np.nan if one.propensity is None else one.propensity,
            explore,
            np.array([one.reward, np.nan]),
            np.array([one.reward, np.nan]),
            kernel.NO_MASK if every else np.array(one.allowed),
        )
    return sums


@pytest.mark.parametrize("explore", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("binary", [False, True])
def test_sums_and_intervals_are_the_twins(explore: float, binary: bool) -> None:
    arms = 4
    for seed in range(5):
        decisions = some_decisions(seed, 80, arms, binary=binary)
        sums = summed(decisions, arms, explore)
        assert not sums[:, 1].any()
        counts = sums[:, :1, kernel.COUNT]
        averages = sums[:, :1, kernel.FIELDS :] / counts[..., np.newaxis]
        means, deviations = averages.sum(axis=2) / 7, np.abs(averages.sum(axis=2)) / 11
        plays, ones = sums[:, :1, kernel.PLAYS], sums[:, :1, kernel.REWARDS]
        rates = (ones + 2) / (plays + 4)
        noise = rates * (1 - rates) if binary else np.zeros((arms, 1))
        found = intervals(Judged(sums[:, :1], means, deviations), noise)
        for arm in range(arms):
            expected = twin.average_features(decisions, arm, explore)
            np.testing.assert_allclose(averages[arm, 0], expected, rtol=1e-9, atol=1e-12)
            told = twin.interval(decisions, arm, explore, means[arm, 0], deviations[arm, 0], binary)
            assert found.values[arm, 0] == pytest.approx(told.value, rel=1e-9)
            assert found.halves[arm, 0] == pytest.approx(told.half, rel=1e-9)
            modelled = 1 - sums[arm, 0, kernel.WEIGHTS] / counts[arm, 0]
            assert modelled == pytest.approx(told.modelled, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_sums_of_two_streams_add_up_to_those_of_one(seed: int, cut: int) -> None:
    decisions = [
        one._replace(predicted=0.5 if one.predicted is None else one.predicted)
        for one in some_decisions(seed, 40, 3)
    ]
    apart = summed(decisions[:cut], 3) + summed(decisions[cut:], 3)
    np.testing.assert_allclose(apart, summed(decisions, 3), rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 10**6), order=st.permutations(range(4)))
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_arms_does_not_matter(seed: int, order: list[int]) -> None:
    decisions = some_decisions(seed, 40, 4)
    moved = [
        one._replace(arm=order.index(one.arm), allowed=[one.allowed[k] for k in order])
        for one in decisions
    ]
    np.testing.assert_array_equal(summed(moved, 4, 0.1), summed(decisions, 4, 0.1)[order])


def believer(arms: int = 3, **settings: Any) -> RecordingChooser:
    """A chooser whose policy knows the deviations of its means."""
    given: dict[str, Any] = {
        "objectives": [lb.Objective("quality"), lb.Objective("cost", goal="min", range=(0, 10))],
        "arms": ["a", "b", "c", "d"][:arms],
        "context": [lb.Number("x", 0, 1)],
        "policy": Beliefs(arms=arms, noise=(0.3, 0.3), seed=5),
        **settings,
    }
    return RecordingChooser(**given)


def serve(chooser: RecordingChooser, n: int, seed: int = 0, **settings: Any) -> None:
    random = np.random.default_rng(seed)
    for _ in range(n):
        decision = chooser.choose({"x": int(random.integers(2))}, **settings)
        best = {"a": 0.8, "b": 0.7, "c": 0.3, "d": 0.5}[decision.arm]
        quality = float(random.random() < best)
        chooser.reward(decision, quality=quality, cost=float(random.uniform(0, 10 * best)))


def test_the_chooser_earned_more_than_a_bad_arm() -> None:
    chooser = believer()
    serve(chooser, 500)
    one = chooser.summary().against["c"]["quality"]
    assert one.value is not None
    assert one.low is not None
    assert one.high is not None
    assert 0 < one.low < 0.45 < one.high
    assert one.level == 0.95
    assert one.decisions == 500
    assert one.tried == chooser.summary().plays["c"]
    assert 0.5 < one.modelled < 1  # soon it is hardly ever tried
    cost = chooser.summary().against["c"]["cost"]
    assert cost.value is not None
    assert cost.value < 0  # c costs 1.5 on average, the others 4: what the chooser paid is worse


def test_masks_leave_out_what_was_not_allowed() -> None:
    chooser = believer()
    serve(chooser, 100)
    serve(chooser, 50, seed=1, allowed=["a", "c"])
    against = chooser.summary().against
    assert [against[arm]["cost"].decisions for arm in "abc"] == [150, 100, 150]
    assert "always b: " in str(chooser.summary())
    assert "over the 100 of 150 decisions that allowed it]" in str(chooser.summary())


def test_an_arm_that_was_allowed_most_often_may_have_been_left_out_too() -> None:
    chooser = believer()
    serve(chooser, 10)
    for n, allowed in enumerate((["a", "b"], ["a", "c"], ["b", "c"], ["a", "b"])):
        serve(chooser, 30, seed=n, allowed=allowed)
    lines = {line.split(":")[0]: line for line in str(chooser.summary()).splitlines()}
    for arm, count in (("a", 100), ("b", 100), ("c", 70)):
        assert f"over the {count} of 130 decisions that allowed it]" in lines[f"always {arm}"]


def test_a_new_arm_is_compared_from_then_on_and_a_retired_one_until_then() -> None:
    chooser = believer()
    early = [chooser.choose({"x": 0}) for _ in range(5)]
    serve(chooser, 20)
    chooser.add_arm("d")
    chooser.retire_arm("a")
    for decision in early:
        chooser.reward(decision, quality=1.0, cost=1.0)
    serve(chooser, 30, seed=1)
    against = chooser.summary().against
    assert [against[arm]["quality"].decisions for arm in "abcd"] == [25, 55, 55, 30]


def test_logs_do_not_count_and_defaults_do(make: Make, clock: Clock) -> None:
    objectives = [lb.Objective("quality", default=0.0), lb.Objective("cost", goal="min")]
    chooser = make(objectives=objectives, wait=10, clock=clock)
    log = {"tokens": [900] * 3, "task": ["code"] * 3, "hour": [12] * 3, "quality": [0.5, 0.7, 0.9]}
    chooser.learn({**log, "arm": ["small", "small", "large"]})
    assert chooser.summary().against["small"]["quality"].decisions == 0
    chooser.choose(CONTEXT)
    clock.now += 11
    chooser.tick()
    assert chooser.summary().against["small"]["quality"].decisions == 1
    assert chooser.summary().against["small"]["cost"].decisions == 0


def test_an_arm_that_is_always_played_is_the_same() -> None:
    chooser = believer(arms=1)
    serve(chooser, 20)
    one = chooser.summary().against["a"]["quality"]
    assert (one.value, one.low, one.high, one.modelled) == (0.0, 0.0, 0.0, 0.0)
    assert "always a: quality the same, since it was always played" in str(chooser.summary())


@pytest.mark.parametrize("policy", [None, "lex-linucb", "random"])
def test_rewards_at_once_compare_as_one_by_one(make: Make, policy: str | None) -> None:
    one, many = make(policy=policy), make(policy=policy)
    random = np.random.default_rng(2)
    for k in range(4):
        told = {"quality": random.random(30), "cost": random.random(30) / 20}
        told["quality"][random.random(30) < 0.3] = np.nan
        ids = [f"{k}-{n}" for n in range(30)]
        contexts = [{**CONTEXT, "tokens": int(n)} for n in random.integers(8000, size=30)]
        for id, context in zip(ids, contexts, strict=True):
            proposal = one.propose(context)
            one.record(id, proposal)
            many.record(id, proposal)
        for n, id in enumerate(ids):
            values = {name: v[n] for name, v in told.items() if not np.isnan(v[n])}
            one.reward(id, values)
        many.reward_many(ids, told)
    assert many.digest() == one.digest()
    assert many._ledger.sums.compared.any()


def test_files_keep_the_sums() -> None:
    chooser = believer()
    serve(chooser, 40)
    again = RecordingChooser.from_bytes(
        chooser.to_bytes(), policy=Beliefs(arms=3, noise=(0.3, 0.3), seed=5)
    )
    assert again.summary() == chooser.summary()
    assert again.digest() == chooser.digest()


def test_merging_adds_the_sums(make: Make) -> None:
    one, other = make(), make(seed=9)
    for chooser in (one, other):
        for k in range(30):
            chooser.reward(chooser.choose(CONTEXT), quality=(k % 7) / 7, cost=0.01)
    both = one._ledger.sums.compared + other._ledger.sums.compared
    one.merge(other)
    np.testing.assert_array_equal(one._ledger.sums.compared, both)
    assert one.summary().against["small"]["quality"].decisions == 60


def test_without_a_model_it_cannot_tell_what_was_hardly_tried(make: Make) -> None:
    chooser = make(policy="lex-linucb")
    for _ in range(300):
        decision = chooser.choose(CONTEXT)
        chooser.reward(decision, quality={"small": 0.2, "medium": 0.9, "large": 0.5}[decision.arm])
    summary = chooser.summary()
    told = summary.against["small"]["quality"]
    assert (told.value, told.low, told.high) == (None, None, None)
    assert told.tried == summary.plays["small"]
    assert (
        f"always small: cannot tell: it was tried {told.tried} times in 300 decisions; "
        "explore=0.05 would tell"
    ) in str(summary)


def test_exploring_tells(make: Make) -> None:
    chooser = make(policy="lex-linucb", explore=0.2, seed=3)
    truth = {"small": 0.2, "medium": 0.9, "large": 0.5}
    early = []
    for _ in range(2000):
        decision = chooser.choose(CONTEXT)
        chooser.reward(decision, quality=truth[decision.arm])
        early.append(truth[decision.arm])
    told = chooser.summary().against["small"]["quality"]
    assert told.low is not None
    assert told.high is not None
    assert told.low <= np.mean(early) - 0.2 <= told.high
    few = make(policy="lex-linucb", explore=0.2)
    few.reward(few.choose(CONTEXT), quality=0.5)
    few.reward(few.choose(CONTEXT), quality=0.5)
    assert "more decisions will tell" in str(few.summary())


@pytest.mark.parametrize("policy", [None, "lex-linucb"])
def test_a_thousand_arms_are_summarized_at_once(policy: str | None) -> None:
    """Under 0.2 s, and others wait for less than 10 ms: processor time, the best of five."""
    chooser = RecordingChooser(
        objectives=[lb.Objective("quality", tolerance=0.02), lb.Objective("cost", goal="min")],
        arms=[f"arm {n}" for n in range(1000)],
        context=[lb.Number("x", 0, 1), lb.Number("y", 0, 1), lb.Number("z", 0, 1)],
        policy=policy,
    )
    random = np.random.default_rng(0)
    for x, y, z, quality in random.random((60, 4)).tolist():
        chooser.reward(chooser.choose({"x": x, "y": y, "z": z}), quality=quality, cost=0.5)
    str(chooser.summary())  # compiles
    took, held = [], []
    lock = _Watched(chooser._lock)
    chooser._lock = lock  # type: ignore[assignment]
    for _ in range(5):
        begin = time.thread_time()
        text = str(chooser.summary())
        took.append(time.thread_time() - begin)
        held.append(lock.longest)
    assert "and 990 more arms." in text
    assert len(chooser.summary().against) == 1000
    assert min(took) < 0.2
    assert min(held) < 0.01


class _Watched:
    """A lock that notes for how much processor time it was held."""

    def __init__(self, lock: "threading.RLock") -> None:
        self._lock: Any = lock
        self._since = 0.0
        self.longest = 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.longest = time.thread_time() - self._since
        self._lock.release()


def test_what_was_chosen_elsewhere_without_a_probability_is_left_to_the_model() -> None:
    chooser = believer()
    for n in range(20):
        chooser.record(f"d{n}", chooser.proposal("a", float("nan"), {"x": n % 2}))
        chooser.reward(f"d{n}", quality=1.0)
    against = chooser.summary().against
    assert against["b"]["quality"].modelled == 1.0
    assert against["a"]["quality"].modelled == 0.0


def test_scoring_takes_little_of_a_reward(make: Make) -> None:
    """About 1.5 µs of a reward, in processor time; the bound leaves room for slow machines."""
    chooser = make()
    chooser.reward(chooser.choose(CONTEXT), quality=0.5, cost=0.01)
    ledger = chooser._ledger
    pending = next(iter(ledger.pending.values()))
    shares = np.array([0.5, 0.5])
    expected = chooser.policy._expect_checked(pending.point, pending.arm)
    sums = ledger.sums
    score = partial(
        kernel.score,
        sums.compared,
        sums.received,
        *expected,
        pending.arm,
        pending.propensity,
        0.0,  # explore
        shares,
        shares,
        kernel.NO_MASK,
    )
    took = []
    for _ in range(50):
        begin = time.thread_time()
        for _ in range(100):
            score()
        took.append((time.thread_time() - begin) / 100)
    assert statistics.median(took) < 20e-6
