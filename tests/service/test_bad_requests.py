"""Whatever is sent that is not a good request: 4xx, a reason, and the state as it was."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.service.http.json_body import convert, decode
from lexbandit.service.http.problems import Problem
from lexbandit.service.http.schemas import DecisionColumns, DecisionRows, RewardRows
from service.http import CONTEXT, Served, detail_of, served

GOOD = json.dumps(CONTEXT)
JSON = {"content-type": "application/json"}
DECISIONS = "/v1/router/decisions"
REWARDS = "/v1/router/decisions/known/rewards"

# What is sent where, the status, and a word of the reason.
BAD: list[tuple[str, str | bytes, int, str]] = [
    (DECISIONS, "", 400, "the body is empty"),
    (DECISIONS, "{", 400, "not JSON"),
    (DECISIONS, f'{{"context": {GOOD}}} x', 400, "not JSON"),
    (DECISIONS, f'{{"context": {GOOD}, "context": {GOOD}}}', 400, "'context' stands twice"),
    (DECISIONS, '{"context": {"tokens": 1, "tokens": 2, "task": "code", "hour": 1}}', 400, "twice"),
    (DECISIONS, '{"context": {"tokens": NaN, "task": "code", "hour": 1}}', 400,
        "not JSON: it has NaN, and JSON has neither NaN nor Infinity; a value that is missing is "),
    (DECISIONS, '{"context": {"tokens": Infinity, "task": "code", "hour": 1}}', 400, "Infinity;"),
    (DECISIONS, '{"context": {"tokens": 1, "task": "NaN", "hour": }}', 400, "malformed"),
    (DECISIONS, '{"context": {"tokens": 1e999, "task": "code", "hour": 1}}', 400, "number"),
    (DECISIONS, b'{"context": {"tokens": 1, "task": "\xff", "hour": 1}}', 400, "UTF-8"),
    (DECISIONS, '{"context": {"tokens": 1, "task": "\\ud800", "hour": 1}}', 400,
        r"the text has \ud800, one half of a character - at `$.context.task`."),
    (DECISIONS, '{"context": {"\\udfff": 1}}', 400, r"has \udfff, one half of a character - at"),
    (DECISIONS, f'{{"context": {{"tokens": [1, {"1" * 5000}]}}}}', 400,
        "the number 111111111111… (5,000 characters) is too large - at `$.context.tokens[1]`."),
    (DECISIONS, '{"context": {"tokens": -1e999}}', 400,
        "the number -1e999 is too large - at `$.context.tokens`."),
    (DECISIONS, "[" * 50_000, 400, "deep"),
    (DECISIONS, "[" * 100_000, 413, "at most 50,000 objects and lists; send it in parts."),
    (DECISIONS, '{"context": ' * 5_000, 400, "deep"),
    (DECISIONS, '{"context": {"tokens": [[[[1]]]], "task": "code", "hour": 1}}', 422, "tokens"),
    (DECISIONS, '"text"', 422, "object"),
    (DECISIONS, "{}", 422, "context"),
    (DECISIONS, '{"context": []}', 422, "object"),
    (DECISIONS, f'{{"context": {GOOD}, "alowed": ["small"]}}', 422,
        "unknown field `alowed`; known: context, allowed, id."),
    (DECISIONS, '{"foo": 1}', 422, 'go into "context"); known: context, allowed, id.'),
    ("/v1/router/decisions:batch", f'{{"decisions": [{{"context": {GOOD}, "ids": 1}}]}}', 422,
        "`ids`; known: context, allowed, id - at `$.decisions[0]`."),
    ("/v1/router/rewards:batch", '{"rewards": [{"id": "known", "value": 1}]}', 422,
        "`value`; known: id, values - at `$.rewards[0]`."),
    ("/v1/router/explain", '{"context": {}, "id": "x"}', 422, "`id`; known: context, allowed."),
    (DECISIONS, f'{{"context": {GOOD}, "allowed": []}}', 422, "length"),
    (DECISIONS, f'{{"context": {GOOD}, "allowed": ["smal"]}}', 422, "did you mean 'small'"),
    (DECISIONS, f'{{"context": {GOOD}, "id": ""}}', 422, "begins with a letter or digit"),
    (DECISIONS, f'{{"context": {GOOD}, "id": "a b"}}', 422, "begins with a letter or digit"),
    (DECISIONS, f'{{"context": {GOOD}, "id": "{"x" * 129}"}}', 422, "up to 128 visible"),
    (DECISIONS, f'{{"context": {GOOD}, "id": "known\\n"}}', 422, "visible characters only"),
    (DECISIONS, '{"context": {"tokens": 1, "task": "code"}}', 422, "hour"),
    (DECISIONS, '{"context": {"tokens": "1", "task": "code", "hour": 1}}', 422, "tokens"),
    (DECISIONS, '{"context": {"tokens": [1, 2], "task": "code", "hour": 1}}', 422, "tokens"),
    (DECISIONS, '{"context": {"tokens": 1, "task": 7, "hour": 1}}', 422, "task"),
    (DECISIONS, '{"context": {"tokens": 1, "task": "code", "hours": 1}}', 422, "'hour'"),
    (DECISIONS, GOOD, 422, '`tokens` (the features go into "context")'),
    (REWARDS, "{}", 422, "at least one reward is needed"),
    (REWARDS, "[]", 422, "object"),
    (REWARDS, '{"quality": null}', 422, "a number or true or false is needed, got null - at `$.qu"),
    (REWARDS, '{"quality": "1"}', 422, "false is needed, got a string - at `$.quality`."),
    ("/v1/router/explain", '{"context": {}, "allowed": 1}', 422, "an array or null is needed, got"),
    (REWARDS, '{"quality": 1e101}', 422, "1e+100"),
    (REWARDS, '{"qualty": 1}', 422, "did you mean 'quality'"),
    (REWARDS, '{"quality": 1, "quality": 0}', 400, "twice"),
    (REWARDS, '{"quality": -Infinity}', 400, "not JSON: it has -Infinity, and"),
    ("/v1/router/decisions:batch", '{"decisions": []}', 422, "length"),
    ("/v1/router/decisions:batch", '{"decisions": {}}', 422, "array"),
    ("/v1/router/decisions:batch", '{"contexts": {}}', 422, "at least one feature is needed"),
    ("/v1/router/decisions:batch", f'{{"decisions": [{GOOD}]}}', 422, 'go into "context"'),
    ("/v1/router/decisions:batch", f'{{"decisions": [{{"context": {GOOD}}}, {GOOD}]}}', 422,
        'go into "context"); known: context, allowed, id - at `$.decisions[1]`'),
    ("/v1/router/decisions:batch", f'{{"decisions": [{{"id": "é", "context": {GOOD}}}]}}', 422,
        "begins with a letter or digit and has up to 128 visible characters, no spaces - at"),
    ("/v1/router/rewards:batch", '{"rewards": [{"id": "known", "values": {}}]}', 422,
        "at least one reward is needed"),
    ("/v1/router/decisions:batch", '{"contexts": {"tokens": 1}}', 422, "array"),
    ("/v1/router/rewards:batch", '{"rewards": [{"id": "known"}]}', 422, "values"),
    ("/v1/router/explain", '{"context": {}, "id": "x"}', 422, "id"),
]  # fmt: skip


def test_every_bad_request_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            await s.decide(id="known")
            state, seq = s.state, s.engine.seq
            for path, body, status, reason in BAD:
                reply = await s.http.post(path, content=body, headers=JSON)
                told = detail_of(reply, status)
                assert reason in told, (path, body, told)
                assert len(told) < 1000
                assert (s.state, s.engine.seq) == (state, seq), (path, body)

    asyncio.run(run())


def test_a_bad_query_is_told_by_name_value_and_what_is_known(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            for query, words in (
                ("since=-1", "in the query: Expected `int` >= 0 - at `$.since`, got '-1'."),
                ("limit=many", "at `$.limit`, got 'many'."),
                ("since=1&since=2", "'since' stands twice in the query."),
                ("limit=2&since=1&limit=2", "'limit' stands twice in the query."),
                ("foo=1", "the query has 'foo'; known: since, limit."),
            ):
                told = detail_of(await s.http.get(f"/v1/router/log?{query}"), 422)
                assert words in told, (query, told)
            prior = await s.http.put("/v1/router/arms/new", json={"weight": 20})
            told = detail_of(prior, 422)
            assert "add_arm" not in told
            assert "as prior={'quality': ..., 'cost': ...}, weight=20, got prior=None" in told
            twice = '/v1/router/map?x=tokens&at={"hour":1,"hour":2}'
            assert "the key 'hour' stands twice" in detail_of(await s.http.get(twice), 422)

    asyncio.run(run())


def test_sizes_and_media_types(tmp_path: Path) -> None:
    body = json.dumps({"context": CONTEXT})

    async def in_parts() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b" " * 100

    async def unread() -> AsyncIterator[bytes]:
        pytest.fail("it was read")
        yield b""  # type: ignore[unreachable]

    async def run() -> None:
        async with served(tmp_path, body=2000) as s:
            told = {**JSON, "content-length": "2001"}
            detail_of(await s.http.post(DECISIONS, content=unread(), headers=told), 413)
            large = await s.http.post(DECISIONS, content=body + " " * 2000, headers=JSON)
            assert "2,000 bytes" in detail_of(large, 413)
            large = await s.http.post(DECISIONS, content=in_parts(), headers=JSON)
            detail_of(large, 413)
            for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
                wrong = await s.http.post(DECISIONS, content=body, headers={"content-type": kind})
                assert "application/json" in detail_of(wrong, 415)
            for kind in ("application/json; charset=latin-1", 'application/json;charset="UTF-16"'):
                wrong = await s.http.post(DECISIONS, content=body, headers={"content-type": kind})
                assert "JSON is UTF-8" in detail_of(wrong, 415)
            for coding in ("gzip", "br", "identity, gzip"):
                packed = {**JSON, "content-encoding": coding}
                wrong = await s.http.post(DECISIONS, content=body, headers=packed)
                assert f"Content-Encoding is {coding!r}" in detail_of(wrong, 415)
            plain = {**JSON, "content-encoding": "identity"}
            assert (await s.http.post(DECISIONS, content=body, headers=plain)).status_code == 200
            for kind in ('application/json; charset="UTF-8"', "Application/JSON"):
                good = await s.http.post(DECISIONS, content=body, headers={"content-type": kind})
                assert good.status_code == 200
            rows: dict[str, Any] = {"decisions": [{"context": {}}] * 10_001}
            async with served(tmp_path / "other", body=1_000_000) as other:
                reply = await other.http.post("/v1/router/decisions:batch", json=rows)
                assert "10000" in detail_of(reply, 422)

    asyncio.run(run())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_what_is_json_is_read_as_it_is(value: object) -> None:
    assert decode(json.dumps(value).encode()) == value


@given(st.dictionaries(st.text(), st.integers(), min_size=1, max_size=4), st.integers(0, 3))
def test_a_key_twice_is_found_at_any_depth(table: dict[str, int], depth: int) -> None:
    key = next(iter(table))
    inner = json.dumps(table)[:-1] + f", {json.dumps(key)}: 0}}"
    for _ in range(depth):
        inner = f'[{{"in": {inner}}}]'
    with pytest.raises(Problem, match="stands twice"):
        decode(inner.encode())


def test_deep_nesting_that_the_types_do_not_know_is_refused_by_them(tmp_path: Path) -> None:
    """Up to what the parser takes: no recursion further in."""

    async def work(s: Served) -> None:
        for depth in range(100, 1000, 50):
            deep = "[" * depth + "]" * depth
            body = f'{{"context": {{"tokens": {deep}}}}}'
            reply = await s.http.post(DECISIONS, content=body, headers=JSON)
            assert reply.status_code in (400, 422)

    async def run() -> None:
        async with served(tmp_path) as s:
            await work(s)

    asyncio.run(run())


ROW = {"context": {"tokens": 1, "task": "code", "hour": 1.5}, "allowed": ["small"] * 20}
MANY = {f"feature-{n}": 1 for n in range(60_000)}


@pytest.mark.parametrize(
    ("value", "type", "place"),
    [
        ({"decisions": [ROW] * 9_999 + [{"context": {**MANY, "bad": {}}}]}, DecisionRows,
         "`$.decisions[9999].context.bad`"),
        ({"decisions": [ROW] * 9_999 + [{"context": {"bad": {}, **MANY}}]}, DecisionRows,
         "`$.decisions[9999].context.bad`"),
        ({"decisions": [ROW, {"context": {**MANY, "bad": {}}, "allowed": ["x"] * 500_000}]},
         DecisionRows, "`$.decisions[1].context.bad`"),
        ({"contexts": {**dict.fromkeys(MANY, [1.5] * 4), "bad": [1, 2, {}], "worse": [{}]}},
         DecisionColumns, "`$.contexts.bad[2]`"),
        ({"rewards": [{"id": "a", "values": {**MANY, "bad": "x"}}]}, RewardRows,
         "`$.rewards[0].values.bad`"),
    ],
    ids=["last key", "first key", "much beside it", "columns", "rewards"],
)  # fmt: skip
def test_a_large_body_is_refused_quickly(value: Any, type: type[Any], place: str) -> None:
    value = json.loads(json.dumps(value))  # objects of its own each, as a body has them
    begin = time.process_time()
    with pytest.raises(Problem) as refused:
        convert(value, type)
    assert place in refused.value.detail
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"a": [' + b"[]," * 1_300_000 + b"1]}", "400,000 values"),
        (b'{"a": [' + b"[[]]," * 300_000 + b"1]}", "50,000 objects and lists"),
        (b'{"a": {' + b'"k":1,' * 300_000 + b'"k":1}}', "125,000 keys"),
        (b'{"a": [' + b"1," * 390_000 + b"x]}", "the body is not JSON"),
        (b'{"a": [' + b"1.5e9," * 390_000 + b"1e400]}", "the body is not JSON"),
        (b'{"a": [' + b"1," * 390_000 + b"9" * 309 + b"]}", "a number is too large"),
    ],
    ids=["values", "lists", "keys", "no JSON", "too large", "too long"],
)
def test_a_body_that_would_take_long_to_read_is_refused_quickly(body: bytes, reason: str) -> None:
    """In milliseconds: nothing else is answered meanwhile."""
    begin = time.thread_time()
    with pytest.raises(Problem, match=reason):
        decode(body)
    assert time.thread_time() - begin < 0.25  # 0.7 to 0.9 without a bound


def test_a_large_batch_has_room_in_a_body() -> None:
    features = {f"feature_{n}": n / 7 for n in range(10)}
    rows = {"decisions": [{"context": features, "id": f"id-{n}"} for n in range(10_000)]}
    assert decode(json.dumps(rows).encode()) == rows
    columns: Any = {"contexts": {f"feature_{n}": [0.5] * 10_000 for n in range(35)}}
    columns["contexts"]["digits"] = ["1" * 400] * 10_000
    assert decode(json.dumps(columns).encode()) == columns
