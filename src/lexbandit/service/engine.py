"""The engine: decisions and rewards of all points, each on disk before it is answered."""

import asyncio
import logging
import math
import secrets
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from lexbandit.chooser import Proposal
from lexbandit.chooser.explaining import ChooserExplanation
from lexbandit.chooser.summary import Summary
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service import opening
from lexbandit.service.arms import check_added, check_retired
from lexbandit.service.definition import Definition
from lexbandit.service.events import Event, Kind, Stored, body_of
from lexbandit.service.journal import PAGE, Appended, Journal
from lexbandit.service.point import Outcome, Point, Prepared
from lexbandit.service.rows import (
    OUR_IDS,
    Decided,
    DecidedMany,
    DecisionRow,
    Found,
    Rewarded,
    at_row,
    fingerprint,
    one_request_an_id,
    own_id,
    told_by_id,
)
from lexbandit.service.snapshots import Snapshots
from lexbandit.service.storage import Storage, StorageFailed
from lexbandit.service.turns import Turns

log = logging.getLogger("lexbandit.service")

_TICK = 1.0
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class Engine:
    """Serves decision points from one log. All of it runs in one event loop.

    A request is checked against the state, written to the log, folded into the state, and only then
    answered. `start` makes one.
    """

    def __init__(
        self, points: Mapping[str, Point], storage: Storage, *, seq: int, snapshot_every: int
    ) -> None:
        self.points = dict(points)
        self.storage = storage
        self.replica = secrets.token_hex(4)
        self.repeated: Counter[str] = Counter()
        """By point, how many decisions and rewards were answered as before, and not written."""
        self._made = 0
        self._prefix = f"{OUR_IDS}{self.replica}-"
        self._turns = Turns()
        self._journal = Journal(storage, self._fold, seq)
        self._snapshots = Snapshots(self, snapshot_every)
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(
        cls,
        points: Mapping[str, Definition],
        storage: Storage,
        *,
        snapshot_every: int = 50_000,
        poll: float = 0.2,
        skip_untaken: bool = False,
    ) -> "Engine":
        """Open the storage, bring every point to the log's end, and begin to serve.

        `snapshot_every` is in rows folded; `poll` is how often, in seconds, a shared log is read.
        Where a changed definition has no place for rows of the log it does not start, unless
        `skip_untaken` says to go on without them.
        """
        await storage.open()
        try:
            states, seq = await opening.restored(points, storage)
            engine = cls(states, storage, seq=seq, snapshot_every=snapshot_every)
            await engine._journal.catch_up()
            if not skip_untaken:
                opening.check_taken(engine.points)
            opening.report(engine.points)
            engine._journal.start()
            await opening.begin(engine)
            if skip_untaken:  # the next start goes on from here, and need not be told again
                await engine._snapshots.take()
        except BaseException:
            await storage.close()
            raise
        engine._go_on(engine._tick())
        engine._go_on(engine._snapshots.now_and_then())
        if storage.shared:
            engine._go_on(engine._journal.follow(poll))
        return engine

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work go on beside the requests; if it ends by an error, nothing more is written."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._journal.fail(error)

    async def stop(self) -> None:
        """Answer what is under way, keep a last snapshot, and close the storage."""
        await self._journal.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.trouble is None:
            await self._snapshots.take()
        await self.storage.close()

    @property
    def trouble(self) -> str | None:
        """Why nothing is taken now; None if all is well."""
        return self._journal.trouble

    @property
    def snapshot_seconds(self) -> float:
        """How long the last snapshots took."""
        return self._snapshots.seconds

    @property
    def seq(self) -> int:
        """The last event of the log that was folded."""
        return self._journal.seq

    def point(self, name: str) -> Point:
        """Return a decision point."""
        try:
            return self.points[name]
        except KeyError:
            raise unknown_name("decision point", name, self.points) from None

    def _fold(self, stored: Stored, prepared: Prepared | None) -> Sequence[Outcome]:
        point = self.points.get(stored.point)
        if point is None or stored.seq <= point.seq:  # not served here, or in its snapshot already
            return ()
        outcome = point.fold(stored, prepared)
        self._snapshots.folded += len(outcome)
        return outcome

    def append(
        self, point: str, kind: Kind, body: dict[str, Any], prepared: Prepared | None = None
    ) -> Appended:
        """Have an event written and folded; to be awaited."""
        return self._journal.append(_tuple(Event, (point, kind, body_of(body))), prepared)

    # --- decisions -------------------------------------------------------------------------------

    async def decide(
        self,
        point: str,
        context: Mapping[str, Any],
        allowed: Sequence[str] | None = None,
        id: str | None = None,
    ) -> Decided:
        """Decide, and keep the decision for its rewards.

        The same `id` again, with the same context and allowed arms, gives the first answer again.
        """
        if id is not None:
            return (await self.decide_many(point, [DecisionRow(context, allowed, id)]))[0]
        state = self.point(point)  # by far the most come so: without a turn, and one row
        proposal = state.chooser.propose(context, allowed)
        row = _row(self._new_id(), context, allowed, proposal)
        outcomes = await self._append_decisions(state, [row], [proposal])
        decided: Decided = _answer(outcomes[0])
        return decided

    async def decide_many(self, point: str, rows: Sequence[DecisionRow]) -> list[Decided]:
        """Decide many, all by what is known now; if one cannot be taken, none is."""
        state = self.point(point)
        one_request_an_id(rows)
        async with self._turns.about({(point, row.id) for row in rows if row.id is not None}):
            return await self._decide(state, rows)

    async def _decide(self, point: Point, rows: Sequence[DecisionRow]) -> list[Decided]:
        """Write the rows that were not answered before; a caller's id counts once."""
        places: list[Decided | int] = []
        first: dict[str, Decided | int] = {}
        written: list[dict[str, Any]] = []
        proposals: list[Proposal] = []
        for n, asked in enumerate(rows):
            try:
                place = None if asked.id is None else first.get(asked.id)
                key = None
                if place is None and asked.id is not None:
                    key = fingerprint(asked.context, asked.allowed)
                    place = point.answered(own_id(asked.id), key)
                if place is None:
                    proposals.append(point.chooser.propose(asked.context, asked.allowed))
                    id = self._new_id() if asked.id is None else asked.id
                    written.append(_row(id, asked.context, asked.allowed, proposals[-1], key))
                    place = len(written) - 1
            except InvalidInput as error:
                raise at_row(error, n, len(rows)) from None
            places.append(place)
            if asked.id is not None:
                first[asked.id] = place
        self.repeated[point.name] += len(rows) - len(written)
        outcomes: Sequence[Outcome] = ()
        if written:
            outcomes = await self._append_decisions(point, written, proposals)
        return [
            place if isinstance(place, Decided) else _answer(outcomes[place]) for place in places
        ]

    def _append_decisions(
        self, point: Point, rows: list[dict[str, Any]], proposals: list[Proposal]
    ) -> Appended:
        body = {"by": self.replica, "version": point.version, "rows": rows}
        return self.append(
            point.name, "decisions", body, Prepared(point.arms_version, body, proposals)
        )

    def _new_id(self) -> str:
        self._made += 1
        return f"{self._prefix}{self._made:x}"

    async def decide_columns(
        self, point: str, contexts: Mapping[str, Sequence[Any]], allowed: Any = None
    ) -> DecidedMany:
        """Decide many, given by columns: the quick way; ids are the service's own."""
        state = self.point(point)
        proposals = state.chooser.propose_many(contexts, allowed)
        ids = [self._new_id() for _ in proposals.arms]
        propensities = [float(p) for p in proposals.propensities]
        body = {
            "by": self.replica,
            "version": state.version,
            "ids": ids,
            "arms": proposals.arms,
            "propensities": [_number(p) for p in propensities],
            "contexts": contexts,
            "allowed": allowed,
        }
        if ids:
            prepared = Prepared(state.arms_version, body, proposals)
            _answer((await self.append(point, "decisions", body, prepared))[0])
        return DecidedMany(ids, proposals.arms, propensities, body["version"])

    # --- rewards ---------------------------------------------------------------------------------

    async def reward(self, point: str, id: str, values: Mapping[str, float]) -> Rewarded:
        """Tell rewards of a decision, all or some of them."""
        return (await self.reward_many(point, [(id, values)]))[0]

    async def reward_many(
        self, point: str, rows: Sequence[tuple[str, Mapping[str, float]]]
    ) -> list[Rewarded]:
        """Tell rewards of many decisions; if one cannot be taken, none is."""
        state = self.point(point)
        told = told_by_id(rows)
        async with self._turns.about((point, id) for id in told):
            if self.storage.shared and not all(map(state.knows, told)):
                await self._journal.catch_up()  # another process may have decided just now
            answers: dict[str, Rewarded] = {}
            fresh: list[dict[str, Any]] = []
            for id, (n, values) in told.items():
                try:
                    known = state.rewarded(id, values)
                except InvalidInput as error:
                    raise at_row(error, n, len(rows)) from None
                if known is not None:
                    answers[id] = known
                else:
                    numbers = {name: float(value) for name, value in values.items()}
                    fresh.append({"id": id, "values": numbers})
            self.repeated[point] += len(answers)
            if fresh:
                outcomes = await self.append(point, "rewards", {"rows": fresh})
                for row, outcome in zip(fresh, outcomes, strict=True):
                    answers[row["id"]] = _answer(outcome)
        return [answers[id] for id, _ in rows]

    async def decision(self, point: str, id: str) -> Found:
        """Look a decision up: one that is kept, or was until its time was over."""
        state = self.point(point)
        if self.storage.shared and not state.knows(id):
            await self._journal.catch_up()  # another process may have decided just now
        return state.found(id)

    # --- arms, and what is known -----------------------------------------------------------------

    async def add_arm(
        self,
        point: str,
        arm: str,
        prior: Mapping[str, float] | None = None,
        weight: int | None = None,
    ) -> bool:
        """Add an arm, or take a retired one back; False if it was there."""
        state = self.point(point)
        if arm in state.chooser.arms:
            return False
        check_added(state.chooser, arm, prior, weight)
        body = {"arm": arm, "change": "add", "prior": prior, "weight": weight}
        return bool(_answer((await self.append(point, "arm", body))[0]))

    async def retire_arm(self, point: str, arm: str) -> bool:
        """Stop choosing an arm; False if it was retired before."""
        state = self.point(point)
        if arm in state.chooser.retired:
            return False
        check_retired(state.chooser, arm)
        return bool(_answer((await self.append(point, "arm", {"arm": arm, "change": "retire"}))[0]))

    def explain(
        self, point: str, context: Mapping[str, Any], allowed: Sequence[str] | None = None
    ) -> ChooserExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        return self.point(point).chooser.explain(context, allowed)

    def summary(self, point: str) -> Summary:
        """Say what a point learned so far."""
        return self.point(point).chooser.summary()

    async def read_log(self, point: str, since: int, limit: int) -> list[Stored]:
        """Return the events of a point after `since`, at most `limit`."""
        self.point(point)
        found: list[Stored] = []
        while len(found) < limit and (page := await self.storage.read_since(since, PAGE)):
            found += [stored for stored in page if stored.point == point]
            since = page[-1].seq
        return found[:limit]

    async def _tick(self) -> None:
        """Let time pass in the log where something waits for it and nothing else happens."""
        while True:
            await asyncio.sleep(_TICK)
            now = self._journal.now()
            for point in self.points.values():
                due = point.chooser.due
                if due is not None and due <= now:
                    try:
                        await self.append(point.name, "tick", {})
                    except StorageFailed as error:
                        log.warning("%s: time cannot pass: %s", point.name, error)


def _row(
    id: str,
    context: Mapping[str, Any],
    allowed: Sequence[str] | None,
    proposal: Proposal,
    key: str | None = None,
) -> dict[str, Any]:
    """Return a decision as the log has it; `key` is there if the id is the caller's own."""
    row: dict[str, Any] = {
        "id": id,
        "arm": proposal.arm,
        "propensity": _number(proposal.propensity),
        "context": context,
    }
    if allowed is not None:
        row["allowed"] = list(allowed)
    if key is not None:
        row["key"] = key
    return row


def _answer(outcome: Any) -> Any:
    """Return an outcome; an error is raised."""
    if isinstance(outcome, InvalidInput):
        raise outcome
    return outcome


def _number(propensity: float) -> float | None:
    return None if math.isnan(propensity) else float(propensity)
