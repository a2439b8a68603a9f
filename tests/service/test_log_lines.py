"""What the process logs: nothing of what was sent to it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from lexbandit.service.logging import set_up_logging
from service.http import Served, bearer, key, served

CONTEXT = {"tokens": 7654.25, "task": "task-of-theirs", "hour": 17.125}
OUTSIDE = {"quality": 4242.5, "cost": -6363.5}
SENT = ("7654", "of-theirs", "17.125", "4242", "6363", "9191", "8282", "5151", "secret")
JSON = {"content-type": "application/json"}


async def everything(s: Served) -> None:
    """Ask for all that writes a line: good and bad, within its range and outside."""
    http = s.http
    http.headers.update(bearer("theirs-one"))
    for path, body, status in (
        ("decisions", {"context": CONTEXT, "id": "one"}, 200),
        ("decisions", {"context": {**CONTEXT, "tokens": 8282.5}, "id": "one"}, 409),
        ("decisions", {"context": {**CONTEXT, "task": 5151}}, 422),
        ("decisions:batch", {"contexts": {name: [v] for name, v in CONTEXT.items()}}, 200),
        ("decisions/one/rewards", OUTSIDE, 200),
        ("decisions/one/rewards", {"quality": 8282.5}, 409),
        ("decisions/one/rewards", {"of-theirs": 1}, 422),
        ("decisions/of-theirs/rewards", OUTSIDE, 404),
        ("explain", {"context": CONTEXT}, 200),
    ):
        assert (await http.post(f"/v1/router/{path}", json=body)).status_code == status, path
    bad = await http.post("/v1/router/decisions", content='{"context": 5151', headers=JSON)
    assert bad.status_code == 400
    prior = {"prior": {"quality": 9191.5, "cost": 8282.5}, "weight": 3}
    assert (await http.put("/v1/router/arms/new", json=prior)).status_code == 201
    wrong = await http.get("/v1/router/summary", headers={"authorization": "Bearer of-theirs"})
    assert wrong.status_code == 401
    # As a replica does that was quicker: the log has what contradicts it.
    await s.engine.append(
        "router", "rewards", {"rows": [{"id": "one", "values": {"cost": 5151.5}}]}
    )


def test_nothing_of_what_was_sent_is_logged_then_or_at_the_next_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(work: Any = None) -> None:
        async with served(tmp_path, [key("theirs-one", "admin")], policy=policy) as s:
            if work is not None:
                await work(s)

    set_up_logging("debug")
    policy: str | None = None
    asyncio.run(run(everything))
    policy = "lex-linucb"  # a changed definition: the whole log is read again
    asyncio.run(run())
    said = re.sub(r"seconds=\S+", "", capsys.readouterr().err)  # they may have any digits
    told = "a reward of cost lies outside its range from 0 to 0.05"
    assert said.count(told) == 2
    assert "the prior mean of cost of arm 'new' lies outside" in said
    assert "1 rows of the log were not taken in all, the last one of event" in said
    assert "route=/v1/{point}/decisions status=409" in said
    for value in SENT:
        assert value not in said, value
