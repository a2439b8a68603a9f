"""A proxy that loses answers: the service did what was asked, and nobody is told."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class LosingProxy:
    """Forwards requests to a port; of the answers it loses the next `to_lose`."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.to_lose = 0
        self.lost = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with _closed(client), _closed(socket.create_connection(("127.0.0.1", self.target))) as up:
            while request := _message(client):
                up.sendall(request)
                answer = _message(up)
                with self._lock:
                    lose = self.to_lose > 0
                    self.to_lose -= lose
                    self.lost += lose
                if lose or not answer:
                    return
                client.sendall(answer)


def _message(connection: socket.socket) -> bytes:
    """Return the next whole message of HTTP/1.1; empty at the end."""
    got = b""
    while b"\r\n\r\n" not in got:
        if not (more := connection.recv(65536)):
            return b""
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    size = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            size = int(line.partition(b":")[2])
    while len(body) < size:
        if not (more := connection.recv(65536)):
            return b""
        body += more
    return head + b"\r\n\r\n" + body


@contextmanager
def _closed(connection: socket.socket) -> Iterator[socket.socket]:
    try:
        yield connection
    finally:
        connection.close()
