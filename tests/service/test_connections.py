"""A request's line and headers are bounded, on a real socket."""

import json
import socket
from collections.abc import Iterator

import pytest

from lexbandit.service.reading import LARGEST_HEAD
from service.process import Service

MB = 1 << 20


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("heads")
    with Service(folder, f"sqlite:{folder / 'log.db'}") as one:
        yield one


def connected(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def answer(one: socket.socket) -> bytes:
    """Return what is said until the connection ends; cut off by the other side is an end too."""
    said = b""
    try:
        while part := one.recv(65_536):
            said += part
    except ConnectionResetError:
        pass
    return said


def pushed(one: socket.socket, part: bytes, most: int) -> int:
    """Send a part again and again until the other side has had enough; returns how many bytes."""
    sent = 0
    try:
        while sent < most:
            one.sendall(part)
            sent += len(part)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * MB),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 100_000),
        (b"GET /health?", b"x" * MB),
        (b"POST /v1/router/decisions HTTP/1.1\r\nHost: localhost\r\n"
         b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 100_000),
    ],
    ids=["one header", "many headers", "the URL", "trailers"],
)  # fmt: skip
def test_a_head_without_end_is_cut_off_and_costs_no_memory(
    service: Service, begin: bytes, part: bytes
) -> None:
    before, used = service.memory(), service.processor_seconds()
    with connected(service) as one:
        one.sendall(begin)
        assert pushed(one, part, 100 * MB) < 20 * MB  # what the sockets hold is not the service's
        answer(one)
    assert service.memory() - before < 8 * MB
    assert service.processor_seconds() - used < 2
    with connected(service) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answer(one).startswith(b"HTTP/1.1 200")


def test_the_bound_is_exact_and_told(service: Service) -> None:
    begin = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: "
    for more, status in ((0, b"200"), (1, b"431")):
        for size in (1_000, 1_000_000):
            with connected(service) as one:
                fill = b"x" * (LARGEST_HEAD - len(begin) - 4 + more)
                whole = begin + fill + b"\r\n\r\n"
                assert len(whole) == LARGEST_HEAD + more
                for n in range(0, len(whole), size):
                    one.sendall(whole[n : n + size])
                said = answer(one)
                assert said.startswith(b"HTTP/1.1 " + status), (more, size, said[:200])
                if more:
                    told = json.loads(said.partition(b"\r\n\r\n")[2])
                    assert told["type"] == "urn:lexbandit:head-too-large"
                    assert "65,536 bytes" in told["detail"]


@pytest.mark.compiled  # 16,000 decisions
def test_bodies_and_requests_in_a_row_are_not_heads(service: Service) -> None:
    row = {"context": {"tokens": 10, "task": "code"}}
    body = json.dumps({"decisions": [row] * 8_000}).encode()
    assert len(body) > 4 * LARGEST_HEAD
    head = (
        b"POST /v1/router/decisions:batch HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    )
    with connected(service) as one:
        one.sendall(head % (len(body), b"") + body)
        one.sendall(
            head % (len(body), b"X: " + b"x" * 60_000 + b"\r\nConnection: close\r\n") + body
        )
        assert answer(one).count(b"HTTP/1.1 200") == 2
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    many = 3_000
    with connected(service) as one:
        one.sendall(health % b"" * many + health % b"Connection: close\r\n")
        assert answer(one).count(b"HTTP/1.1 200") == many + 1
