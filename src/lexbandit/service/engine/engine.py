"""The engine: decisions and rewards of all points, each on disk before it is answered."""

import asyncio
import logging
import math
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from lexbandit.chooser import Proposal
from lexbandit.chooser.explanation import Explanation
from lexbandit.chooser.saving import no_pause
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.definition import Definition
from lexbandit.service.engine import start as starting
from lexbandit.service.engine.background_replay import Replay
from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.journal import Appended, Journal
from lexbandit.service.engine.point import (
    COLUMNS,
    NOT_DURABLE,
    OUR_IDS,
    SLICE,
    ColumnsReply,
    DecisionReply,
    DecisionRequest,
    FoundDecision,
    Outcome,
    Point,
    RewardReply,
    at_row,
    check_added,
    check_columns,
    check_context,
    check_retired,
    fresh_ids,
    request_key,
    reward_slices,
    rewards_by_id,
    slices,
)
from lexbandit.service.events import CorruptLog, Event, Kind, Snapshot, body_of, by_columns
from lexbandit.service.maintenance.compact import compact
from lexbandit.service.storage import Storage, StorageFailed

log = logging.getLogger("lexbandit.service")

_TICK = 1.0
# How often, in seconds, to look whether a snapshot is due, and how long one is put off at most.
_LOOK, _LONGEST = 1.0, 60.0
# The time from one snapshot to the next is at least so many times what the last one took.
_APART = 10
# Whoever packs one works for one part in so many of the time.
_PACE = 5
# So many requests read the log at a time.
_LOG_READERS = 8
# How often to look, in seconds, whether the storage is down, for requests that go on then.
_WITHDRAW = 0.25
# How often to look for events that are older than `retain`, in seconds, at most.
_RETAIN = 3600.0


class Engine:
    """Serves decision points from one log. All of it runs in one event loop.

    A request is checked against the state, written to the log, folded into the state, and only then
    answered. `start` makes one.
    """

    def __init__(
        self, points: Mapping[str, Point], storage: Storage, *, seq: int, snapshot_every: int
    ) -> None:
        self.points = dict(points)
        self.definitions = {name: point.definition for name, point in points.items()}
        """As the configuration has them; a point may serve an earlier one while it is replayed."""
        self.replays: dict[str, Replay] = {}
        """By point, the replays that have not ended."""
        self.replay_progress: dict[str, float] = {}
        """By point, the share of its log that was replayed so far under a changed definition."""
        self.storage = storage
        self.replica = secrets.token_hex(4)
        self.repeated: Counter[str] = Counter()
        """By point, how many decisions and rewards were answered as before, and not written."""
        self.not_durable: Counter[str] = Counter()
        """By point, how many decisions were answered while the storage was down, and not stored."""
        self.draining = False
        """The process is about to end: it is not ready, and still serves."""
        self.log_readers = asyncio.Semaphore(_LOG_READERS)
        """Held by those who read the log for callers; each holds megabytes meanwhile."""
        self.journal = Journal(storage, self._fold, self._fold_many, seq)
        self.snapshots = Snapshots(self.points, self.replays, storage, self.journal, snapshot_every)
        self._tasks: list[asyncio.Task[None]] = []
        self._busy: dict[str, dict[str, asyncio.Future[None]]] = {name: {} for name in points}
        """By point, the ids that a request is about just now."""
        self._slicing = asyncio.Lock()
        self._ids = fresh_ids()

    @classmethod
    async def start(
        cls,
        points: Mapping[str, Definition],
        storage: Storage,
        *,
        snapshot_every: int = 50_000,
        poll: float = 0.2,
        skip_untaken: bool = False,
        accept_clock: bool = False,
        retain: float | None = None,
        archive: Path | None = None,
    ) -> "Engine":
        """Open the storage, bring every point to the log's end, and begin to serve.

        `snapshot_every` is in rows folded; `poll` is how often, in seconds, a shared log is read.
        Where a changed definition has no place for rows of the log it does not start, unless
        `skip_untaken` says to go on without them. Neither does it start with a clock that is more
        than a year away from the log's last event, unless `accept_clock` says that it is right.
        Events older than `retain` seconds leave the log, to files in `archive` if that is given.
        """
        await storage.open()
        try:
            if not accept_clock:
                starting.check_clock(await storage.clock_ahead())
            states, behind = await starting.restored(points, storage)
            seq = min((point.seq for point in states.values()), default=0)
            engine = cls(states, storage, seq=seq, snapshot_every=snapshot_every)
            engine.definitions = dict(points)
            with starting.without_garbage_collection():
                async with starting.reporting(lambda: engine.seq):
                    await engine.journal.catch_up(page=starting.PAGE)
            if not skip_untaken:
                starting.check_taken(engine.points)
            starting.report(engine.points)
            for definition in points.values():
                starting.warn_of_log(definition)
            for point in engine.points.values():
                starting.warn_of_tolerances(point)
            engine.journal.start()
            await engine._begin()
            if skip_untaken:  # the next start goes on from here, without the flag
                await engine.snapshots.take()
        except BaseException:
            await storage.close()
            raise
        for point in behind.values():
            engine._replay(point, skip_untaken=skip_untaken)
        engine._run(engine._tick())
        engine._run(engine.journal.recover())
        engine._run(engine.snapshots.now_and_then(forget_former=retain is None))
        if retain is not None:
            engine._run(engine._retain(retain, archive))
        if storage.shared:
            engine._run(engine.journal.follow(poll))
        return engine

    async def _begin(self) -> None:
        """Write what a point's log begins with, and the arms that only its definition has."""
        for name, point in self.points.items():
            definition = point.definition
            if not point.begun:
                body = {"arms": list(definition.arms), "definition": definition.plain()}
                await self.append(name, "begin", body)
            chooser = point.chooser
            for arm in self.definitions[name].arms:
                if arm not in chooser.arms and arm not in chooser.retired:
                    await self.add_arm(name, arm)
            if chooser.due is not None:  # the log's time may have passed it while nobody served
                await self.append(name, "tick", {})

    def _replay(self, point: Point, *, skip_untaken: bool) -> None:
        """Begin to replay a point's log under its changed definition, beside the requests."""
        self.replays[point.name] = Replay(
            point,
            self.storage,
            self.journal,
            progress=self.replay_progress,
            switch=self._switch,
            erased=lambda: self.points[point.name].erased,
            skip_untaken=skip_untaken,
        )
        self._run(self.replays[point.name].run())

    def _switch(self, point: Point) -> None:
        """Let a point serve in place of the one of its name, at the same event."""
        self.points[point.name] = point
        del self.replays[point.name], self.replay_progress[point.name]
        self.snapshots.forget(point.name)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work go on beside the requests; if it ends by an error, nothing more is written."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.journal.fail(error)

    async def stop(self) -> None:
        """Answer what is under way, save last snapshots, and close the storage."""
        await self.journal.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.trouble is None:
            try:
                for replay in self.replays.values():
                    await replay.save()
                await self.snapshots.take()
            except StorageFailed as error:  # the next start reads more of the log
                log.warning("no last snapshot was saved: %s", error)
        await self.storage.close()

    async def save_two_snapshots(self) -> None:
        """Save two snapshots of every point, which both hold all events so far."""
        for _ in range(2):
            for point in self.points:
                await self.append(point, "tick", {})
            await self.snapshots.take()

    # --- how it is -------------------------------------------------------------------------------

    @property
    def trouble(self) -> str | None:
        """Why nothing is taken now; None if all is well."""
        return self.journal.trouble or self.journal.stalled

    @property
    def seq(self) -> int:
        """The last event of the log that was folded."""
        return self.journal.seq

    def point(self, name: str) -> Point:
        """Return a decision point."""
        try:
            return self.points[name]
        except KeyError:
            raise unknown_name("decision point", name, self.points) from None

    # --- the log ---------------------------------------------------------------------------------

    def _fold(
        self, event: Event, body: dict[str, Any] | None = None, proposals: Any = None
    ) -> Sequence[Outcome]:
        point = self.points.get(event.point)
        if point is None or event.seq <= point.seq:  # not served here, or in its snapshot already
            return ()
        outcome = point.fold(event, body, proposals)
        self.snapshots.folded += len(outcome)
        return outcome

    def _fold_many(self, events: Sequence[Event]) -> None:
        """Fold events that nobody waits for; what points do does not depend on other points."""
        page = by_columns(events)
        for name in page.points():
            point = self.points.get(name)
            if point is not None:
                fold_many(point, page.of_point(name).after(point.seq))
                self.snapshots.folded += len(events)

    def append(
        self,
        name: str,
        kind: Kind,
        body: dict[str, Any],
        made: tuple[Point, Any] | None = None,
        encoded: bytes | None = None,
    ) -> Appended:
        """Have an event written and folded; to be awaited. `encoded` is the body as it is written.

        `made` has the proposals of a decisions event and the point that made them. They are of no
        use to another one, which serves in its place since a changed definition was replayed.
        """

        def fold(event: Event) -> Sequence[Outcome]:
            proposals = made[1] if made is not None and self.points[name] is made[0] else None
            return self._fold(event, body, proposals)

        written = body_of(body) if encoded is None else encoded
        return self.journal.append(Event(0, 0.0, name, kind, written), fold)

    async def _retain(self, seconds: float, archive: Path | None) -> None:
        """Remove events from the log now and then that are older than so many seconds."""
        reported: tuple[str, ...] = ()
        while True:
            await asyncio.sleep(min(_RETAIN, seconds / 10))
            if self.replays:
                continue  # they still read what is old
            definitions = {name: point.definition for name, point in self.points.items()}
            before = self.journal.now() - seconds
            try:
                done = await compact(self.storage, definitions, before=before, archive=archive)
            except (StorageFailed, CorruptLog, InvalidInput, OSError) as error:
                log.warning("no events were removed from the log: %s", error)
                continue
            if done.events:
                log.info("events=%d were removed, up to event %d", done.events, done.removed)
            if done.blocked != reported:
                reported = done.blocked
                log.warning(
                    "events stay in the log for points that are not served: %s. "
                    "`lexbandit compact --forget` removes them.",
                    ", ".join(reported),
                )

    async def _tick(self) -> None:
        """Let time pass in the log where something waits for it and nothing else happens."""
        while True:
            await asyncio.sleep(_TICK)
            now = self.journal.now()
            for point in self.points.values():
                due = point.chooser.due
                if due is not None and due <= now:
                    try:
                        await self.append(point.name, "tick", {})
                    except StorageFailed as error:
                        log.warning("%s: time cannot pass: %s", point.name, error)
                        if error.final:
                            return

    # --- decisions -------------------------------------------------------------------------------

    async def decide(
        self,
        point: str,
        context: dict[str, Any],
        allowed: list[str] | None = None,
        id: str | None = None,
    ) -> DecisionReply:
        """Decide, and store the decision for its rewards.

        The same `id` again, with the same context and allowed arms, gives the first answer again.
        """
        state, asked = self.point(point), DecisionRequest(context, allowed, id)
        if self._goes_on(point):
            return (await self._many_not_durable(state, [asked]))[0]
        if id is None:
            return await self._decide_one(state, context, allowed, next(self._ids))
        key = request_key(asked, {})
        async with HeldIds(self._busy[point], {id}):
            if id in state.chooser and (before := state.answered(id, key)) is not None:
                self.repeated[point] += 1
                return before
            return await self._decide_one(state, context, allowed, id, key)

    async def _decide_one(
        self,
        point: Point,
        context: dict[str, Any],
        allowed: list[str] | None,
        id: str,
        key: str | None = None,
    ) -> DecisionReply:
        """Have a new decision written; `key` is there if the id is the caller's own."""
        proposal = _proposed(point, context, allowed)
        body = self._decisions_body(point, [_row(id, context, allowed, proposal, key)])
        appended = self.append(point.name, "decisions", body, (point, [proposal]))
        if self.definitions[point.name].when_down is not None and await self._withdrawn(appended):
            return self._not_durable(point, context, allowed)
        decided: DecisionReply = _answer((await appended)[0])
        return decided

    def _goes_on(self, point: str) -> bool:
        """Tell whether decisions of a point are answered now though the storage is down."""
        return self.trouble is not None and self.definitions[point].when_down is not None

    @property
    def answers_when_down(self) -> bool:
        """Whether every point answers decisions while the storage is down."""
        return all(one.when_down is not None for one in self.definitions.values())

    async def _withdrawn(self, appended: Appended) -> bool:
        """Wait for an event, and take it back if the storage is down before it is written to."""
        while not appended.done():
            await asyncio.wait([appended], timeout=_WITHDRAW)
            if self.trouble is not None and self.journal.withdraw(appended):
                return True
        return False

    def _not_durable(
        self, point: Point, context: dict[str, Any], allowed: list[str] | None
    ) -> DecisionReply:
        """Return a decision that is not written, as `when_down` says."""
        if self.definitions[point.name].when_down == "default-arm":
            _proposed(point, context, allowed)  # refuses what is refused at other times
            arm = next(arm for arm in point.chooser.arms if allowed is None or arm in allowed)
        else:
            arm = _best_known(point, context, allowed)
        self.not_durable[point.name] += 1
        id = NOT_DURABLE + next(self._ids)[len(OUR_IDS) :]
        return DecisionReply(id, arm, 1.0, point.version, durable=False)

    async def decide_many(self, point: str, rows: Sequence[DecisionRequest]) -> list[DecisionReply]:
        """Decide many, all by what is known now; if one cannot be taken, none is."""
        state = self.point(point)
        if self._goes_on(point):
            return await self._many_not_durable(state, rows)
        if len(rows) > SLICE:
            await self._pause()
        async with HeldIds(self._busy[point], {row.id for row in rows if row.id is not None}):
            return await self._decide(state, rows)

    async def _many_not_durable(
        self, point: Point, rows: Sequence[DecisionRequest]
    ) -> list[DecisionReply]:
        """Return decisions that are not written, but for those that an id knows again."""
        answers: list[DecisionReply] = []
        asked: dict[str, str] = {}
        for n, row in enumerate(rows):
            if n % SLICE == SLICE - 1:
                await self._pause()
            try:
                key = request_key(row, asked)
                before = None if row.id is None else point.answered(row.id, key)
                answers.append(before or self._not_durable(point, row.context, row.allowed))
            except InvalidInput as error:
                raise at_row(error, n, len(rows)) from None
        return answers

    async def _pause(self) -> None:
        """Let others be answered between two slices; of several batches one goes on at a time."""
        async with self._slicing:
            await asyncio.sleep(0)

    async def _decide(self, point: Point, rows: Sequence[DecisionRequest]) -> list[DecisionReply]:
        """Write the rows that were not answered before; a caller's id counts once."""
        names = [(row.id, n if row.id is None else None) for n, row in enumerate(rows)]
        if len(rows) > SLICE:
            await self._pause()
        answers: dict[Any, DecisionReply] = {}
        fresh: dict[Any, dict[str, Any]] = {}
        proposals: list[Proposal] = []
        asked: dict[str, str] = {}
        for n, (name, row) in enumerate(zip(names, rows, strict=True)):
            context, allowed, id = row.context, row.allowed, row.id
            if n % SLICE == SLICE - 1:
                await self._pause()
            try:
                key = request_key(row, asked)
                if name in answers or name in fresh:
                    continue
                before = None if id is None else point.answered(id, key)
                if before is not None:
                    answers[name] = before
                else:
                    proposals.append(_proposed(point, context, allowed))
                    fresh[name] = _row(id or next(self._ids), context, allowed, proposals[-1], key)
            except InvalidInput as error:
                raise at_row(error, n, len(rows)) from None
        self.repeated[point.name] += len(rows) - len(fresh)
        if fresh:
            outcomes = await self._append_decisions(point, [*fresh.values()], proposals)
            for n, (name, outcome) in enumerate(zip(fresh, outcomes, strict=True)):
                answers[name] = _answer(outcome)
                if n % COLUMNS == COLUMNS - 1:
                    await self._pause()
        return [answers[name] for name in names]

    async def _append_decisions(
        self, point: Point, rows: list[dict[str, Any]], proposals: list[Proposal]
    ) -> list[Any]:
        """Have decisions written and folded; returns what became of them."""
        bodies: list[dict[str, Any]] = []
        encoded: list[bytes] = []
        for a, b in slices(len(rows)):
            bodies.append(self._decisions_body(point, rows[a:b]))
            encoded.append(body_of(bodies[-1]))
            if b < len(rows):
                await self._pause()
        appended = [  # at once, so that one transaction has them all
            self.append(point.name, "decisions", body, (point, proposals[a:b]), text)
            for (a, b), body, text in zip(slices(len(rows)), bodies, encoded, strict=True)
        ]
        return await _all(appended)

    def _decisions_body(self, point: Point, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the body of the event of decisions in rows."""
        body: dict[str, Any] = {"by": self.replica, "version": point.version, "rows": rows}
        if any("key" in row for row in rows):  # the service's own ids never come again
            body["seen"] = self.seq
        return body

    async def decide_columns(
        self, point: str, contexts: Mapping[str, Sequence[Any]], allowed: Any = None
    ) -> ColumnsReply:
        """Decide many, given by columns: the quick way; ids are the service's own."""
        state = self.point(point)
        lengths = {len(values) for values in contexts.values()}
        count = max(lengths, default=0)
        each = COLUMNS if len(lengths) == 1 else max(count, 1)  # unequal ones: refused as a whole
        for_all = allowed is None or all(isinstance(arm, str) for arm in allowed)
        if self._goes_on(point):
            state.chooser.propose_many(contexts, allowed)  # refuses what cannot be taken
            asked = [
                DecisionRequest(
                    {name: values[n] for name, values in contexts.items()},
                    allowed if for_all else allowed[n],
                )
                for n in range(count)
            ]
            return _columns_of(await self._many_not_durable(state, asked))
        bodies: list[dict[str, Any]] = []
        made: list[Any] = []
        for a, b in slices(count, each) or [(0, 0)]:
            part = {name: values[a:b] for name, values in contexts.items()}
            own = allowed if for_all else allowed[a:b]
            try:
                made.append(_proposed_columns(state, part, own))
            except InvalidInput:
                state.chooser.propose_many(contexts, allowed)  # names the row among all
                raise
            bodies.append(self._columns(state, part, own, made[-1]))
            await self._pause()
        if count:
            pairs = zip(bodies, made, strict=True)
            appended = [self.append(point, "decisions", b, (state, m)) for b, m in pairs]
            for outcome in await _all(appended):
                _answer(outcome)
        ids, arms = ([one for body in bodies for one in body[name]] for name in ("ids", "arms"))
        propensities = [float(p) for proposals in made for p in proposals.propensities]
        return ColumnsReply(ids, arms, [*propensities], bodies[0]["version"])

    def _columns(
        self, point: Point, contexts: Mapping[str, Sequence[Any]], allowed: Any, made: Any
    ) -> dict[str, Any]:
        """Return the body of the event of decisions in columns."""
        return {
            "by": self.replica,
            "version": point.version,
            "ids": [next(self._ids) for _ in made.arms],
            "arms": made.arms,
            "propensities": [_number(float(p)) for p in made.propensities],
            "contexts": contexts,
            "allowed": allowed,
        }

    # --- rewards ---------------------------------------------------------------------------------

    async def reward(self, point: str, id: str, values: Mapping[str, float]) -> RewardReply:
        """Learn rewards of a decision, all or some of them."""
        return (await self.reward_many(point, [(id, values)]))[0]

    async def reward_many(
        self, point: str, rows: Sequence[tuple[str, Mapping[str, float]]]
    ) -> list[RewardReply]:
        """Learn rewards of many decisions; if one cannot be taken, none is."""
        state = self.point(point)
        rewards = rewards_by_id(rows)
        if len(rows) > SLICE:
            await self._pause()
        nowhere = {id for id in rewards if id.startswith(NOT_DURABLE)}
        if nowhere:  # of decisions that are not in the log
            others = await self.reward_many(point, [row for row in rows if row[0] not in nowhere])
            found = {one.id: one for one in others}
            return [found.get(id) or RewardReply(id, learned=False, late=False) for id, _ in rows]
        async with HeldIds(self._busy[point], rewards.keys()):
            if self.storage.shared and not all(map(state.knows, rewards)):
                await self.journal.catch_up()  # another process may have decided just now
            answers: dict[str, RewardReply] = {}
            fresh: list[dict[str, Any]] = []
            for id, (n, values) in rewards.items():
                if n % SLICE == SLICE - 1:
                    await self._pause()
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
                outcomes = await self._append_rewards(point, fresh)
                for n, (row, outcome) in enumerate(zip(fresh, outcomes, strict=True)):
                    answers[row["id"]] = _answer(outcome)
                    if n % COLUMNS == COLUMNS - 1:
                        await self._pause()
        return [answers[id] for id, _ in rows]

    async def _append_rewards(self, point: str, rows: list[dict[str, Any]]) -> list[Any]:
        """Have rewards written and learned; returns what became of them."""
        state = self.point(point)
        seen = state.counts["rewards"] // len(state.definition.objectives)
        bodies = [{"rows": rows[a:b]} for a, b in reward_slices(len(rows), seen)]
        encoded: list[bytes] = []
        for n, body in enumerate(bodies):
            if n % SLICE == SLICE - 1:
                await self._pause()
            encoded.append(body_of(body))
        appended = [  # at once, so that one transaction has them all
            self.append(point, "rewards", body, None, text)
            for body, text in zip(bodies, encoded, strict=True)
        ]
        return await _all(appended)

    async def decision(self, point: str, id: str) -> FoundDecision:
        """Look a decision up: a pending one, or one whose time is over."""
        state = self.point(point)
        if self.storage.shared and not state.knows(id):
            await self.journal.catch_up()  # another process may have decided just now
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
        check_added(state.chooser, arm, prior, weight)
        state.check_prior(arm, prior, weight)
        if arm in state.chooser.arms:
            return False
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
    ) -> Explanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        state = self.point(point)
        check_context(state.definition.context, context)
        return state.chooser.explain(context, allowed)


def _proposed(point: Point, context: Mapping[str, Any], allowed: Sequence[str] | None) -> Proposal:
    """Return a proposal for what a request asked."""
    proposal = point.chooser.propose(context, allowed)
    if proposal.notes:  # only what is unknown can be too long
        check_context(point.definition.context, context)
    return proposal


def _columns_of(many: Sequence[DecisionReply]) -> ColumnsReply:
    """Return decisions that are not durable by columns."""
    ids, arms = [one.id for one in many], [one.arm for one in many]
    chances = [one.propensity for one in many]
    return ColumnsReply(ids, arms, chances, many[0].policy_version, durable=False)


def _best_known(point: Point, context: Mapping[str, Any], allowed: Sequence[str] | None) -> str:
    """Return the arm that the policy most likely chooses; a chosen one if that is not known."""
    chances = point.chooser.propensities(context, allowed)
    if any(math.isnan(chance) for chance in chances.values()):
        return _proposed(point, context, allowed).arm
    return max(chances, key=chances.__getitem__)


def _proposed_columns(point: Point, contexts: Mapping[str, Sequence[Any]], allowed: Any) -> Any:
    """Return proposals for what a request asked in columns."""
    proposals = point.chooser.propose_many(contexts, allowed)
    if proposals.notes:
        check_columns(point.definition.context, contexts)
    return proposals


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


async def _all(appended: Sequence[Appended]) -> list[Any]:
    """Return the outcomes of events that were appended together, when all are on disk."""
    if len(appended) == 1:
        return list(await appended[0])
    outcomes: list[Any] = []
    for one in await asyncio.gather(*appended):
        outcomes += one
    return outcomes


def _answer(outcome: Any) -> Any:
    """Return an outcome; an error is raised."""
    if isinstance(outcome, InvalidInput):
        raise outcome
    return outcome


def _number(propensity: float) -> float | None:
    return None if math.isnan(propensity) else float(propensity)


class HeldIds:
    """A context that begins when no other holds any of its ids: `busy` has those that are held."""

    def __init__(self, busy: "dict[str, asyncio.Future[None]]", ids: Set[str]) -> None:
        self._busy = busy
        self._ids = ids

    async def __aenter__(self) -> None:
        while busy := self._busy.keys() & self._ids:
            await asyncio.wait({self._busy[one] for one in busy})
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy.update(dict.fromkeys(self._ids, self._done))

    async def __aexit__(self, *_: object) -> None:
        for one in self._ids:
            del self._busy[one]
        self._done.set_result(None)


class Pauses:
    """Lets one thread work for a part of the time, until `ended`: it holds Python's lock."""

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended
        self._worked: float | None = None

    def __call__(self) -> None:
        """Wait in proportion to the processor time of the thread since the last call."""
        if self._worked is not None:
            self._ended.wait((_PACE - 1) * (time.thread_time() - self._worked))
        self._worked = time.thread_time()


class Snapshots:
    """Saves a snapshot of each point now and then, so that a start need not read the whole log."""

    def __init__(
        self,
        points: Mapping[str, Point],
        replays: Mapping[str, Replay],
        storage: Storage,
        journal: Journal,
        every: int,
    ) -> None:
        self._points = points
        self._replays = replays
        self._storage = storage
        self._journal = journal
        self._every = every
        self._saved: dict[str, int] = {name: point.seq for name, point in points.items()}
        self._taken: Counter[str] = Counter()  # since a point serves
        self.folded = 0
        """How many rows of events were folded since the last snapshot."""
        self.seconds = 0.0
        """How long the last snapshots took, from begin to end."""
        self._last = time.monotonic()

    @property
    def age(self) -> float:
        """How many seconds ago the last snapshots were saved; 0 if nothing happened since."""
        return time.monotonic() - self._last if self.folded else 0.0

    async def now_and_then(self, *, forget_former: bool) -> None:
        """Save snapshots when they are due, until cancelled.

        Under a load of many decisions a second one is due as soon as the last is saved; requests
        would wait for them all the time. `forget_former`: see the method.
        """
        last = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK)
            passed = time.monotonic() - last
            due = self.folded >= self._every and passed > _APART * self.seconds
            due |= passed > _LONGEST
            well = self._journal.trouble is None and self._journal.stalled is None
            if self.folded and due and well:
                last, ended = time.monotonic(), threading.Event()
                try:
                    await self.take(ended)
                    if forget_former:
                        await self._forget_former()
                except StorageFailed as error:
                    log.warning("no snapshot was saved: %s", error)
                finally:
                    ended.set()

    def forget(self, name: str) -> None:
        """Save a snapshot of a point the next time, whatever was saved of it before."""
        self._saved[name] = self._taken[name] = 0
        self.folded += 1

    async def _forget_former(self) -> None:
        """Remove snapshots of former definitions, once two were taken of the one that serves.

        Those of the newest of them stay, for a return to it and for replicas that still serve it;
        of the others the log says all, as long as nothing was removed from it.
        """
        done = [name for name, taken in self._taken.items() if taken >= 2]
        for name in done:
            if name in self._replays or await self._storage.removed():
                continue
            serves = self._points[name].definition.fingerprint
            former = [
                key
                for key in await self._storage.snapshots()
                if key.point == name and key.definition != serves
            ]
            for key in former:
                if key.definition != former[0].definition:
                    await self._storage.remove_snapshots(name, key.seq + 1, key.definition)
            self._taken[name] = -sys.maxsize  # others come by a start only

    async def take(self, ended: threading.Event | None = None) -> None:
        """Save a snapshot of every point that changed since its last one, or whose last is old.

        With `ended` the threads that pack them pause, until it is set.
        """
        begin = time.monotonic()
        self.folded = 0
        for name, point in list(self._points.items()):
            # One that did not change is saved anew now and then, so that a start reads little.
            changed = point.seq > self._saved[name]
            far = self._journal.seq - self._saved[name] >= self._every
            if not point.begun or not (changed or far):
                continue
            seq, erased, pack = self._journal.seq, point.erased, point.packer()
            pause = no_pause if ended is None else Pauses(ended)
            data = await asyncio.to_thread(pack, pause)
            await self._storage.save_snapshot(
                name, point.definition.fingerprint, Snapshot(seq, data)
            )
            if erased > self._saved[name]:  # a replica may have saved one of before it
                await self._storage.remove_snapshots(name, erased)
            self._saved[name] = seq
            self._taken[name] += 1
        self._last = time.monotonic()
        self.seconds = self._last - begin
