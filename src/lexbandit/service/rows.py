"""What is asked and answered: one row a decision or a reward."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


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


def fingerprint(context: Mapping[str, Any], allowed: Sequence[str] | None) -> str:
    """Return a short text that differs where requests for a decision differ."""
    arms = None if allowed is None else sorted(allowed)
    text = json.dumps([context, arms], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
