"""How much is taken: the size of a request, and requests a second for each key."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from lexbandit.service.problems import TOO_LARGE, TOO_MANY, Problem

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
# The connection is closed: what is left of the body is not read.
_CLOSE = {b"connection": b"close"}


class ClientGone(Exception):
    """The caller went away before the request was whole; nobody waits for an answer."""


async def body_of(receive: Receive, announced: bytes | None, most: int) -> bytes:
    """Return the whole body of a request; one that is too large is refused unread."""
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise _too_large(most)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and len(body) <= most:
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False) and size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > most:
        raise _too_large(most)
    return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(TOO_LARGE, f"a body has at most {most:,} bytes; send it in parts.", _CLOSE)


class RateLimits:
    """A bucket for each key: it holds one second's requests, and refills steadily."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, rate: float) -> None:
        """Count a request of a key; refuse it if the bucket is empty."""
        now = self._clock()
        full = max(rate, 1.0)
        tokens, since = self._buckets.get(name, (full, now))
        tokens = min(full, tokens + (now - since) * rate)
        if tokens < 1.0:
            self._buckets[name] = (tokens, now)
            seconds = max(1, round((1.0 - tokens) / rate + 0.5))
            raise Problem(
                TOO_MANY,
                f"the key {name!r} may send {rate:g} requests a second; try again in {seconds} s.",
                {b"retry-after": str(seconds).encode()},
            )
        self._buckets[name] = (tokens - 1.0, now)
