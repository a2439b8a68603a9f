"""The process: it says where it serves, keeps secrets, speaks TLS, and ends when it is told to."""

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from lexbandit import Client, ServiceError
from lexbandit._internal.caches import cache_root
from lexbandit.cli.serve import _welcome, sample
from lexbandit.errors import without_password
from lexbandit.service.config.file import read_config
from lexbandit.service.http.access import hash_of

SECRET = "lxb_a-key-that-nobody-may-read"
DECIDE = {"context": {"prompt_tokens": 10, "task": "code"}}
AUTH = {"Authorization": f"Bearer {SECRET}"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from lexbandit.cli import main; main()", *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    storage = {"LEXBANDIT_STORAGE": f"sqlite:{folder / 'log.db'}", "LEXBANDIT_PORT": "0"}
    return {**os.environ, **storage, **more}


class Process:
    """`lexbandit serve` on the sample."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        self.log = folder / "said.txt"
        self.output = self.log.open("wb")
        self.process = subprocess.Popen(
            command("serve", str(sample()), *arguments),
            env=environment(folder, **variables),
            stdout=self.output,
            stderr=self.output,
        )

    def url(self) -> str:
        """Wait until it says where it serves."""
        for _ in range(6000):
            found = re.search(r"at (https?://\S+:\d+)\n", self.said)
            if found:
                return found[1]
            assert self.process.poll() is None, self.said
            time.sleep(0.05)
        raise AssertionError(self.said)

    @property
    def said(self) -> str:
        return self.log.read_text()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


@contextlib.contextmanager
def running(folder: Path, *arguments: str, **variables: str) -> Iterator[Process]:
    process = Process(folder, *arguments, **variables)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait(30)
        process.output.close()


def test_it_serves_keeps_its_secrets_and_finds_everything_again(tmp_path: Path) -> None:
    key = {"LEXBANDIT_KEY_ALL": f"admin:{hash_of(SECRET)}"}
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(cache_root())}
    with running(tmp_path, "--log-level", "debug", **key, **cache) as process:
        url = process.url()
        assert f"dashboard  {url}/" in process.said
        assert f"curl {url}/v1/router" in process.said
        with httpx.Client(base_url=url, headers=AUTH) as http:
            made = http.post("/v1/router/decisions", json={**DECIDE, "id": "a"}).json()
            http.post("/login", data={"key": SECRET})
            http.get("/v1/router", headers={"Authorization": "Bearer wrong-secret"})
            host, port = url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), 20) as raw:
                raw.sendall(b"no request\r\n\r\n")
                assert raw.recv(100).startswith(b"HTTP/1.1 400 ")
            unread = 'lexbandit_requests_total{method="unread",route="unread",status="400"} 1.0'
            assert unread in http.get("/metrics").text
            second = subprocess.run(
                command("serve", str(sample()), "--no-auth"),
                env=environment(tmp_path),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert second.returncode == 1
            assert re.fullmatch(r"error: .*log\.db is in use by another process.*\n", second.stderr)
        # The charts' script is ready before anybody asks for it.
        deadline = time.monotonic() + 240
        while not [*(tmp_path / "cache").rglob("vega-*.js.gz")]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert process.end() == 0
        assert "status=401" in process.said  # it does log requests
        assert "method=unread route=unread status=400" in process.said
        assert SECRET not in process.said
        assert "wrong-secret" not in process.said
        assert "Traceback" not in process.said
    with running(tmp_path, **key) as process:
        with httpx.Client(base_url=process.url(), headers=AUTH) as http:
            assert http.post("/v1/router/decisions", json={**DECIDE, "id": "a"}).json() == made
            assert http.get("/v1/router/summary").json()["decisions"] == 1
        assert "found router: 2 events, 1 decision, 0 rewards" in process.said
        assert re.search(r"log +router: \d events, 1 decision, 0 rewards\n", process.said)
        assert process.end(signal.SIGINT) == 0


def test_a_renamed_feature_starts_only_when_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, "--no-auth") as process:
        httpx.post(f"{process.url()}/v1/router/decisions", json=DECIDE).raise_for_status()
        assert process.end() == 0
    changed = tmp_path / "changed.toml"
    changed.write_text(sample().read_text().replace('"prompt_tokens"', '"tokens"'))
    refused = subprocess.run(
        command("serve", str(changed), "--no-auth"),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 1
    assert "error: router: 1 decisions and rewards of the log do not fit" in refused.stderr
    assert "--skip-untaken" in refused.stderr
    monkeypatch.setattr(sys.modules[__name__], "sample", lambda: changed)
    with running(tmp_path, "--no-auth", "--skip-untaken") as process:
        assert process.url()
        assert "found router: 2 events, 0 decisions" in process.said
        assert process.end() == 0


def test_sigterm_answers_what_is_under_way(tmp_path: Path) -> None:
    """Requests that were sent before it are answered after it; the log has exactly those."""
    with running(tmp_path, "--no-auth") as process:
        url = process.url()
        acknowledged: list[str] = []
        under_way = threading.Event()

        def ask() -> None:
            with httpx.Client(base_url=url) as http, contextlib.suppress(httpx.TransportError):
                while True:
                    reply = http.post("/v1/router/decisions", json=DECIDE)
                    assert reply.status_code == 200
                    acknowledged.append(reply.json()["id"])
                    under_way.set()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        body = json.dumps(DECIDE).encode()
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 30) as slow:
            head = f"POST /v1/router/decisions HTTP/1.1\r\nHost: {host}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            slow.sendall(head.encode() + body[:5])
            for thread in threads:
                thread.start()
            assert under_way.wait(20)
            process.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert process.process.poll() is None  # it waits for the rest of the request
            slow.sendall(body[5:])
            answer = b""
            while part := slow.recv(4096):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200")
        acknowledged.append(json.loads(answer.partition(b"\r\n\r\n")[2])["id"])
        assert process.process.wait(30) == 0
        for thread in threads:
            thread.join(10)
    with running(tmp_path, "--no-auth") as process, httpx.Client(base_url=process.url()) as http:
        kept = http.get("/v1/router/log?limit=10000").text.splitlines()
    rows = [row["id"] for line in kept for row in json.loads(line).get("rows", [])]
    assert len(rows) == len(set(rows))
    assert set(acknowledged) <= set(rows)


def test_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key),
         "-out", str(cert)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("there is no openssl to make a certificate with")
    auth = {"LEXBANDIT_KEY_ALL": f"read:{hash_of(SECRET)}"}
    with running(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key), **auth) as process:
        url = process.url()
        assert url.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=url, verify=context) as http:
            assert http.get("/ready").json() == {"status": "ready"}
            cookie = http.post("/login", data={"key": SECRET}).headers["set-cookie"]
            assert "; Secure" in cookie
        hint = httpx.get(url.replace("https", "http"))
        assert (hint.status_code, hint.headers["connection"]) == (400, "close")
        assert "begins with https://" in hint.text
        told = "begins with https://"
        plain = Client(url.replace("https", "http"), SECRET, retries=0)
        with plain, pytest.raises(ServiceError, match=told):
            plain.summary("router")
        assert process.end() == 0


def test_tls_files_that_cannot_be_used_are_one_clear_line(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text("no certificate")
    key.write_text("no key")
    with running(tmp_path, "--no-auth", "--tls-cert", str(cert), "--tls-key", str(key)) as process:
        assert process.process.wait(60) == 1
        assert process.said.startswith(f"error: tls_cert {str(cert)!r} and tls_key")
        assert not (tmp_path / "log.db").exists()


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with running(tmp_path, "--no-auth", "--port", port) as process:
            assert process.process.wait(60) == 1
            assert process.said.startswith(f"error: 127.0.0.1:{port} cannot be served")
            assert not (tmp_path / "log.db").exists()


@pytest.mark.parametrize(
    ("package", "extra", "verb"),
    [
        ("uvicorn", "service", "['serve', SAMPLE, '--no-auth']"),
        ("asyncpg", "postgres", "['serve', SAMPLE, '--no-auth', '--storage', 'postgresql://db/x']"),
        ("asyncpg", "postgres", "['export', 'a', '--to', 'a.csv', '--storage', 'postgres://db/x']"),
    ],
)
def test_without_an_extra_it_is_said_how_to_get_it(package: str, extra: str, verb: str) -> None:
    code = (
        f"import sys; SAMPLE = {str(sample())!r}; sys.modules[{package!r}] = None;"
        f"from lexbandit.cli import main; main({verb})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert f"pip install 'lexbandit[{extra}]'" in done.stderr


def test_the_command_line_loads_the_service_only_to_serve() -> None:
    code = (
        "import sys; from lexbandit.cli.main import status_of; status_of(['serve', '--help']);"
        "print({'uvicorn', 'starlette', 'msgspec', 'polars', 'numba'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.endswith("set()\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at postgresql://me:hush@db:5432/x?a=b", "at postgresql://me:***@db:5432/x?a=b"),
        ("postgres://:hush@db", "postgres://:***@db"),
        ("postgresql://me:h:u%40sh@db and postgres://a:b@c", "postgresql://me:***@db and postgres://a:***@c"),
        ("postgresql://db/x at 12:30 by a@b.example", "postgresql://db/x at 12:30 by a@b.example"),
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("postgresql://me:p@hush@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me:hu/s?h#@db/x", "postgresql://me:***@db/x"),
        ("http://there:8080/v1/x@y", "http://there:8080/v1/x@y"),
        ("postgresql://db:1?a=b@c", "postgresql://db:1?a=b@c"),
        ("postgresql://db/x?user=u&password=hush", "postgresql://db/x?user=u&password=***"),
        ("postgres://d/x?sslPassword=hu%20sh&a=b no", "postgres://d/x?sslPassword=***&a=b no"),
        ("postgresql:///x?p%61ssword=hush and more", "postgresql:///x?p%61ssword=*** and more"),
    ],
)  # fmt: skip
def test_passwords_of_urls_are_not_shown(text: str, shown: str) -> None:
    assert without_password(text) == shown


def test_a_logged_line_has_no_password() -> None:
    code = (
        "import logging; from lexbandit.service.logging import set_up_logging;"
        "set_up_logging('info');"
        "logging.getLogger('lexbandit.service').info('at %s', 'postgresql://me:hush@db/x')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.endswith("INFO lexbandit.service at postgresql://me:***@db/x\n")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hush@127.0.0.1:1/none",
        "postgresql://127.0.0.1:1/none?user=me&password=hush",
        "postgresql://127.0.0.1:1/none?user=me&password=hush&unknown=1",
        "postgresql://127.0.0.1:port/none?user=me&password=hush",
    ],
)
def test_what_is_said_of_a_storage_has_no_password(tmp_path: Path, url: str) -> None:
    variables: dict[str, Any] = {"LEXBANDIT_STORAGE": url}
    with running(tmp_path, "--no-auth", **variables) as process:
        assert process.process.wait(90) == 1
        assert "hush" not in process.said
        assert process.said.count("error:") == 1


def test_what_is_said_at_the_start_has_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://db/x?user=me&password=hush"
    config = read_config(sample(), {"LEXBANDIT_STORAGE": url})
    engine: Any = SimpleNamespace(points={})
    _welcome("http://127.0.0.1:1", config, engine, no_auth=True)
    said = capsys.readouterr().err
    assert "storage    postgresql://db/x?user=me&password=***\n" in said
