"""What if: the log of a decision point evaluated for other policies, over HTTP."""

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import lexbandit as lb
from lexbandit.service.dashboard import what_if
from lexbandit.service.dashboard.what_if import KEEP_SECONDS, WhatIf, since
from lexbandit.service.engine.history import History
from lexbandit.service.events import read_body, rows_of
from lexbandit.service.http.access import ApiKey
from lexbandit.service.maintenance.export import export
from service.watched import Watched, watched

pytestmark = pytest.mark.compiled

N = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("what-if")


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Watched]:
    with watched(folder, wait=None) as one:
        for _ in range(3):
            one.traffic(N // 3)
        yield one


def test_it_says_what_evaluate_says(service: Watched, folder: Path) -> None:
    began = time.time()
    report = service.what_if("router")
    assert report["error"] is None
    assert (report["rows"], report["decisions"], report["more"]) == (N, N, 0)
    assert began - 1 < report["time"] < time.time() + 1
    tolerances = [f"tolerance of quality {said}" for said in ("0.01", "0.02 (as now)", "0.04")]
    told = {one["candidate"]: one for one in report["candidates"]}
    arms = [f"always:{arm}" for arm in service.engine.points["router"].chooser.arms]
    assert sorted(told) == sorted([*arms, *tolerances])
    log = lb.Log(f"sqlite:{folder / 'log.db'}", point="router")
    for candidate in arms:
        expected = lb.evaluate(log, candidate)
        one = told[candidate]
        assert one["verdict"] == expected.verdict
        assert _bare(one["sentence"]) == _bare(expected.decision.sentence)
        assert not re.search(r"[+-]\d", one["sentence"])
        assert one["effective_rows"] == pytest.approx(expected.diagnostics.effective_rows)
        for name in ("quality", "cost"):
            assert one["objectives"][name] == pytest.approx(
                {
                    "value": expected[name].difference,
                    "low": expected[name].low,
                    "high": expected[name].high,
                }
            )
    chooser = service.engine.points["router"].chooser
    twice = lb.evaluate(log, {"chooser": chooser, "tolerance": {"quality": 0.04}})
    cost = told[tolerances[2]]["objectives"]["cost"]
    assert cost["value"] == pytest.approx(twice["cost"].difference)


def _bare(sentence: str) -> str:
    """Return a sentence without signs, and without the words that stand for them."""
    return re.sub(r"(?<=\d) (higher|lower)|[+-](?=\d)", "", sentence)


@pytest.mark.parametrize(
    ("less", "ends", "words"),
    [
        (False, (0.1, -0.2, 0.3), "0.1 higher, between 0.2 lower and 0.3 higher"),
        (True, (0.1, -0.2, 0.3), "0.1 lower, between 0.2 higher and 0.3 lower"),
        (True, (-0.2, -0.3, -0.1), "0.2 higher, between 0.1 and 0.3"),
        (False, (0.0, -0.25, 0.0), "0, between 0.25 lower and 0"),
    ],
)
def test_the_words_say_lower_and_higher(
    less: bool, ends: tuple[float, float, float], words: str
) -> None:
    value, low, high = ends
    rest = (0.95, "dr", "anytime", 0.0, 0.0, 9, 0, low, high)
    one = what_if._Worded("cost", value, low, high, *rest, less=less)
    assert one.ends() == words


def test_rows_are_as_old_as_the_clock_says() -> None:
    table = pl.DataFrame({"time": [90.0, 95.0, 100.0]})
    cases = [(None, 100.0, None), (20.0, 100.0, 20.0), (20.0, 112.0, 8.0), (20.0, 500.0, 0.0)]
    for wait, now, remaining in [*cases, (20.0, 90.0, 20.0)]:  # a clock that was set back
        assert what_if._remaining(table, wait, now) == remaining
    assert what_if._young(table, 8.0) == 2
    assert what_if._young(table, 0.0) == 0


def test_a_log_that_cannot_be_evaluated_is_told_in_a_sentence(
    service: Watched, tmp_path: Path
) -> None:
    assert service.what_if("empty")["error"] == "it has no decisions yet."
    columns: dict[str, Any] = {"tokens": [1.0] * 40, "task": ["code"] * 40, "hour": [0.0] * 40}
    service.wait_for(service.engine.decide_columns("silent", columns, ["medium"]))
    report = service.what_if("silent")
    assert "every row played 'medium'" in report["error"]
    assert report["candidates"] == []
    with watched(tmp_path, wait=3600.0) as young:
        young.traffic(30)
        report = young.what_if("router")
    assert (report["rows"], report["young"]) == (30, 30)
    assert "younger than the 3600 s in which rewards may come" in report["error"]
    missing = httpx.get(f"{service.url}/v1/nowhere/what-if")
    assert missing.status_code == 404


def test_it_is_kept_for_a_while_and_computed_one_at_a_time(
    service: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, made = [0.0], []

    def report(asked: Any) -> dict[str, Any]:
        made.append(asked.name)
        time.sleep(0.05)
        return {"n": len(made)}

    monkeypatch.setattr(what_if, "_report", report)
    points = service.engine.points
    one = WhatIf(service.engine.storage, clock=lambda: now[0])

    async def until(point: str) -> Any:
        while (told := one.ask(points[point]))["computing"]:
            await asyncio.sleep(0.01)
        return told["report"]

    async def scene() -> None:
        assert one.ask(points["router"]) == {
            "computing": True,
            "kept": KEEP_SECONDS,
            "report": None,
        }
        assert one.ask(points["silent"])["computing"]  # it waits for the other one
        assert await until("router") == {"n": 1}
        assert made == ["router"]
        assert await until("silent") == {"n": 2}
        now[0] = KEEP_SECONDS - 1
        assert await until("router") == {"n": 1}
        now[0] = KEEP_SECONDS
        # The report of before is told until the new one is there.
        assert one.ask(points["router"]) == {
            "computing": True,
            "kept": KEEP_SECONDS,
            "report": {"n": 1},
        }
        assert await until("router") == {"n": 3}

    service.wait_for(scene())
    assert made == ["router", "silent", "router"]


def test_only_the_last_rows_are_evaluated(
    service: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    for second in range(1000):
        history.decided(1e6 + second, ["small"] * 300)
    # 350 s have 105,000, and stretches of 30 s begin at multiples of 30.
    assert since(history) == 1_000_650.0
    monkeypatch.setattr(what_if, "ROWS", 1_000_000)
    assert since(history) == -math.inf
    monkeypatch.setattr(what_if, "ROWS", 200)
    with watched(tmp_path, wait=None) as one:
        one.traffic(300)
        report = one.what_if("router")
    assert (report["rows"], report["decisions"]) == (200, 300)

    async def later() -> pl.DataFrame:
        reader = service.engine.storage.reader()
        await reader.open()
        events = await reader.read_since(0, 100, "router")
        decided = [event for event in events if event.kind == "decisions"]
        last = decided[-1]
        await export(reader, "router", tmp_path / "later.parquet", since=last.seq - 1)
        await reader.close()
        table = pl.read_parquet(tmp_path / "later.parquet")
        assert len(decided) > 1
        assert table["id"].to_list() == [row["id"] for row in rows_of(read_body(last))]
        return table

    table = service.wait_for(later())
    assert table["reward.quality"].null_count() == 0


def test_it_needs_the_role_read(tmp_path: Path) -> None:
    def key(name: str, role: Any) -> ApiKey:
        return ApiKey(name, frozenset({role}), hashlib.sha256(name.encode() * 8).digest())

    def bearer(name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {name * 8}"}

    with watched(tmp_path, keys=(key("viewer", "read"), key("client", "decide"))) as one:
        url = f"{one.url}/v1/router/what-if"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers=bearer("client")).status_code == 403
        assert httpx.post(url, headers=bearer("viewer")).status_code == 405
        assert one.what_if("router", headers=bearer("viewer"))["error"] is not None
