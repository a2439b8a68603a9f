"""Signing in and out is for the service's own page, and nobody keeps the answer."""

import asyncio
from pathlib import Path

import pytest

from lexbandit.service.http.access import COOKIE
from service.http import detail_of, key, served

OWN = [
    {},
    {"origin": "http://localhost"},
    {"origin": "null"},
    {"sec-fetch-site": "same-origin", "origin": "null"},
    {"sec-fetch-site": "none"},
    # a proxy that ends TLS need not hand the name on that the browser knows
    {"sec-fetch-site": "same-origin", "origin": "https://decisions.example"},
]
FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "http://localhost:9999"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "origin": "http://localhost"},
    {"sec-fetch-site": "cross-site", "origin": "null"},
]


@pytest.mark.parametrize("headers", OWN)
def test_the_services_own_page_signs_in_and_out(tmp_path: Path, headers: dict[str, str]) -> None:
    async def run() -> None:
        async with served(tmp_path, [key("read", "read")]) as s:
            for path in ("/login", "/logout"):
                reply = await s.http.post(path, data={"key": "secret-read"}, headers=headers)
                assert reply.status_code == 303
                assert COOKIE in reply.headers["set-cookie"]
                assert reply.headers["cache-control"] == "no-store"

    asyncio.run(run())


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_site_does_not(tmp_path: Path, headers: dict[str, str]) -> None:
    async def run() -> None:
        async with served(tmp_path, [key("read", "read")]) as s:
            for path in ("/login", "/logout"):
                reply = await s.http.post(path, data={"key": "secret-read"}, headers=headers)
                assert "on the service's own page, not from" in detail_of(reply, 403)
                assert reply.json()["type"] == "urn:lexbandit:foreign-site"
                assert "set-cookie" not in reply.headers

    asyncio.run(run())
