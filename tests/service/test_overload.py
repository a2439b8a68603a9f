"""More than can be answered: some is refused at once, the rest is answered in time."""

import asyncio
import gc
import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
from benchmarks import http_layer

from lexbandit.service.engine.point import SLICE, reward_slices, rewards_by_id
from lexbandit.service.events import read_body
from lexbandit.service.http import server as admission_module
from lexbandit.service.http.access import RateLimits
from lexbandit.service.http.problems import Problem
from lexbandit.service.http.server import Admission, Reply, Request
from lexbandit.service.process import COLLECTIONS
from service.callers import Caller, Server, on, post
from service.http import CONTEXT, Served, bearer, key, served
from service.process import Service
from service.real_postgres import Postgres

DECIDE = {"context": {"tokens": 10, "task": "code"}}


def test_many_rows_of_one_decision_are_gathered_in_one_pass() -> None:
    """10,000 rows of ten unknown names each: .03 s of processor; copies took 4.2 s."""
    rows = [("a", {f"n{row}-{name}": 0.5 for name in range(10)}) for row in range(10_000)]
    before = time.process_time()
    found = rewards_by_id(rows)
    assert time.process_time() - before < 1.0
    assert list(found) == ["a"]
    assert len(found["a"].values) == 100_000


def test_the_limit_is_what_can_be_answered_in_the_time_that_a_request_may_take() -> None:
    now = [0.0]
    one = Admission(5.0, print, storing=lambda: 0.02, clock=lambda: now[0])

    def window(rate: float, *, reached: bool = True, pause: float = 0.0) -> float:
        if reached:
            assert one.full(10_000)
        now[0] += pause
        one.note()
        while one._answers:
            now[0] += 1 / rate
            one.note()
        return one.limit

    least, first = admission_module._LEAST, one.limit
    assert window(1000.0, reached=False) == first
    for _ in range(20):
        window(8000.0)
    assert one.limit == pytest.approx(8000 * (0.025 + 2 * 0.02), rel=0.02)
    before = one.limit
    assert window(2000.0) == pytest.approx(before / 2, rel=0.02)  # by half at most at once
    assert window(2000.0) == pytest.approx(2000 * 0.065, rel=0.05)
    for _ in range(3):
        window(500.0)
    assert one.limit == least
    one.note()
    assert window(8000.0, pause=30.0) == least  # a pause says nothing about the rate
    assert window(8000.0) == pytest.approx(1.5 * least)


def test_a_refusal_takes_a_fraction_of_an_answer() -> None:
    """A whole request of the usual form is refused without being parsed."""
    answered = asyncio.run(http_layer.measured(256.0, requests=500, turns=5))
    refused = asyncio.run(http_layer.measured(0.0, requests=500, turns=5))
    assert refused < answered / 2  # a tenth on a quiet machine


def test_requests_that_wait_for_their_bodies_do_not_count() -> None:
    one = Admission(5.0, print, reading=lambda: 900)
    assert not one.full(1000)
    assert one.full(2000)


def test_too_many_requests_are_refused_at_once_and_the_connection_goes_on() -> None:
    go_on = asyncio.Event()
    refused: list[int] = []

    async def slow(request: Request) -> Reply:
        await request.body(1000)
        if request.path != b"/health":
            await go_on.wait()
        return Reply(200, b"answered")

    async def work(one: Server) -> None:
        busy = [await one.call() for _ in range(3)]
        for caller in busy:
            caller.send(post(b"{}", b"/v1/a/decisions"))
        await asyncio.sleep(0.1)
        late = await one.call()
        for _ in range(2):
            late.send(post(b"{}" * 100, b"/v1/a/decisions"))
            seen = await late.seen()
            assert (seen.status, seen.headers["retry-after"]) == (503, "1")
            assert json.loads(seen.body)["type"] == "urn:lexbandit:overloaded"
        late.send(b"GET /health HTTP/1.1\r\nHost: me\r\n\r\n")
        assert (await late.seen()).status == 200
        go_on.set()
        for caller in busy:
            assert (await caller.seen()).body == b"answered"
        late.send(post(b"{}", b"/v1/a/decisions"))
        assert (await late.seen()).status == 200
        assert refused == [503, 503]

    on(work, slow, refused=refused.append, limit=3.0)


def test_callers_that_ask_again_at_once_are_read_less_often() -> None:
    """Each of 50 would be refused some hundred times a second."""
    go_on = asyncio.Event()
    refused: list[int] = []
    request = post(b"{}", b"/v1/a/decisions")

    async def slow(request: Request) -> Reply:
        await request.body(1000)
        await go_on.wait()
        return Reply(200, b"answered")

    async def ask_again(caller: Caller) -> None:
        status = 503
        while status == 503:
            caller.send(request)
            status = (await caller.seen()).status

    async def work(one: Server) -> None:
        busy = await one.call()
        busy.send(request)
        await asyncio.sleep(0.05)
        callers = [await one.call() for _ in range(50)]
        asking = [asyncio.create_task(ask_again(caller)) for caller in callers]
        began = time.monotonic()
        await asyncio.sleep(2.0)
        times, lasted = len(refused), time.monotonic() - began
        heeding = await one.call()
        heeding.send(request)
        assert (await heeding.seen()).status == 503  # at once, in its own turn
        go_on.set()
        assert (await busy.seen()).status == 200
        await asyncio.gather(*asking)  # each is answered in the end
        free, tick = admission_module._FREE_REFUSALS, admission_module._TICK
        forced = len(callers) / admission_module._LONGEST_REST
        assert 50 <= times < 2 * lasted * (free / tick + forced)

    on(work, slow, refused=refused.append, limit=1.0)


def test_a_refused_caller_is_read_again_before_retry_after_is_over() -> None:
    assert admission_module._LONGEST_REST + 3 * admission_module._TICK < 1.0


def test_resting_callers_are_answered_when_the_service_ends() -> None:
    """They are read again, so that what they sent is answered and not reset."""
    go_on = asyncio.Event()

    async def slow(request: Request) -> Reply:
        await request.body(1000)
        await go_on.wait()
        return Reply(200, b"answered")

    async def work(one: Server) -> None:
        busy = await one.call()
        busy.send(post(b"{}", b"/v1/a/decisions"))
        await asyncio.sleep(0.05)
        callers = [await one.call() for _ in range(100)]
        for _ in range(2):  # more than may be refused in a tick
            for caller in callers:
                caller.send(post(b"{}", b"/v1/a/decisions"))
            await asyncio.sleep(0.02)
        ending = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0.02)
        go_on.set()
        statuses = [(await caller.seen()).status for caller in callers for _ in "ab"]
        assert set(statuses) <= {200, 503}
        assert statuses.count(503) >= 100
        await ending

    on(work, slow, limit=1.0)


def test_a_connection_that_was_held_is_like_others_after_the_overload() -> None:
    """Requests that are queued behind each other pause its reading too, which is no refusal."""
    go_on = asyncio.Event()

    async def slow(request: Request) -> Reply:
        await request.body(1000)
        if request.path == b"/v1/a/decisions":
            await go_on.wait()
        else:
            await asyncio.sleep(0.5)
        return Reply(200, b"answered")

    async def work(one: Server) -> None:
        request, look = post(b"{}", b"/v1/a/decisions"), b"GET /a HTTP/1.1\r\nHost: me\r\n\r\n"
        busy = await one.call()
        busy.send(request)
        await asyncio.sleep(0.05)
        callers = [await one.call() for _ in range(60)]  # more than may be refused in a tick
        for caller in callers:
            caller.send(request + look + look)
        await asyncio.sleep(0.05)
        go_on.set()
        for caller in callers:
            assert [(await caller.seen()).status for _ in range(3)][1:] == [200, 200]
        await asyncio.sleep(0.3)
        for caller in callers:
            caller.send(request)
            assert (await caller.seen()).status == 200

    on(work, slow, refused=print, limit=1.0)


def test_a_pause_for_queued_requests_is_no_refusal() -> None:
    """The connection was read again, and paused its reading for another cause: it is not held."""

    async def work() -> None:
        flow = SimpleNamespace(read_paused=False, resume_reading=lambda: None)
        flow.pause_reading = lambda: setattr(flow, "read_paused", True)
        connection: Any = SimpleNamespace(rests=False, held=False, flow=flow)
        connection.loop = asyncio.get_running_loop()
        connection.transport = SimpleNamespace(is_closing=lambda: False)
        connection.read_on = lambda: None  # requests are queued: it stays paused
        resting = admission_module.Resting(Admission(5.0, print))
        for _ in range(admission_module._FREE_REFUSALS + 1):
            resting.refused(connection)
        assert connection.rests
        resting.release_all()
        assert flow.read_paused
        assert not connection.rests

    asyncio.run(work())


def test_of_refused_requests_in_one_piece_a_hundred_are_answered() -> None:
    """4,700 of them in 128 KB took 80 ms, in which nobody else was answered."""
    go_on = asyncio.Event()
    refused: list[int] = []

    async def slow(_: Request) -> Reply:
        await go_on.wait()
        return Reply(200, b"answered")

    async def work(one: Server) -> None:
        busy = await one.call()
        busy.send(post(b"{}", b"/v1/a/decisions"))
        await asyncio.sleep(0.1)
        late = await one.call()
        late.send(b"GET /v1 HTTP/1.1\r\nHost: me\r\n\r\n" * 4000)
        for n in range(101):
            seen = await late.seen()
            assert (seen.status, seen.headers["retry-after"]) == (503, "1")
            assert seen.headers.get("connection") == ("close" if n == 100 else None)
        assert await late.ended()
        assert refused == [503] * 101
        go_on.set()
        assert (await busy.seen()).status == 200

    on(work, slow, refused=refused.append, limit=1.0)


def test_what_is_not_answered_by_its_deadline_is_answered_with_503() -> None:
    go_on, ended = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Reply:
        if request.path == b"/v1/slow":
            await go_on.wait()
            ended.set()
        return Reply(200, b"answered")

    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"", b"/v1/slow"))
        seen = await caller.seen()
        assert (seen.status, seen.headers["retry-after"]) == (503, "1")
        assert json.loads(seen.body)["type"] == "urn:lexbandit:late"
        caller.send(post(b"", b"/v1/quick"))
        assert (await caller.seen()).body == b"answered"
        go_on.set()  # it goes on, and nobody hears of it
        await asyncio.wait_for(ended.wait(), 10)
        caller.send(post(b"", b"/v1/quick"))
        assert (await caller.seen()).body == b"answered"

    on(work, slow, deadline=0.8)


def test_while_the_storage_does_not_answer_requests_are_answered_by_their_deadline(
    tmp_path: Path, postgres: Postgres
) -> None:
    variables = {"LEXBANDIT_DEADLINE": "2"}
    with (
        Service(tmp_path, postgres.new_schema(), variables=variables) as service,
        httpx.Client(base_url=service.url, timeout=30) as http,
    ):
        assert http.post("/v1/router/decisions", json=DECIDE).status_code == 200
        server = psutil.Process(int((postgres.data / "postmaster.pid").read_text().split()[0]))
        stopped = [server, *server.children(recursive=True)]
        for process in stopped:
            os.kill(process.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            reply = http.post("/v1/router/decisions", json={**DECIDE, "id": "mine"})
            assert reply.status_code == 503
            assert reply.headers["retry-after"] == "1"
            assert time.monotonic() - began < 10  # 2, on a quiet machine
            ready = http.get("/ready")
            assert ready.status_code == 503
            assert "has not answered" in ready.json()["detail"]
            assert http.get("/health").status_code == 200
        finally:
            for process in reversed(stopped):
                os.kill(process.pid, signal.SIGCONT)
        again = _until(http, "/ready", 200)
        assert again.json() == {"status": "ready"}
        answers = [http.post("/v1/router/decisions", json={**DECIDE, "id": "mine"}) for _ in "ab"]
        assert [one.status_code for one in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        counts = http.get("/v1/router/summary").json()["counts"]
        assert counts["decisions"] == 2


def _until(http: httpx.Client, path: str, status: int) -> httpx.Response:
    end = time.monotonic() + 60
    while (reply := http.get(path)).status_code != status:
        assert time.monotonic() < end, reply.text
        time.sleep(0.05)
    return reply


def test_a_large_batch_is_taken_in_slices(tmp_path: Path) -> None:
    """Counted in turns of the event loop, not in time: the machine may be busy."""
    turns = 0

    async def beat() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def during(s: Served, path: str, body: Any) -> tuple[int, Any]:
        nonlocal turns
        turns = 0
        reply = await s.http.post(path, json=body, timeout=300)
        assert reply.status_code == 200, reply.text
        return turns, reply.json()

    async def run() -> None:
        nonlocal turns
        async with served(tmp_path, body=4_000_000) as s:
            beating = asyncio.create_task(beat())
            rows = {"decisions": [{"context": CONTEXT}] * 2000}
            seen, made = await during(s, "/v1/router/decisions:batch", rows)
            assert seen >= 2 * 2000 / SLICE
            events = await s.engine.storage.read_since(0, 1000, "router")
            assert [one.kind for one in events].count("decisions") == 2000 / SLICE
            told = [
                {"id": one["id"], "values": {"quality": 0.5, "cost": 0.01}}
                for one in made["decisions"]
            ]
            seen, _ = await during(s, "/v1/router/rewards:batch", {"rewards": told})
            assert seen >= 2000 / SLICE
            columns = {"contexts": {name: [value] * 3000 for name, value in CONTEXT.items()}}
            seen, made = await during(s, "/v1/router/decisions:batch", columns)
            assert len(set(made["ids"])) == len(made["arms"]) == len(made["propensities"]) == 3000
            columns["contexts"]["task"][2500] = 5
            wrong = await s.http.post("/v1/router/decisions:batch", json=columns)
            assert wrong.status_code == 422
            assert "2500" in wrong.json()["detail"]
            assert s.engine.points["router"].counts["decisions"] == 5000
            assert s.engine.points["router"].counts["rewards"] == 4000
            taken = []
            for count in (1, 2000):
                wrong_rows = {"decisions": [*rows["decisions"][1:count], {"surplus": 1}]}
                turns = 0
                refused = await s.http.post("/v1/router/decisions:batch", json=wrong_rows)
                assert refused.status_code == 422
                taken.append(turns)
            assert taken[1] >= taken[0] + 2  # parsed, checked and converted, each by itself
            beating.cancel()

    asyncio.run(run())


def test_the_first_rewards_of_a_point_are_taken_two_at_a_time(tmp_path: Path) -> None:
    """The model is computed anew after almost each of them: 25 of them took 30 to 40 ms."""
    assert reward_slices(30, 97) == [(0, 2), (2, 3), (3, 28), (28, 30)]

    async def run() -> None:
        async with served(tmp_path) as s:
            for n in range(5):
                await s.decide(id=f"d{n}")
            await s.engine.reward_many("router", [(f"d{n}", {"quality": 0.5}) for n in range(5)])
            events = await s.engine.storage.read_since(0, 100, "router")
            rows = [len(read_body(one)["rows"]) for one in events if one.kind == "rewards"]
            assert rows == [2, 2, 1]

    asyncio.run(run())


async def _longest_pause(s: Served, batches: int, rows: int) -> tuple[float, float]:
    """Return the longest time without a pause in a flood of batches, and the time of all of it.

    Both are processor time of the thread that serves: the machine may be busy.
    """
    longest, last = 0.0, time.thread_time()

    async def watch() -> None:
        nonlocal longest, last
        while True:
            now = time.thread_time()
            longest, last = max(longest, now - last), now
            await asyncio.sleep(0)

    async def post(path: str, body: Any) -> Any:
        reply = await s.http.post(path, content=body, headers=headers, timeout=900)
        assert reply.status_code == 200, reply.text
        return reply.content

    headers = {"content-type": "application/json"}
    asked = [
        json.dumps({"decisions": [{"context": CONTEXT, "id": f"{b}-{n}"} for n in range(rows)]})
        for b in range(batches)
    ]
    values = {"quality": 0.5, "cost": 0.01}
    told = [
        json.dumps({"rewards": [{"id": f"{b}-{n}", "values": values} for n in range(rows)]})
        for b in range(batches)
    ]
    for n in range(3):  # loads what is compiled
        await s.decide(id=f"first-{n}")
        await s.engine.reward("router", f"first-{n}", values)
    gc.collect()
    gc.disable()  # a process of its own has little to look through
    try:
        began = last = time.thread_time()
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(post("/v1/router/decisions:batch", body) for body in asked))
        await asyncio.gather(*(post("/v1/router/rewards:batch", body) for body in told))
        watching.cancel()
    finally:
        gc.enable()
    point = s.engine.points["router"]
    assert point.counts["decisions"] == batches * rows + 3
    assert point.counts["rewards"] == 2 * (batches * rows + 3)
    return longest, time.thread_time() - began


def test_a_flood_of_large_batches_is_taken_in_turns(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, body=4_000_000) as s:
            longest, whole = await _longest_pause(s, 4, 2000)
            assert longest < whole / 10  # a fiftieth on a quiet machine

    asyncio.run(run())


@pytest.mark.slow
def test_forty_batches_of_ten_thousand_rows_stall_nobody(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, body=4_000_000, keep=1_000_000) as s:
            longest, whole = await _longest_pause(s, 40, 10_000)
            assert longest < max(0.02, whole / 500)  # by the speed of this machine

    asyncio.run(run())


def test_garbage_is_looked_for_among_few_objects_at_a_time() -> None:
    """Nothing is answered meanwhile; a stored decision is one or two of these objects."""
    young, middle, _ = COLLECTIONS
    assert young * (middle + 1) <= 60_000


def test_a_batch_counts_by_its_rows() -> None:
    now = [0.0]
    limits = RateLimits(lambda: now[0])
    limits.take("web", 10.0)
    limits.spend("web", 49)  # 50 rows: 5 seconds' worth, 4 more than there were
    with pytest.raises(Problem, match="try again in 5 s") as refused:
        limits.take("web", 10.0)
    assert refused.value.headers[b"retry-after"] == b"5"
    now[0] = 5.0
    limits.take("web", 10.0)


def test_a_batch_of_a_key_that_has_a_limit_since_it_began_is_taken() -> None:
    """Keys may be read again while the body of a batch is on its way."""
    limits = RateLimits(lambda: 0.0)
    limits.spend("web", 49)
    limits.take("web", 1.0)


def test_the_rows_of_a_batch_count_against_the_rate_of_its_key(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, [key("web", "decide", rate=20.0)]) as s:
            rows = {"decisions": [{"context": CONTEXT}] * 100}
            path = "/v1/router/decisions:batch"
            assert (await s.http.post(path, json=rows, headers=bearer("web"))).status_code == 200
            refused = await s.http.post(path, json=rows, headers=bearer("web"))
            assert refused.status_code == 429
            assert 3 <= int(refused.headers["retry-after"]) <= 5

    asyncio.run(run())


def test_sigterm_is_seen_by_ready_before_requests_are_refused(tmp_path: Path) -> None:
    variables = {"LEXBANDIT_DRAIN": "30"}
    place = f"sqlite:{tmp_path / 'log.db'}"
    with Service(tmp_path, place, variables=variables) as service:
        with httpx.Client(base_url=service.url, timeout=30) as http:
            os.kill(service.pid, signal.SIGTERM)
            ready = _until(http, "/ready", 503)
            assert "about to end" in ready.json()["detail"]
            assert http.post("/v1/router/decisions", json=DECIDE).status_code == 200
        with httpx.Client(base_url=service.url, timeout=30) as fresh:
            assert fresh.get("/health").status_code == 200
        assert service.terminate() == 0  # the second one ends the wait
