"""What somebody without a key, or with one of the lowest role, can do: nothing that lasts."""

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexbandit.service.http.access import hash_of
from lexbandit.service.http.server import LARGEST_HEAD, MOST_HEADERS
from service import attacks
from service.attacks import BODY, CHUNKS, DECISIONS, HOST, JSON, SMUGGLED, asked, healthy
from service.process import Service

MB = 1 << 20
BYE = b"Connection: close\r\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    with Service(folder, f"sqlite:{folder / 'log.db'}") as one:
        yield one


def attacked_by_heads(service: Service, connections: int, times: int) -> list[float]:
    """Return the memory before the attacks and after each, in MB."""
    if not attacks.room_for(connections):
        pytest.skip(f"the limit of open files is too low for {connections} connections")
    attacks.unfinished_heads(service.port, 50)  # what is allocated once is not a leak
    memory = [service.memory() / MB]
    for _ in range(times):
        attacks.unfinished_heads(service.port, connections)
        assert healthy(service.port)
        memory.append(service.memory() / MB)
    return memory


def test_unfinished_heads_leave_no_memory_behind(service: Service) -> None:
    before, *after = attacked_by_heads(service, 800, 3)
    assert after[-1] - before < 25, (before, after)


@pytest.mark.slow
def test_6000_unfinished_heads_four_times_leave_no_memory_behind(service: Service) -> None:
    before, *after = attacked_by_heads(service, 6000, 4)
    assert max(after) - before < 50, (before, after)


@pytest.mark.slow
def test_6000_heads_within_the_limit_leave_no_memory_behind(service: Service) -> None:
    """They stay until the time for a head is over; then the C library has what was freed."""
    if not attacks.room_for(6000):
        pytest.skip("the limit of open files is too low for 6,000 connections")
    before = service.memory() / MB
    for _ in range(2):
        attacks.unfinished_heads(service.port, 6000, size=15_000)
        assert healthy(service.port)  # it has read all of them by now
        end = time.monotonic() + 30
        while (more := service.memory() / MB - before) > 50 and time.monotonic() < end:
            time.sleep(0.2)
        assert more < 50


@pytest.mark.slow
def test_10000_idle_connections_keep_nobody_from_being_answered(service: Service) -> None:
    if not attacks.room_for(10_000):
        pytest.skip("the limit of open files is too low for 10,000 connections")
    before = service.memory() / MB
    idle = [attacks.connected(service.port) for _ in range(10_000)]
    try:
        assert healthy(service.port)
        assert service.memory() / MB - before < 250
    finally:
        for one in idle:
            one.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "drop"),
    [(b"GET /health HTTP/1.1\r\n" + HOST, b"X: y\r\n"), (b"G", b"E")],
    ids=["headers", "line"],
)
def test_heads_that_drip_are_closed(service: Service, begin: bytes, drop: bytes) -> None:
    assert attacks.dripped(service.port, begin, drop, 200, 40) == 200
    assert healthy(service.port)


@pytest.mark.slow
@pytest.mark.parametrize("fields", [b"Content-Length: 4000\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_bodies_that_drip_are_closed(service: Service, fields: bytes) -> None:
    begin = b"POST " + DECISIONS + b" HTTP/1.1\r\n" + HOST + JSON + fields + b"\r\n"
    drop = b" " if b"Length" in fields else b"1\r\n \r\n"
    assert attacks.dripped(service.port, begin, drop, 200, 90) == 200
    assert healthy(service.port)


@pytest.mark.parametrize("kind", SMUGGLED)
def test_a_length_that_can_be_understood_in_two_ways_is_refused(
    service: Service, kind: str
) -> None:
    head = b"POST " + DECISIONS + b" HTTP/1.1\r\n" + HOST + JSON + SMUGGLED[kind] + b"\r\n"
    inner = b"GET /v1 HTTP/1.1\r\n" + HOST + BYE + b"\r\n"
    answer = asked(service.port, head + BODY + inner)
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert b"application/problem+json" in answer


@pytest.mark.parametrize("kind", CHUNKS)
def test_chunks_that_can_be_understood_in_two_ways_are_refused(service: Service, kind: str) -> None:
    head = b"POST " + DECISIONS + b" HTTP/1.1\r\n" + HOST + JSON + b"Transfer-Encoding: chunked\r\n"
    inner = b"GET /v1 HTTP/1.1\r\n" + HOST + BYE + b"\r\n"
    answer = asked(service.port, head + b"\r\n" + CHUNKS[kind] + inner)
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET /health HTTP/1.1\r\n" + HOST + b"X: ", b"x" * MB),
        (b"GET /health HTTP/1.1\r\n" + HOST, b"X: y\r\n" * 100_000),
        (b"GET /health?", b"x" * MB),
        (b"POST " + DECISIONS + b" HTTP/1.1\r\n" + HOST + JSON
         + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X: y\r\n" * 100_000),
    ],
    ids=["one header", "many headers", "the URL", "trailers"],
)  # fmt: skip
def test_a_head_without_end_is_cut_off_and_costs_no_memory(
    service: Service, begin: bytes, part: bytes
) -> None:
    before, sent = service.memory(), 0
    with attacks.connected(service.port) as one:
        one.sendall(begin)
        try:
            while sent < 100 * MB:
                one.sendall(part)
                sent += len(part)
        except ConnectionError:
            pass
        attacks.said(one)
    assert sent < 20 * MB  # what the sockets hold is not the service's
    assert service.memory() - before < 8 * MB
    assert healthy(service.port)


def test_heads_of_16_kb_and_100_headers_are_answered_and_larger_ones_refused(
    service: Service,
) -> None:
    begin = b"GET /health HTTP/1.1\r\n" + HOST + BYE
    for head, status in (
        (begin + b"X: " + b"x" * (LARGEST_HEAD - 200), b"200"),
        (begin + b"X: " + b"x" * LARGEST_HEAD, b"431"),
        (begin + b"\r\n".join([b"X: y"] * (MOST_HEADERS - 2)), b"200"),
        (begin + b"\r\n".join([b"X: y"] * (MOST_HEADERS - 1)), b"431"),
    ):
        answer = asked(service.port, head + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
        if status == b"431":
            told = json.loads(answer.partition(b"\r\n\r\n")[2])
            assert told["type"] == "urn:lexbandit:head-too-large"


def test_requests_in_a_row_are_answered_in_order(service: Service) -> None:
    health = b"GET /health HTTP/1.1\r\n" + HOST
    ready = b"GET /ready HTTP/1.1\r\n" + HOST
    answer = asked(
        service.port, (health + b"\r\n" + ready + b"\r\n") * 300 + health + BYE + b"\r\n"
    )
    assert answer.count(b"HTTP/1.1 200") == 601
    states = [part.partition(b'"}')[0] for part in answer.split(b'"status":"')[1:]]
    assert states == [b"alive", b"ready"] * 300 + [b"alive"]


KEY = b"Authorization: Bearer low\r\n"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service whose only key may decide."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    variables = {"LEXBANDIT_KEY_LOW": f"decide:{hash_of('low')}"}
    with Service(folder, f"sqlite:{folder / 'log.db'}", variables=variables) as one:
        yield one


def sent(line: bytes, body: bytes = b"", more: bytes = b"") -> bytes:
    """Return a request with the key, after which the connection ends."""
    length = b"Content-Length: %d\r\n" % len(body)
    return line + b" HTTP/1.1\r\n" + HOST + KEY + JSON + more + BYE + length + b"\r\n" + body


def decision(context: bytes, more: bytes = b"") -> bytes:
    return sent(b"POST " + DECISIONS, b'{"context":' + context + more + b"}")


TRIED = {
    "a slash too many": (sent(b"GET //v1/router"), 404),
    "a path that goes up": (sent(b"GET /v1/router/../router"), 404),
    "dots that are encoded": (sent(b"GET /v1/%2e%2e/router"), 404),
    "letters that are encoded": (sent(b"POST /v1/router/%64ecisions", BODY), 404),
    "a file beside the pages": (sent(b"GET /dashboard/%2e%2e%2fpages.py"), 404),
    "a NUL in a path": (sent(b"POST " + DECISIONS + b"%00", BODY), 404),
    "a path that is not UTF-8": (sent(b"GET /v1/router/decisions/%ff"), 400),
    "another host's URL": (sent(b"GET http://evil.example/v1/router"), 403),
    "an asterisk": (sent(b"OPTIONS *"), 404),
    "TRACE": (sent(b"TRACE /health"), 405),
    "CONNECT": (sent(b"CONNECT localhost:80"), 400),
    "HTTP/2 by prior knowledge": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "another role's work": (sent(b"POST " + DECISIONS + b"/x/rewards", b'{"quality": 1}'), 403),
    "a packed body": (
        sent(b"POST " + DECISIONS, gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip\r\n"),
        415,
    ),
    "a length beyond 64 bits": (
        b"POST " + DECISIONS + b" HTTP/1.1\r\n" + HOST + KEY + b"Content-Length: " + b"9" * 30
        + b"\r\n\r\n",
        400,
    ),
    "lists in lists": (decision(b"[" * 40_000 + b"]" * 40_000), 400),
    "more lists in lists": (decision(b"[" * 100_000 + b"]" * 100_000), 413),
    "objects in objects": (decision(b'{"a":' * 40_000 + b"1" + b"}" * 40_000), 400),
    "more objects in objects": (decision(b'{"a":' * 60_000 + b"1" + b"}" * 60_000), 413),
    "a number of 401 digits": (decision(b'{"tokens":%b,"task":"code"}' % (b"9" * 401)), 400),
    "a number of a million digits": (decision(b'{"tokens":%b}' % (b"1" * 1_000_000)), 400),
    "a key twice, once in disguise": (decision(b'{"tokens":1,"t\\u006fkens":2}'), 400),
    "a category of a megabyte": (decision(b'{"tokens":1,"task":"%b"}' % (b"x" * MB)), 422),
    "a feature's name of a megabyte": (decision(b'{"tokens":1,"%b":1}' % (b"x" * MB)), 422),
    "half a character": (decision(b'{"tokens":1,"task":"\\ud800"}'), 400),
    "arms without end": (
        decision(b'{"tokens":1}', b',"allowed":[' + b'"small",' * 390_000 + b'"small"]'),
        422,
    ),
    "more arms than values": (
        decision(b'{"tokens":1}', b',"allowed":[' + b'"small",' * 400_000 + b'"small"]'),
        413,
    ),
    "an id like the service's own": (
        decision(b'{"tokens":1,"task":"code"}', b',"id":"__proto__"'),
        422,
    ),
    "a form of another site": (
        sent(b"POST /login", b"key=low", b"Origin: http://evil.example\r\n"), 403
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TRIED)
def test_a_key_of_the_lowest_role_gets_no_further(guarded: Service, what: str) -> None:
    request, status = TRIED[what]
    answer = asked(guarded.port, request)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:300]
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"application/problem+json" in answer
    assert b"Traceback" not in answer
    assert healthy(guarded.port)
