"""The requests of the HTTP API, and how their answers are read.

Nothing here waits or sends, so the client and its asynchronous twin share all of it. Numbers of
NumPy are sent as plain ones; NaN and infinities are refused.
"""

import json
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from lexbandit.errors import (
    Contradiction,
    InvalidInput,
    ServiceError,
    UnknownDecision,
    UnknownName,
    counted,
    there_are,
)

T = TypeVar("T")


class Decided(NamedTuple):
    """A decision: the id to reward it by, the arm to play and the exact probability it had.

    `policy_version` is the place in the log of the last thing the policy knew. The propensity is
    NaN for a policy whose probabilities have no closed form. One that is not `durable` was made
    while the service's storage was down: it is in no log, and its rewards are not learned.
    """

    id: str
    arm: str
    propensity: float
    policy_version: int
    durable: bool = True


class Rewarded(NamedTuple):
    """What became of a reward.

    `learned`: the policy learned from it. `late`: the decision's wait time was over; the reward is
    in the log and was not learned. The same reward again has the same answer.
    """

    id: str
    learned: bool
    late: bool


class Found(NamedTuple):
    """A decision that was looked up: when it was made, in seconds since 1970, and its rewards.

    `kept`: it still learns from rewards. If not, its time is over, and `late` has the rewards that
    came after that.
    """

    id: str
    arm: str
    propensity: float
    time: float
    kept: bool
    rewards: dict[str, float]
    late: dict[str, float]


class Answer(NamedTuple):
    """What the service answered, as far as the client reads it."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        """Whether the service did what was asked."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the body as JSON; something that is not the service may have answered."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise ServiceError(
                f"the answer is not JSON: {_shown(self.body)}. Is this the address of a lexbandit "
                "service?",
                status=self.status,
            ) from None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, safe to send again, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T]
    body: bytes | None = None


Context = Mapping[str, Any]
Reward = tuple["Decided | str", Mapping[str, float]]
# For errors.
_EXAMPLE = "{'quality': 0.9}"


def decide(
    point: str, context: Context, allowed: Iterable[str] | None, id: str | None
) -> Call[Decided]:
    """Ask for a decision. It has its id from here, so that asking again gives the same one."""
    body = {"context": context, "id": new_id() if id is None else id}
    if allowed is not None:
        body["allowed"] = _listed("allowed", allowed)
    return _post(_path(point, "decisions"), body, lambda answer: _decided(answer.json()))


def decide_many(
    point: str,
    contexts: Sequence[Context],
    allowed: Iterable[str] | None,
    ids: Iterable[str] | None,
) -> Call[list[Decided]]:
    """Ask for many decisions at once: all of them, or none if one is refused."""
    rows = _listed("contexts", contexts)
    given = [new_id() for _ in rows] if ids is None else _listed("ids", ids)
    if len(given) != len(rows):
        raise InvalidInput(f"{there_are(len(rows), 'context')} and {counted(len(given), 'id')}.")
    common = {} if allowed is None else {"allowed": _listed("allowed", allowed)}
    body = {
        "decisions": [
            {"context": context, "id": id, **common}
            for context, id in zip(rows, given, strict=True)
        ]
    }
    return _post(
        _path(point, "decisions:batch"),
        body,
        lambda answer: [_decided(row) for row in answer.json()["decisions"]],
    )


def decision(point: str, decided: Decided | str) -> Call[Found]:
    """Look a decision up."""

    def read(answer: Answer) -> Found:
        fields = answer.json()
        known = {**fields, "propensity": _propensity(fields["propensity"])}
        return Found(**{name: known[name] for name in Found._fields})

    return Call("GET", _path(point, "decisions", id_of(decided)), read)


def reward(point: str, decision: Decided | str, values: Mapping[str, float]) -> Call[Rewarded]:
    """Tell rewards of a decision."""
    path = _path(point, "decisions", id_of(decision), "rewards")
    return _post(path, dict(values), lambda answer: _rewarded(answer.json()))


def reward_many(point: str, rewards: Iterable[Reward]) -> Call[list[Rewarded]]:
    """Tell rewards of many decisions: all of them, or none if one is refused."""
    rows = [_reward_row(n, one) for n, one in enumerate(_listed("rewards", rewards))]
    return _post(
        _path(point, "rewards:batch"),
        {"rewards": rows},
        lambda answer: [_rewarded(row) for row in answer.json()["rewards"]],
    )


def explain(point: str, context: Context, allowed: Iterable[str] | None) -> Call[dict[str, Any]]:
    """Ask what is known of every arm in a context."""
    body: dict[str, Any] = {"context": context}
    if allowed is not None:
        body["allowed"] = _listed("allowed", allowed)
    return _post(_path(point, "explain"), body, _object)


def summary(point: str) -> Call[dict[str, Any]]:
    """Ask what was learned so far."""
    return Call("GET", _path(point, "summary"), _object)


def arms(point: str) -> Call[list[dict[str, Any]]]:
    """Ask for the arms, the retired ones among them."""
    return Call("GET", _path(point, "arms"), lambda answer: list(answer.json()["arms"]))


def add_arm(
    point: str, arm: str, prior: Mapping[str, float] | None, weight: int | None
) -> Call[dict[str, Any]]:
    """Add an arm, or take a retired one back; one that is there stays as it is."""
    body: dict[str, Any] = {}
    if prior is not None:
        body = {"prior": dict(prior), "weight": weight}
    return Call("PUT", _path(point, "arms", arm), _object, encoded(body))


def retire_arm(point: str, arm: str) -> Call[dict[str, Any]]:
    """Let an arm be chosen no more."""
    return Call("DELETE", _path(point, "arms", arm), _object)


class LogPage(NamedTuple):
    """A part of the log, and after which event the next one begins."""

    events: list[dict[str, Any]]
    next: int


def log(point: str, since: int, limit: int) -> Call[LogPage]:
    """Ask for the events of a point after `since`."""

    def read(answer: Answer) -> LogPage:
        events = [json.loads(line) for line in answer.body.splitlines() if line]
        return LogPage(events, int(answer.headers.get("next-since", since)))

    return Call("GET", f"{_path(point, 'log')}?since={since:d}&limit={limit:d}", read)


def new_id() -> str:
    """Return a new decision's id: 96 random bits, so that no two clients or forks make the same."""
    return secrets.token_hex(12)


def id_of(decision: Decided | str) -> str:
    """Return the id of a decision."""
    if isinstance(decision, Decided):
        return decision.id
    if isinstance(decision, str) and decision:
        return decision
    raise InvalidInput(f"a decision is what `decide` returned, or its id, got {decision!r}.")


def values_of(
    values: Mapping[str, float] | None, named: Mapping[str, float]
) -> Mapping[str, float]:
    """Return rewards that were given as a mapping or by name."""
    if values is None:
        return named
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"rewards are a mapping of objectives and values, such as {_EXAMPLE}, got {values!r}."
        )
    if named:
        raise InvalidInput(
            f"rewards are given as a mapping or by name, not both, got {values!r} and {named!r}."
        )
    return values


_REFUSALS: dict[int, type[InvalidInput]] = {
    400: InvalidInput,
    409: Contradiction,
    422: InvalidInput,
}
_KINDS: dict[str, type[InvalidInput]] = {
    "unknown-decision": UnknownDecision,
    "unknown": UnknownName,
}


def error_of(answer: Answer) -> Exception:
    """Return the error that an answer other than 2xx tells of, with the service's own words."""
    try:
        problem = json.loads(answer.body)
        detail, kind = str(problem["detail"]), str(problem.get("type", "")).rpartition(":")[2]
    except (ValueError, TypeError, KeyError, AttributeError):  # a proxy's page, say
        return ServiceError(
            f"the service answered {answer.status}: {_shown(answer.body)}.", status=answer.status
        )
    known = _KINDS.get(kind) if answer.status == 404 else _REFUSALS.get(answer.status)
    return ServiceError(detail, status=answer.status) if known is None else known(detail)


def _shown(body: bytes) -> str:
    return repr(body[:200].decode(errors="replace")) if body else "nothing"


def _path(*parts: str) -> str:
    for part in parts:
        if not isinstance(part, str) or part in ("", ".", ".."):
            raise InvalidInput(f"a name in an address must be a text, got {part!r}.")
    return "/v1/" + "/".join(quote(part, safe=":") for part in parts)


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list, got {values!r}.")
    return list(values)


def _reward_row(n: int, one: Any) -> dict[str, Any]:
    pair = isinstance(one, tuple | list) and len(one) == 2
    if not pair or not isinstance(one[1], Mapping):
        raise InvalidInput(
            f"rewards[{n}] must be a decision and its values, such as (decision, {_EXAMPLE}), "
            f"got {one!r}."
        )
    return {"id": id_of(one[0]), "values": dict(one[1])}


def _post(path: str, body: Any, read: Callable[[Answer], T]) -> Call[T]:
    return Call("POST", path, read, encoded(body))


def _object(answer: Answer) -> dict[str, Any]:
    return dict(answer.json())


def _decided(row: Mapping[str, Any]) -> Decided:
    return Decided(
        row["id"],
        row["arm"],
        _propensity(row["propensity"]),
        row["policy_version"],
        row.get("durable", True),
    )


def _propensity(value: float | None) -> float:
    return math.nan if value is None else value


def _rewarded(row: Mapping[str, Any]) -> Rewarded:
    return Rewarded(row["id"], row["learned"], row["late"])


def encoded(body: Any) -> bytes:
    """Return a body as it is sent; what is no JSON is refused."""
    try:
        return _json(body).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {_why(body, error)}.") from error


def _json(body: Any, *, allow_nan: bool = False) -> str:
    return json.dumps(body, allow_nan=allow_nan, separators=(",", ":"), default=_plain)


def _why(body: Any, error: Exception) -> str:
    """Return why a body cannot be sent; if NaN or an infinity is all that is wrong, its place."""
    try:
        _json(body, allow_nan=True)
    except (TypeError, ValueError):
        return str(error)
    return (
        f"{_not_finite(body).lstrip('.')}, and JSON has neither NaN nor Infinity; a value that is "
        "missing is left out, and a feature may be None"
    )


def _not_finite(value: Any) -> str:
    """Return the first NaN or infinity in a value, with its place, as `.context.tokens is nan`."""
    entries: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        entries = ((f".{key}", entry) for key, entry in value.items())
    elif isinstance(value, list | tuple):
        entries = ((f"[{n}]", entry) for n, entry in enumerate(value))
    for step, entry in entries:
        try:
            _json(entry)
        except ValueError:
            return step + _not_finite(entry)
    return f" is {value!r}"


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays, or a frame's, as plain ones."""
    for way in ("item", "tolist") if getattr(value, "ndim", 0) == 0 else ("tolist",):
        if hasattr(value, way):
            return getattr(value, way)()
    raise TypeError(f"{value!r} is of {type(value).__name__}")
