"""The HTTP application: route a request, authorize it, read its body, and encode the answer."""

import asyncio
import logging
import random
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qsl

import msgspec

from lexbandit.service.engine.point import LARGEST_BODY
from lexbandit.service.http.access import Access
from lexbandit.service.http.json_body import LARGE, check, convert, parse, read, type_for
from lexbandit.service.http.openapi import document
from lexbandit.service.http.operations import (
    OPERATIONS,
    Match,
    Operation,
    Router,
    encode,
    rows_in,
)
from lexbandit.service.http.problems import (
    CONTRADICTION,
    INTERNAL,
    INVALID,
    MEDIA,
    MEDIA_TYPE,
    UNKNOWN,
    Problem,
    not_allowed,
    problem_of,
    unknown_point,
)
from lexbandit.service.http.server import JSON, SAFE, ClientGone, Reply, Request
from lexbandit.service.logging import REQUEST_ID, audit
from lexbandit.service.metrics import CONTENT_TYPE, Metrics
from lexbandit.service.storage import StorageFailed

if TYPE_CHECKING:
    from lexbandit.service.engine.engine import Engine

log = logging.getLogger("lexbandit.service")
access_log = logging.getLogger("lexbandit.service.access")

# What a caller may call its request: it stands in log lines.
_REQUEST_ID = re.compile(rb"[0-9A-Za-z._-]{1,64}")


class Answered(NamedTuple):
    """A request that was answered; `point` is the decision point that it named."""

    method: str
    route: str
    status: int
    seconds: float
    point: str | None
    id: str
    traceparent: str


class PageHandler(Protocol):
    """Answers requests for pages, which are not operations of the API."""

    def has(self, request: Request) -> bool:
        """Tell whether there is a page at a path."""

    async def __call__(self, request: Request) -> Reply:
        """Answer with a page."""


class App:
    """Answers HTTP requests with what an engine says.

    Every error is answered as a problem; an unexpected one is logged, and answered with 500 and
    without its text. A body may have `largest_body` bytes.
    """

    def __init__(
        self,
        engine: "Engine",
        access: Access,
        largest_body: int = LARGEST_BODY,
        pages: PageHandler | None = None,
    ) -> None:
        self.engine = engine
        self.reading = 0
        """How many requests wait for the rest of their bodies."""
        self.metrics = Metrics(engine)
        self.answered: Callable[[Answered], None] | None = None
        """Called with every request that was answered, if it is set."""
        self._large = asyncio.Lock()
        self.access = access
        self._largest_body = largest_body
        self._pages = pages
        own = (
            Operation("GET", "/metrics", "read", self._metrics, {200: "text/plain"}),
            Operation("GET", "/openapi.json", "read", self._document, {200: dict[str, Any]}),
        )
        self._operations = (*OPERATIONS, *own)
        self._router = Router(self._operations, engine.points)

    async def _metrics(self, engine: "Engine", request: Request) -> Reply:
        """Tell the numbers that Prometheus gathers."""
        await self.metrics.refresh()
        return Reply(200, self.metrics.text(), CONTENT_TYPE)

    async def _document(self, engine: "Engine", request: Request) -> Reply:
        """Describe this API: OpenAPI 3.1."""
        return Reply(200, encode(document(self._operations, engine.points)))

    async def __call__(self, request: Request) -> Reply:
        """Answer a request."""
        began = time.perf_counter()
        id = request.id = _id_of(request.headers.get(b"x-request-id"))
        REQUEST_ID.set(id.decode())
        route, method = "other", request.method
        match: Match | None = None
        try:
            match = self._router.find(request.path)
            if match is not None:
                operation = match.operation(method)
                if operation is None:
                    self.access.check_host(request.headers)
                    raise not_allowed(method, ", ".join(match.methods))
                route = operation.path
                reply = await self._do(operation, match, request)
            else:
                self.access.check_host(request.headers)
                if self._pages is None or not self._pages.has(request):
                    path = request.path.decode("latin-1")
                    raise Problem(UNKNOWN, f"there is nothing at {path}; see /openapi.json.")
                route = "pages"
                reply = await self._pages(request)
        except ClientGone:
            raise
        except Exception as error:
            reply = self._problem(error, method, route)
            if match is not None and reply.status == CONTRADICTION.status:
                self.metrics.refused[match.point] += 1
        # A point that does not exist would be a label that callers choose.
        point = match.point if match is not None and match.known else None
        seconds = time.perf_counter() - began
        self.note(method, route, reply.status, seconds, point)
        if access_log.isEnabledFor(logging.DEBUG):
            access_log.debug(
                "method=%s route=%s status=%d seconds=%.6f", method, route, reply.status, seconds
            )
        if self.answered is not None:
            parent = request.headers.get(b"traceparent", b"").decode("latin-1")
            self.answered(
                Answered(method, route, reply.status, seconds, point, id.decode(), parent)
            )
        return reply

    async def _do(self, operation: Operation, match: Match, request: Request) -> Reply:
        """Authorize the caller, read the request, and do what is asked."""
        who = ""
        if operation.role is None:  # a load balancer asks for these by whatever host name it likes
            request.reads = self.access.reads(request.headers)
        else:
            who = self.access.authorize(request.headers, operation.role, match.point or None)
        if not match.known:
            raise unknown_point(match.point, self.engine.points)
        request.point, request.names = match.point, match.names
        if operation.takes:
            request.content = await self._content(operation, request)
            if operation.batch:
                self.access.count_rows(who, rows_in(request.content))
        if operation.query:
            request.query = _query(operation.query, request.query_string)
        result = await operation.handler(self.engine, request)
        if operation.role == "admin":
            audit(f"{operation.method} {operation.path}", who, point=match.point, **match.names)
        return result if result.__class__ is Reply else Reply(200, encode(result))

    async def _content(self, operation: Operation, request: Request) -> Any:
        """Return the body of a request as the operation takes it."""
        headers = request.headers
        kind = headers.get(b"content-type", b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            none = not kind and headers.get(b"content-length", b"0") == b"0"
            if not (operation.optional and none and b"transfer-encoding" not in headers):
                shown = kind.decode("latin-1") or "nothing"
                raise Problem(MEDIA, f"Content-Type must be application/json, it says {shown!r}.")
        if kind != JSON or b"content-encoding" in headers:
            _check_plain(kind, headers.get(b"content-encoding", b"identity"))
        self.reading += 1
        try:
            body = await request.body(self._largest_body)
        finally:
            self.reading -= 1
        if not body and operation.optional:
            return None
        if len(body) <= LARGE:
            return read(body, operation.takes)
        async with self._large:  # one at a time: what is decoded takes many times its size
            value = parse(body)
            await asyncio.sleep(0)  # let others be answered
            check(value, body)
            await asyncio.sleep(0)
            content = convert(value, type_for(value, operation.takes))
            await asyncio.sleep(0)
            return content

    def _problem(self, error: Exception, method: str, route: str) -> Reply:
        problem = problem_of(error)
        if isinstance(error, StorageFailed) and self.engine.trouble is None:  # else it was logged
            log.warning("method=%s route=%s failed: %s", method, route, error)
        if problem is None:
            log.exception("method=%s route=%s failed", method, route)
            problem = Problem(INTERNAL, "it was logged; nothing is known to have changed.")
        headers = (*SAFE, *problem.headers.items())
        return Reply(problem.kind.status, problem.body(), MEDIA_TYPE, headers)

    def note(
        self, method: str, route: str, status: int, seconds: float, point: str | None = None
    ) -> None:
        """Count a request that was answered; `point` is the decision point that it named."""
        self.metrics.requests[method, route, status] += 1
        self.metrics.seconds[route].note(seconds)
        if point:
            self.metrics.at_points[point].note(seconds)

    def note_refused(self, status: int) -> None:
        """Count a request that was refused before the application saw it."""
        self.metrics.requests["unread", "unread", status] += 1
        access_log.debug("method=unread route=unread status=%d", status)


def _id_of(given: bytes | None) -> bytes:
    """Return the id of a request: the caller's own, if it is short and plain, or a random one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return b"%016x" % random.getrandbits(64)


def _check_plain(kind: bytes, coding: bytes) -> None:
    """Refuse a body that is packed, or in letters other than UTF-8."""
    if coding.strip().lower() != b"identity":
        shown = coding.decode("latin-1")
        raise Problem(MEDIA, f"Content-Encoding is {shown!r}: send the body as it is, not packed.")
    for parameter in kind.lower().split(b";")[1:]:
        name, _, value = parameter.strip().partition(b"=")
        if name == b"charset" and value.strip(b'"') not in (b"utf-8", b"utf8"):
            shown = value.decode("latin-1")
            raise Problem(MEDIA, f"the charset of Content-Type is {shown!r}: JSON is UTF-8.")


def _query(type: type[Any], given: bytes) -> Any:
    """Return the query of a request: strings that are read as the type says."""
    try:
        pairs = parse_qsl(
            given.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(given),
            errors="strict",
        )
    except ValueError as error:
        raise Problem(INVALID, f"the query cannot be read: {error}.") from None
    values, known = dict(pairs), type.__struct_fields__
    for name in values:
        if name not in known:
            raise Problem(INVALID, f"the query has {name!r}; known: {', '.join(known)}.")
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Problem(INVALID, f"{twice!r} stands twice in the query.")
    try:
        return msgspec.convert(values, type, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("`$.")[2].rstrip("`")
        raise Problem(INVALID, f"in the query: {error}, got {values[name]!r}.") from None
