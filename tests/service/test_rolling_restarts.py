"""Replicas behind the documented nginx, restarted one after the other: no request fails."""

import asyncio
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from lexbandit.service.http.access import hash_of
from service.process import Service, free_port
from service.real_postgres import Postgres

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
DECISION = b'{"context": {"tokens": 10, "task": "code"}}'
SECRET = "lxb_rolling"
AUTH = {"Authorization": f"Bearer {SECRET}"}
VARIABLES = {"LEXBANDIT_DRAIN": "1", "LEXBANDIT_KEY_ALL": f"admin:{hash_of(SECRET)}"}
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


def documented() -> str:
    """Return the configuration of the operator's page."""
    pattern = r"Behind nginx, inside its `http`:\n\n<!-- file -->\n\n((?:    .*\n|\n)+)"
    block = re.search(pattern, PAGE.read_text())
    assert block is not None
    return block[1]


@contextmanager
def proxied(folder: Path, replicas: list[int]) -> Iterator[int]:
    """Run the documented nginx before replicas; returns its port. TLS is left to other tests."""
    if NGINX is None:
        pytest.skip("there is no nginx here: install Debian's package")
    port = free_port()
    servers = "\n".join(f"server 127.0.0.1:{one} max_fails=0;" for one in replicas)
    inside, replaced = re.subn(r"server 127\.0\.0\.1:8080 max_fails=0;", servers, documented())
    assert replaced == 1
    inside, replaced = re.subn(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", inside)
    assert replaced == 1
    inside, replaced = re.subn(r" +ssl_certificate.*\n", "", inside)
    assert replaced == 2
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log info;\n"
        "worker_processes 1; events { worker_connections 2048; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; "
        f"proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fcgi; "
        f"uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n{inside}}}\n"
    )
    process = subprocess.Popen(
        [
            NGINX,
            "-p",
            str(folder),
            "-c",
            str(folder / "nginx.conf"),
            "-e",
            str(folder / "error.log"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                httpx.get(f"http://127.0.0.1:{port}/ready").raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.05)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


async def asked(port: int, connections: int, enough: asyncio.Event) -> Counter[str]:
    """Ask for decisions on kept connections until it is enough; returns how it ended, by status."""
    ended: Counter[str] = Counter()
    head = b"POST /v1/router/decisions HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: {AUTH['Authorization']}\r\n".encode()
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(DECISION)

    async def caller() -> None:
        reader = writer = None
        while not enough.is_set():
            try:
                if reader is None or writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head + DECISION)
                async with asyncio.timeout(30):
                    answer = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"content-length: (\d+)", answer.lower())
                    await reader.readexactly(int(length[1]) if length else 0)
                ended[answer[9:12].decode()] += 1
                if b"connection: close" in answer.lower():
                    writer.close()
                    reader = writer = None
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                ended[type(error).__name__] += 1
                reader = writer = None
        if writer is not None:
            writer.close()

    await asyncio.gather(*(caller() for _ in range(connections)))
    return ended


def restarted_under_load(folder: Path, postgres: Postgres, rounds: int, least: int) -> None:
    url = postgres.new_schema()
    places = [folder / name for name in ("one", "two", "nginx")]
    for place in places:
        place.mkdir()
    with (
        Service(places[0], url, variables=VARIABLES) as one,
        Service(places[1], url, variables=VARIABLES) as two,
    ):

        def kept() -> int:
            summary = httpx.get(f"{one.url}/v1/router/summary", headers=AUTH)
            return int(summary.raise_for_status().json()["counts"]["decisions"])

        async def run(port: int) -> Counter[str]:
            enough = asyncio.Event()
            asking = asyncio.create_task(asked(port, 16, enough))
            for _ in range(rounds):
                for replica in (one, two):
                    await asyncio.sleep(0.5)
                    assert await asyncio.to_thread(replica.terminate) == 0
                    await asyncio.to_thread(replica.start)
            async with asyncio.timeout(60 + least / 100):
                while await asyncio.to_thread(kept) < least and not asking.done():
                    await asyncio.sleep(0.2)
            enough.set()
            return await asking

        with proxied(places[2], [one.port, two.port]) as port:
            ended = asyncio.run(run(port))
        assert set(ended) == {"200"}, (ended, (places[2] / "error.log").read_text()[-2000:])
        assert ended["200"] >= least
        assert kept() >= ended["200"] - 100  # a replica follows the log of the other


def test_no_request_fails_while_replicas_are_restarted(tmp_path: Path, postgres: Postgres) -> None:
    restarted_under_load(tmp_path, postgres, rounds=1, least=1000)


@pytest.mark.slow
def test_no_request_of_60000_fails_while_replicas_are_restarted(
    tmp_path: Path, postgres: Postgres
) -> None:
    restarted_under_load(tmp_path, postgres, rounds=5, least=60_000)
