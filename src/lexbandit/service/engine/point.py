"""One decision point: what is asked of it, how events change what it knows, and its snapshots."""

import hashlib
import json
import math
import secrets
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from lexbandit.chooser import Proposal, RecordingChooser
from lexbandit.chooser.arms import prior_of
from lexbandit.chooser.ledger import OldestFirst
from lexbandit.chooser.recording import PendingDecision
from lexbandit.chooser.saving import in_parts, no_pause
from lexbandit.contexts import Category, Feature
from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision, counted, unknown_name
from lexbandit.service.definition import Definition, arm_name
from lexbandit.service.engine.history import RECENT, History
from lexbandit.service.events import (
    SNAPSHOT_HEAD,
    SNAPSHOT_LENGTH,
    CorruptLog,
    Event,
    read_body,
    rows_of,
    snapshot_parts,
)

LONGEST_TEXT = 1000
"""A category that is not known is taken, and stored as it was sent, up to this length."""


def check_added(
    chooser: RecordingChooser, arm: str, prior: Mapping[str, float] | None, weight: int | None
) -> None:
    """Refuse a new arm's name or a prior that cannot be taken, or one for an arm that has learned.

    An arm that is there has its name, whatever the rule for names was when it came.
    """
    if arm not in chooser.arms and arm not in chooser.retired:
        arm_name(arm)
    known = prior_of(arm, prior, weight, chooser.objectives)
    if known is not None and arm in chooser.retired:
        raise InvalidInput(
            f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
        )


def check_retired(chooser: RecordingChooser, arm: str) -> None:
    """Refuse to retire an arm that there is not, or the last one."""
    if arm not in chooser.arms:
        raise unknown_name("arm", arm, chooser.arms)
    if len(chooser.arms) == 1:
        raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")


def arms_ever(chooser: RecordingChooser) -> int:
    """Return how many arms there are, retired ones too: a request that is repeated may name one."""
    return len(chooser.arms) + len(chooser.retired)


def check_allowed(allowed: Sequence[str] | None, most: int) -> None:
    """Refuse a list of allowed arms with more than `most` entries, or with one twice.

    It is checked before anything waits, so that a long list does not stay in memory.
    """
    if allowed is None:
        return
    if len(allowed) > most:
        raise InvalidInput(
            f"allowed has {len(allowed):,} entries, and there are {counted(most, 'arm')}: name "
            "each at most once."
        )
    if len(set(allowed)) < len(allowed):
        twice = next(arm for n, arm in enumerate(allowed) if arm in allowed[:n])
        raise InvalidInput(f"allowed has {twice!r} twice; name each arm at most once.")


def longest_text(feature: Category) -> int:
    """Return how many characters a value of a category may have; all that are known are taken."""
    return max(LONGEST_TEXT, *map(len, feature.values))


def check_context(features: Sequence[Feature], context: Mapping[str, Any]) -> None:
    """Refuse a context with a text that is too long.

    Only what a request brings is checked: a log may have longer ones, of earlier versions.
    """
    for feature in features:
        if isinstance(feature, Category):
            _check(feature, context.get(feature.name))


def check_columns(features: Sequence[Feature], columns: Mapping[str, Sequence[Any]]) -> None:
    """Refuse columns with a text that is too long; the error names its row."""
    for feature in features:
        if isinstance(feature, Category):
            for row, value in enumerate(columns.get(feature.name, ())):
                _check(feature, value, f"row {row}: ")


def _check(feature: Category, value: Any, place: str = "") -> None:
    most = longest_text(feature)
    if isinstance(value, str) and len(value) > most:
        raise InvalidInput(
            f"{place}context feature {feature.name!r} may have {most:,} characters, got "
            f"{len(value):,}, which begin with {value[:20]!r}. A category is a short name."
        )


# Makes a named tuple in half the time.
_tuple = tuple.__new__

# Ids of decisions are strings of at most this length.
LONGEST_ID = 128
# The service's own begin with this, and no caller's do: so neither takes the other's.
OUR_IDS = "_"
# Those of decisions that are not durable begin with this: no random id does.
NOT_DURABLE = "_~"
# Base64 has four letters for three bytes.
_ID_BYTES, _ID_LETTERS = 12, 16
# So many bytes a request's body may have, unless the service is set otherwise.
LARGEST_BODY = 4_194_304


# A batch is taken in slices, so that it delays others by no more than one takes: so many rows, so
# many of rewards and so many of a batch in columns are an event of the log.
SLICE, REWARDS, COLUMNS = 100, 25, 1000
# The first rewards of a point take long, since its model is computed anew after almost each of
# them: up to this many are taken a few at a time.
_FIRST_REWARDS, _FEW_REWARDS = 100, 2


def slices(count: int, each: int = SLICE) -> list[tuple[int, int]]:
    """Return where the slices of so many rows begin and end."""
    return [(a, min(a + each, count)) for a in range(0, count, each)]


def reward_slices(count: int, seen: int) -> list[tuple[int, int]]:
    """Return where the slices of so many rows of rewards begin and end, after `seen` others."""
    early = min(max(_FIRST_REWARDS - seen, 0), count)
    later = slices(count - early, REWARDS)
    return slices(early, _FEW_REWARDS) + [(early + a, early + b) for a, b in later]


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
    if not id.isprintable():  # the pattern of `Id` lets a line end after it
        raise InvalidInput(f"id must have visible characters only, no spaces, got {id!r}.")
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
    values: Mapping[str, float]


def rewards_by_id(
    rows: Sequence[tuple[str, Mapping[str, float]]],
) -> dict[str, RewardsOfOne]:
    """Return the rewards of each decision; rows of one decision are taken together."""
    several = map(_tuple, repeat(RewardsOfOne), enumerate([values for _, values in rows]))
    found: dict[str, RewardsOfOne] = dict(zip([id for id, _ in rows], several, strict=True))
    if len(found) == len(rows):  # the usual case
        return found
    together: dict[str, tuple[int, dict[str, float]]] = {}
    for n, (id, values) in enumerate(rows):
        _, before = together.setdefault(id, (n, {}))
        for name, value in values.items():
            if name in before and before[name] != value:
                raise Contradiction(
                    f"row {n}: {name} of decision {id!r} has another value in an earlier row."
                )
        before.update(values)
    return {id: RewardsOfOne(*one) for id, one in together.items()}


# What became of one row of an event: an answer, or the error that its sender gets.
Outcome = DecisionReply | RewardReply | InvalidInput | bool | None


class AnsweredRequest(NamedTuple):
    """What a caller's own id stands for: the request, and the version that answered it."""

    id: str
    request: str
    version: int


class PastDecision(NamedTuple):
    """A decision whose time is over, and its rewards: those in time, and those too late."""

    id: str
    arm: str
    propensity: float
    since: float
    rewards: dict[str, float]
    late: dict[str, float]


class Prior(NamedTuple):
    """What an arm began with: means, and how many rewards they stand for."""

    means: Mapping[str, float]
    weight: int


class Point:
    """A decision point: what is known of it after the events so far.

    `fold` takes the events of the log in their order and is the only way to change the state:
    nothing here depends on the clock on the wall, on chance, or on which process is asked. So every
    process that took the same events is in the same state.

    seq        the last event that was taken
    version    the last event that changed what the policy knows
    counts     how often what happened
    keys       the callers' own ids, as long as their decisions are pending
    past       the decisions whose time was over, the last `keep` of them
    priors     of the arms that began with one
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.name = definition.name
        self.time = 0.0  # a chooser looks at its clock when it is made
        self.chooser: RecordingChooser = definition.chooser(definition.arms, self.clock)
        self._objectives = {one.name: one for one in self.chooser.objectives}
        self.begun = False
        self.seq = self.version = 0
        self.counts: Counter[str] = Counter()
        self.keys: OldestFirst[AnsweredRequest] = OldestFirst()
        self.past: OldestFirst[PastDecision] = OldestFirst()
        self.priors: dict[str, Prior] = {}
        self.history = History()
        self.last_untaken: int | None = None
        """The last event of which something could not be taken."""
        self.unfit = 0
        """How many rows this process read that the definition cannot take."""
        self.first_unfit = ""
        """Why the first of them could not be taken."""
        self.erased = 0
        """The last event by which contexts were forgotten, of those this process read."""
        self._at = 0  # the event that is being taken
        self.look_at = math.inf if definition.wait is None else -math.inf
        """No decision's time is over before this time."""

    def clock(self) -> float:
        """Return the time of the event that is taken: the chooser's clock."""
        return self.time

    def digest(self) -> str:
        """Return a short text that is the same for states that are the same bit for bit."""
        state = [
            self.chooser.digest(),
            self.version,
            self.time,
            sorted(self.counts.items()),
            self.priors,
            [(key.id, key[1:]) for key in self.keys.values()],
            [(past.id, past[1:]) for past in self.past.values()],
            self.history.plain(),
        ]
        return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()

    def answered(self, id: str, request: str | None) -> DecisionReply | None:
        """Return the answer that an id had before, if it had one; only callers' own come again.

        `request` is the fingerprint of what is asked now.
        """
        if id not in self.chooser:
            return None
        key = self.keys.get(id)
        if key is None or key.request != request:
            raise Contradiction(
                f"decision {id!r} was asked for before, with another context or other allowed arms."
            )
        pending = self.chooser.decision(id)
        return DecisionReply(id, pending.arm, pending.propensity, key.version)

    def check_prior(self, arm: str, means: Mapping[str, float] | None, weight: int | None) -> None:
        """Refuse a prior for an arm that is there and began with another one, or with none."""
        if means is None or weight is None or arm not in self.chooser.arms:
            return
        before = self.priors.get(arm)
        if before != (means, weight):
            began = (
                "without a prior" if before is None else f"with {before.means!r}, {before.weight}"
            )
            raise Contradiction(
                f"arm {arm!r} is there and began {began}; it cannot begin again with {means!r}, "
                f"{weight}. Add it under another name."
            )

    def found(self, id: str) -> FoundDecision:
        """Return a pending decision, or one whose time is over."""
        past = self.past.get(id)
        one = self.chooser.decision(id) if past is None else past
        kept, late = past is None, {} if past is None else past.late
        return FoundDecision(id, one.arm, one.propensity, one.since, kept, one.rewards, late)

    def knows(self, id: str) -> bool:
        """Tell whether a decision is pending, or was until its time was over."""
        return id in self.chooser or id in self.past

    def rewarded(self, id: str, values: Mapping[str, Any]) -> RewardReply | None:
        """Return the answer to rewards that all came before; None if one of them is new.

        Values that cannot be taken, or contradict earlier ones, are refused.
        """
        if not values:
            raise InvalidInput(f"there is no reward for decision {id!r}: name one or more.")
        past = self.past.get(id)
        if past is None:
            known: Mapping[str, float] = self.chooser.decision(id).rewards
        else:
            known = {**past.rewards, **past.late}
        new = [name for name, value in values.items() if self._is_new(id, name, value, known)]
        if new:
            return None
        late = past is not None and any(name in past.late for name in values)
        return RewardReply(id, learned=not late, late=late)

    def with_late(self, past: PastDecision, values: Mapping[str, Any]) -> PastDecision | None:
        """Return a decision whose time is over with further rewards; None if none of them is new.

        Values that cannot be taken, or contradict earlier ones, are refused.
        """
        known = {**past.rewards, **past.late}
        new = [name for name, value in values.items() if self._is_new(past.id, name, value, known)]
        return _with_late(past, values) if new else None

    def _is_new(self, id: str, name: str, value: Any, known: Mapping[str, float]) -> bool:
        objective = self._objectives.get(name)
        if objective is None:
            raise unknown_name("objective", name, self._objectives)
        low, high = objective.range
        usual = value.__class__ is float and low <= value <= high
        number: float = value if usual else objective.checked(value)
        before = known.get(name)
        if before is not None and before != number:
            raise Contradiction(
                f"{name} of decision {id!r} was given as {before!r} before, now as {number!r}."
            )
        return before is None

    def fold(
        self, event: Event, body: dict[str, Any] | None = None, proposals: Any = None
    ) -> Sequence[Outcome]:
        """Take an event; returns what became of each of its rows: all are taken, or none.

        `body` is what the event says, if that is known already. `proposals` are those of a
        decisions event that this point's chooser made itself: a list, one a row, or `Proposals` of
        columns. They hold for the arms that are there when they are recorded.
        """
        if not self.begun and event.kind != "begin":
            raise CorruptLog(f"event {event.seq} of {self.name!r} comes before its beginning.")
        self.enter(event)
        self.counts["events"] += 1
        if event.time >= self.look_at:
            self.pass_time(event.time)
        if event.kind == "decisions":
            outcomes = self._decisions(body or read_body(event), proposals)
        else:
            outcomes = self._take(event, body or read_body(event))
        self.seq = event.seq
        return outcomes

    def enter(self, event: Event) -> None:
        """Begin to take an event: its time is the time here."""
        self._at = event.seq
        self.time = event.time

    def _take(self, event: Event, body: dict[str, Any]) -> Sequence[Outcome]:
        if event.kind == "rewards":
            return self.take_rewards(body["rows"])
        if event.kind == "arm":
            return [self._arm(body)]
        if event.kind == "begin":
            self._begin(body["arms"])
        elif event.kind == "erase":
            self._erase(body["ids"])
        elif event.kind != "tick":
            raise CorruptLog(
                f"event {event.seq} is of a kind that this version does not know, "
                f"{event.kind!r}: install the one that wrote it."
            )
        return [None]

    def _begin(self, arms: Sequence[str]) -> None:
        """Start with the arms of the first beginning; replicas that began at once agree on it."""
        if not self.begun:
            self.chooser = self.definition.chooser(arms, self.clock)
            self.begun = True

    def _erase(self, ids: Sequence[str]) -> None:
        """Forget the contexts of decisions; they are over, and what they taught stays."""
        for pending in self.chooser.forget(ids):
            self._keep_past(_past(pending))
        for id in ids:
            self.keys.pop(id)
        self.history.forget(ids)
        self.version = self.erased = self._at

    def _keep_past(self, past: PastDecision) -> None:
        self.past[past.id] = past
        self.trim_past()

    def trim_past(self) -> None:
        """Forget the oldest of the decisions whose time is over, if there are too many."""
        self.past.drop_oldest(len(self.past) - self.definition.keep)

    def pass_time(self, time: float) -> None:
        """Let decisions go whose time is over."""
        gone = self.chooser.overdue(time)
        for pending in gone:
            self.past[pending.id] = _past(pending)
            self.keys.pop(pending.id)
            for objective in self.chooser.objectives:
                if objective.default is not None and objective.name not in pending.rewards:
                    self.history.rewarded(time, objective.name, objective.default, pending.id)
        if gone:
            self.trim_past()
            self.chooser.tick()
            self.version = self._at
            self.counts["expired"] += len(gone)
            self.history.expired(time, len(gone))
        self.look_at = self.chooser.due or time + (self.definition.wait or math.inf)

    def _decisions(self, body: dict[str, Any], proposals: Any) -> Sequence[Outcome]:
        """Keep decisions, one a row or in columns."""
        if "rows" not in body:
            return self._columns(body, proposals)
        rows, version = body["rows"], body["version"]
        made: list[Proposal | DecisionReply | None] = []  # None: its context was erased
        for n, row in enumerate(rows):
            try:
                if row["context"] is None:
                    made.append(None)
                    continue
                before = self.answered(row["id"], row.get("key"))
                made.append(before or (proposals[n] if proposals else self._proposal(row)))
            except InvalidInput as error:
                return self._refuse_decisions(at_row(error, n, len(rows)), rows)
        return [self._decision(row, version, one) for row, one in zip(rows, made, strict=True)]

    def _proposal(self, row: dict[str, Any]) -> Proposal:
        propensity = math.nan if row["propensity"] is None else row["propensity"]
        return self.chooser.proposal(row["arm"], propensity, row["context"], row.get("allowed"))

    def _refuse_decisions(
        self, error: InvalidInput, rows: Sequence[dict[str, Any]]
    ) -> list[Outcome]:
        encode = self.chooser.contexts.encode
        contexts = [row["context"] for row in rows if row["context"] is not None]
        unfit = not all(_fits(encode, context) for context in contexts)
        return [self._refuse(error, len(rows), unfit=unfit)] * len(rows)

    def _decision(
        self, row: dict[str, Any], version: int, made: Proposal | DecisionReply | None
    ) -> DecisionReply:
        """Store a checked decision; one whose context was erased is over at once."""
        if made is None:
            propensity = math.nan if row["propensity"] is None else row["propensity"]
            past = PastDecision(row["id"], row["arm"], propensity, self.time, {}, {})
            self._keep_past(past)
            self.counts["decisions"] += 1
            self.history.decided(self.time, (row["arm"],))
            return DecisionReply(row["id"], row["arm"], propensity, version)
        if isinstance(made, DecisionReply):
            self.counts["repeated"] += 1
            return made
        id = row["id"]
        self.chooser.record(id, made)
        if (key := row.get("key")) is not None:
            self.keep_key(AnsweredRequest(id, key, version))
        if self.past:  # an id may be used again when its first decision is over
            self.past.pop(id)
        self.counts["decisions"] += 1
        self.history.decided(self.time, (made.arm,))
        self.history.keep(self.time, row)
        return DecisionReply(id, made.arm, made.propensity, version)

    def keep_key(self, key: AnsweredRequest) -> None:
        """Remember what a caller's own id stands for."""
        keys, id = self.keys, key[0]
        if id in keys:
            del keys[id]  # so that the newest comes last
        keys[id] = key
        if len(keys) > self.definition.keep:
            keys.pop_oldest()

    def _columns(self, body: dict[str, Any], proposals: Any) -> Sequence[Outcome]:
        """Keep a batch in columns; its ids are the service's own, so none was there before."""
        ids, arms, contexts, allowed = (body[k] for k in ("ids", "arms", "contexts", "allowed"))
        try:
            if proposals is None:
                propensities = [math.nan if p is None else p for p in body["propensities"]]
                proposals = self.chooser.proposals(arms, propensities, contexts, allowed)
            self.chooser.record_many(ids, proposals)
        except InvalidInput as error:
            fits = _fits(self.chooser.contexts.encode_many, contexts)
            return [self._refuse(error, len(ids), unfit=not fits)]
        self.counts["decisions"] += len(ids)
        self.history.decided(self.time, arms)
        for row in rows_of(body, max(len(ids) - RECENT, 0)):
            self.history.keep(self.time, row)
        return [None]

    def take_rewards(self, rows: Sequence[dict[str, Any]]) -> Sequence[Outcome]:
        """Learn rewards, all of them or none."""
        known = []
        for n, row in enumerate(rows):
            try:
                known.append(self.rewarded(row["id"], row["values"]))
            except InvalidInput as error:
                raced = isinstance(error, Contradiction | UnknownDecision)
                error = at_row(error, n, len(rows))
                return [self._refuse(error, len(rows), unfit=not raced)] * len(rows)
        return [
            self._reward(row["id"], row["values"]) if before is None else self._again(before)
            for row, before in zip(rows, known, strict=True)
        ]

    def _again(self, before: RewardReply) -> RewardReply:
        self.counts["repeated"] += 1
        return before

    def _reward(self, id: str, values: Mapping[str, Any]) -> RewardReply:
        """Learn rewards of a pending decision; store those of one whose time is over."""
        if id in self.past:
            self.past[id] = _with_late(self.past[id], values)
            self.counts["late"] += 1
            self.history.late(self.time)
            return RewardReply(id, learned=False, late=True)
        known = self.chooser.decision(id).rewards
        self.chooser.reward(id, values)
        for name, value in values.items():
            if name not in known:
                self.counts["rewards"] += 1
                self.history.rewarded(self.time, name, value, id)
        self.version = self._at
        return RewardReply(id, learned=True, late=False)

    def _refuse(self, error: InvalidInput, rows: int = 1, *, unfit: bool = False) -> InvalidInput:
        """Note rows that were not taken: a replica was quicker, or the definition is new.

        `unfit`: it is the definition, since what a replica was quicker with fits it.
        """
        self.counts["untaken"] += rows
        self.last_untaken = self._at
        if unfit:
            self.first_unfit = self.first_unfit or f"event {self._at}: {error}"
            self.unfit += rows
        return error

    def _arm(self, body: Mapping[str, Any]) -> Outcome:
        """Add or retire an arm; False if that was so already."""
        arm, add = body["arm"], body["change"] == "add"
        means, weight = body.get("prior"), body.get("weight")
        try:
            if add:
                self.check_prior(arm, means, weight)
            if (arm in self.chooser.arms) == add:
                return False
            if add:
                self.chooser.add_arm(arm, prior=means, weight=weight)
            else:
                self.chooser.retire_arm(arm)
        except InvalidInput as error:
            return self._refuse(error)
        if add and means is not None and weight is not None:
            self.priors[arm] = Prior(means, weight)
        self.version = self._at
        return True

    # Snapshots: the state as bytes.
    #
    #   lexbandit.point 1\n     the format and its version
    #   8 bytes                 the length of the next part, the low byte first
    #   JSON                    seq, time, counts, keys, ...
    #   the rest                the chooser, in its own format (docs/saving.md)

    def packer(self) -> Callable[..., bytes]:
        """Return a function that packs the state as it is now; it may run in another thread.

        It may be given a function to call now and then, for that thread to pause.
        What is taken here is all that must not change meanwhile. It is quick: rows of `keys` and
        `past` and pending decisions are replaced when they change, never changed in place, so they
        need no copies.
        """
        document: dict[str, Any] = {
            "seq": self.seq,
            "version": self.version,
            "time": self.time,
            "counts": dict(self.counts),
            "priors": dict(self.priors),
            "history": self.history.plain(),
            "arms": list(self.definition.arms),
            "definition": self.definition.plain(),
        }
        tables: dict[str, list[Any]] = {
            "keys": list(self.keys.values()),
            "past": list(self.past.values()),
        }
        chooser = self.chooser.packer()

        def pack(pause: Callable[[], None] = no_pause) -> bytes:
            parts = [_json(document)[:-1]]
            for name, rows in tables.items():
                inside = b",".join([_json(part)[1:-1] for part in in_parts(rows, pause)])
                parts += [f',"{name}":['.encode(), inside, b"]"]
            text = b"".join([*parts, b"}"])
            length = len(text).to_bytes(SNAPSHOT_LENGTH, "little")
            return b"".join([SNAPSHOT_HEAD, length, text, chooser(pause)])

        return pack

    @classmethod
    def unpack(cls, definition: Definition, data: bytes) -> "Point":
        """Return the point that was packed, with the tolerances that its definition has now."""
        return cls._restored(definition, *snapshot_parts(definition.name, data))

    @classmethod
    def unpack_as_it_was(cls, name: str, data: bytes) -> "Point":
        """Return the point that was packed, under the definition that it had then."""
        document, chooser = snapshot_parts(name, data)
        definition = Definition.from_plain(name, document["arms"], document["definition"])
        return cls._restored(definition, document, chooser)

    @classmethod
    def _restored(
        cls, definition: Definition, document: Mapping[str, Any], chooser: bytes
    ) -> "Point":
        point = cls(definition)
        point.chooser = RecordingChooser.from_bytes(chooser, clock=point.clock)
        point.chooser.set_tolerances([one.tolerance for one in definition.objectives])
        point.begun = True
        for name in ("seq", "version", "time"):
            setattr(point, name, document[name])
        point.counts = Counter(document["counts"])
        point.priors = {arm: Prior(*prior) for arm, prior in document["priors"].items()}
        point.history = History.from_plain(document["history"])
        point.keys = OldestFirst((row[0], AnsweredRequest(*row)) for row in document["keys"])
        point.past = OldestFirst((row[0], PastDecision(*row)) for row in document["past"])
        return point


def _past(pending: PendingDecision) -> PastDecision:
    """Return a decision that leaves, with the rewards that came in time."""
    id, arm, propensity = pending.id, pending.arm, pending.propensity
    return PastDecision(id, arm, propensity, pending.since, pending.rewards, {})


def _with_late(past: PastDecision, values: Mapping[str, Any]) -> PastDecision:
    late = {name: value for name, value in values.items() if name not in past.rewards}
    return past._replace(late={**past.late, **late})


def _fits(encode: Callable[[Any], Any], contexts: Mapping[str, Any]) -> bool:
    """Tell whether the definition has a place for contexts; what was written had one once."""
    try:
        encode(contexts)
    except InvalidInput:
        return False
    return True


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
