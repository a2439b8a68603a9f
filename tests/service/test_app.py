"""The HTTP API on a real engine: what each operation answers, and each error."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lexbandit.service.http.server import ClientGone, Request
from lexbandit.service.storage import StorageFailed
from service.http import CONTEXT, Served, detail_of, served

Work = Callable[[Served], Awaitable[None]]


def on(folder: Path, work: Work, **settings: object) -> None:
    """Do some work with a service."""

    async def run() -> None:
        async with served(folder, **settings) as service:  # type: ignore[arg-type]
            await work(service)

    asyncio.run(run())


def test_a_decision_and_its_rewards_in_parts(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await s.decide()
        assert set(made) == {"id", "arm", "propensity", "policy_version"}
        assert 0 < made["propensity"] <= 1
        place = f"/v1/router/decisions/{made['id']}/rewards"
        told = await s.http.post(place, json={"cost": 0.01})
        assert told.json() == {"id": made["id"], "learned": True, "late": False}
        await s.http.post(place, json={"quality": 1})
        summary = (await s.http.get("/v1/router/summary")).json()
        assert summary["received"]["cost"]["value"] == 0.01
        assert summary["received"]["quality"]["count"] == 1
        assert summary["plays"][made["arm"]] == 1
        assert summary["counts"]["decisions"] == 1

    on(tmp_path, work)


def test_booleans_are_rewards_of_0_and_1(tmp_path: Path) -> None:
    """They are one value with the number, in a request and in the log."""

    async def work(s: Served) -> None:
        for n, quality in enumerate((True, False)):
            await s.decide(id=f"order-{n}")
            place = f"/v1/router/decisions/order-{n}/rewards"
            assert (await s.http.post(place, json={"quality": quality})).json()["learned"]
            assert (await s.http.post(place, json={"quality": int(quality)})).status_code == 200
            assert (await s.http.post(place, json={"quality": not quality})).status_code == 409
            await s.decide(id=f"batch-{n}")
        rows = [{"id": f"batch-{n}", "values": {"quality": bool(n)}} for n in range(2)]
        assert (await s.http.post("/v1/router/rewards:batch", json={"rewards": rows})).is_success
        told = (await s.http.get("/v1/router/summary")).json()["received"]["quality"]
        assert (told["value"], told["count"]) == (0.5, 4)
        lines = (await s.http.get("/v1/router/log")).text.splitlines()
        found = [row for line in lines for row in json.loads(line).get("rows", ())]
        logged = [row["values"]["quality"] for row in found if "values" in row]
        assert logged == [1.0, 0.0, 0.0, 1.0]
        assert {type(value) for value in logged} == {float}

    on(tmp_path, work)


def test_the_same_again_is_one_and_another_is_a_contradiction(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        first = await s.decide(id="order-1")
        assert await s.decide(id="order-1") == first
        body = {"context": {**CONTEXT, "tokens": 1}, "id": "order-1"}
        other = await s.http.post("/v1/router/decisions", json=body)
        assert "order-1" in detail_of(other, 409)
        place = "/v1/router/decisions/order-1/rewards"
        once = await s.http.post(place, json={"quality": 0.5})
        state = s.state
        again = await s.http.post(place, json={"quality": 0.5})
        assert again.json() == once.json()
        assert "0.5" in detail_of(await s.http.post(place, json={"quality": 0.6}), 409)
        assert s.state == state
        unknown = await s.http.post("/v1/router/decisions/nope/rewards", json={"quality": 0.5})
        assert "nope" in detail_of(unknown, 404)
        counts = (await s.http.get("/v1/router/summary")).json()["counts"]
        assert (counts["decisions"], counts["rewards"]) == (1, 1)

    on(tmp_path, work)


def test_64_at_once_with_one_id_are_one_decision(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await asyncio.gather(*(s.decide(id="same") for _ in range(64)))
        assert all(one == made[0] for one in made)
        assert s.engine.points["router"].counts["decisions"] == 1

    on(tmp_path, work)


def test_batches_in_rows_and_columns(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        rows = [{"context": CONTEXT, "id": f"row-{n}", "allowed": ["small"]} for n in range(3)]
        reply = await s.http.post("/v1/router/decisions:batch", json={"decisions": rows})
        made = reply.json()["decisions"]
        assert [one["id"] for one in made] == ["row-0", "row-1", "row-2"]
        assert {one["arm"] for one in made} == {"small"}
        columns = {name: [value] * 5 for name, value in CONTEXT.items()}
        body = {"contexts": columns, "allowed": ["large"]}
        reply = await s.http.post("/v1/router/decisions:batch", json=body)
        many = reply.json()
        assert many["arms"] == ["large"] * 5
        assert len(set(many["ids"])) == 5
        assert len(many["propensities"]) == 5
        ids = ["row-1", *many["ids"][:2]]
        told = [{"id": id, "values": {"quality": 0.5, "cost": 0.01}} for id in ids]
        reply = await s.http.post("/v1/router/rewards:batch", json={"rewards": told})
        assert reply.json()["rewards"] == [{"id": id, "learned": True, "late": False} for id in ids]

    on(tmp_path, work)


def test_a_bad_row_refuses_the_whole_batch(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        await s.decide(id="good")
        state = s.state
        rows = [{"context": CONTEXT}, {"context": {**CONTEXT, "hour": None}}]
        reply = await s.http.post("/v1/router/decisions:batch", json={"decisions": rows})
        assert "row 1" in detail_of(reply, 422)
        told = [{"id": "good", "values": {"quality": 1}}, {"id": "bad", "values": {"quality": 1}}]
        reply = await s.http.post("/v1/router/rewards:batch", json={"rewards": told})
        assert "row 1" in detail_of(reply, 404)
        columns = {**{name: [value] * 2 for name, value in CONTEXT.items()}, "tokens": [1]}
        reply = await s.http.post("/v1/router/decisions:batch", json={"contexts": columns})
        assert "length" in detail_of(reply, 422)
        assert s.state == state

    on(tmp_path, work)


def test_arms_come_and_go(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        arm = "/v1/router/arms/gpt%2F4%20turbo"
        prior = {"prior": {"quality": 0.9, "cost": 0.01}, "weight": 20}
        added = await s.http.put(arm, json=prior)
        assert (added.status_code, added.json()["name"]) == (201, "gpt/4 turbo")
        half = await s.http.put("/v1/router/arms/half", json={"weight": 20})
        assert "weight=20" in detail_of(half, 422)
        again = await s.http.put(arm)
        assert (again.status_code, again.json()["changed"]) == (200, False)
        made = await s.decide(allowed=["gpt/4 turbo"])
        assert (made["arm"], made["propensity"]) == ("gpt/4 turbo", 1.0)
        gone = await s.http.delete(arm)
        assert gone.json() == {"name": "gpt/4 turbo", "retired": True, "changed": True}
        assert (await s.http.delete(arm)).json()["changed"] is False
        listed = (await s.http.get("/v1/router/arms")).json()["arms"]
        assert {"name": "gpt/4 turbo", "retired": True} in listed
        assert len(listed) == 4
        body = {"context": CONTEXT, "allowed": ["gpt/4 turbo"]}
        refused = await s.http.post("/v1/router/decisions", json=body)
        assert "retired" in detail_of(refused, 422)
        rewards = f"/v1/router/decisions/{made['id']}/rewards"
        assert (await s.http.post(rewards, json={"quality": 1})).status_code == 200
        assert "grande" in detail_of(await s.http.delete("/v1/router/arms/grande"), 404)
        for name in ("small", "medium"):
            await s.http.delete(f"/v1/router/arms/{name}")
        assert "last" in detail_of(await s.http.delete("/v1/router/arms/large"), 409)

    on(tmp_path, work)


def test_explain_and_definitions(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        before = s.state
        body = {"context": CONTEXT, "allowed": ["small", "large"]}
        told = (await s.http.post("/v1/router/explain", json=body)).json()
        assert [arm["name"] for arm in told["arms"]] == ["small", "medium", "large"]
        assert sum(arm["propensity"] for arm in told["arms"]) == pytest.approx(1)
        assert told["reason"] in told["text"]
        assert s.state == before
        assert (await s.http.get("/v1")).json() == {"points": ["router"]}
        point = (await s.http.get("/v1/router")).json()
        assert point["arms"] == ["small", "medium", "large"]
        assert point["definition"]["objectives"][0]["name"] == "quality"

    on(tmp_path, work)


def test_the_log_page_by_page(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        for n in range(5):
            await s.decide(id=f"d{n}")
        await s.http.post("/v1/router/decisions/d0/rewards", json={"quality": 1})
        lines, since = [], "0"
        while True:
            reply = await s.http.get(f"/v1/router/log?since={since}&limit=3")
            assert reply.headers["content-type"] == "application/x-ndjson"
            if not reply.text:
                break
            lines += [json.loads(line) for line in reply.text.splitlines()]
            since = reply.headers["next-since"]
        assert [line["seq"] for line in lines] == list(range(1, 8))
        assert [line["kind"] for line in lines] == ["begin", *["decisions"] * 5, "rewards"]
        assert lines[-1]["rows"] == [{"id": "d0", "values": {"quality": 1.0}}]
        for query in (
            "since=-1",
            "since=x",
            "limit=0",
            "limit=10001",
            "sinse=1",
            "since=1&since=2",
        ):
            detail_of(await s.http.get(f"/v1/router/log?{query}"), 422)

    on(tmp_path, work)


def test_wrong_paths_and_methods(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        assert "router" in detail_of(await s.http.get("/v1/rooter/summary"), 404)
        assert "router" in detail_of(await s.http.get("/v1/rooter/history"), 404)
        for path in ("/nope", "/v1/router/nope", "/v1/router/decisions/a/b/c", "/v1//summary"):
            detail_of(await s.http.get(path), 404)
        refused = await s.http.get("/v1/router/decisions")
        assert "GET" in detail_of(refused, 405)
        assert refused.headers["allow"] == "POST"
        detail_of(await s.http.post("/"), 405)
        assert (await s.http.head("/health")).status_code == 200
        detail_of(await s.http.put("/v1/router/arms/%FF"), 400)
        detail_of(await s.http.put("/v1/router/arms/%00"), 422)
        detail_of(await s.http.put(f"/v1/router/arms/{'x' * 201}"), 422)

    on(tmp_path, work)


def test_health_readiness_and_metrics(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await s.decide()
        place = f"/v1/router/decisions/{made['id']}/rewards"
        await s.http.post(place, json={"quality": 1, "cost": 0})
        assert (await s.http.get("/ready")).json() == {"status": "ready"}
        text = (await s.http.get("/metrics")).text
        assert 'lexbandit_decisions_total{point="router"} 1.0' in text
        assert 'lexbandit_rewards_total{point="router"} 2.0' in text
        route = 'route="/v1/{point}/decisions"'
        assert f'lexbandit_requests_total{{method="POST",{route},status="200"}} 1.0' in text
        assert f'lexbandit_request_seconds_bucket{{le="+Inf",{route}}} 1.0' in text
        assert "process_cpu_seconds_total" in text
        kinds = [line.split() for line in text.splitlines() if line.startswith("# TYPE lexbandit")]
        for _, _, name, kind in kinds:
            if kind == "counter":
                assert name.endswith("_total")
            if kind == "histogram":
                assert name.endswith("_seconds")
        s.engine.journal.trouble = "the disk at postgresql://me:hush@db/x is full"
        told = detail_of(await s.http.get("/ready"), 503)
        assert "full" in told
        assert "hush" not in told
        assert (await s.http.get("/health")).status_code == 200
        s.engine.journal.trouble = None

    on(tmp_path, work)


def test_repeats_and_contradictions_are_counted_where_they_are_answered(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        for _ in range(3):
            await s.decide(id="mine")
        place = "/v1/router/decisions/mine/rewards"
        for value in (0.5, 0.5, 0.6):
            await s.http.post(place, json={"quality": value})
        body = {"context": {**CONTEXT, "tokens": 1}, "id": "mine"}
        detail_of(await s.http.post("/v1/router/decisions", json=body), 409)
        detail_of(await s.http.post("/v1/router/decisions", json={"context": {}}), 422)
        text = (await s.http.get("/metrics")).text
        assert 'lexbandit_repeated_total{point="router"} 3.0' in text
        assert 'lexbandit_refused_total{point="router"} 2.0' in text
        assert 'lexbandit_untaken_total{point="router"} 0.0' in text

    on(tmp_path, work)


def test_a_decision_can_be_looked_up(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await s.decide(id="order/1")
        await s.http.post("/v1/router/decisions/order%2F1/rewards", json={"quality": 0.5})
        told = (await s.http.get("/v1/router/decisions/order%2F1")).json()
        assert told.pop("time") == s.engine.points["router"].chooser.decision("order/1").since
        del made["policy_version"]
        assert told == {**made, "kept": True, "rewards": {"quality": 0.5}, "late": {}}
        nobody = await s.http.get("/v1/router/decisions/nobody")
        assert "nobody" in detail_of(nobody, 404)
        assert nobody.json()["type"] == "urn:lexbandit:unknown-decision"

    on(tmp_path, work)


def test_what_was_taken_otherwise_than_given_is_told(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        await s.decide(id="a", context={"tokens": 9000, "task": "poetry", "hour": 1})
        await s.decide(context={"tokens": 9000, "task": "code", "hour": 1})
        await s.http.post("/v1/router/decisions/a/rewards", json={"quality": 7, "cost": 0.01})
        told = (await s.http.get("/v1/router/summary")).json()
        contexts = s.engine.points["router"].chooser.contexts.counts
        assert told["contexts"] == contexts
        assert [sum(notes.values()) for notes in contexts.values()] == [2, 1, 0]
        assert told["outside"] == {"quality": 1, "cost": 0}
        text = (await s.http.get("/metrics")).text
        (note,) = contexts["tokens"]
        place = f'feature="tokens",note="{note}",point="router"'
        assert f"lexbandit_contexts_total{{{place}}} 2.0" in text
        assert 'lexbandit_outside_total{objective="quality",point="router"} 1.0' in text

    on(tmp_path, work)


def test_a_storage_that_fails_is_503_and_an_error_of_ours_500(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(s: Served) -> None:
        async def full(*_: object) -> None:
            raise StorageFailed("/var/lib/secret-place/log.db: the disk is full.")

        async def gone(*_: object) -> None:
            raise StorageFailed("/var/lib/secret-place/log.db cannot be read.")

        async def broken(*_: object) -> None:
            raise ZeroDivisionError("secret detail")

        before = s.state
        body = {"context": CONTEXT}
        monkeypatch.setattr(s.engine.storage, "append", full)
        reply = await s.http.post("/v1/router/decisions", json=body)
        assert "secret-place" not in detail_of(reply, 503)
        assert "/ready" in detail_of(reply, 503)
        assert "retry-after" not in reply.headers  # nobody knows when it is well again
        s.engine.journal.trouble = None
        monkeypatch.setattr(s.engine.storage, "read_since", gone)
        assert "secret-place" not in detail_of(await s.http.get("/v1/router/log"), 503)
        monkeypatch.setattr(s.engine, "decide", broken)
        reply = await s.http.post("/v1/router/decisions", json=body)
        assert "secret" not in detail_of(reply, 500)
        assert s.state == before
        monkeypatch.undo()
        s.engine.journal.trouble = None

    on(tmp_path, work)
    assert "ZeroDivisionError" in caplog.text
    assert "secret-place/log.db: the disk is full" in caplog.text
    assert "secret-place/log.db cannot be read" in caplog.text


def test_a_late_reward_is_noted_and_not_learned(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await s.decide()
        point = s.engine.points["router"]
        while point.counts["expired"] == 0:
            await asyncio.sleep(0.05)
        place = f"/v1/router/decisions/{made['id']}/rewards"
        version = point.version
        told = await s.http.post(place, json={"quality": 1})
        assert told.json() == {"id": made["id"], "learned": False, "late": True}
        assert point.version == version
        summary = (await s.http.get("/v1/router/summary")).json()
        assert summary["received"]["quality"]["value"] == 0.0  # its default was learned
        assert summary["received"]["cost"]["value"] is None  # it has none: never zero
        assert summary["counts"]["late"] == 1

    on(tmp_path, work, wait=0.3)


def test_no_answer_is_kept_or_taken_for_something_else(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        made = await s.decide()
        for path in ("/v1/router/summary", "/v1/router/log", "/health", "/metrics", "/nowhere"):
            reply = await s.http.get(path)
            assert reply.headers["x-content-type-options"] == "nosniff", path
            assert reply.headers["cache-control"] == "no-store", path
        reply = await s.http.get(f"/v1/router/decisions/{made['id']}")
        assert reply.headers["cache-control"] == "no-store"

    on(tmp_path, work)


def test_how_long_requests_take_is_counted_in_the_right_buckets(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        for seconds in (0.0005, 0.00051, 0.02, 100.0):
            s.app.note("GET", "/x", 200, seconds)
        text = (await s.http.get("/metrics")).text
        for end, count in (("0.0005", 1), ("0.001", 2), ("0.01", 2), ("0.025", 3), ("10.0", 3)):
            assert f'lexbandit_request_seconds_bucket{{le="{end}",route="/x"}} {count}.0' in text
        assert 'lexbandit_request_seconds_bucket{le="+Inf",route="/x"} 4.0' in text
        assert 'lexbandit_request_seconds_count{route="/x"} 4.0' in text
        total = re.search(r'lexbandit_request_seconds_sum{route="/x"} (\S+)', text)
        assert total is not None
        assert float(total[1]) == pytest.approx(100.02101)

    on(tmp_path, work)


def test_a_caller_who_goes_away_leaves_no_trace(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        headers = {b"content-type": b"application/json", b"host": b"localhost"}
        request = Request("POST", b"/v1/router/decisions", b"", headers)
        request.disconnect()
        with pytest.raises(ClientGone):
            await s.app(request)
        assert s.engine.points["router"].counts["decisions"] == 0

    on(tmp_path, work)
