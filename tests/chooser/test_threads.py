"""A chooser may be used from many threads."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser

Make = Callable[..., RecordingChooser]

THREADS, EACH = 8, 500


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("policy", ["lex-linucb", "moc-mab"])
def test_no_reward_is_lost(make: Make, policy: str) -> None:
    chooser = make(policy=policy, horizon=10_000, explore=0.2)

    def work(thread: int) -> list[lb.Decision]:
        out = []
        for n in range(EACH):
            decision = chooser.choose({**CONTEXT, "tokens": (thread * 997 + n * 13) % 8000})
            chooser.reward(decision, quality=0.5)
            chooser.reward(decision.id, cost=0.01)
            chooser.reward(decision, quality=0.5)
            out.append(decision)
        return out

    with ThreadPoolExecutor(THREADS) as pool:
        decisions = [one for part in pool.map(work, range(THREADS)) for one in part]
    total = THREADS * EACH
    assert len({one.id for one in decisions}) == total
    summary = chooser.summary()
    assert (summary.decisions, summary.waiting) == (total, total)
    assert sum(summary.plays.values()) == total
    for mean in summary.received.values():
        assert mean.count == total
    for arm in chooser.arms:
        assert summary.plays[arm] == sum(one.arm == arm for one in decisions)
    assert int(chooser.policy.state()["counts"].sum()) == 2 * total


def test_what_many_threads_record_is_what_is_kept(make: Make) -> None:
    chooser = make(explore=0.2)

    def work(thread: int) -> None:
        for n in range(EACH):
            context = {**CONTEXT, "tokens": (thread * 997 + n * 13) % 8000}
            if n % 2:
                chooser.record(f"{thread}-{n}", chooser.propose(context))
            else:
                chooser.record_many([f"{thread}-{n}"], chooser.propose_many([context]))
            chooser.reward(f"{thread}-{n}", quality=0.5)
            assert chooser.decision(f"{thread}-{n}").rewards == {"quality": 0.5}

    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [pool.submit(work, thread) for thread in range(THREADS)]
        while not all(job.done() for job in jobs):
            state = RecordingChooser.from_bytes(chooser.to_bytes())  # at any moment a whole one
            assert sum(state.summary().plays.values()) <= state.summary().decisions
        for job in jobs:
            job.result(120)
    kept = {one.id for one in chooser.decisions()}
    assert kept == {f"{thread}-{n}" for thread in range(THREADS) for n in range(EACH)}
    assert sum(chooser.summary().plays.values()) == THREADS * EACH


def test_everything_at_once(make: Make, tmp_path: Path) -> None:
    """Arms come and go, files are written, summaries read, while others choose."""
    chooser, other = make(), make()
    other.reward(other.choose(CONTEXT), quality=1)

    def choose(_: int) -> None:
        for _ in range(200):
            chooser.reward_many(chooser.choose_many([CONTEXT] * 3), {"quality": [0.1, 0.2, 0.3]})
            assert chooser.choose(CONTEXT).arm in {"small", "medium", "large", "new"}
            assert len(chooser.arms) >= 3

    def change(_: int) -> None:
        chooser.add_arm("new")
        for n in range(20):
            chooser.retire_arm("new")
            chooser.save(tmp_path / f"{n}")
            chooser.add_arm("new")
            str(chooser.summary())
            str(chooser.explain(CONTEXT))

    with ThreadPoolExecutor(5) as pool:
        jobs = [*(pool.submit(choose, n) for n in range(4)), pool.submit(change, 0)]
        for job in jobs:
            job.result(120)
    assert sum(chooser.summary().plays.values()) == 4 * 200 * 3
    assert RecordingChooser.load(tmp_path / "19").arms == ("small", "medium", "large")


def test_two_choosers_that_merge_each_other_do_not_wait_forever(make: Make) -> None:
    one, other = make(), make()
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one.merge, other), pool.submit(other.merge, one)]
        errors = [job.exception(60) for job in jobs]
    assert sum(error is not None for error in errors) == 1  # the second shares a past by then
