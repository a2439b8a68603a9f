"""Texts that a caller chooses: what is taken as a category or as the name of an arm."""

import asyncio
from pathlib import Path
from typing import Any

import lexbandit as lb
from service.http import detail_of, served


def test_a_text_in_a_context_has_a_most(tmp_path: Path) -> None:
    context: list[Any] = [
        lb.Category("task", ["code", "k" * 1500]),
        lb.Category("plan", ["free"]),
        lb.Number("n"),
    ]

    async def run() -> None:
        async with served(tmp_path, context=context) as s:
            features = {"task": "code", "plan": "free", "n": 0.5}
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
            row = {"id": "old", "arm": "small", "propensity": 0.5, "context": long}
            body = {"by": "x", "version": 0, "rows": [row]}
            await s.engine.append("router", "decisions", body)
            assert s.engine.points["router"].knows("old")

    asyncio.run(run())
