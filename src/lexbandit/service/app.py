"""The HTTP application: plain ASGI, since decisions and rewards come by the thousand a second."""

import logging
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec

from lexbandit.service.doors import Door
from lexbandit.service.limits import ClientGone, body_of
from lexbandit.service.metrics import CONTENT_TYPE, Metrics
from lexbandit.service.openapi import document
from lexbandit.service.operations import JSON, OPERATIONS, Operation, Reply, Request, encode
from lexbandit.service.problems import (
    CONTRADICTION,
    INTERNAL,
    INVALID,
    MEDIA,
    MEDIA_TYPE,
    METHOD,
    UNKNOWN,
    Problem,
    problem_of,
    unknown_point,
)
from lexbandit.service.routing import Found, Router
from lexbandit.service.site import Site
from lexbandit.service.strict_json import convert, decode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lexbandit.service.engine import Engine

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger("lexbandit.service")
access = logging.getLogger("lexbandit.service.access")

# A load balancer asks for these by whatever name it likes; they say nothing of the points.
_BY_ANY_NAME = ("/health", "/ready")
_SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


@dataclass(frozen=True)
class Limits:
    """How large a body may be, in bytes."""

    body: int = 4_194_304


class App:
    """Answers HTTP requests with what an engine says.

    Every error is answered as a problem; one that nobody foresaw is logged and told as an error of
    ours, without its text.
    """

    def __init__(
        self, engine: "Engine", door: Door, limits: Limits | None = None, site: Site | None = None
    ) -> None:
        self.engine = engine
        self.metrics = Metrics(engine)
        self._door = door
        self._limits = limits or Limits()
        self._site = site
        own = (
            Operation("GET", "/metrics", "read", self._tell_metrics, {200: "text/plain"}),
            Operation("GET", "/openapi.json", "read", self._tell_document, {200: dict[str, Any]}),
        )
        self._operations = (*OPERATIONS, *own)
        self._router = Router(self._operations, engine.points)

    async def _tell_metrics(self, engine: "Engine", request: Request) -> Reply:
        """Tell the numbers that Prometheus gathers."""
        return Reply(200, self.metrics.text(), CONTENT_TYPE)

    async def _tell_document(self, engine: "Engine", request: Request) -> Reply:
        """Describe this API: OpenAPI 3.1."""
        return Reply(200, encode(document(self._operations, engine.points)))

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
            return
        began = time.perf_counter()
        route, method = "other", scope["method"]
        found: Found | None = None
        try:
            if scope["path"] not in _BY_ANY_NAME:
                self._door.check_host(scope["headers"])
            found = self._router.find(scope["raw_path"])
            if found is not None:
                operation = _operation(found, method)
                route = operation.path
                reply = await self._do(operation, found, scope, receive)
            elif self._site is not None and self._site.has(scope):
                route = "pages"
                status = await self._page(self._site, scope, receive, send)
                self._note(method, route, status, time.perf_counter() - began)
                return
            else:
                raise Problem(UNKNOWN, f"there is nothing at {scope['path']}; see /openapi.json.")
        except ClientGone:
            return
        except Exception as error:
            reply = self._problem(error, method, route)
            if found is not None and reply.status == CONTRADICTION.status:
                self.metrics.refused[found.point] += 1
        await _send(send, reply)
        self._note(method, route, reply.status, time.perf_counter() - began)

    async def _page(self, site: Site, scope: "Scope", receive: "Receive", send: "Send") -> int:
        """Answer with a page; returns its status."""
        status = 0

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await site(scope, receive, watched)
        return status

    async def _do(
        self, operation: Operation, found: Found, scope: "Scope", receive: "Receive"
    ) -> Reply:
        """Let the caller in, read the request, and do what is asked."""
        headers = dict(scope["headers"])
        if operation.role is not None:
            self._door.admit(headers, operation.role)
        if not found.known:
            raise unknown_point(found.point, self.engine.points)
        body = await self._body(operation, headers, receive) if operation.takes else None
        query = _query(operation.query, scope["query_string"]) if operation.query else None
        request = Request(found.point, found.named, query, body)
        told = await operation.handler(self.engine, request)
        return told if told.__class__ is Reply else Reply(200, encode(told))

    async def _body(
        self, operation: Operation, headers: Mapping[bytes, bytes], receive: "Receive"
    ) -> Any:
        kind = headers.get(b"content-type", b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            none = not kind and headers.get(b"content-length", b"0") == b"0"
            if not (operation.optional and none and b"transfer-encoding" not in headers):
                told = kind.decode("latin-1") or "nothing"
                raise Problem(MEDIA, f"Content-Type must be application/json, it says {told!r}.")
        body = await body_of(receive, headers.get(b"content-length"), self._limits.body)
        if not body and operation.optional:
            return None
        value = decode(body)
        return convert(value, operation.form(value))

    def _problem(self, error: Exception, method: str, route: str) -> Reply:
        problem = problem_of(error)
        if problem is None:
            log.exception("method=%s route=%s failed", method, route)
            problem = Problem(INTERNAL, "it was logged; nothing is known to have changed.")
        headers = tuple(problem.headers.items())
        return Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers)

    def _note(self, method: str, route: str, status: int, seconds: float) -> None:
        self.metrics.note(method, route, status, seconds)
        if access.isEnabledFor(logging.DEBUG):
            access.debug(
                "method=%s route=%s status=%d seconds=%.6f", method, route, status, seconds
            )


def _operation(found: Found, method: str) -> Operation:
    operation = found.methods.get(method)
    if operation is None and method == "HEAD":
        operation = found.methods.get("GET")
    if operation is None:
        allow = ", ".join(found.methods)
        raise Problem(
            METHOD, f"{method} is not possible here; {allow} is.", {b"allow": allow.encode()}
        )
    return operation


def _query(type: type[Any], given: bytes) -> Any:
    """Return the query of a request: texts that are read as the type says."""
    try:
        pairs = parse_qsl(
            given.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(given),
            errors="strict",
        )
    except ValueError as error:
        raise Problem(INVALID, f"the query cannot be read: {error}.") from None
    if len(dict(pairs)) != len(pairs):
        raise Problem(INVALID, "a name stands twice in the query.")
    try:
        return msgspec.convert(dict(pairs), type, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(INVALID, f"in the query: {error}.") from None


async def _send(send: "Send", reply: Reply) -> None:
    headers = [
        (b"content-type", reply.media),
        (b"content-length", b"%d" % len(reply.body)),
        *_SAFE,
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
