"""The outbox: rewards go in batches from the background, and none is lost without a word."""

import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from lexbandit import InvalidInput, ServiceError, UnknownDecision
from lexbandit.client import Decided, Outbox, Rewarded, Undelivered


class Taker:
    """Takes batches of rewards, and notes them; refuses what it is told to."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        self.wrong: set[str] = set()
        self.away: ServiceError | None = None
        self.open = threading.Event()
        self.open.set()

    def __call__(self, point: str, rewards: list[Any]) -> list[Rewarded]:
        assert self.open.wait(10)
        if self.away is not None:
            raise self.away
        ids = [id for id, _ in rewards]
        if bad := self.wrong & {*ids}:
            raise UnknownDecision(f"no decision {min(bad)!r}")
        self.batches.append((point, ids))
        return [Rewarded(id, True, False) for id in ids]

    @property
    def taken(self) -> list[str]:
        return [id for _, ids in self.batches for id in ids]


def test_the_outbox_sends_in_batches_and_all_by_its_end() -> None:
    taker = Taker()
    with Outbox(taker, size=10, every=0.05, room=100) as outbox:
        for n in range(95):
            outbox.reward("router", str(n), quality=1)
        outbox.reward("other", Decided("x", "small", 1.0, 0), {"quality": 1})
    assert taker.taken == [*map(str, range(95)), "x"]
    assert len(taker.batches) <= 12
    assert max(len(ids) for _, ids in taker.batches) <= 10
    assert taker.batches[-1] == ("other", ["x"])
    with pytest.raises(InvalidInput, match="closed"):
        outbox.reward("router", "1", quality=1)


def test_a_lonely_reward_does_not_wait_for_long() -> None:
    taker = Taker()
    with Outbox(taker, size=1000, every=0.05, room=10_000) as outbox:
        outbox.reward("router", "1", quality=1)
        start = time.monotonic()
        while not taker.taken:
            assert time.monotonic() < start + 5
            time.sleep(0.005)


def test_flush_waits_until_all_are_there() -> None:
    taker = Taker()
    with Outbox(taker, size=1000, every=60, room=10_000) as outbox:
        for n in range(5):
            outbox.reward("router", str(n), quality=1)
        outbox.flush()
        assert taker.taken == ["0", "1", "2", "3", "4"]
        assert len(outbox) == 0


def test_a_refused_reward_takes_no_other_with_it_and_is_told() -> None:
    taker = Taker()
    taker.wrong = {"3", "17"}
    outbox = Outbox(taker, size=50, every=60, room=1000)
    for n in range(40):
        outbox.reward("router", str(n), quality=n)
    with pytest.raises(
        Undelivered, match=r"2 rewards were not taken.*'3'.*no decision '3'"
    ) as told:
        outbox.flush()
    assert sorted(taker.taken, key=int) == [str(n) for n in range(40) if n not in (3, 17)]
    assert [(letter.id, letter.values) for letter, _ in told.value.letters] == [
        ("3", {"quality": 3}),
        ("17", {"quality": 17}),
    ]
    assert all(isinstance(error, UnknownDecision) for _, error in told.value.letters)
    outbox.close()  # told once


def test_rewards_stay_while_the_service_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexbandit.client.outbox._PAUSE", 0.01)
    taker = Taker()
    taker.away = ServiceError("no answer")
    with Outbox(taker, size=10, every=0.01, room=100) as outbox:
        for n in range(25):
            outbox.reward("router", str(n), quality=1)
        with pytest.raises(ServiceError, match=r"25 rewards could not be sent in 0.1 s"):
            outbox.flush(timeout=0.1)
        taker.away = None
        outbox.flush(timeout=10)
    assert taker.taken == [str(n) for n in range(25)]


def test_what_was_not_taken_by_the_end_is_told() -> None:
    taker = Taker()
    taker.away = ServiceError("busy", status=503)
    outbox = Outbox(taker, size=10, every=0.01, room=100)
    for n in range(25):
        outbox.reward("router", str(n), quality=1)
    with pytest.raises(Undelivered) as told:
        outbox.close()
    assert [letter.id for letter, _ in told.value.letters] == [str(n) for n in range(25)]


def test_a_lasting_error_is_told_and_not_tried_again() -> None:
    taker = Taker()
    taker.away = ServiceError("not your role", status=403)
    outbox = Outbox(taker, size=10, every=0.01, room=100)
    outbox.reward("router", "1", quality=1)
    with pytest.raises(Undelivered, match="not your role"):
        outbox.flush(timeout=10)
    outbox.close()


def test_an_error_that_is_not_the_services_is_told_too() -> None:
    """Such as a client that was closed before its outbox."""

    def send(*_: Any) -> list[Rewarded]:
        raise RuntimeError("the client has been closed")

    outbox = Outbox(send, size=10, every=0.01, room=100)
    for turn in ("1", "2"):  # it goes on after the first
        outbox.reward("router", turn, quality=1)
        with pytest.raises(Undelivered, match="the client has been closed") as told:
            outbox.flush(timeout=30)
        assert [letter.id for letter, _ in told.value.letters] == [turn]
    outbox.close()


def test_a_full_outbox_makes_the_sender_wait() -> None:
    taker = Taker()
    taker.open.clear()
    outbox = Outbox(taker, size=2, every=0.01, room=4)
    for n in range(4):
        outbox.reward("router", str(n), quality=1)
    sender = threading.Thread(target=outbox.reward, args=("router", "4"), kwargs={"quality": 1})
    sender.start()
    sender.join(0.2)
    assert sender.is_alive()
    assert len(outbox) == 4
    taker.open.set()
    sender.join(10)
    assert not sender.is_alive()
    outbox.close()
    assert taker.taken == ["0", "1", "2", "3", "4"]


def test_refused_rewards_are_bounded_too() -> None:
    taker = Taker()
    taker.wrong = set(map(str, range(10)))
    outbox = Outbox(taker, size=1, every=0.001, room=3)

    def send() -> None:
        for n in range(10):
            outbox.reward("router", str(n), quality=1)
            time.sleep(0.02)

    with pytest.raises(Undelivered) as told:
        send()
    assert 3 <= len(told.value.letters) <= 4
    taker.wrong = set()
    outbox.close()


def test_a_program_that_forgets_to_close_still_sends() -> None:
    code = """
from lexbandit.client import Outbox
outbox = Outbox(lambda point, rewards: print(point, rewards), size=10, every=60, room=100)
outbox.reward("router", "1", quality=1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "router [('1', {'quality': 1})]"
