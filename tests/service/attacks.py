"""Attacks on an HTTP server on loopback, by raw sockets: what they send, and what came back."""

import contextlib
import resource
import selectors
import socket
import time

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
DECISIONS = b"/v1/router/decisions"
BODY = b'{"context": {"tokens": 10, "task": "code"}}'

# What two servers could understand differently: the second part would be a request to one of them,
# and a body to the other. Each is one request to be refused, or one that is answered alone.
SMUGGLED = {
    "two lengths": b"Content-Length: 43\r\nContent-Length: 5\r\n",
    "a length twice": b"Content-Length: 43\r\nContent-Length: 43\r\n",
    "lengths in a list": b"Content-Length: 43, 43\r\n",
    "a length with a sign": b"Content-Length: +43\r\n",
    "a length in hexadecimal": b"Content-Length: 0x2b\r\n",
    "a length and chunks": b"Content-Length: 43\r\nTransfer-Encoding: chunked\r\n",
    "chunks that are not last": b"Transfer-Encoding: chunked, identity\r\n",
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "a coding nobody knows": b"Transfer-Encoding: xchunked\r\nContent-Length: 43\r\n",
    "a folded line": b"X: a\r\n Content-Length: 5\r\nContent-Length: 43\r\n",
    "a blank before the colon": b"Content-Length : 43\r\n",
    "a line that ends in LF": b"X: a\nContent-Length: 43\r\n",
    "a CR alone": b"X: a\rContent-Length: 5\r\nContent-Length: 43\r\n",
    "a NUL": b"X: a\x00b\r\nContent-Length: 43\r\n",
    "two hosts": HOST + b"Content-Length: 43\r\n",
}
CHUNKS = {
    "a size that is no number": b"zz\r\n",
    "a size with a sign": b"+2\r\n{}\r\n0\r\n\r\n",
    "a size in 17 digits": b"f" * 17 + b"\r\n{}",
    "a chunk longer than its size": b"2\r\n{}xx\r\n0\r\n\r\n",
    "a size that ends in LF": b"2\n{}\r\n0\r\n\r\n",
}


def room_for(sockets: int) -> bool:
    """Raise this process's limit of open files to what so many sockets need, if it may."""
    wanted = sockets + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard >= wanted):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def said(one: socket.socket) -> bytes:
    """Return what the server says until it ends the connection, by whichever way."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while part := one.recv(65_536):
            heard += part
    return heard


def asked(port: int, data: bytes) -> bytes:
    """Send bytes; returns all that the server says until it closes."""
    with connected(port) as one:
        with contextlib.suppress(ConnectionError):
            one.sendall(data)
        return said(one)


def healthy(port: int, within: float = 10.0) -> bool:
    """Tell whether the service still answers."""
    began = time.monotonic()
    answer = asked(port, b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    return answer.startswith(b"HTTP/1.1 200") and time.monotonic() - began < within


def unfinished_heads(port: int, connections: int, size: int = 63_000) -> None:
    """Open connections, send a head that has no end on each, and close all of them."""
    head = (b"GET /health HTTP/1.1\r\n" + HOST + b"X: ").ljust(size, b"x")
    opened = []
    try:
        for _ in range(connections):
            one = connected(port)
            opened.append(one)
            with contextlib.suppress(ConnectionError):
                one.sendall(head)
    finally:
        for one in opened:
            one.close()


def dripped(port: int, begin: bytes, drop: bytes, connections: int, seconds: float) -> int:
    """Send a drop a second on each connection; returns how many the server closed in that time."""
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        one = connected(port)
        one.sendall(begin)
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
    closed, end, next_drop = 0, time.monotonic() + seconds, 0.0
    while selector.get_map() and time.monotonic() < end:
        for key, _ in selector.select(0.2):
            caller = key.fileobj
            assert isinstance(caller, socket.socket)
            try:
                over = caller.recv(65_536) == b""
            except ConnectionError:
                over = True
            if over:
                closed += 1
                selector.unregister(caller)
                caller.close()
        if time.monotonic() >= next_drop:
            next_drop = time.monotonic() + 1
            for key in [*selector.get_map().values()]:
                with contextlib.suppress(OSError):
                    key.fileobj.send(drop)  # type: ignore[union-attr]
    for key in [*selector.get_map().values()]:
        key.fileobj.close()  # type: ignore[union-attr]
    return closed
