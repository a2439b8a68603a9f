"""The client and its asynchronous form; both send the calls that `wire` defines."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from lexbandit import checks
from lexbandit.client import wire
from lexbandit.client.outbox import Outbox
from lexbandit.client.retries import RETRIES, Attempts, key_of, url_of
from lexbandit.client.wire import (
    Answer,
    Call,
    Context,
    Decided,
    Found,
    LogPage,
    Reward,
    Rewarded,
    T,
)
from lexbandit.errors import InvalidInput, without_password

try:
    import httpx
except ImportError as error:  # pragma: no cover
    raise InvalidInput(
        'the client needs httpx, which is not installed: pip install "lexbandit[client]".'
    ) from error

_PAGE = 10_000


class _BaseClient:
    """The settings that both clients share; `Client` says what they are."""

    def __init__(self, url: str, key: str | None, timeout: float, retries: int) -> None:
        self.url = url_of(url)
        self.timeout = checks.positive("timeout", timeout)
        self.retries = checks.whole("retries", retries, least=0)
        self._headers = {"accept": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key_of(key)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {without_password(self.url)}>"

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        """Return a call as httpx takes it."""
        headers = self._headers
        if call.body is not None:
            headers = {**headers, "content-type": "application/json"}
        return {
            "method": call.method,
            "url": self.url + call.path,
            "headers": headers,
            "content": call.body,
            "timeout": self.timeout,
        }


class Client(_BaseClient):
    """Asks the decision service for decisions, and tells it rewards.

    url       the service's address, such as http://127.0.0.1:8080
    key       an API key of it; None where it runs without
    timeout   seconds to wait for each answer
    retries   how often a request is sent again when no answer came, or 429, 502, 503 or 504; as
              often as it is by default takes 16 seconds at least
    http      your own `httpx.Client`, for certificates or a proxy; you close it yourself

    Every decision has its id from the client, so a request that is sent again makes no second one.
    A client may be used from many threads.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = RETRIES,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        self._own = http is None
        self._http = httpx.Client() if http is None else http

    def close(self) -> None:
        """Let go of the connections."""
        if self._own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        attempts = Attempts(self.retries)
        while True:
            try:
                response = self._http.request(**self._request(call))
            except httpx.TransportError as error:
                wait = attempts.after_silence(error, self.url)
            else:
                answer = _answer(response)
                if answer.good:
                    return call.read(answer)
                wait = attempts.after(answer)
            time.sleep(wait)

    def decide(
        self,
        point: str,
        context: Context,
        allowed: Iterable[str] | None = None,
        id: str | None = None,
    ) -> Decided:
        """Return the arm to play in `context`, among the allowed ones.

        With an `id` of yours, such as an order's number, the same question gives the same decision.
        """
        return self._send(wire.decide(point, context, allowed, id))

    def decide_many(
        self,
        point: str,
        contexts: Sequence[Context],
        allowed: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Decided]:
        """Return a decision for each context, by what is known now; `allowed` is for all."""
        return self._send(wire.decide_many(point, contexts, allowed, ids))

    def decision(self, point: str, decision: Decided | str) -> Found:
        """Look a decision up: its arm, and its rewards so far."""
        return self._send(wire.decision(point, decision))

    def reward(
        self,
        point: str,
        decision: Decided | str,
        values: Mapping[str, float] | None = None,
        /,
        **named: float,
    ) -> Rewarded:
        """Tell rewards of a decision, all or some of them, now or later, in any order."""
        return self._send(wire.reward(point, decision, wire.values_of(values, named)))

    def reward_many(self, point: str, rewards: Iterable[Reward]) -> list[Rewarded]:
        """Tell rewards of many decisions, each with its values; all are taken, or none."""
        return self._send(wire.reward_many(point, rewards))

    def outbox(self, *, size: int = 500, every: float = 0.2, room: int = 10_000) -> Outbox:
        """Return an outbox that sends rewards from the background, up to `size` at a time."""
        return Outbox(self.reward_many, size=size, every=every, room=room)

    def explain(
        self, point: str, context: Context, allowed: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Return what is known of every arm in `context`, and why one would be chosen."""
        return self._send(wire.explain(point, context, allowed))

    def summary(self, point: str) -> dict[str, Any]:
        """Return what was earned so far, beside what always playing each arm would have given."""
        return self._send(wire.summary(point))

    def arms(self, point: str) -> list[dict[str, Any]]:
        """Return the arms of a decision point, the retired ones among them."""
        return self._send(wire.arms(point))

    def add_arm(
        self,
        point: str,
        arm: str,
        *,
        prior: Mapping[str, float] | None = None,
        weight: int | None = None,
    ) -> None:
        """Add an arm, or take a retired one back; an arm in use stays as it is."""
        self._send(wire.add_arm(point, arm, prior, weight))

    def retire_arm(self, point: str, arm: str) -> None:
        """Let an arm be chosen no more; rewards of its decisions are still learned."""
        self._send(wire.retire_arm(point, arm))

    def log(self, point: str, since: int = 0) -> Iterator[dict[str, Any]]:
        """Go through the events of a point after the event `since`, up to the last one now."""
        while True:
            page: LogPage = self._send(wire.log(point, since, _PAGE))
            yield from page.events
            if page.next == since:
                return
            since = page.next


class AsyncClient(_BaseClient):
    """The client for asyncio: as `Client`, to be awaited; `http` is an `httpx.AsyncClient`."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = RETRIES,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        self._own = http is None
        self._http = httpx.AsyncClient() if http is None else http

    async def close(self) -> None:
        """Let go of the connections."""
        if self._own:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        attempts = Attempts(self.retries)
        while True:
            try:
                response = await self._http.request(**self._request(call))
            except httpx.TransportError as error:
                wait = attempts.after_silence(error, self.url)
            else:
                answer = _answer(response)
                if answer.good:
                    return call.read(answer)
                wait = attempts.after(answer)
            await asyncio.sleep(wait)

    async def decide(
        self,
        point: str,
        context: Context,
        allowed: Iterable[str] | None = None,
        id: str | None = None,
    ) -> Decided:
        """As `Client.decide`."""
        return await self._send(wire.decide(point, context, allowed, id))

    async def decide_many(
        self,
        point: str,
        contexts: Sequence[Context],
        allowed: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Decided]:
        """As `Client.decide_many`."""
        return await self._send(wire.decide_many(point, contexts, allowed, ids))

    async def decision(self, point: str, decision: Decided | str) -> Found:
        """As `Client.decision`."""
        return await self._send(wire.decision(point, decision))

    async def reward(
        self,
        point: str,
        decision: Decided | str,
        values: Mapping[str, float] | None = None,
        /,
        **named: float,
    ) -> Rewarded:
        """As `Client.reward`."""
        return await self._send(wire.reward(point, decision, wire.values_of(values, named)))

    async def reward_many(self, point: str, rewards: Iterable[Reward]) -> list[Rewarded]:
        """As `Client.reward_many`."""
        return await self._send(wire.reward_many(point, rewards))

    async def explain(
        self, point: str, context: Context, allowed: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """As `Client.explain`."""
        return await self._send(wire.explain(point, context, allowed))

    async def summary(self, point: str) -> dict[str, Any]:
        """As `Client.summary`."""
        return await self._send(wire.summary(point))

    async def arms(self, point: str) -> list[dict[str, Any]]:
        """As `Client.arms`."""
        return await self._send(wire.arms(point))

    async def add_arm(
        self,
        point: str,
        arm: str,
        *,
        prior: Mapping[str, float] | None = None,
        weight: int | None = None,
    ) -> None:
        """As `Client.add_arm`."""
        await self._send(wire.add_arm(point, arm, prior, weight))

    async def retire_arm(self, point: str, arm: str) -> None:
        """As `Client.retire_arm`."""
        await self._send(wire.retire_arm(point, arm))

    async def log(self, point: str, since: int = 0) -> AsyncIterator[dict[str, Any]]:
        """As `Client.log`, for `async for`."""
        while True:
            page: LogPage = await self._send(wire.log(point, since, _PAGE))
            for event in page.events:
                yield event
            if page.next == since:
                return
            since = page.next


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)
