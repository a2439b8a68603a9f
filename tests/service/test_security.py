"""Keys for some points, keys read again, the audit log, ids that nobody guesses."""

import asyncio
import json
import logging
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexbandit.cli.main import status_of
from lexbandit.errors import InvalidInput
from lexbandit.service import logging as service_logging
from lexbandit.service.config.file import read_config
from lexbandit.service.engine.point import fresh_ids
from lexbandit.service.http.access import ApiKey, Keys, hash_of, keys_in_environment, keys_in_file
from lexbandit.service.logging import audit, set_up_logging
from lexbandit.service.process import Reloading, changes, tls_of
from service.http import CONTEXT, bearer, detail_of, key, served
from service.process import COMMAND, free_port
from service.test_server import environment

READS = (
    "/v1/router", "/v1/router/summary", "/v1/router/log", "/v1/router/history", "/v1/router/recent",
)  # fmt: skip


def only(name: str, point: str, *roles: Any) -> ApiKey:
    """Return a key for one point."""
    whole = key(name, *roles)
    return ApiKey(name, whole.roles, whole.digest, points=frozenset({point}))


def test_a_key_for_a_point_is_for_nothing_else(tmp_path: Path) -> None:
    keys = [only("ours", "router", "admin"), only("theirs", "pricing", "admin"), key("all", "read")]

    async def run() -> None:
        async with served(tmp_path, keys) as s:
            ask = s.http.get
            for path in READS:
                assert (await ask(path, headers=bearer("ours"))).status_code == 200, path
                told = detail_of(await ask(path, headers=bearer("theirs")), 403)
                assert told == "not for 'router'; the key 'theirs' is for: pricing."
                # What there is not, and what is not theirs, look the same.
                other = path.replace("router", "nothing")
                assert (await ask(other, headers=bearer("ours"))).status_code == 403
            for path in ("/v1", "/metrics", "/openapi.json"):  # they show all points
                assert (await ask(path, headers=bearer("all"))).status_code == 200
                told = detail_of(await ask(path, headers=bearer("ours")), 403)
                assert told == "this concerns all decision points; the key 'ours' is for: router."
            body = {"context": CONTEXT}
            place = "/v1/router/decisions"
            assert (await s.http.post(place, json=body, headers=bearer("ours"))).status_code == 200
            assert (
                await s.http.post(place, json=body, headers=bearer("theirs"))
            ).status_code == 403
            put = await s.http.put("/v1/router/arms/new", headers=bearer("theirs"))
            assert put.status_code == 403

    asyncio.run(run())


def test_a_key_for_a_point_is_told_that_it_cannot_sign_in(tmp_path: Path) -> None:
    """The page shows all points: it led back to where the key is typed, without a word."""

    async def run() -> None:
        async with served(tmp_path, [only("ours", "router", "read")]) as s:
            told = await s.http.post("/login", data={"key": "secret-ours"})
            assert told.status_code == 403
            assert "may not read all decision points" in told.text
            assert "set-cookie" not in told.headers

    asyncio.run(run())


def test_points_of_keys_are_made_read_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "keys.toml"
    made = ["key", "web", "--role", "decide", "--point", "router", "--to", str(place)]
    assert status_of(made) == 0
    assert keys_in_file(place)[0].points == frozenset({"router"})
    capsys.readouterr()
    assert status_of(["key", "web", "--role", "decide", "--point", "a", "--point", "b"]) == 0
    line = capsys.readouterr().err.partition('LEXBANDIT_KEY_WEB="')[2].partition('"')[0]
    assert line.startswith("decide@a,b:")
    assert keys_in_environment({"LEXBANDIT_KEY_WEB": line})[0].points == frozenset({"a", "b"})
    config = tmp_path / "service.toml"
    config.write_text(
        '[service]\nkeys = "keys.toml"\n[points.routr]\narms = ["a", "b"]\n'
        'objectives = [{ name = "q" }]\n'
    )
    with pytest.raises(InvalidInput, match="decision point of the key 'web': 'router'; did you"):
        read_config(config, {})
    for wrong in ("[]", '"router"', '["a b"]'):
        place.write_text(f'[[keys]]\nname = "x"\nroles = ["read"]\nsha256 = ""\npoints = {wrong}\n')
        with pytest.raises(InvalidInput, match="point"):
            keys_in_file(place)


CONFIG = """
[service]
keys = "keys.toml"
audit_log = "audit.log"
log_format = "json"
port = {port}

[points.router]
arms = ["a", "b"]
objectives = [{{ name = "quality" }}]
context = [{{ kind = "flag", name = "x" }}]
"""


def write_keys(folder: Path, **keys: str) -> None:
    """Write a file of keys: by name, the roles."""
    (folder / "keys.toml").write_text(
        "".join(
            f'[[keys]]\nname = "{name}"\nroles = ["{role}"]\nsha256 = "{hash_of("s-" + name)}"\n'
            for name, role in keys.items()
        )
    )


def soon(right: Callable[[], bool]) -> None:
    """Wait until something is so."""
    for _ in range(3600):  # a service that has to compile takes a minute or more to start
        if right():
            return
        time.sleep(0.05)
    raise AssertionError("it did not become so")


def test_keys_are_read_again_and_what_happened_is_in_the_audit_log(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "service.toml").write_text(CONFIG.format(port=port))
    write_keys(tmp_path, old="admin", gone="read")
    said = tmp_path / "said.txt"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "serve", str(tmp_path / "service.toml")],
            stdout=output,
            stderr=output,
            env={**environment(tmp_path), "LEXBANDIT_PORT": str(port)},
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as http:

            def status(name: str, path: str = "/v1", method: str = "GET") -> int:
                headers = {"Authorization": f"Bearer s-{name}", "X-Request-Id": f"by-{name}"}
                return http.request(method, path, headers=headers).status_code

            def serves() -> bool:
                assert process.poll() is None, said.read_text()
                try:
                    return http.get("/ready").status_code == 200
                except httpx.TransportError:
                    return False

            soon(serves)
            assert [status("old"), status("gone"), status("new")] == [200, 200, 401]
            numbers = http.get("/metrics", headers={"Authorization": "Bearer s-old"}).text
            # One, or more where a slow start let the client give up on earlier ones.
            assert re.search(r"^lexbandit_connections [1-9]", numbers, re.MULTILINE)
            write_keys(tmp_path, old="admin", new="read")
            process.send_signal(signal.SIGHUP)
            soon(lambda: status("new") == 200)
            assert [status("old"), status("gone")] == [200, 401]
            assert status("old", "/v1/router/arms/c", "PUT") == 201
            assert status("new", "/v1/router/arms/d", "PUT") == 403
            assert status("old", "/v1/router/arms/c", "DELETE") == 200
            (tmp_path / "keys.toml").write_text("nonsense")
            process.send_signal(signal.SIGHUP)
            soon(lambda: "all goes on as before" in said.read_text())
            assert [status("old"), status("new")] == [200, 200]
        listed = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"s-old" not in listed
        assert hash_of("s-old").encode() not in listed
    finally:
        process.terminate()
        assert process.wait(60) == 0
    place = tmp_path / "audit.log"
    assert place.stat().st_mode & 0o777 == 0o600
    assert "s-old" not in place.read_text() + said.read_text()
    lines = [json.loads(line) for line in place.read_text().splitlines()]
    told = [(line["event"], line.get("who")) for line in lines]
    assert told[0] == ("started", "operator")
    assert lines[0]["keys"] == ["gone", "old"]
    for event in (
        ("keys read", "SIGHUP"), ("PUT /v1/{point}/arms/{arm}", "old"), ("refused", "new"),
        ("DELETE /v1/{point}/arms/{arm}", "old"), ("refused", None), ("reload refused", "SIGHUP"),
    ):  # fmt: skip
        assert event in told
    read = next(line for line in lines if line["event"] == "keys read")
    assert (read["added"], read["removed"], read["changed"]) == (["new"], ["gone"], [])
    put = next(line for line in lines if line["event"].startswith("PUT"))
    assert (put["point"], put["arm"], put["request_id"]) == ("router", "c", "by-old")
    assert put["time"][-6] in "+-"  # with its time zone


def test_a_key_that_changed_is_told_and_its_sessions_end() -> None:
    before, after = Keys([key("a", "read"), key("b", "read")]), key("a", "read", "decide")
    old = before.by_name
    before.replace([after])
    assert changes(old, before.by_name) == {"added": [], "removed": ["b"], "changed": ["a"]}
    with pytest.raises(InvalidInput, match="two API keys"):
        before.replace([after, after])
    assert list(before.by_name) == ["a"]


def certificate(folder: Path, name: str) -> None:
    """Make a certificate for a name, in the files that the configuration has."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip


def test_a_certificate_is_read_again_for_the_next_handshake(tmp_path: Path) -> None:
    certificate(tmp_path, "first")
    write_keys(tmp_path, old="admin")
    tls = 'tls_cert = "cert.pem"\ntls_key = "key.pem"\nport ='
    (tmp_path / "service.toml").write_text(CONFIG.replace("port =", tls).format(port=0))
    config = read_config(tmp_path / "service.toml", {})
    context = tls_of(config)
    assert context is not None
    reloading = Reloading(config, lambda: read_config(tmp_path / "service.toml", {}), None, context)
    assert shown(context) == (tmp_path / "cert.pem").read_text()
    certificate(tmp_path, "second")
    reloading()
    second = (tmp_path / "cert.pem").read_text()
    assert shown(context) == second
    (tmp_path / "key.pem").write_text("nonsense")
    reloading()
    assert shown(context) == second


def shown(context: ssl.SSLContext) -> str:
    """Return the certificate that a handshake shows."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(there, back, server_side=True)
    caller = client.wrap_bio(back, there)
    for _ in range(4):
        for side in (caller, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    found = caller.getpeercert(binary_form=True)
    assert found is not None
    return ssl.DER_cert_to_PEM_cert(found)


def test_refusals_are_written_but_cannot_fill_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those of tests before it, in the same second, do not count here.
    monkeypatch.setattr(service_logging, "_refusals", service_logging._Refusals())

    async def run() -> None:
        async with served(tmp_path, [key("one", "decide")]) as s:
            for _ in range(200):
                await s.http.get("/v1", headers={"Authorization": "Bearer guessed-secret"})
            await s.http.get("/v1", headers=bearer("one"))
            await s.http.post("/login", data={"key": "guessed-secret"})
            begin = time.monotonic()
            while time.monotonic() < begin + 1.1:
                await asyncio.sleep(0.1)
            await s.http.get("/v1", headers=bearer("one"))

    with caplog.at_level(logging.INFO, "lexbandit.audit"):
        asyncio.run(run())
    lines = [record.getMessage() for record in caplog.records if record.name == "lexbandit.audit"]
    assert 10 <= len(lines) < 60
    assert any('why="more in one second" count=' in line for line in lines)
    assert 'who="one" why="the key does not have the role" role="read"' in lines[-1]
    assert "guessed" not in caplog.text


def test_ready_tells_why_to_readers_only(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, [key("one", "decide"), key("two", "read")]) as s:
            s.engine.journal.trouble = "the file /var/lib/secret-place/log.db is full"
            for headers in ({}, bearer("one"), {"Authorization": "Bearer wrong"}):
                told = await s.http.get("/ready", headers=headers)
                assert "secret-place" not in detail_of(told, 503)
            told = await s.http.get("/ready", headers=bearer("two"))
            assert "secret-place" in detail_of(told, 503)
            s.engine.journal.trouble = None
            s.engine.replay_progress["router"] = 0.5  # names of points are for readers, too
            assert "router" not in (await s.http.get("/ready")).text
            assert "router" in (await s.http.get("/ready", headers=bearer("two"))).text

    asyncio.run(run())


def test_ids_of_decisions_are_random() -> None:
    ids = fresh_ids()
    drawn = [next(ids) for _ in range(5000)]
    assert len(set(drawn)) == 5000
    assert all(id.startswith("_") and len(id) == 17 for id in drawn)
    # Every character takes its 64 values about as often: none is a counter or the process's name.
    for place in range(1, 17):
        assert len({id[place] for id in drawn}) == 64


def test_json_logs_have_zone_and_request_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            set_up_logging("debug", "json")
            reply = await s.http.get("/v1", headers={"X-Request-Id": "order-7"})
            assert reply.headers["x-request-id"] == "order-7"
            odd = await s.http.get("/v1", headers={"X-Request-Id": 'x" y'})
            assert len(odd.headers["x-request-id"]) == 16

    asyncio.run(run())
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    line = next(line for line in lines if line.get("request_id") == "order-7")
    assert line["logger"] == "lexbandit.service.access"
    assert line["level"] == "debug"
    assert "status=200" in line["message"]
    assert line["time"][-6] in "+-"


def test_the_audit_file_has_all_whatever_the_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "audit.log"
    set_up_logging("warning", "plain", place)
    audit("tried", "somebody", why="a test")
    assert capsys.readouterr().err == ""
    assert place.read_text().endswith('event="tried" who="somebody" why="a test"\n')
    set_up_logging("info")
    audit("tried", "again")
    assert 'who="again"' in capsys.readouterr().err
    assert "again" not in place.read_text()
