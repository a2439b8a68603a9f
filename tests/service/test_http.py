"""HTTP/1.1 on real sockets: what is answered, and in which order."""

import asyncio
import tracemalloc
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.service.messages import HttpRequest
from service.callers import LARGEST, MB, Server, chunked, on, post

BODIES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200)


@settings(max_examples=40, deadline=None)
@given(
    bodies=st.lists(st.tuples(BODIES, st.integers(0, 60)), min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
)
def test_requests_are_answered_in_order_however_they_are_cut(
    bodies: list[tuple[str, int]], cuts: list[int]
) -> None:
    whole = b"".join(
        post(body.encode()) if cut == 0 else chunked(body.encode(), cut) for body, cut in bodies
    )
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})

    async def work(one: Server) -> None:
        caller = await one.call()
        for begin, end in pairwise(places):
            caller.send(whole[begin:end])
            await asyncio.sleep(0.001)
        for body, _ in bodies:
            assert (await caller.echoed())[4] == body

    on(work)


def test_path_query_and_headers_are_as_they_were_sent() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(b"GET /a%2Fb?c=%20d HTTP/1.1\r\nHost: me\r\nX-Y:  z \r\n\r\n")
        assert await caller.echoed() == ["GET", "/a%2Fb", "c=%20d", {"host": "me", "x-y": "z"}, ""]
        caller.send(b"GET http://me/whole?x=1 HTTP/1.1\r\nHost: me\r\n\r\n")
        assert (await caller.echoed())[1:3] == ["/whole", "x=1"]

    on(work)


def test_trailers_are_no_headers() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(chunked(b"{}", 1, b"Host: other\r\nAuthorization: me\r\n") + post(b"next"))
        first, second = await caller.echoed(), await caller.echoed()
        assert first[3] == {"host": "me", "transfer-encoding": "chunked"}
        assert first[4] == "{}"
        assert second[3] == {"host": "me", "content-length": "4"}

    on(work)


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nContent-Length: x\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"CONNECT me:80 HTTP/1.1\r\nHost: me\r\n\r\n",
    ],
)
def test_what_is_no_http_is_told_after_what_came_before(wrong: bytes) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"1") + post(b"2") + wrong)
        for _ in range(2):
            good = await caller.seen()
            assert good.status == 200
            assert "connection" not in good.headers  # there is more to come
        refused = await caller.seen()
        assert refused.status == 400
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["connection"] == "close"
        assert msgspec.json.decode(refused.body)["type"] == "urn:lexbandit:malformed"
        assert await caller.ended()
        assert heard == [400]

    heard: list[int] = []
    on(work, refused=heard.append)


def test_a_body_that_waits_to_be_asked_for_is() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        head, _, body = post(b"{}", more=b"Expect: 100-continue\r\n").partition(b"{}")
        caller.send(head)
        assert (await caller.seen()).status == 100
        caller.send(b"{}" + body)
        assert (await caller.echoed())[4] == "{}"

    on(work)


def test_who_asks_for_another_protocol_goes_on_with_this_one() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
        caller.send(post(b"first", more=asked) + post(b"second"))
        first = await caller.echoed()
        assert first[4] == "first"
        assert "upgrade" not in first[3]
        assert first[3]["connection"] == "keep-alive"
        assert first[3]["http2-settings"] == "AAMA"
        assert (await caller.echoed())[4] == "second"
        caller.send(b"GET /a?b HTTP/1.1\r\nHost: me\r\n" + asked + b"\r\n" + post(b"third"))
        assert (await caller.echoed())[:3] == ["GET", "/a", "b"]
        assert (await caller.echoed())[4] == "third"

    on(work)


def test_the_largest_body_is_taken() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"y" * LARGEST))
        assert len((await caller.echoed())[4]) == LARGEST

    on(work)


def test_answers_without_a_body() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(b"HEAD /a HTTP/1.1\r\nHost: me\r\n\r\n")
        head = await caller.seen(empty=True)
        assert head.status == 200
        assert int(head.headers["content-length"]) > 0
        caller.send(b"GET /nobody HTTP/1.1\r\nHost: me\r\n\r\n" + post(b"next"))
        nothing = await caller.seen()
        assert nothing.status == 304
        assert set(nothing.headers) == {"date", "etag"}
        assert (await caller.echoed())[4] == "next"

    on(work)


def test_many_wishes_for_another_protocol_are_nothing_special() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(
            b"GET /a HTTP/1.1\r\nHost: me\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" * 700
        )
        for _ in range(700):
            assert (await caller.echoed())[0] == "GET"

    on(work)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /a HTTP/1.1\r\nHost: me\r\nUpgrade: x\r\nConnection: upgrade, close\r\n\r\n",
        b"GET /a HTTP/1.0\r\nHost: me\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_a_wish_for_another_protocol_keeps_the_wish_to_close(head: bytes) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(head)
        assert (await caller.seen()).headers["connection"] == "close"
        assert await caller.ended()

    on(work)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"GET /a HTTP/1.1\r\n\r\n", "Host is missing"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "host stands there twice"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nauthorization: y\r\n\r\n",
         "authorization stands there twice"),
        (b"GET /a HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\nHost: b\r\n\r\n",
         "host stands there twice"),
        (b"GET http://a:99999/x HTTP/1.1\r\nHost: a\r\n\r\n", "URL cannot be read"),
        (b"GET /a HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/2.0 is not spoken here"),
    ],
)  # fmt: skip
def test_what_can_be_meant_in_two_ways_is_refused(head: bytes, told: str) -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(post(b"good") + head + post(b"never read"))
        assert (await caller.echoed())[4] == "good"
        refused = await caller.seen()
        assert refused.status == 400
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert told in msgspec.json.decode(refused.body)["detail"]
        assert await caller.ended()

    on(work)


def test_headers_that_come_again_are_taken_together_and_a_urls_host_counts() -> None:
    async def work(one: Server) -> None:
        caller = await one.call()
        caller.send(
            b"GET http://other:81/a HTTP/1.1\r\nHost: me\r\nCookie: a=1\r\nCookie: b=2\r\n"
            b"If-None-Match: x\r\nIf-None-Match: y\r\n\r\n"
        )
        headers = (await caller.echoed())[3]
        assert headers == {"host": "other:81", "cookie": "a=1; b=2", "if-none-match": "x, y"}

    on(work)


def test_what_is_expected_of_a_body_that_was_not_asked_for() -> None:
    """An early answer leaves open whether the body will come: so the connection ends."""

    async def work(one: Server) -> None:
        caller = await one.call()
        expecting = post(b"{}", b"/early", b"Expect: 100-continue\r\n").removesuffix(b"{}")
        caller.send(expecting)
        early = await caller.seen()
        assert (early.status, early.headers["connection"]) == (401, "close")
        assert await caller.ended()
        old = await one.call()
        whole = post(b"{}", more=b"Expect: 100-continue\r\n").replace(b"1.1", b"1.0")
        old.send(whole[:-2])
        await asyncio.sleep(0.05)
        old.send(whole[-2:])
        assert (await old.seen()).status == 200  # and no 100 before it

    on(work)


def test_a_body_in_tiny_parts_takes_the_room_of_its_bytes() -> None:
    async def work() -> None:
        request = HttpRequest("POST", b"/", b"", {})
        tracemalloc.start()
        for _ in range(500_000):
            request.add(b"ab")
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        request.end()
        assert await request.body(LARGEST) == b"ab" * 500_000
        assert used < 3 * MB

    asyncio.run(work())
