"""What the dashboard tells and sends; test_dashboard_browser.py looks at it in a browser."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import httpx
import pytest

from lexbandit.service.dashboard import views
from lexbandit.service.dashboard.pages import HEADERS, AnswerCache
from lexbandit.service.engine.history import History
from service.watched import EVIL, LONG, Watched, watched

pytestmark = pytest.mark.compiled

N = 600


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("watched")) as one:
        one.traffic(N)
        yield one


def test_the_history_tells_what_happened(service: Watched) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    assert told["totals"] == {"decisions": N, "rewards": 2 * N, "late": 0, "expired": 0}
    assert [arm["name"] for arm in told["arms"]] == ["small", EVIL, LONG]
    arms = told["series"]["arms"]
    assert sum(sum(counts) for counts in arms.values()) == N
    summary = service.engine.points["router"].chooser.summary()
    against = told["summary"]["against"]
    assert list(against) == sorted(summary.plays, key=lambda arm: -summary.plays[arm])
    assert told["summary"]["more"] == 0
    for name, mean in summary.received.items():
        assert told["summary"]["received"][name]["low"] == pytest.approx(mean.low)
        for arm, differences in against.items():
            assert differences[name] == pytest.approx(asdict(summary.against[arm][name]))
        parts = told["series"]["rewards"][name]
        assert sum(count for count, _, _ in parts) == N
        average = sum(count * middle for count, middle, _ in parts) / N
        assert average == pytest.approx(summary.received[name].value)
    hour = httpx.get(f"{service.url}/v1/router/history?series=hour").json()
    assert hour["series"]["width"] == 30.0
    assert sum(sum(counts) for counts in hour["series"]["arms"].values()) == N


def test_an_answer_that_is_known_is_not_sent_again(service: Watched) -> None:
    url = f"{service.url}/v1/router/history"
    tag = httpx.get(url).headers["etag"]
    again = httpx.get(url, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert httpx.get(f"{url}?series=hour", headers={"If-None-Match": tag}).status_code == 200


def test_the_map_agrees_with_the_explanations(service: Watched) -> None:
    at = '{"hour": 7.5}'
    told = httpx.get(f"{service.url}/v1/router/map", params={"x": "tokens", "y": "task", "at": at})
    drawn = told.json()
    assert drawn["at"] == {"hour": 7.5}
    assert len(drawn["cells"]) == 24 * 3
    assert drawn["x"]["edges"][0] == 0
    assert drawn["x"]["edges"][-1] == 8000
    for row, task in enumerate(drawn["y"]["values"]):
        for column in (0, 11, 23):
            context = {"tokens": drawn["x"]["values"][column], "task": task, "hour": 7.5}
            explained = service.engine.explain("router", context)
            arm, chance = drawn["cells"][24 * row + column]
            chances = [one.propensity for one in explained.arms]
            assert chance == max(chances)
            if chances.count(chance) == 1:
                assert drawn["arms"][arm] == explained.likely[0]
            else:
                assert arm is None


def test_a_map_names_no_arm_where_several_are_equally_likely(service: Watched) -> None:
    # Nothing was told here: every arm is as likely as the others.
    drawn = httpx.get(f"{service.url}/v1/silent/map?x=task").json()
    assert drawn["arms"] == []
    assert drawn["cells"] == [[None, pytest.approx(1 / 3)]] * 3
    # Here much was told, and somebody is ahead.
    drawn = httpx.get(f"{service.url}/v1/router/map?x=tokens&y=task").json()
    assert any(arm is not None for arm, _ in drawn["cells"])


def test_a_map_fills_in_what_is_typical_and_may_have_one_axis(service: Watched) -> None:
    drawn = httpx.get(f"{service.url}/v1/router/map?x=task").json()
    assert drawn["y"] is None
    assert len(drawn["cells"]) == 3
    seen = [
        kept.row["context"]["tokens"] for kept in service.engine.points["router"].history.recent()
    ]
    assert drawn["at"]["tokens"] in seen
    # Nobody decided yet: the middle. Flags and vectors have values too.
    drawn = httpx.get(f"{service.url}/v1/single/map?x=age&y=member").json()
    assert drawn["at"] == {"taste": [0.5, 0.5]}
    assert drawn["y"]["values"] == [False, True]


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("nowhere/history", 404, "nowhere"),
        ("router/history?series=decade", 422, "decade"),
        ("router/map", 422, "needs x"),
        ("router/map?x=tokenz", 422, "tokens"),
        ("router/map?y=task", 422, "needs x"),
        ("router/map?x=tokens&y=tokens", 422, "differ"),
        ("router/map?x=tokens&at=[]", 422, "JSON object"),
        ("router/map?x=tokens&at=" + "[" * 5000, 422, "JSON object"),
        ("router/map?x=tokens&at={%22hour%22:%22late%22}", 422, "hour"),
        ("router/map?x=tokens&at={%22colour%22:1}", 422, "colour"),
        ("single/map?x=taste", 422, "vector"),
    ],
)
def test_wrong_questions_are_refused(service: Watched, path: str, status: int, told: str) -> None:
    answer = httpx.get(f"{service.url}/v1/{path}")
    assert answer.status_code == status
    assert told in answer.json()["detail"]


def test_a_recent_decision_is_explained(service: Watched) -> None:
    decisions = httpx.get(f"{service.url}/v1/router/recent").json()["decisions"]
    assert len(decisions) == 50
    assert set(decisions[0]["rewards"]) == {"quality", "cost"}
    question = {"context": decisions[0]["context"]}
    told = httpx.post(f"{service.url}/v1/router/explain", json=question).json()
    expected = service.engine.explain("router", decisions[0]["context"])
    assert told["reason"] == expected.reason
    assert [arm["estimates"]["cost"]["value"] for arm in told["arms"]] == [
        arm.estimates["cost"].value for arm in expected.arms
    ]


def test_each_decision_of_a_batch_is_shown_with_the_arms_it_allowed(service: Watched) -> None:
    engine = service.engine
    columns: dict[str, list[Any]] = {"tokens": [1, 2, 3], "task": ["code"] * 3, "hour": [0, 0, 0]}
    each = [["small", "large"], None, ["medium"]]
    service.wait_for(engine.decide_columns("empty", columns, each))
    service.wait_for(engine.decide_columns("empty", columns, ["small", "medium"]))
    recent = httpx.get(f"{service.url}/v1/empty/recent").json()["decisions"]
    assert [one["allowed"] for one in recent] == [["small", "medium"]] * 3 + each[::-1]
    for one in recent:
        question = {"context": one["context"], "allowed": one["allowed"]}
        told = httpx.post(f"{service.url}/v1/empty/explain", json=question).json()
        arms = [arm["name"] for arm in told["arms"] if arm["allowed"]]
        assert arms == (one["allowed"] or ["small", "medium", "large"])


def test_watching_costs_little_however_many_watch() -> None:
    now, spent, made, cost = [0.0], [0.0], [0], [0.1]
    fresh = AnswerCache(most=10.0, clock=lambda: now[0], spent=lambda: spent[0])

    async def answer() -> int:
        made[0] += 1
        now[0] += 20.0  # the machine has others to serve
        spent[0] += cost[0]
        return made[0]

    async def ask(seq: int, key: str = "a") -> Any:
        return (await fresh.get(key, seq, answer)).answer

    async def scene() -> None:
        assert [await ask(1), await ask(1), await ask(2)] == [1, 1, 1]
        now[0] += 4.95
        assert await ask(2) == 1
        now[0] += 0.1  # fifty times what it took of the processor
        cost[0] = 7.0
        assert [await ask(2), await ask(2), await ask(2, "b")] == [2, 2, 3]
        now[0] += 9.95
        assert await ask(3, "b") == 3
        now[0] += 0.1  # never longer, however much it took
        assert await ask(3, "b") == 4
        for n in range(100):
            await ask(1, f"map {n}")
        assert len(fresh._answers) == 16
        now[0] += 20.0
        oldest = await ask(2, "map 84")  # asked anew, so it is the newest now
        await ask(1, "one more")
        assert await ask(2, "map 84") == oldest

    asyncio.run(scene())


def test_the_last_minute_is_told_in_the_finest_stretches() -> None:
    history = History()
    assert views.latest(history, 1000.0) == []
    for second in range(100):
        history.decided(1000.0 + second, ["small"] * 3)
    assert views.latest(history, 1100.0) == [[1040.0 + n, 1041.0 + n, 3] for n in range(60)]
    assert views.latest(history, 1100.0 + 9 * 60) == []
    # Later the last hour is finer than everything.
    for second in range(100, 12_000):
        history.decided(1000.0 + second, ["small"] * 3)
    assert history.width("whole") > 30.0
    stretches = views.latest(history, 13_000.0)
    assert all(end - begin <= 30.0 for begin, end, _ in stretches)
    assert stretches[-1][1] == 13_000.0
    assert 180 <= sum(n for _, _, n in stretches) < 180 + 90


def test_pages_hold_to_the_strict_policy(service: Watched) -> None:
    for path in ("/", "/dashboard/app.js", "/dashboard/nothing.js"):
        answer = httpx.get(service.url + path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    page = httpx.get(service.url).text
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?://", page)
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    for path in ("/dashboard/pages.py", "/dashboard/index.html", "/dashboard/..%2fpages.py"):
        assert httpx.get(service.url + path).status_code == 404


def test_the_bundle_is_kept_by_browsers_and_small_on_the_wire(service: Watched) -> None:
    script = re.search(r'data-vega="(/dashboard/vega-[\w.]+)"', httpx.get(service.url).text)
    assert script is not None
    with httpx.stream("GET", service.url + script[1], timeout=60) as answer:
        assert "immutable" in answer.headers["cache-control"]
        sent = sum(len(part) for part in answer.iter_raw())
    assert sent < 400_000
    tag = httpx.get(f"{service.url}/dashboard/app.js").headers["etag"]
    known = httpx.get(f"{service.url}/dashboard/app.js", headers={"If-None-Match": tag})
    assert known.status_code == 304
