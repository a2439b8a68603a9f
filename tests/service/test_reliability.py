"""What a 2xx means, against a real process: lost answers, duplicates, late rewards, SIGTERM."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexbandit import AsyncClient, Client, Contradiction, InvalidInput, UnknownDecision, UnknownName
from lexbandit.client import Decided, Rewarded
from service.losing_proxy import LosingProxy
from service.process import Service
from service.witness import Witness, check, look

pytestmark = pytest.mark.compiled
CONTEXT = {"tokens": 900, "task": "code"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with Service(folder, f"sqlite:{folder}/log.db") as service:
        yield service
    found = look(service.config)  # whatever the tests did, the log leads to the same state
    assert found.from_snapshot == found.from_nothing


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client


def rows_of(client: Client, kind: str, id: str) -> list[dict[str, Any]]:
    """Return what the log holds about a decision."""
    events = [event for event in client.log("router") if event["kind"] == kind]
    return [row for event in events for row in event["rows"] if row["id"] == id]


def test_a_lost_response_and_a_retry_are_one_decision_and_one_reward(
    service: Service, client: Client
) -> None:
    before = client.summary("router")["counts"]
    with LosingProxy(service.port) as proxy, Client(proxy.url) as careful:
        proxy.to_lose = 3
        decision = careful.decide("router", CONTEXT)
        proxy.to_lose = 2
        assert careful.reward("router", decision, quality=0.7).learned
        proxy.to_lose = 2
        many = careful.decide_many("router", [CONTEXT, CONTEXT])
        proxy.to_lose = 1
        careful.reward_many("router", [(one, {"quality": 0.5}) for one in many])
        assert (proxy.lost, proxy.to_lose) == (8, 0)
    for one in (decision, *many):
        (row,) = rows_of(client, "decisions", one.id)
        assert row["arm"] == one.arm
        assert len(rows_of(client, "rewards", one.id)) == 1
    after = client.summary("router")["counts"]
    assert after["decisions"] - before.get("decisions", 0) == 3
    assert after["rewards"] - before.get("rewards", 0) == 3


def test_64_duplicates_at_once_are_one_decision_with_one_answer(
    service: Service, client: Client
) -> None:
    async def ask() -> list[Decided]:
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(limits=limits) as http:
            many = AsyncClient(service.url, http=http)
            return await asyncio.gather(
                *(many.decide("router", CONTEXT, id="64-at-once") for _ in range(64))
            )

    async def tell() -> list[Rewarded]:
        async with AsyncClient(service.url) as many:
            return await asyncio.gather(
                *(many.reward("router", "64-at-once", quality=0.5) for _ in range(64))
            )

    assert len(set(asyncio.run(ask()))) == 1
    assert len(rows_of(client, "decisions", "64-at-once")) == 1
    assert set(asyncio.run(tell())) == {Rewarded("64-at-once", learned=True, late=False)}
    assert len(rows_of(client, "rewards", "64-at-once")) == 1


def test_rewards_before_after_and_twice(client: Client) -> None:
    with pytest.raises(UnknownDecision, match="not-yet"):
        client.reward("router", "not-yet", quality=1)
    decision = client.decide("router", CONTEXT, id="not-yet")
    assert client.reward("router", decision, cost=0.01) == ("not-yet", True, False)
    assert client.reward("router", decision, quality=1) == ("not-yet", True, False)
    assert client.reward("router", decision, quality=1, cost=0.01).late is False
    assert len(rows_of(client, "rewards", "not-yet")) == 2  # told three times, learned once


def test_contradictions_are_refused_and_change_nothing(client: Client) -> None:
    decision = client.decide("router", CONTEXT)
    client.reward("router", decision, quality=1)
    before = client.summary("router")
    with pytest.raises(Contradiction, match=r"quality of decision .* was given as 1"):
        client.reward("router", decision, quality=0.5, cost=0.01)
    with pytest.raises(Contradiction, match="another context"):
        client.decide("router", {**CONTEXT, "tokens": 1}, id=decision.id)
    with pytest.raises(Contradiction, match="quality"):
        client.reward_many("router", [(decision, {"cost": 0.02}), (decision, {"quality": 0.0})])
    assert client.summary("router") == before


def test_wrong_requests_meet_the_librarys_errors_and_change_nothing(client: Client) -> None:
    before = client.summary("router")
    with pytest.raises(UnknownName, match="nowhere"):
        client.decide("nowhere", CONTEXT)
    with pytest.raises(UnknownName, match="nobody"):
        client.retire_arm("router", "nobody")
    with pytest.raises(InvalidInput, match="tokens"):
        client.decide("router", {"tokens": "many", "task": "code"})
    with pytest.raises(InvalidInput, match="row 1"):
        client.decide_many("router", [CONTEXT, {"tokens": 3, "tsk": "code"}])
    with pytest.raises(InvalidInput, match="huge"):
        client.decide("router", CONTEXT, allowed=["huge"])
    assert client.summary("router") == before


def test_arms_come_and_go(client: Client) -> None:
    client.add_arm("router", "tiny one", prior={"quality": 0.9, "cost": 0.01}, weight=5)
    client.add_arm("router", "tiny one")  # again: nothing happens
    assert client.decide("router", CONTEXT, allowed=["tiny one"]).arm == "tiny one"
    late = client.decide("router", CONTEXT, allowed=["tiny one"])
    client.retire_arm("router", "tiny one")
    client.retire_arm("router", "tiny one")
    with pytest.raises(InvalidInput, match="retired"):
        client.decide("router", CONTEXT, allowed=["tiny one"])
    assert client.reward("router", late, quality=1).learned
    assert {arm["name"]: arm["retired"] for arm in client.arms("router")}["tiny one"]
    told = client.explain("router", CONTEXT)
    assert {arm["name"] for arm in told["arms"]} >= {"small", "tiny one"}
    assert sum(arm["propensity"] for arm in told["arms"]) == pytest.approx(1)


def test_propensities_are_those_really_used(client: Client) -> None:
    """Told chances and drawn arms agree: of 400 decisions, within five standard deviations."""
    said = {arm["name"]: arm["propensity"] for arm in client.explain("router", CONTEXT)["arms"]}
    made = client.decide_many("router", [CONTEXT] * 400)
    drawn = Counter(one.arm for one in made)
    for one in made:
        assert one.propensity == pytest.approx(said[one.arm])
    for arm, chance in said.items():
        assert abs(drawn[arm] - 400 * chance) <= 5 * (400 * chance * (1 - chance)) ** 0.5


def test_a_silent_decision_takes_its_default_and_a_late_reward_is_kept_only(tmp_path: Path) -> None:
    """Quality has a default and cost has none; the wait time is some seconds."""
    with (
        Service(tmp_path, f"sqlite:{tmp_path}/log.db", settings="wait = 3") as service,
        Client(service.url) as client,
    ):
        silent = client.decide("router", CONTEXT, id="silent")
        partly = client.decide("router", CONTEXT, id="partly")
        client.reward("router", partly, quality=0.75)
        assert client.summary("router")["received"]["quality"]["count"] == 1
        end = time.monotonic() + 60
        while client.summary("router")["waiting"]:  # nobody asks for anything else meanwhile
            assert time.monotonic() < end
            time.sleep(0.1)
        received = client.summary("router")["received"]
        assert (received["quality"]["count"], received["quality"]["value"]) == (2, 0.375)
        assert received["cost"]["count"] == 0  # missing is not zero
        late = Rewarded("silent", learned=False, late=True)
        assert client.reward("router", silent, quality=1, cost=0.01) == late
        assert client.reward("router", silent, quality=1, cost=0.01) == late
        with pytest.raises(Contradiction):
            client.reward("router", silent, quality=0.5)
        assert client.summary("router")["received"] == received
        assert len(rows_of(client, "rewards", "silent")) == 1
    found = look(service.config)
    assert found.from_snapshot == found.from_nothing


def test_sigterm_drains(tmp_path: Path) -> None:
    """Asked to end under load, it answers all that it wrote, and says 0.

    Requests are sent once: what got no answer must not be in the log.
    """
    witness = Witness("", seed=3, once=True)
    service = Service(tmp_path, f"sqlite:{tmp_path}/log.db")

    async def run() -> None:
        load = asyncio.create_task(witness.run(workers=12))
        for turn in range(2):
            await asyncio.to_thread(service.start)
            while len(witness.decided) < 200 * (turn + 1) and not load.done():
                await asyncio.sleep(0.01)
            assert await asyncio.to_thread(service.terminate) == 0
        witness.stopped = True
        await asyncio.wait_for(load, 30)

    witness.url = service.url
    asyncio.run(run())
    found = look(service.config)
    check(witness, found)
    assert witness.doubtful
    assert not witness.doubtful & set(found.decided())


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path, service: Service) -> None:
    storage = service.config.parent / "log.db"
    other = Service(tmp_path, f"sqlite:{storage}")
    with pytest.raises(AssertionError, match="in use by another process"):
        other.start()
