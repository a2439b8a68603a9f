"""The client against an answering machine: what it sends, when it asks again, what it raises.

The tests of the service use it against the service itself.
"""

import asyncio
import json
import math
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import lexbandit
from lexbandit import (
    AsyncClient,
    Client,
    Contradiction,
    InvalidInput,
    ServiceError,
    UnknownDecision,
    UnknownName,
)
from lexbandit.client import Decided, Rewarded, Undelivered

Handler = Callable[[httpx.Request], httpx.Response]
DECIDED = {"id": "a", "arm": "small", "propensity": 0.5, "policy_version": 7}
REWARDED = {"id": "a", "learned": True, "late": False}


class Machine:
    """Answers what it is told to, one after the other, the last for ever; notes what came."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.seen]


def said(body: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers=headers)


def problem(status: int, detail: str, kind: str = "about:blank", **headers: str) -> httpx.Response:
    return said({"type": kind, "status": status, "detail": detail}, status, **headers)


def client_of(handler: Handler, **settings: Any) -> Client:
    http = httpx.Client(transport=httpx.MockTransport(handler))
    return Client("http://there/", http=http, **settings)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test sleeps between attempts; what it would have slept is noted."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr("lexbandit.client.clients.time", type("Time", (), {"sleep": noted.append}))
    monkeypatch.setattr("lexbandit.client.clients.asyncio", type("Loop", (), {"sleep": sleep}))
    return noted


def test_a_decision_is_asked_for_under_a_key_of_the_client() -> None:
    machine = Machine(said(DECIDED))
    client = client_of(machine, key="secret")
    assert client.decide("router", {"n": 3}, allowed=("small",)) == Decided("a", "small", 0.5, 7)
    client.decide("router", {"n": 3})
    client.decide("router", {"n": 3}, id="order 7")
    first, second, third = machine.bodies()
    assert {**first, "id": ""} == {"context": {"n": 3}, "allowed": ["small"], "id": ""}
    assert "allowed" not in second
    assert len(first["id"]) == len(second["id"]) == 24
    assert first["id"] != second["id"]
    assert third["id"] == "order 7"
    assert machine.seen[0].url == "http://there/v1/router/decisions"
    assert machine.seen[0].headers["authorization"] == "Bearer secret"


def test_an_unknown_propensity_is_nan() -> None:
    client = client_of(Machine(said({**DECIDED, "propensity": None})))
    assert math.isnan(client.decide("router", {}).propensity)


def test_a_lost_response_is_asked_for_again_with_the_same_key(waits: list[float]) -> None:
    machine = Machine(
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("gone"),
        httpx.ConnectError("refused"),
        problem(503, "busy"),
        httpx.Response(502, content=b"<html>"),
        said(DECIDED),
    )
    assert client_of(machine).decide("router", {"n": 3}).arm == "small"
    assert len({request.content for request in machine.seen}) == 1
    assert len(machine.seen) == 6
    for n, wait in enumerate(waits):
        assert 0.075 * 2**n <= wait <= 0.1 * 2**n


def test_https_to_a_port_of_http_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        told = "a service without TLS, whose address begins with http://"
        with Client(url, retries=0) as client, pytest.raises(ServiceError, match=told):
            client.summary("router")
        thread.join()


@pytest.mark.parametrize("reset", [True, False])
def test_http_to_a_port_of_https_is_named(reset: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def close() -> None:
            connection, _ = server.accept()
            with connection:
                if not reset:  # what was not read makes it a reset
                    connection.recv(10_000)

        thread = threading.Thread(target=close)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        told = "a service with TLS, whose address begins with https://"
        with Client(url, retries=0) as client, pytest.raises(ServiceError, match=told):
            client.summary("router")
        thread.join()


def test_an_answer_is_waited_for_as_long_as_was_asked() -> None:
    machine = Machine(said({"arms": []}))
    client_of(machine, timeout=2.5).arms("router")
    assert set(machine.seen[0].extensions["timeout"].values()) == {2.5}


def test_a_decision_is_looked_up() -> None:
    told = {"id": "a/1", "arm": "small", "propensity": None, "time": 5.0, "kept": False}
    machine = Machine(said({**told, "rewards": {"cost": 0.1}, "late": {"quality": 1.0}, "new": 1}))
    found = client_of(machine).decision("router", "a/1")
    assert (found.id, found.arm, found.time, found.kept) == ("a/1", "small", 5.0, False)
    assert (found.rewards, found.late) == ({"cost": 0.1}, {"quality": 1.0})
    assert math.isnan(found.propensity)
    (asked,) = machine.seen
    assert (asked.method, asked.url.raw_path) == ("GET", b"/v1/router/decisions/a%2F1")


def test_waits_are_bounded_and_differ(waits: list[float]) -> None:
    with pytest.raises(ServiceError):
        client_of(Machine(httpx.ConnectError("no")), retries=40).summary("router")
    assert len(waits) == 40
    assert 3.75 <= min(waits[10:]) <= max(waits) <= 5.0
    assert len(set(waits)) > 35


@pytest.mark.parametrize("draw", [0.0, 1.0])
def test_by_default_a_restart_of_15_seconds_is_waited_for(
    waits: list[float], monkeypatch: pytest.MonkeyPatch, draw: float
) -> None:
    """The shortest and the longest that chance makes of it, as the docs say."""
    monkeypatch.setattr(random, "uniform", lambda low, high: low + draw * (high - low))
    machine = Machine(httpx.ConnectError("refused"))
    with pytest.raises(ServiceError, match="in 10 attempts"):
        client_of(machine).summary("router")
    assert sum(waits) == pytest.approx([16.0, 21.3][int(draw)], abs=0.05)


def test_retry_after_is_waited_out(waits: list[float]) -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 20))
    busy = [problem(429, "slowly", **{"Retry-After": told}) for told in ("3", later, "nonsense")]
    assert client_of(Machine(*busy, said({"decisions": 1}))).summary("router") == {"decisions": 1}
    assert waits[0] == 3.0
    assert 17 < waits[1] <= 20
    assert waits[2] < 1


@pytest.mark.parametrize("wait", ["31", "3600"])
def test_who_is_asked_to_wait_for_long_is_told_so(waits: list[float], wait: str) -> None:
    machine = Machine(problem(429, "come back in an hour", **{"Retry-After": wait}))
    with pytest.raises(ServiceError, match="come back in an hour") as caught:
        client_of(machine).summary("router")
    assert caught.value.status == 429
    assert not waits


def test_after_the_last_attempt_the_error_says_what_is_known() -> None:
    machine = Machine(httpx.ReadTimeout("timed out"))
    with pytest.raises(ServiceError, match=r"no answer from http://there in 3 attempts.*timed out"):
        client_of(machine, retries=2).decide("router", {})
    assert len(machine.seen) == 3
    with pytest.raises(ServiceError, match="in 1 attempt, at last: timed out"):
        client_of(Machine(httpx.ReadTimeout("timed out")), retries=0).decide("router", {})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(400, "no JSON"), InvalidInput),
        (problem(422, "n must be a number"), InvalidInput),
        (problem(404, "no decision 'x'", "urn:lexbandit:unknown-decision"), UnknownDecision),
        (problem(404, "no point 'x'", "urn:lexbandit:unknown"), UnknownName),
        (problem(409, "told as 1 before"), Contradiction),
        (problem(401, "no key"), ServiceError),
        (problem(403, "not your role"), ServiceError),
        (problem(413, "too large"), ServiceError),
        (problem(500, "an error of ours"), ServiceError),
        (problem(404, "no such page"), ServiceError),
        (httpx.Response(404, content=b"<html>nginx</html>"), ServiceError),
        (httpx.Response(200, content=b"<html>welcome</html>"), ServiceError),
    ],
)
def test_errors_are_the_librarys_own_in_the_services_words(
    answer: httpx.Response, error: type[Exception]
) -> None:
    machine = Machine(answer)
    with pytest.raises(error) as caught:
        client_of(machine).reward("router", "x", quality=1)
    assert type(caught.value) is error
    assert len(machine.seen) == 1
    told = answer.json()["detail"] if answer.content.startswith(b"{") else "html"
    assert told in str(caught.value)
    if isinstance(caught.value, ServiceError):
        assert caught.value.status == answer.status_code


def test_rewards() -> None:
    machine = Machine(said(REWARDED))
    client = client_of(machine)
    decision = Decided("a/b c", "small", 0.5, 7)
    assert client.reward("router", decision, quality=1) == Rewarded("a", True, False)
    client.reward("router", "a", {"cost per word": 0.5})
    assert machine.bodies() == [{"quality": 1}, {"cost per word": 0.5}]
    assert machine.seen[0].url.raw_path == b"/v1/router/decisions/a%2Fb%20c/rewards"
    with pytest.raises(InvalidInput, match="not both"):
        client.reward("router", "a", {"cost": 1}, quality=1)
    for values in (0.9, "quality", [("quality", 1)]):
        with pytest.raises(InvalidInput, match="rewards are a mapping of objectives and values"):
            client.reward("router", "a", values)  # type: ignore[arg-type]
    for wrong in (None, "", 7):
        with pytest.raises(InvalidInput, match="a decision is what"):
            client.reward("router", wrong, quality=1)  # type: ignore[arg-type]


def test_many_at_once() -> None:
    machine = Machine(said({"decisions": [DECIDED, DECIDED]}), said({"rewards": [REWARDED]}))
    client = client_of(machine)
    decisions = client.decide_many("router", [{"n": 1}, {"n": 2}], allowed=["small"])
    assert decisions == [Decided("a", "small", 0.5, 7)] * 2
    assert client.reward_many("router", [(decisions[0], {"quality": 1}), ("b", {"cost": 2})])
    asked, told = machine.bodies()
    assert [row["context"] for row in asked["decisions"]] == [{"n": 1}, {"n": 2}]
    assert [row["allowed"] for row in asked["decisions"]] == [["small"]] * 2
    assert len({row["id"] for row in asked["decisions"]}) == 2
    assert told == {
        "rewards": [{"id": "a", "values": {"quality": 1}}, {"id": "b", "values": {"cost": 2}}]
    }
    with pytest.raises(InvalidInput, match="2 contexts and 1 id"):
        client.decide_many("router", [{}, {}], ids=["a"])
    with pytest.raises(InvalidInput, match="allowed must be a list, got 'small'"):
        client.decide_many("router", [{}], allowed="small")
    for wrong in (decisions[0], "ab", ("a", 0.9), ("a", {"cost": 1}, "b")):
        with pytest.raises(InvalidInput, match=r"rewards\[1\] must be a decision and its values, "):
            client.reward_many("router", [("a", {"cost": 1}), wrong])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="rewards must be a list"):
        client.reward_many("router", {"a": {"cost": 1}})  # type: ignore[dict-item]
    assert len(machine.seen) == 2


def test_numbers_of_numpy_are_sent_and_nan_is_not() -> None:
    import numpy as np

    machine = Machine(said(DECIDED))
    client = client_of(machine)
    client.decide("router", {"n": np.int64(3), "x": np.float32(0.5), "v": np.array([1.0, 2.0])})
    assert machine.bodies()[0]["context"] == {"n": 3, "x": 0.5, "v": [1.0, 2.0]}
    for wrong in (math.nan, math.inf, object()):
        with pytest.raises(InvalidInput, match="cannot be sent"):
            client.decide("router", {"n": wrong})
    assert len(machine.seen) == 1


def test_nan_is_refused_with_its_place() -> None:
    import numpy as np

    client = client_of(Machine(said(DECIDED)))
    told = ", and JSON has neither NaN nor Infinity; a value that is missing is left out"
    with pytest.raises(InvalidInput, match="JSON: context.tokens is nan" + told):
        client.decide("router", {"task": "code", "tokens": math.nan})
    with pytest.raises(InvalidInput, match=r"context\.v\[1\] is -inf" + told):
        client.decide("router", {"v": [1.0, -math.inf]})
    with pytest.raises(InvalidInput, match=r"context\.v is array\(\[ 1., nan\]\)" + told):
        client.decide("router", {"v": np.array([1.0, math.nan])})
    with pytest.raises(InvalidInput, match=r"rewards\[1\]\.values\.cost is inf" + told):
        client.reward_many("router", [("a", {"cost": 1.0}), ("b", {"cost": math.inf})])
    endless: dict[str, Any] = {"x": math.nan}
    endless["itself"] = endless
    with pytest.raises(InvalidInput, match="cannot be sent as JSON: Out of range"):
        client.decide("router", endless)


def test_arms() -> None:
    machine = Machine(said({"arms": [{"name": "small", "retired": False}]}), said({}))
    client = client_of(machine)
    assert client.arms("router")[0]["name"] == "small"
    client.add_arm("router", "new one", prior={"quality": 0.9}, weight=20)
    client.add_arm("router", "new one")
    client.retire_arm("router", "old/one")
    sent = [(request.method, request.url.raw_path.decode()) for request in machine.seen[1:]]
    put = ("PUT", "/v1/router/arms/new%20one")
    assert sent == [put, put, ("DELETE", "/v1/router/arms/old%2Fone")]
    assert json.loads(machine.seen[1].content) == {"prior": {"quality": 0.9}, "weight": 20}


def test_the_log_is_read_to_its_end() -> None:
    pages = {0: ([1, 4], 5), 5: ([], 9), 9: ([10], 10), 10: ([], 10)}

    def answer(request: httpx.Request) -> httpx.Response:
        seqs, then = pages[int(request.url.params["since"])]
        lines = "".join(f'{{"seq": {seq}}}\n' for seq in seqs)
        return httpx.Response(200, content=lines, headers={"Next-Since": str(then)})

    assert [event["seq"] for event in client_of(answer).log("router")] == [1, 4, 10]

    async def read() -> list[int]:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        return [e["seq"] async for e in AsyncClient("http://there", http=http).log("router", 5)]

    assert asyncio.run(read()) == [10]


def test_the_asynchronous_client_does_the_same(waits: list[float]) -> None:
    machine = Machine(httpx.ReadTimeout("slow"), problem(503, "busy"), said(DECIDED))

    async def use() -> Decided:
        http = httpx.AsyncClient(transport=httpx.MockTransport(machine))
        async with AsyncClient("http://there", http=http) as client:
            decision = await client.decide("router", {"n": 1})
            machine.answers = [problem(409, "told as 1 before")]
            with pytest.raises(Contradiction):
                await client.reward("router", decision, quality=1)
            return decision

    assert asyncio.run(use()).id == "a"
    assert len({request.content for request in machine.seen[:3]}) == 1
    assert len(waits) == 2


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Client) - public(AsyncClient) == {"outbox"}
    assert public(AsyncClient) <= public(Client)


@pytest.mark.parametrize("url", ["there:8080", "ftp://there", "", None])
def test_a_wrong_address_is_refused(url: Any) -> None:
    with pytest.raises(InvalidInput, match="http://"):
        Client(url)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        Client("http://there", timeout=0)
    with pytest.raises(InvalidInput, match="retries"):
        Client("http://there", retries=-1)
    with pytest.raises(InvalidInput, match="a name in an address"):
        client_of(Machine(said({}))).summary("")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("lxb_SECRET\n", "white space around it, such as a file's newline: use .strip()"),
        (" lxb_SECRET ", "white space around it"),
        ("", "this one is empty; give None"),
        ("lxb_SECRET\u00e4", "a character that is none of them"),
        ("lxb_SEC RET", "a character that is none of them"),
        (b"lxb_SECRET", "key must be a text, got bytes"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(
    kind: type, key: Any, reason: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        kind("http://there", key=key)
    assert reason in str(caught.value)
    assert "SEC" not in str(caught.value)


def test_a_password_in_the_address_is_not_shown() -> None:
    http = httpx.Client(transport=httpx.MockTransport(Machine(httpx.ConnectError("refused"))))
    client = Client("http://me:h@sh@there:81", http=http, retries=0)
    assert repr(client) == "<Client of http://me:***@there:81>"
    with pytest.raises(ServiceError, match=r"no answer from http://me:[*]{3}@there:81 in "):
        client.summary("router")
    assert repr(Client("https://there/a:b@c")) == "<Client of https://there/a:b@c>"
    with pytest.raises(InvalidInput, match=r"got 'ftp://me:[*]{3}@there'"):
        Client("ftp://me:hush@there")


def test_an_own_http_client_stays_open() -> None:
    http = httpx.Client(transport=httpx.MockTransport(Machine(said(DECIDED))))
    with Client("http://there", http=http) as client:
        client.decide("router", {})
    assert not http.is_closed
    with Client("http://there") as client:
        own = client._http
    assert own.is_closed


def test_the_package_brings_no_httpx() -> None:
    code = "import sys, lexbandit; print('httpx' in sys.modules, *dir(lexbandit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, *names = done.stdout.split()
    assert loaded == "False"
    extra = {"AsyncClient", "Client", "Undelivered"}
    assert extra <= set(names)
    assert not extra & set(lexbandit.__all__)
    assert lexbandit.Undelivered is Undelivered
