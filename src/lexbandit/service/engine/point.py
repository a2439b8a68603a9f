"""One decision point: how events, one after the other, change what is known of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lexbandit.chooser import Proposal
from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision
from lexbandit.service.definition import Definition
from lexbandit.service.engine.history import RECENT
from lexbandit.service.engine.point_state import Key, Past, PointState, Prior
from lexbandit.service.engine.rows import Decided, Rewarded, at_row
from lexbandit.service.events import CorruptLog, Stored, read_body

# Makes a named tuple in half the time.
_tuple = tuple.__new__

# What became of one row of an event: an answer, or the error that its sender gets.
Outcome = Decided | Rewarded | InvalidInput | bool | None


class Prepared(msgspec.Struct):
    """What was worked out of a decisions event when it was made: it is not worked out again.

    A proposal holds for the arms that are there when it is recorded, so those may have changed.
    `proposals` are a list, one a row, or `Proposals` of columns; None: to be made of the body.
    `chooser` made them: one of another definition has no use for them.
    """

    body: dict[str, Any]
    proposals: Any = None
    chooser: Any = None


class Point(PointState):
    """A decision point.

    `fold` takes the events of the log in their order and is the only way to change the state:
    nothing here depends on the clock on the wall, on chance, or on which process is asked. So every
    process that took the same events is in the same state.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._at = 0  # the event that is being taken
        # No decision's time is over before.
        self._look_at = math.inf if definition.wait is None else -math.inf

    def fold(self, stored: Stored, prepared: Prepared | None = None) -> Sequence[Outcome]:
        """Take an event; returns what became of each of its rows: all are taken, or none."""
        if not self.begun and stored.kind != "begin":
            raise CorruptLog(f"event {stored.seq} of {self.name!r} comes before its beginning.")
        self._at = stored.seq
        self.counts["events"] += 1
        self.time = stored.time
        if stored.time >= self._look_at:
            self._pass_time(stored.time)
        if stored.kind == "decisions":
            outcomes = self._decisions(stored, prepared)
        else:
            outcomes = self._take(stored, read_body(stored))
        self.seq = stored.seq
        return outcomes

    def _take(self, stored: Stored, body: dict[str, Any]) -> Sequence[Outcome]:
        if stored.kind == "rewards":
            return self._rewards(body["rows"])
        if stored.kind == "arm":
            return [self._arm(body)]
        if stored.kind == "begin":
            self._begin(body["arms"])
        elif stored.kind == "erase":
            self._erase(body["ids"])
        elif stored.kind != "tick":
            raise CorruptLog(
                f"event {stored.seq} is of a kind that this version does not know, "
                f"{stored.kind!r}: install the one that wrote it."
            )
        return [None]

    def _begin(self, arms: Sequence[str]) -> None:
        """Start with the arms of the first beginning; replicas that began at once agree on it."""
        if not self.begun:
            self.chooser = self.definition.chooser(arms, self.clock)
            self.begun = True

    def _erase(self, ids: Sequence[str]) -> None:
        """Forget the contexts of decisions; they are over, and what they taught stays."""
        for kept in self.chooser.forget(ids):
            self._keep_past(kept.id, Past(kept.arm, kept.propensity, kept.since, kept.rewards, {}))
        for id in ids:
            self.keys.pop(id, None)
        self.history.forget(ids)
        self.version = self._at

    def _keep_past(self, id: str, past: Past) -> None:
        self.past[id] = past
        while len(self.past) > self.definition.keep:
            self.past.popitem(last=False)

    def _pass_time(self, time: float) -> None:
        """Let decisions go whose time is over."""
        gone = self.chooser.overdue(time)
        for kept in gone:
            self.past[kept.id] = Past(kept.arm, kept.propensity, kept.since, kept.rewards, {})
            self.keys.pop(kept.id, None)
            for objective in self.chooser.objectives:
                if objective.default is not None and objective.name not in kept.rewards:
                    self.history.rewarded(time, objective.name, objective.default, kept.id)
        if gone:
            while len(self.past) > self.definition.keep:
                self.past.popitem(last=False)
            self.chooser.tick()
            self.version = self._at
            self.counts["expired"] += len(gone)
            self.history.expired(time, len(gone))
        self._look_at = self.chooser.due or time + (self.definition.wait or math.inf)

    def _decisions(self, stored: Stored, prepared: Prepared | None) -> Sequence[Outcome]:
        """Keep decisions, one a row or in columns."""
        if prepared is None:
            prepared = Prepared(read_body(stored))
        body = prepared.body
        proposals = prepared.proposals if prepared.chooser is self.chooser else None
        if "rows" not in body:
            return self._columns(body, proposals)
        rows, version = body["rows"], body["version"]
        made: list[Proposal | Decided | None] = []  # None: its context was erased
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
        self, row: dict[str, Any], version: int, made: Proposal | Decided | None
    ) -> Decided:
        """Keep a decision that can be kept; one without a context is over at once."""
        if made is None:
            propensity = math.nan if row["propensity"] is None else row["propensity"]
            self._keep_past(row["id"], Past(row["arm"], propensity, self.time, {}, {}))
            self.counts["decisions"] += 1
            self.history.decided(self.time, (row["arm"],))
            return _tuple(Decided, (row["id"], row["arm"], propensity, version))
        if isinstance(made, Decided):
            self.counts["repeated"] += 1
            return made
        id = row["id"]
        self.chooser.record(id, made)
        if "key" in row:
            self._keep_key(id, Key(row["key"], version))
        if self.past:  # an id may be used again when its first decision is over
            self.past.pop(id, None)
        self.counts["decisions"] += 1
        self.history.decided(self.time, (made.arm,))
        self.history.keep(self.time, row)
        return _tuple(Decided, (id, made.arm, made.propensity, version))

    def _keep_key(self, id: str, key: Key) -> None:
        self.keys[id] = key
        self.keys.move_to_end(id)
        if len(self.keys) > self.definition.keep:
            self.keys.popitem(last=False)

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
        for_all = allowed is None or all(isinstance(arm, str) for arm in allowed)
        for n in range(max(len(ids) - RECENT, 0), len(ids)):
            context = {name: values[n] for name, values in contexts.items()}
            row = {"id": ids[n], "arm": arms[n], "propensity": body["propensities"][n]}
            own = allowed if for_all else allowed[n]
            self.history.keep(self.time, {**row, "context": context, "allowed": own})
        return [None]

    def _rewards(self, rows: Sequence[dict[str, Any]]) -> Sequence[Outcome]:
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

    def _again(self, before: Rewarded) -> Rewarded:
        self.counts["repeated"] += 1
        return before

    def _reward(self, id: str, values: Mapping[str, Any]) -> Rewarded:
        """Learn rewards of a decision that is kept; note those of one whose time is over."""
        past = self.past.get(id)
        if past is not None:
            past.late.update({n: v for n, v in values.items() if n not in past.told})
            self.counts["late"] += 1
            self.history.late(self.time)
            return Rewarded(id, learned=False, late=True)
        told = self.chooser.decision(id).rewards
        self.chooser.reward(id, values)
        for name, value in values.items():
            if name not in told:
                self.counts["rewards"] += 1
                self.history.rewarded(self.time, name, value, id)
        self.version = self._at
        return Rewarded(id, learned=True, late=False)

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


def _fits(encode: Callable[[Any], Any], contexts: Mapping[str, Any]) -> bool:
    """Tell whether the definition has a place for contexts; what was written had one once."""
    try:
        encode(contexts)
    except InvalidInput:
        return False
    return True
