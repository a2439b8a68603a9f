"""What a request asks of the engine and what it is answered: one row a decision or a reward."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from lexbandit.errors import Contradiction, InvalidInput

# Ids of decisions are texts of at most this length.
LONGEST_ID = 128
# The service's own begin with this, and no caller's do: so neither takes the other's.
OUR_IDS = "_"
# Those of decisions that are not durable begin with this: no random id does.
NOT_DURABLE = "_~"
# Base64 has four letters for three bytes.
_ID_BYTES, _ID_LETTERS = 12, 16
# So many bytes a request's body may have, unless the service is set otherwise.
LARGEST_BODY = 4_194_304


# A batch is taken in slices, so that it delays others by no more than one takes: so many rows, and
# so many of a batch in columns, are an event of the log.
SLICE, COLUMNS = 200, 1000


def slices(count: int, each: int = SLICE) -> list[tuple[int, int]]:
    """Return where the slices of so many rows begin and end."""
    return [(a, min(a + each, count)) for a in range(0, count, each)]


# A feature's value: a number, a category, a flag, a vector, or nothing.
Value = None | bool | int | float | str | list[float]
Context = Annotated[dict[str, Value], Meta(description="The features of the decision point.")]
Allowed = Annotated[
    Annotated[list[str], Meta(min_length=1)] | None,
    Meta(description="The arms that may be chosen; all, if it is left out."),
]
Id = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_ID,
        pattern="^[0-9A-Za-z][!-~]*$",
        description="Begins with a letter or digit; visible ASCII characters, no spaces.",
    ),
]
# None where the policy knows no closed form of it; NaN is written as null.
Propensity = float | None


class Strict(Struct, forbid_unknown_fields=True):
    """A body in which every field is known."""


class DecisionRequest(Strict):
    """Asks for a decision; `id` is the caller's own, to ask again by."""

    context: Context
    allowed: Allowed = None
    id: Id | None = None


class DecisionReply(Struct, frozen=True, omit_defaults=True):
    """A decision that was made; it is on disk, unless `durable` is false.

    `policy_version` is the last event that had changed what the policy knows. A decision that is
    not durable was made while the storage was down (`when_down`): its rewards are not learned.
    """

    id: str
    arm: str
    propensity: Propensity
    policy_version: int
    durable: bool = True


class FoundDecision(Struct):
    """A decision that was looked up. `kept`: its rewards are learned; if false, its time is over.

    `rewards` came in time, `late` after it. `time` is when it was made, in seconds since 1970.
    """

    id: str
    arm: str
    propensity: Propensity
    time: float
    kept: bool
    rewards: dict[str, float]
    late: dict[str, float]


class ColumnsReply(Struct, omit_defaults=True):
    """Many decisions by columns, in the order asked for; on disk, unless `durable` is false."""

    ids: list[str]
    arms: list[str]
    propensities: list[Propensity]
    policy_version: int
    durable: bool = True


class RewardReply(Struct, frozen=True):
    """What became of a reward: it is on disk, and learned unless it came too late.

    Neither learned nor late: its decision was not durable, and the reward is on no disk.
    """

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
    text = _encode((same, None if allowed is None else sorted(allowed)))
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _one(value: Any) -> Any:
    """Return a value in the one way of many in which its numbers can be written."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value if value.__class__ in _WRITTEN_ONCE else [_one(one) for one in value]


def fresh_ids() -> Iterator[str]:
    """Yield ids of the service's own: 96 random bits each, so that nobody guesses another's."""
    while True:  # many ids are drawn and written at once
        drawn = urlsafe_b64encode(secrets.token_bytes(_ID_BYTES * 256)).decode()
        for start in range(0, len(drawn), _ID_LETTERS):
            yield OUR_IDS + drawn[start : start + _ID_LETTERS]


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


def request_key(row: DecisionRequest, asked: dict[str, str]) -> str | None:
    """Return the fingerprint of a request with an id of the caller's own; None without one.

    `asked` has those of the rows before it: an id may come again, with the same request.
    """
    if row.id is None:
        return None
    key = fingerprint(row.context, row.allowed)
    if asked.setdefault(own_id(row.id), key) != key:
        raise Contradiction(f"id {row.id!r} came before, with another request.")
    return key


class RewardsOfOne(NamedTuple):
    """The rewards that a batch has for one decision, and the first row that has any."""

    row: int
    values: dict[str, float]


def rewards_by_id(
    rows: Sequence[tuple[str, Mapping[str, float]]],
) -> dict[str, RewardsOfOne]:
    """Return the rewards of each decision; rows of one decision are taken together."""
    found: dict[str, RewardsOfOne] = {}
    for n, (id, values) in enumerate(rows):
        before = found.setdefault(id, RewardsOfOne(n, {})).values
        for name, value in values.items():
            if name in before and before[name] != value:
                raise Contradiction(f"row {n}: {name} of decision {id!r} came before otherwise.")
            before[name] = value
    return found
