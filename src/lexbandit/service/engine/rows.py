"""What is asked and answered: one row a decision or a reward."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from lexbandit.errors import Contradiction, InvalidInput

# Ids of decisions are texts of at most this length.
LONGEST_ID = 128
# The service's own begin with this, and no caller's do: so neither takes the other's.
OUR_IDS = "_"
_ID_BYTES = 12
# So many bytes a request's body may have, unless the service is set otherwise.
LARGEST_BODY = 4_194_304


# A batch is taken in slices, so that it delays others by no more than one takes: so many rows, and
# so many of a batch in columns, are an event of the log.
SLICE, COLUMNS = 200, 1000


def slices(count: int, each: int = SLICE) -> list[tuple[int, int]]:
    """Return where the slices of so many rows begin and end."""
    return [(a, min(a + each, count)) for a in range(0, count, each)]


class DecisionRow(NamedTuple):
    """A decision that is asked for; `id` is the caller's own, to ask again by."""

    context: Mapping[str, Any]
    allowed: Sequence[str] | None = None
    id: str | None = None


class Decided(NamedTuple):
    """A decision that was made: it is on disk.

    `policy_version` is the last event that had changed what the policy knows.
    """

    id: str
    arm: str
    propensity: float
    policy_version: int


class Found(NamedTuple):
    """A decision that was looked up: when it was made, and what was told of it.

    `kept`: it still learns from rewards. If not, its time is over, and `late` has those that came
    after that.
    """

    id: str
    arm: str
    propensity: float
    time: float
    kept: bool
    rewards: dict[str, float]
    late: dict[str, float]


class DecidedMany(NamedTuple):
    """Many decisions that were made, by columns."""

    ids: list[str]
    arms: list[str]
    propensities: list[float]
    policy_version: int


class Rewarded(NamedTuple):
    """What became of a reward: it is on disk, and learned unless it came too late."""

    id: str
    learned: bool
    late: bool


_encode = msgspec.json.Encoder(order="sorted", enc_hook=list).encode


# What is written in one way only; nearly all values are, and are not looked at any further.
_WRITTEN_ONCE = frozenset((str, int, bool, type(None)))


def fingerprint(context: Mapping[str, Any], allowed: Sequence[str] | None) -> str:
    """Return a short text that differs where requests for a decision differ.

    How a number is written makes no difference: 900, 900.0 and 9e2 are one number.
    """
    same = {
        name: value if value.__class__ in _WRITTEN_ONCE else _one(value)
        for name, value in context.items()
    }
    return written_fingerprint(same, allowed)


def written_fingerprint(context: Mapping[str, Any], allowed: Sequence[str] | None) -> str:
    """Return the fingerprint of earlier versions: 900 and 900.0 differ. Their logs have it."""
    text = _encode((context, None if allowed is None else sorted(allowed)))
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _one(value: Any) -> Any:
    """Return a value in the one way of many in which its numbers can be written."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value if value.__class__ in _WRITTEN_ONCE else [_one(one) for one in value]


def fresh_ids() -> Iterator[str]:
    """Yield ids of the service's own: 96 random bits each, so that nobody guesses another's."""
    while True:
        drawn = secrets.token_bytes(_ID_BYTES * 256)  # one call of the system for many ids
        for start in range(0, len(drawn), _ID_BYTES):
            yield OUR_IDS + urlsafe_b64encode(drawn[start : start + _ID_BYTES]).decode()


def own_id(id: Any) -> str:
    """Return a caller's own id: a text, neither empty nor long, and not like the service's own."""
    if not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID:
        raise InvalidInput(f"id must be a text of 1 to {LONGEST_ID} characters, got {id!r}.")
    if id.startswith(OUR_IDS):
        raise InvalidInput(
            f"id must not begin with {OUR_IDS}, as the service's own do, got {id!r}."
        )
    return id


def at_row(error: InvalidInput, row: int, rows: int) -> InvalidInput:
    """Return an error that names its row where there are several."""
    return error if rows == 1 else type(error)(f"row {row}: {error}")


def one_request_an_id(rows: Sequence[DecisionRow]) -> None:
    """Refuse a batch that asks for two different decisions by one id."""
    asked: dict[str, DecisionRow] = {}
    for n, row in enumerate(rows):
        if row.id is None:
            continue
        first = asked.setdefault(row.id, row)
        if first is not row and fingerprint(*first[:2]) != fingerprint(*row[:2]):
            raise Contradiction(f"row {n}: id {row.id!r} came before, with another request.")


class Told(NamedTuple):
    """What is told of a decision, and the first row that tells of it."""

    row: int
    values: dict[str, float]


def told_by_id(rows: Sequence[tuple[str, Mapping[str, float]]]) -> dict[str, Told]:
    """Return what is told of each decision; rows of one decision are taken together."""
    told: dict[str, Told] = {}
    for n, (id, values) in enumerate(rows):
        before = told.setdefault(id, Told(n, {})).values
        for name, value in values.items():
            if name in before and before[name] != value:
                raise Contradiction(f"row {n}: {name} of decision {id!r} came before otherwise.")
            before[name] = value
    return told
