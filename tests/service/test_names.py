"""Texts that a caller chooses: what is taken as a category or as the name of an arm."""

import asyncio
import sys
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import lexbandit as lb
from lexbandit.errors import InvalidInput
from lexbandit.service.definition import arm_name
from service.http import detail_of, served


def test_a_text_in_a_context_has_a_most(tmp_path: Path) -> None:
    context: list[Any] = [
        lb.Category("task", ["code", "k" * 1500]),
        lb.Category("plan", ["free"]),
        lb.Number("n"),
    ]

    async def run() -> None:
        async with served(tmp_path, context=context) as s:
            features: dict[str, Any] = {"task": "code", "plan": "free", "n": 0.5}
            batch = "/v1/router/decisions:batch"
            for name, most in (("task", 1500), ("plan", 1000)):
                state, seq = s.state, s.engine.seq
                long = {**features, name: "é" * (most + 1)}
                columns = {one: [features[one], value] for one, value in long.items()}
                for path, body, row in (
                    ("/v1/router/decisions", {"context": long}, ""),
                    ("/v1/router/decisions", {"context": long, "id": "own"}, ""),
                    ("/v1/router/explain", {"context": long}, ""),
                    (batch, {"decisions": [{"context": features}, {"context": long}]}, "row 1: "),
                    (batch, {"contexts": columns}, "row 1: "),
                ):
                    told = detail_of(await s.http.post(path, json=body), 422)
                    begin = f"{row}context feature {name!r} may have {most:,} characters, got"
                    assert told.startswith(begin), told
                assert (s.state, s.engine.seq) == (state, seq)
                for fine in ({**features, name: "é" * most}, {**features, "task": "k" * 1500}):
                    await s.decide(context=fine)
                    listed = {one: [value] for one, value in fine.items()}
                    reply = await s.http.post(batch, json={"contexts": listed})
                    assert reply.status_code == 200
            # A log of an earlier version may have longer ones: they are taken from there.
            long = {**features, "task": "x" * 5000}
            old = {"id": "old", "arm": "small", "propensity": 0.5, "context": long}
            event = {"by": "x", "version": 0, "rows": [old]}
            await s.engine.append("router", "decisions", event)
            assert s.engine.points["router"].knows("old")

    asyncio.run(run())


BAD_ARMS = {
    **dict.fromkeys(("", " ", "\u3000"), "the name of an arm must be text"),
    **dict.fromkeys((" a", "a ", "a\n"), "the name of an arm has a space at an end"),
    **dict.fromkeys(
        (".", "..", "a\u202eb", "a\u200bb", "x" * 201), "an arm's name has 1 to 200 char"
    ),
}
JOINING = (0x200C, 0x200D)  # in Persian names, and in pictures made of several
GOOD_ARMS = ("a", "...", ".a", "gpt/4 turbo", "größer", "日本", "🙂", "x" * 200, "a.b")


def test_which_names_an_arm_may_have() -> None:
    for arm in GOOD_ARMS:
        assert arm_name(arm) == arm
    for arm, reason in BAD_ARMS.items():
        with pytest.raises(InvalidInput, match=f"^{reason}"):
            arm_name(arm)
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp") and code not in JOINING:
            with pytest.raises(InvalidInput):
                arm_name(f"a{chr(code)}b")
    for joining in map(chr, JOINING):
        assert arm_name(f"a{joining}b") == f"a{joining}b"
        for arm in (joining, f"a{joining}", f"{joining}a"):
            with pytest.raises(InvalidInput):
                arm_name(arm)


def test_a_strange_arm_is_refused_but_an_old_one_can_be_retired(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            seq = s.engine.seq
            for arm in ("..", " ", "a ", "a\u202eb"):
                path = quote(arm).replace(".", "%2E")
                told = detail_of(await s.http.put(f"/v1/router/arms/{path}"), 422)
                assert told.startswith(BAD_ARMS[arm])
            assert s.engine.seq == seq
            old = {"arm": "..", "change": "add", "prior": None, "weight": None}
            await s.engine.append("router", "arm", old)
            for verb, status, changed in (
                ("PUT", 200, False), ("DELETE", 200, True), ("DELETE", 200, False),
                ("PUT", 201, True), ("DELETE", 200, True),
            ):  # fmt: skip
                reply = await s.http.request(verb, "/v1/router/arms/%2E%2E")
                assert (reply.status_code, reply.json()["changed"]) == (status, changed)
            state = s.state
        async with served(tmp_path) as s:
            assert s.state == state

    asyncio.run(run())
