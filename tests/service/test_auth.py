"""Who is let in: keys, roles, sessions, limits, and nobody by another name."""

import asyncio
import dataclasses
import hashlib
import re
import stat
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lexbandit.cli.main import status_of
from lexbandit.errors import InvalidInput
from lexbandit.service.config.file import read_config
from lexbandit.service.http.access import (
    HOURS,
    ROLES,
    Access,
    ApiKey,
    Keys,
    RateLimits,
    Sessions,
    hash_of,
    keys_in_environment,
    keys_in_file,
)
from lexbandit.service.http.operations import OPERATIONS
from lexbandit.service.http.problems import Problem
from lexbandit.service.http.server import Request
from lexbandit.service.process import make_app
from service.http import CONTEXT, Served, bearer, detail_of, key, served
from service.world import engine_on

KEYS = [*(key(role, role) for role in ROLES), key("both", "decide", "reward")]
WATCHED = (
    "/v1/router/history",
    "/v1/router/recent",
    "/v1/router/what-if",
    "/metrics",
    "/openapi.json",
)

# What a page of another site must not get, where there are no keys: all but the two for balancers.
CLOSED = (
    *WATCHED,
    "/v1",
    "/",
    "/login",
    "/dashboard/style.css",
    "/nothing",
    "/v1/router/decisions",
)


def on(folder: Path, work: Callable[[Served], Awaitable[None]], keys: object = KEYS) -> None:
    """Do some work with a service that has keys."""

    async def run() -> None:
        async with served(folder, keys) as service:  # type: ignore[arg-type]
            await work(service)

    asyncio.run(run())


def test_every_operation_asks_for_its_role_and_no_other(tmp_path: Path) -> None:
    asked = [(one.method, one.path, one.role) for one in OPERATIONS]
    asked += [("GET", path, "read") for path in WATCHED]

    async def work(s: Served) -> None:
        for method, path, role in asked:
            place = path.format(point="router", id="x", arm="small")
            if role is None:
                assert (await s.http.request(method, place)).status_code == 200
                continue
            for name in ROLES:
                reply = await s.http.request(method, place, headers=bearer(name))
                refused = reply.status_code == 403
                assert refused == (name not in (role, "admin")), (method, path, name, reply.text)
                if refused:
                    assert role in detail_of(reply, 403)

    on(tmp_path, work)


def test_without_a_key_or_with_a_wrong_one_nothing_is_told(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        before = s.state
        none, unknown = "send the header Authorization: Bearer KEY", "this key is not known"
        wrong: list[tuple[dict[str, str], str]] = [
            ({}, none),
            (bearer("nobody"), unknown),
            ({"Authorization": "Bearer "}, unknown),
            ({"Authorization": "Basic c2VjcmV0LWFkbWlu"}, "is written Authorization: Bearer KEY"),
            ({"Authorization": f"Bearer {hash_of('secret-admin')}"}, unknown),
            ({"Cookie": "lexbandit_session=00.00"}, none),
            ({"Cookie": "lexbandit_session="}, none),
        ]
        for headers, words in wrong:
            for path in ("/v1/router/decisions", "/v1/unknown/decisions"):
                reply = await s.http.post(path, json={"context": CONTEXT}, headers=headers)
                told = detail_of(reply, 401)
                assert words in told
                assert "router" not in reply.text
                assert reply.headers["www-authenticate"].startswith("Bearer")
            for path in ("/metrics", "/openapi.json"):
                reply = await s.http.get(path, headers=headers)
                detail_of(reply, 401)
                assert "small" not in reply.text
        assert s.state == before

    on(tmp_path, work)


def test_only_hashes_are_kept_and_all_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(KEYS)
    assert not any("secret" in repr(one) for one in keys.by_name.values())
    compared: list[bytes] = []
    real = hashlib.sha256(b"secret-read").digest()

    def compare(a: bytes, b: bytes) -> bool:
        compared.append(b)
        return a == b

    monkeypatch.setattr("lexbandit.service.http.access.hmac.compare_digest", compare)
    found = keys.find(b"secret-read")
    assert found is not None
    assert found.digest == real
    assert len(compared) == len(KEYS)  # it does not end where one is found


def test_a_rate_limit_for_each_key(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        replies = [await s.http.get("/v1", headers=bearer("slow")) for _ in range(6)]
        limited = [reply for reply in replies if reply.status_code == 429]
        assert [reply.status_code for reply in replies[:3]] == [200, 200, 200]
        assert limited
        assert "3 requests a second" in detail_of(limited[0], 429)
        assert int(limited[0].headers["retry-after"]) >= 1
        assert (await s.http.get("/v1", headers=bearer("read"))).status_code == 200

    on(tmp_path, work, [key("slow", "read", rate=3), key("read", "read")])


def test_the_services_own_limit_is_for_keys_without_one() -> None:
    access = Access(Keys([key("plain", "read"), key("own", "read", rate=5)]), rate=2.0)
    access.rates = RateLimits(lambda: 0.0)  # no time passes, so nothing refills
    for name, most in (("plain", 2), ("own", 5)):
        headers = {b"authorization": b"Bearer secret-" + name.encode()}
        for _ in range(most):
            access.authorize(headers, "read")
        with pytest.raises(Problem, match=rf"{most} requests a second"):
            access.authorize(headers, "read")


def test_a_limit_below_one_a_second_lets_one_through_and_says_when_the_next_comes() -> None:
    now = 0.0
    limits = RateLimits(lambda: now)
    limits.take("rare", 0.1)
    with pytest.raises(Problem, match="try again in 10 s") as refused:
        limits.take("rare", 0.1)
    assert refused.value.headers == {b"retry-after": b"10"}
    now = 9.99
    with pytest.raises(Problem):
        limits.take("rare", 0.1)
    now = 10.01
    limits.take("rare", 0.1)


def test_a_wrong_key_is_not_made_good_by_a_session(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        await s.http.post("/login", data={"key": "secret-read"})
        assert (await s.http.get("/v1")).status_code == 200
        for wrong in ("Bearer nobodys", "Basic c2VjcmV0", "Bearer"):
            reply = await s.http.get("/v1", headers={"Authorization": wrong})
            assert "key" in detail_of(reply, 401), wrong

    on(tmp_path, work)


def test_a_bucket_refills_steadily() -> None:
    now = 0.0
    limits = RateLimits(lambda: now)
    taken = 0
    for step in range(1000):  # 10 seconds, ten times as many as allowed
        now = step / 100
        try:
            limits.take("a", 10.0)
            taken += 1
        except Problem:
            pass
    assert taken == 10 + 99  # a full bucket, and what came in


def test_signing_in_and_out(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        away = await s.http.get("/")
        assert (away.status_code, away.headers["location"]) == (303, "/login")
        page = await s.http.get("/login")
        assert 'action="/login"' in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for name in ("nobody", "decide"):
            wrong = await s.http.post("/login", data={"key": f"secret-{name}"})
            assert wrong.status_code == 403
            assert "set-cookie" not in wrong.headers
        good = await s.http.post("/login", data={"key": " secret-admin "})
        assert (good.status_code, good.headers["location"]) == (303, "/")
        cookie = good.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert "secret" not in cookie
        assert (await s.http.get("/")).status_code == 200  # the client keeps the cookie
        assert (await s.http.get("/v1/router/summary")).status_code == 200
        told = detail_of(await s.http.delete("/v1/router/arms/small"), 403)
        assert "admin" in told  # a session reads, whatever its key may do
        value = s.http.cookies["lexbandit_session"]
        out = await s.http.post("/logout")
        assert "Max-Age=0" in out.headers["set-cookie"]
        kept = {"Cookie": f"lexbandit_session={value}"}
        assert (await s.http.get("/v1/router/summary", headers=kept)).status_code == 401
        detail_of(await s.http.put("/login"), 405)
        detail_of(await s.http.get("/logout"), 405)
        detail_of(await s.http.post("/login", content=b"x" * 5000), 413)

    on(tmp_path, work)


def test_a_session_ends_and_cannot_be_made_up() -> None:
    now = 1000.0
    keys = Keys(KEYS)
    sessions = Sessions(keys, "shared", clock=lambda: now)
    value = sessions.begin(keys.by_name["read"])
    found = sessions.find(value)
    assert found is not None
    assert (found.name, sorted(found.roles)) == ("read", ["read"])
    assert Sessions(keys, "shared", clock=lambda: now).find(value) is not None  # a replica
    assert Sessions(keys, "other", clock=lambda: now).find(value) is None
    assert Sessions(Keys([]), "shared", clock=lambda: now).find(value) is None  # key taken away
    told, _, signature = value.rpartition(".")
    later = bytes.fromhex(told).replace(b"44200", b"99999").hex()
    assert later != told
    for forged in (f"{later}.{signature}", f"{told}.", told, "", "x", f"zz.{signature}"):
        assert sessions.find(forged) is None
    now += HOURS * 3600 - 1
    assert sessions.find(value) is not None
    now += 2
    assert sessions.find(value) is None


def test_an_ended_session_is_over_however_its_cookie_is_written() -> None:
    keys = Keys(KEYS)
    sessions = Sessions(keys, "shared")
    value, other = (sessions.begin(keys.by_name["read"]) for _ in range(2))
    told, _, signature = value.rpartition(".")
    written = [value, f"{told.upper()}.{signature}", f"{told[:2]} {told[2:]}.{signature}"]
    assert len(set(written)) == len(written)
    for one in written:
        assert sessions.find(one) is not None
        sessions.end(one)
        for again in written:
            assert sessions.find(again) is None
        sessions = Sessions(keys, "shared")
    sessions.end(value)
    assert sessions.find(other) is not None


def test_who_signs_in_and_out_all_day_fills_no_memory_and_takes_nobodys_time() -> None:
    """Nor does a session that ended come back: in the end all others of its key end, too."""
    now = 1000.0
    keys = Keys([key("busy", "read"), key("quiet", "read")])
    sessions = Sessions(keys, clock=lambda: now)
    first, other = (sessions.begin(keys.by_name[name]) for name in ("busy", "quiet"))
    sessions.end(first)
    open_one = sessions.begin(keys.by_name["busy"])
    slowest = 0.0
    for n in range(25_000):
        value = sessions.begin(keys.by_name["busy"])
        began = time.thread_time()
        sessions.end(value)
        slowest = max(slowest, time.thread_time() - began)
        assert sessions.find(value) is sessions.find(first) is None
        assert (sessions.find(open_one) is None) == (n >= 9_999)
        now += 0.01
    assert slowest < 0.1
    assert sum(map(len, sessions._ended.values())) <= 10_000
    assert sessions.find(other) is not None
    now += 1
    again = sessions.begin(keys.by_name["busy"])
    assert sessions.find(again) is not None
    now += HOURS * 3600  # what ended by itself is not counted
    for _ in range(10_001):
        sessions.end(sessions.begin(keys.by_name["busy"]))
    assert sessions.find(again) is None


def test_a_session_ends_when_its_key_is_replaced() -> None:
    before = Keys(KEYS)
    value = Sessions(before, "shared").begin(before.by_name["read"])
    replaced = ApiKey("read", frozenset({"read"}), bytes.fromhex(hash_of("another")))
    assert Sessions(Keys([replaced]), "shared").find(value) is None
    assert Sessions(Keys([key("read", "read", rate=7)]), "shared").find(value) is not None


@pytest.mark.parametrize("behind_tls", [True, False])
def test_a_cookie_is_for_tls_only_where_there_is_tls(tmp_path: Path, behind_tls: bool) -> None:
    place = tmp_path / "service.toml"
    place.write_text(
        f"[service]\nbehind_tls = {str(behind_tls).lower()}\n[points.router]\narms = ['a', 'b']\n"
        "objectives = [{ name = 'quality' }]\ncontext = [{ kind = 'flag', name = 'x' }]\n"
    )
    config = dataclasses.replace(read_config(place, {}), keys=tuple(KEYS))

    async def run() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            request = Request("POST", b"/login", b"", {}, b"key=secret-read")
            reply = await make_app(engine, config, no_auth=False)(request)
        cookie = dict(reply.headers)[b"set-cookie"]
        assert cookie.startswith(b"lexbandit_session=")
        assert (b"; Secure" in cookie) == behind_tls

    asyncio.run(run())


def test_without_keys_only_loopback_names_are_answered(tmp_path: Path) -> None:
    async def work(s: Served) -> None:
        for host in ("localhost", "LocalHost:8080", "127.0.0.1:1", "[::1]:8080", "127.0.0.9"):
            reply = await s.http.get("/v1", headers={"Host": host})
            assert reply.status_code == 200, host
        others = ("evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "10.0.0.1")
        for host in (*others, ""):
            for path in CLOSED:
                reply = await s.http.get(path, headers={"Host": host})
                assert "localhost" in detail_of(reply, 421), (host, path)
            for path in ("/login", "/logout"):
                assert "localhost" in detail_of(
                    await s.http.post(path, headers={"Host": host}), 421
                )
            for path in ("/health", "/ready"):
                assert (await s.http.get(path, headers={"Host": host})).status_code == 200
        assert (await s.http.get("/login")).headers["location"] == "/"

    on(tmp_path, work, None)


def test_keys_are_made_kept_hashed_and_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys.toml"
    make = ["key", "web", "--role", "decide", "--role", "reward", "--to", str(path)]
    assert status_of(make) == 0
    secret = capsys.readouterr().out.strip()
    assert re.fullmatch(r"lxb_[\w-]{43}", secret)
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert status_of(["key", 'ops "x"', "--role", "admin", "--to", str(path)]) == 0
    other = capsys.readouterr().out.strip()
    keys = Keys(keys_in_file(path))
    found = keys.find(secret.encode())
    assert found is not None
    assert (found.name, sorted(found.roles)) == ("web", ["decide", "reward"])
    admin = keys.find(other.encode())
    assert admin is not None
    assert admin.name == 'ops "x"'
    before = path.read_text()
    assert status_of(make) == 1
    assert "two API keys are called 'web'" in capsys.readouterr().err
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["keys.toml"]


def test_what_is_wrong_with_a_file_of_keys_is_told_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(path: Path) -> str:
        assert status_of(["key", "web", "--role", "read", "--to", str(path)]) == 1
        return capsys.readouterr().err

    assert f"there is no folder {tmp_path / 'none'} to write" in told(tmp_path / "none" / "k.toml")
    long = tmp_path / ("x" * 253)  # the name of the file beside it is too long
    assert f"{long} cannot be written: File name too long, in the folder {tmp_path}" in told(long)
    assert list(tmp_path.iterdir()) == []
    broken = tmp_path / "broken.toml"
    broken.write_text("keys = [")
    assert f"error: {broken}: not valid TOML" in told(broken)
    assert list(tmp_path.iterdir()) == [broken]


def test_a_key_for_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["key", "web", "--role", "read"]) == 0
    said = capsys.readouterr()
    found = re.search(r'(LEXBANDIT_KEY_WEB)="(.*)"', said.err)
    assert found is not None
    (one,) = keys_in_environment({found[1]: found[2], "HOME": "/", "LEXBANDIT_KEY_": "x"})
    assert one.name == "web"
    assert one.digest.hex() == hash_of(said.out.strip())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[[keys]]\nname = "a"\nroles = ["reed"]\nsha256 = "00"', "did you mean 'read'"),
        ('[[keys]]\nname = "a"\nroles = []\nsha256 = "00"', "one role at least"),
        ('[[keys]]\nname = "a"\nroles = "read"\nsha256 = "00"', "list"),
        ('[[keys]]\nname = "a"\nroles = ["read"]\nsha256 = "lxb_oh-no"', "not the key"),
        ('[[keys]]\nname = "a"\nroles = ["read"]', "'sha256' is missing"),
        ('[[keys]]\nname = 1\nroles = ["read"]\nsha256 = "00"', "text"),
        ('[[keys]]\nname = "a"\nkey = "x"', "unknown key 'key'"),
        ('[keys]\nname = "a"', "[[keys]]"),
        ('[[keys]]\nname = "a"\nroles = ["read"]\nrate = 0\nsha256 = "00"', "rate"),
    ],
)
def test_a_wrong_file_of_keys_is_refused_with_its_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        keys_in_file(path)
    assert reason in str(refused.value)
    assert f"{path}, line " in str(refused.value)
    assert "oh-no" not in str(refused.value)


def test_a_wrong_key_in_the_environment_is_refused() -> None:
    for value in ("read", "read:xyz", ":00", "reed:" + "0" * 64):
        with pytest.raises(InvalidInput, match="LEXBANDIT_KEY_A"):
            keys_in_environment({"LEXBANDIT_KEY_A": value})


def test_a_request_is_logged_without_its_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(s: Served) -> None:
        with caplog.at_level("DEBUG"):
            await s.http.post("/login", data={"key": "secret-admin"})
            await s.http.get("/v1", headers=bearer("read"))
            await s.http.get("/v1/router/log?since=secret-query", headers=bearer("read"))
            await s.http.get("/v1", headers={"Authorization": "Bearer secret-wrong"})

    on(tmp_path, work)
    assert "route=/v1 status=200" in caplog.text
    own = [record for record in caplog.records if record.name.startswith("lexbandit")]
    assert not any("secret" in record.getMessage() for record in own)
