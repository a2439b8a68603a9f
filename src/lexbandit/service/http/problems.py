"""Errors as replies: application/problem+json (RFC 9457) in every case."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision, without_password
from lexbandit.service.storage import StorageFailed

MEDIA_TYPE = b"application/problem+json"
# A detail repeats what was sent; of something long the beginning is enough.
_LONGEST = 600


class Kind(NamedTuple):
    """A kind of problem: its name in `type`, its status, and what it is called."""

    name: str
    status: int
    title: str


MALFORMED = Kind("malformed", 400, "The request cannot be read")
UNAUTHENTICATED = Kind("unauthenticated", 401, "A valid API key is needed")
FORBIDDEN = Kind("forbidden", 403, "The API key does not have the role for this")
FOREIGN = Kind("foreign-site", 403, "A page of another site may not ask for this")
UNKNOWN = Kind("unknown", 404, "There is no such thing here")
UNKNOWN_DECISION = Kind("unknown-decision", 404, "No such decision is kept")
METHOD = Kind("method-not-allowed", 405, "This method is not for this path")
CONTRADICTION = Kind("contradiction", 409, "It contradicts what is there already")
TOO_LARGE = Kind("too-large", 413, "The request is too large")
MEDIA = Kind("unsupported-media-type", 415, "The body must be JSON")
MISDIRECTED = Kind("misdirected", 421, "This host name is not ours")
INVALID = Kind("invalid", 422, "The request was understood and refused; nothing changed")
TOO_MANY = Kind("too-many-requests", 429, "The API key's rate limit is reached")
HEAD = Kind("head-too-large", 431, "The request's headers are too large")
INTERNAL = Kind("internal", 500, "An error of ours")
UNAVAILABLE = Kind("unavailable", 503, "Nothing can be written now")
OVERLOADED = Kind("overloaded", 503, "There are more requests than can be answered in time")
LATE = Kind("late", 503, "The request was not answered in time")

KINDS = {kind.status: kind for kind in (
    MALFORMED, UNAUTHENTICATED, FORBIDDEN, UNKNOWN, METHOD, CONTRADICTION, TOO_LARGE, MEDIA,
    MISDIRECTED, INVALID, TOO_MANY, HEAD, INTERNAL, UNAVAILABLE,
)}  # fmt: skip


class ProblemDetails(msgspec.Struct):
    """What a problem's body holds."""

    type: str
    title: str
    status: int
    detail: str


class Problem(Exception):
    """An error that is the answer to a request."""

    def __init__(
        self, kind: Kind, detail: str, headers: Mapping[bytes, bytes] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]} …"
        self.headers = headers or {}

    def body(self) -> bytes:
        """Return the body of the answer."""
        kind = self.kind
        details = ProblemDetails(f"urn:lexbandit:{kind.name}", kind.title, kind.status, self.detail)
        return msgspec.json.encode(details)


def unknown_point(name: str, known: Iterable[str]) -> Problem:
    """Return the problem of a path with an unknown decision point."""
    detail = f"no decision point is called {name!r}. Known: {', '.join(known)}."
    return Problem(UNKNOWN, detail)


def not_allowed(method: str, allow: str) -> Problem:
    """Return the problem of a method that a path does not have."""
    detail = f"{method} is not possible here; {allow} is."
    return Problem(METHOD, detail, {b"allow": allow.encode()})


def unavailable(why: str) -> Problem:
    """Return the problem of a storage that cannot be written to now."""
    return Problem(UNAVAILABLE, without_password(why))


def problem_of(error: Exception) -> Problem | None:
    """Return the problem that an error of the engine is to the caller; None if it is ours."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnknownDecision):
        return Problem(UNKNOWN_DECISION, str(error))
    if isinstance(error, Contradiction):
        return Problem(CONTRADICTION, str(error))
    if isinstance(error, InvalidInput):
        return Problem(INVALID, str(error))
    if isinstance(error, StorageFailed):  # it names files or hosts
        return unavailable(
            "the log is out of reach now; a key with the role read is told why by /ready."
        )
    return None
