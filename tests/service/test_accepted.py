"""What was accepted breaks nothing later: export, log, explain, snapshot, replay, copy, pages."""

import asyncio
import json
import math
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import lexbandit as lb
from lexbandit.cli.main import status_of
from lexbandit.service.definition import Definition
from lexbandit.service.maintenance.export import FORMATS
from service import world
from service.http import Served, detail_of, served
from service.world import replayed

JSON = {"content-type": "application/json"}
ARMS = ("small", "constructor", "__proto__", "toString", "a/b %2F?#", "<b>é</b>", "😀", "0")
# The largest whole number that is a finite double, and the first that is not.
LARGEST = int(sys.float_info.max)
TOO_LARGE = LARGEST + 2**970


def _definition(name: str = "router", **_: Any) -> Definition:
    return Definition(
        name=name,
        objectives=[
            lb.Objective("quality", range=(0, 1), tolerance=0.02, default=0.0),
            lb.Objective("__proto__", goal="min", range=(-1e90, 1e90)),
        ],
        arms=ARMS,
        context=[
            lb.Number("tokens", 0, 8000),
            lb.Number("tiny", 1e-99, 1e99, scale="log", missing="middle"),
            lb.Category("constructor", ["code", "__proto__", "\x00"]),
            lb.Cycle("hour", 24),
            lb.Flag("flag"),
            lb.Vector("vector", 2, low=-1e99, high=1e99),
        ],
        wait=3600.0,
    )


@pytest.fixture(scope="module", autouse=True)
def _odd_point() -> Iterator[None]:
    """Serve a point with every kind of feature, and names that are odd."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "definition", _definition)
        yield


EXTREME = [0, -0.0, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308, -1.7976931348623157e308]
NUMBERS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([*EXTREME, LARGEST, -LARGEST, 2**53 + 1, 2**63, 2**64, 10**300])
    | st.integers(-(10**6), 10**6)
)
TEXTS = st.text(max_size=20) | st.sampled_from(["code", "__proto__", "\x00", "\u2028", "é" * 900])
CONTEXTS = st.fixed_dictionaries(
    {
        "tokens": NUMBERS,
        "constructor": TEXTS | st.none(),
        "hour": NUMBERS,
        "flag": st.booleans() | st.none(),
        "vector": st.lists(NUMBERS, min_size=2, max_size=2),
    },
    optional={"tiny": NUMBERS | st.none()},
)
ALLOWED = st.none() | st.lists(st.sampled_from(ARMS), min_size=1, unique=True)
IDS = st.none() | st.text("abcXYZ019!#%/~", min_size=1, max_size=8) | st.just("a" * 128)
VALUES = st.floats(-1e100, 1e100) | st.sampled_from([0, 1, 5e-324, -1e100, 1e100])
REWARDS = st.dictionaries(st.sampled_from(["quality", "__proto__"]), VALUES, min_size=1)
REQUESTS = st.one_of(
    st.fixed_dictionaries({"context": CONTEXTS, "allowed": ALLOWED, "id": IDS}),
    st.fixed_dictionaries(
        {
            "decisions": st.lists(
                st.fixed_dictionaries({"context": CONTEXTS, "allowed": ALLOWED, "id": IDS}),
                min_size=1,
                max_size=3,
            )
        }
    ),
    st.builds(
        lambda rows, allowed: {
            "contexts": {name: [row.get(name) for row in rows] for name in rows[0]},
            "allowed": allowed,
        },
        st.lists(CONTEXTS, min_size=1, max_size=3),
        ALLOWED,
    ),
    st.fixed_dictionaries({"rewards": st.tuples(st.integers(0, 20), REWARDS)}),
    st.fixed_dictionaries({"arm": TEXTS, "prior": st.none() | REWARDS}),
)


class Sent:
    """The requests that were sent to a service, and what of them was accepted."""

    def __init__(self, s: Served) -> None:
        self.s = s
        self.ids: list[str] = []
        self.contexts: list[dict[str, Any]] = []

    async def send(self, request: dict[str, Any]) -> None:
        http = self.s.http
        if "arm" in request:
            path = f"/v1/router/arms/{quote(request['arm'], safe='')}"
            prior = request["prior"]
            body = {} if prior is None else {"prior": prior, "weight": 20}
            reply = await http.put(path, content=json.dumps(body), headers=JSON)
            assert reply.status_code in (200, 201, 404, 405, 422, 409), reply.text
            return
        if "rewards" in request:
            n, values = request["rewards"]
            if self.ids:
                id = quote(self.ids[n % len(self.ids)], safe="")
                path = f"/v1/router/decisions/{id}/rewards"
                reply = await http.post(path, content=json.dumps(values), headers=JSON)
                assert reply.status_code in (200, 409), reply.text
            return
        batch = "" if "context" in request else ":batch"
        body = {name: value for name, value in request.items() if value is not None}
        path = f"/v1/router/decisions{batch}"
        reply = await http.post(path, content=json.dumps(body), headers=JSON)
        assert reply.status_code in (200, 409, 422), reply.text
        if reply.status_code == 200:
            self._accepted(request, reply.json())

    def _accepted(self, request: dict[str, Any], told: dict[str, Any]) -> None:
        if "context" in request:
            self.ids.append(told["id"])
            self.contexts.append(request["context"])
        elif "decisions" in request:
            self.ids += [one["id"] for one in told["decisions"]]
            self.contexts += [one["context"] for one in request["decisions"]]
        else:
            self.ids += told["ids"]


def finite(value: Any) -> Any:
    """Return a value of which every number is a finite double."""
    if isinstance(value, float | int):
        assert math.isfinite(float(value))
    inner = value.values() if isinstance(value, dict) else value
    for one in inner if isinstance(value, dict | list) else ():
        finite(one)
    return value


async def everything_answers(s: Served, contexts: list[dict[str, Any]]) -> None:
    """Ask for all that reads: the API, and what the dashboard asks for."""
    for path in (
        "/v1/router", "/v1/router/summary", "/v1/router/arms", "/openapi.json",
        "/v1/router/history?series=whole", "/v1/router/history?series=hour", "/v1/router/recent",
        "/v1/router/map?x=flag&y=constructor", "/v1/router/map?x=tiny&y=flag", "/",
    ):  # fmt: skip
        reply = await s.http.get(path)
        assert reply.status_code == 200, (path, reply.text)
        if path != "/":
            finite(reply.json())
    assert list(text_string_to_metric_families((await s.http.get("/metrics")).text))
    for context in contexts:
        body = json.dumps({"context": context})
        reply = await s.http.post("/v1/router/explain", content=body, headers=JSON)
        assert reply.status_code == 200, reply.text
        finite(reply.json())
    log = await s.http.get("/v1/router/log?limit=10000")
    assert log.text.count("\n") == s.engine.points["router"].counts["events"]
    for line in log.text.split("\n")[:-1]:
        finite(json.loads(line))


def exported(folder: Path, decisions: int) -> None:
    """Export the log in every format; each has a row a decision."""
    for format in FORMATS:
        out = folder / f"out.{format}"
        log = f"sqlite:{folder / 'log.db'}"
        assert status_of(["export", "router", "--to", str(out), "--storage", log]) == 0
        if format == "jsonl":
            rows = len([json.loads(line) for line in out.read_text().split("\n")[:-1]])
        elif format == "csv":
            rows = pl.read_csv(out, infer_schema=False).height
        else:
            rows = pl.read_parquet(out).height
        assert rows == decisions


async def goes_through(requests: list[dict[str, Any]], folder: Path) -> int:
    """Send requests, then do all that comes later; returns how many decisions were made."""
    async with served(folder) as s:
        sent = Sent(s)
        for request in requests:
            await sent.send(request)
        await everything_answers(s, sent.contexts)
        decisions = s.engine.points["router"].counts["decisions"]
    assert await replayed(folder / "log.db") == s.state
    async with served(folder) as again:  # from the snapshot that the end wrote
        await everything_answers(again, sent.contexts[-3:])
    state = again.state
    assert await replayed(folder / "log.db") == state
    copied = folder / "copy"
    copied.mkdir()
    await asyncio.to_thread(exported, folder, decisions)
    places = [f"sqlite:{one / 'log.db'}" for one in (folder, copied)]
    assert await asyncio.to_thread(status_of, ["copy", *places]) == 0
    assert await replayed(copied / "log.db") == state
    return int(decisions)


# A failure is told as it was found: a simpler one would take minutes to find.
_AS_FOUND = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@settings(_AS_FOUND, max_examples=5)
@given(st.lists(REQUESTS, min_size=8, max_size=24))
def test_accepted_requests_go_through_all_that_comes_later(requests: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(goes_through(requests, Path(folder)))


@pytest.mark.slow
@settings(_AS_FOUND, max_examples=100)
@given(st.lists(REQUESTS, min_size=1, max_size=40))
def test_many_more_accepted_requests(requests: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(goes_through(requests, Path(folder)))


GOOD = {"tokens": 1, "constructor": "code", "hour": 1, "flag": True, "vector": [0, 1]}


def test_every_extreme_number_in_every_place_goes_through(tmp_path: Path) -> None:
    contexts: list[dict[str, Any]] = [
        {**GOOD, name: [value, value] if name == "vector" else value}
        for value in (*EXTREME, LARGEST, -LARGEST)
        for name in ("tokens", "tiny", "hour", "vector")
    ]
    rewards = [{"quality": value, "__proto__": -value} for value in (1e100, 5e-324, 0, 1)]
    requests = [{"context": context, "allowed": None, "id": None} for context in contexts]
    told = [{"rewards": (n, values)} for n, values in enumerate(rewards)]
    assert asyncio.run(goes_through([*requests, *told], tmp_path)) == len(contexts)


def test_a_number_that_is_no_finite_double_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            for number in ("1" * 401, "-" + "9" * 309, str(TOO_LARGE), "1e309"):
                for path, body in (
                    ("decisions", '{"context": {"tokens": %s}}'),
                    ("decisions", '{"context": {"vector": [0, %s]}}'),
                    ("decisions:batch", '{"decisions": [{"context": {"tokens": %s}}]}'),
                    ("decisions:batch", '{"contexts": {"tokens": [1, %s]}}'),
                    ("decisions/known/rewards", '{"quality": %s}'),
                    ("explain", '{"context": {"constructor": %s}}'),
                ):
                    place, sent = f"/v1/router/{path}", body % number
                    told = detail_of(await s.http.post(place, content=sent, headers=JSON), 400)
                    assert "is too large - at `$" in told, (path, number)

    asyncio.run(run())


def test_digits_in_a_text_are_no_number(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            context = {**GOOD, "constructor": "1" * 900, "tokens": LARGEST}
            await s.decide(context=context)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (["small", "0", "small"], "allowed has 'small' twice; name each arm at most once."),
        (["small"] * 9, "allowed has 9 entries, and there are 8 arms: name each at most once."),
    ],
)
def test_allowed_has_each_arm_once(tmp_path: Path, allowed: list[str], words: str) -> None:
    columns = {name: [value] for name, value in GOOD.items()}

    async def run() -> None:
        async with served(tmp_path) as s:
            seq = s.engine.seq
            for path, body, row in (
                ("decisions", {"context": GOOD, "allowed": allowed}, ""),
                ("explain", {"context": GOOD, "allowed": allowed}, ""),
                ("decisions:batch", {"contexts": columns, "allowed": allowed}, ""),
                (
                    "decisions:batch",
                    {"decisions": [{"context": GOOD}, {"context": GOOD, "allowed": allowed}]},
                    "row 1: ",
                ),
            ):
                told = detail_of(await s.http.post(f"/v1/router/{path}", json=body), 422)
                assert told == row + words
            assert s.engine.seq == seq

    asyncio.run(run())


def test_a_retired_arm_may_be_named_in_a_request_that_is_repeated(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            first = await s.decide(context=GOOD, allowed=list(ARMS), id="again")
            await s.http.delete("/v1/router/arms/small")
            assert await s.decide(context=GOOD, allowed=list(ARMS), id="again") == first

    asyncio.run(run())


def test_long_lists_of_allowed_arms_do_not_stay_in_memory(tmp_path: Path) -> None:
    """50 requests with 460,000 entries each held 1.85 GB while they waited for the disk."""
    allowed = ["small"] * 100_000
    body = json.dumps({"context": GOOD, "allowed": allowed}).encode()

    async def run() -> None:
        async with served(tmp_path, body=10**7) as s:
            tracemalloc.start()
            try:
                replies = await asyncio.gather(
                    *(
                        s.http.post("/v1/router/decisions", content=body, headers=JSON)
                        for _ in range(10)
                    )
                )
                assert {reply.status_code for reply in replies} == {422}
                assert tracemalloc.get_traced_memory()[1] < 60e6
            finally:
                tracemalloc.stop()

    asyncio.run(run())
