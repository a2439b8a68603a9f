"""The operations of the HTTP API: one table that the router, the docs and the metrics read."""

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.service.engine.point import LARGEST_BODY, arms_ever, at_row, check_allowed
from lexbandit.service.events import Event
from lexbandit.service.http import schemas as s
from lexbandit.service.http.access import Role
from lexbandit.service.http.json_body import convert
from lexbandit.service.http.problems import (
    CONTRADICTION,
    MALFORMED,
    UNKNOWN,
    Problem,
    unavailable,
)
from lexbandit.service.http.server import SAFE, Reply, Request

if TYPE_CHECKING:
    from lexbandit.service.engine.engine import Engine

LINES = b"application/x-ndjson"
NEXT = b"next-since"
# So many events are read at once, and an answer ends when it has so many bytes.
_PAGE, _ENOUGH = 64, LARGEST_BODY


Handler = Callable[["Engine", Request], Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """One operation.

    role       which a caller needs; None for everybody
    takes      the types the body may have; none if there is no body
    gives      by status, the types the answer may have, or its media type if it is no JSON
    problems   which can come besides those that every operation has
    optional   the body may be left out
    """

    method: str
    path: str
    role: Role | None
    handler: Handler
    gives: Mapping[int, Any]
    takes: tuple[Any, ...] = ()
    query: type[Any] | None = None
    problems: tuple[int, ...] = ()
    optional: bool = False

    @functools.cached_property
    def batch(self) -> bool:
        """Whether it takes many rows, which count one by one in rate limits."""
        return self.path.endswith(":batch")

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.handler.__doc__ or "").partition("\n")[0]


def decide(engine: "Engine", request: Request) -> Awaitable[s.DecisionReply]:
    """Decide: returns the arm to play. The same id and context again give the same answer."""
    asked: s.DecisionRequest = request.content
    if asked.allowed is not None:
        check_allowed(asked.allowed, arms_ever(engine.points[request.point].chooser))
    return engine.decide(request.point, asked.context, asked.allowed, asked.id)


async def decide_many(engine: "Engine", request: Request) -> s.DecisionsReply | s.ColumnsReply:
    """Decide many at once, in rows or in columns: all of them, or none."""
    asked = request.content
    most = arms_ever(engine.points[request.point].chooser)
    if isinstance(asked, s.DecisionColumns):
        check_allowed(asked.allowed, most)
        return await engine.decide_columns(request.point, asked.contexts, asked.allowed)
    for n, row in enumerate(asked.decisions):
        try:
            check_allowed(row.allowed, most)
        except InvalidInput as error:
            raise at_row(error, n, len(asked.decisions)) from None
    return s.DecisionsReply(await engine.decide_many(request.point, asked.decisions))


def rows_in(batch: Any) -> int:
    """Return how many rows a batch has."""
    if isinstance(batch, s.DecisionColumns):
        return max(map(len, batch.contexts.values()), default=0)
    return len(batch.decisions if isinstance(batch, s.DecisionRows) else batch.rewards)


async def decision(engine: "Engine", request: Request) -> s.FoundDecision:
    """Look a decision up: its arm, and the rewards that came."""
    return await engine.decision(request.point, request.names["id"])


def reward(engine: "Engine", request: Request) -> Awaitable[s.RewardReply]:
    """Reward a decision: some or all objectives, late, in any order; repeating changes nothing."""
    return engine.reward(request.point, request.names["id"], request.content)


async def reward_many(engine: "Engine", request: Request) -> s.RewardsReply:
    """Reward many decisions: all of them, or none."""
    rows = [(row.id, row.values) for row in request.content.rewards]
    return s.RewardsReply(await engine.reward_many(request.point, rows))


async def explain(engine: "Engine", request: Request) -> s.ExplainReply:
    """Explain which arm would be chosen in a context, and why. Nothing is decided."""
    check_allowed(request.content.allowed, arms_ever(engine.points[request.point].chooser))
    found = engine.explain(request.point, request.content.context, request.content.allowed)
    arms = [convert(msgspec.to_builtins(arm), s.ArmExplanation) for arm in found.arms]
    likely = list(found.likely)
    return s.ExplainReply(arms, likely, found.reason, found.level, found.confidence, str(found))


async def summary(engine: "Engine", request: Request) -> s.SummaryReply:
    """Summarize what was earned, beside what always playing each arm would have given."""
    point = engine.points[request.point]
    found = msgspec.to_builtins(point.chooser.summary())
    known = {
        "counts": dict(point.counts),
        "contexts": {name: dict(notes) for name, notes in point.chooser.contexts.counts.items()},
        "outside": dict(point.chooser.outside),
        "seq": point.seq,
        "policy_version": point.version,
    }
    return convert({**found, **known}, s.SummaryReply)


async def arms(engine: "Engine", request: Request) -> s.ArmsReply:
    """List the arms, those that are retired too."""
    chooser = engine.points[request.point].chooser
    gone = chooser.retired
    return s.ArmsReply([s.Arm(arm, retired=arm in gone) for arm in (*chooser.arms, *gone)])


async def put_arm(engine: "Engine", request: Request) -> Reply:
    """Add an arm, or take a retired one back with all it learned; again changes nothing."""
    asked: s.ArmRequest = request.content or s.ArmRequest()
    arm = request.names["arm"]
    prior = asked.prior or None
    weight = int(asked.weight) if asked.weight else None
    added = await engine.add_arm(request.point, arm, prior, weight)
    return Reply(201 if added else 200, encode(s.ArmReply(arm, retired=False, changed=added)))


async def retire_arm(engine: "Engine", request: Request) -> s.ArmReply:
    """Retire an arm: it is no longer chosen, and rewards of its decisions are still taken."""
    arm = request.names["arm"]
    try:
        retired = await engine.retire_arm(request.point, arm)
    except UnknownName as error:
        raise Problem(UNKNOWN, str(error)) from None
    except InvalidInput as error:  # it is the last one
        raise Problem(CONTRADICTION, str(error)) from None
    return s.ArmReply(arm, retired=True, changed=retired)


async def log(engine: "Engine", request: Request) -> Reply:
    """Read the log: one event a line. The header Next-Since says where to go on."""
    since, left, size = request.query.since, request.query.limit, 0
    end = engine.seq
    lines: list[bytes] = []
    async with engine.log_readers:
        while left > 0 and size < _ENOUGH:
            events = await engine.storage.read_since(since, min(left, _PAGE), request.point)
            if not events:
                since = max(since, end)  # what other points wrote need not be read again
                break
            lines += [line_of(event) for event in events]
            size += sum(len(event.body) for event in events)
            since, left = events[-1].seq, left - len(events)
    return Reply(200, b"".join(lines), LINES, (*SAFE, (NEXT, str(since).encode())))


def line_of(event: Event) -> bytes:
    """Return an event as a line of JSON: its place, time and kind, then what it says."""
    head = encode({"seq": event.seq, "time": event.time, "kind": event.kind})
    rest = event.body[1:]
    return b"%s%s%s\n" % (head[:-1], b"" if rest.lstrip().startswith(b"}") else b",", rest)


async def points(engine: "Engine", _request: Request) -> s.PointsReply:
    """List the decision points."""
    return s.PointsReply(list(engine.points))


async def point(engine: "Engine", request: Request) -> s.PointReply:
    """Show a decision point's definition and its arms."""
    found = engine.points[request.point]
    return s.PointReply(found.name, list(found.chooser.arms), found.definition.plain())


async def health(_engine: "Engine", _request: Request) -> s.StateReply:
    """Tell that the process is alive."""
    return s.StateReply("alive")


async def ready(engine: "Engine", request: Request) -> s.StateReply:
    """Tell whether requests can be served now; the reason is shown to the role read only.

    While the storage is down, a service whose points all have `when_down` is ready, not durable.
    """
    if engine.draining:
        raise unavailable("the service is about to end; requests are still answered.")
    if engine.trouble is not None and not engine.answers_when_down:
        why = engine.trouble if request.reads else "a key with the role read is told why."
        raise unavailable(why)
    status = "ready" if engine.trouble is None else "not durable"
    return s.StateReply(status, dict(engine.replay_progress) if request.reads else {})


encode = msgspec.json.Encoder().encode

OPERATIONS = (
    Operation("POST", "/v1/{point}/decisions", "decide", decide,
        {200: s.DecisionReply}, (s.DecisionRequest,), problems=(409,)),
    Operation("POST", "/v1/{point}/decisions:batch", "decide", decide_many,
        {200: (s.DecisionsReply, s.ColumnsReply)}, (s.DecisionRows, s.DecisionColumns),
        problems=(409,)),
    Operation("GET", "/v1/{point}/decisions/{id}", "read", decision, {200: s.FoundDecision}),
    Operation("POST", "/v1/{point}/decisions/{id}/rewards", "reward", reward,
        {200: s.RewardReply}, (s.Rewards,), problems=(409,)),
    Operation("POST", "/v1/{point}/rewards:batch", "reward", reward_many,
        {200: s.RewardsReply}, (s.RewardRows,), problems=(409,)),
    Operation("POST", "/v1/{point}/explain", "read", explain,
        {200: s.ExplainReply}, (s.ExplainRequest,)),
    Operation("GET", "/v1/{point}/summary", "read", summary, {200: s.SummaryReply}),
    Operation("GET", "/v1/{point}/arms", "read", arms, {200: s.ArmsReply}),
    Operation("PUT", "/v1/{point}/arms/{arm}", "admin", put_arm,
        {200: s.ArmReply, 201: s.ArmReply}, (s.ArmRequest,), problems=(409,), optional=True),
    Operation("DELETE", "/v1/{point}/arms/{arm}", "admin", retire_arm, {200: s.ArmReply},
        problems=(409,)),
    Operation("GET", "/v1/{point}/log", "read", log, {200: LINES.decode()}, query=s.LogQuery),
    Operation("GET", "/v1", "read", points, {200: s.PointsReply}),
    Operation("GET", "/v1/{point}", "read", point, {200: s.PointReply}),
    Operation("GET", "/health", None, health, {200: s.StateReply}),
    Operation("GET", "/ready", None, ready, {200: s.StateReply}, problems=(503,)),
)  # fmt: skip

Methods = Mapping[str, Operation]


class Match(NamedTuple):
    """The operations of a path by method, and what the path names; `known`: the point is."""

    methods: Methods
    point: str
    names: Mapping[str, str]
    known: bool = True

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method; HEAD is answered as GET, without the body."""
        found = self.methods.get(method)
        return self.methods.get("GET") if found is None and method == "HEAD" else found


class Router:
    """Finds the operations of a path.

    Paths that name nothing but a point are looked up as they are. The others are taken apart before
    they are decoded, so that an arm's name may have a slash in it.
    """

    def __init__(self, operations: Iterable[Operation], points: Iterable[str]) -> None:
        self._points = frozenset(points)
        self._patterns: dict[tuple[str, ...], dict[str, Operation]] = {}
        for operation in operations:
            parts = tuple(operation.path.split("/"))
            self._patterns.setdefault(parts, {})[operation.method] = operation
        self._exact: dict[bytes, Match] = {}
        for parts, methods in self._patterns.items():
            holes = [part for part in parts if part.startswith("{")]
            if not holes:
                self._exact["/".join(parts).encode()] = Match(methods, "", {})
            elif holes == ["{point}"]:
                for point in self._points:
                    path = "/".join(parts).replace("{point}", point)
                    self._exact[path.encode()] = Match(methods, point, {})

    def find(self, path: bytes) -> Match | None:
        """Return what is at a path; None if nothing is."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        given = path.split(b"/")
        for parts, methods in self._patterns.items():
            if len(parts) == len(given):
                names = _names(parts, given)
                if names is not None:
                    point = names.pop("point", "")
                    return Match(methods, point, names, point in self._points)
        return None


def _names(parts: tuple[str, ...], given: list[bytes]) -> dict[str, str] | None:
    names = {}
    for part, value in zip(parts, given, strict=True):
        if part.startswith("{") and value:
            names[part[1:-1]] = _text(value)
        elif part.encode() != value:
            return None
    return names


def _text(value: bytes) -> str:
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise Problem(MALFORMED, "the path is not UTF-8.") from None
