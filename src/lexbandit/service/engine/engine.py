"""The engine: decisions and rewards of all points, each on disk before it is answered."""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lexbandit.chooser import Proposal
from lexbandit.chooser.explaining import Explanation
from lexbandit.chooser.summary import Summary
from lexbandit.errors import InvalidInput
from lexbandit.service.definition import Definition
from lexbandit.service.engine import start as opening
from lexbandit.service.engine.arms import check_added, check_retired
from lexbandit.service.engine.background_replay import Replay
from lexbandit.service.engine.core import EngineCore
from lexbandit.service.engine.id_locks import Turns
from lexbandit.service.engine.journal import Appended
from lexbandit.service.engine.point import Point, Prepared
from lexbandit.service.engine.rows import (
    COLUMNS,
    SLICE,
    Decided,
    DecidedMany,
    DecisionRow,
    Found,
    Rewarded,
    at_row,
    fingerprint,
    fresh_ids,
    one_request_an_id,
    own_id,
    slices,
    told_by_id,
    written_fingerprint,
)
from lexbandit.service.engine.text_limits import check_columns, check_texts
from lexbandit.service.events import Stored
from lexbandit.service.storage import Storage


class Engine(EngineCore):
    """Serves decision points from one log. All of it runs in one event loop.

    A request is checked against the state, written to the log, folded into the state, and only then
    answered. `start` makes one.
    """

    def __init__(
        self, points: Mapping[str, Point], storage: Storage, *, seq: int, snapshot_every: int
    ) -> None:
        super().__init__(points, storage, seq=seq, snapshot_every=snapshot_every)
        self.repeated: Counter[str] = Counter()
        """By point, how many decisions and rewards were answered as before, and not written."""
        self._turns = Turns()
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
                opening.check_clock(await storage.clock_ahead())
            states, behind = await opening.restored(points, storage)
            seq = min((point.seq for point in states.values()), default=0)
            engine = cls(states, storage, seq=seq, snapshot_every=snapshot_every)
            engine.definitions = dict(points)
            async with opening.telling(lambda: engine.seq):
                await engine._journal.catch_up()
            if not skip_untaken:
                opening.check_taken(engine.points)
            opening.report(engine.points)
            for definition in points.values():
                opening.warn_of_log(definition)
            engine._journal.start()
            await opening.begin(engine)
            if skip_untaken:  # the next start goes on from here, and need not be told again
                await engine._snapshots.take()
        except BaseException:
            await storage.close()
            raise
        for name, point in behind.items():
            engine.replays[name] = Replay(point, skip_untaken=skip_untaken)
            engine.replay_progress[name] = 0.0
            engine._go_on(engine.replays[name].run(engine))
        engine._go_on(engine._tick())
        engine._go_on(engine._journal.recover())
        engine._go_on(engine._snapshots.now_and_then())
        if retain is not None:
            engine._go_on(engine._retain(retain, archive))
        if storage.shared:
            engine._go_on(engine._journal.follow(poll))
        return engine

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
        proposal = _proposed(state, context, allowed)
        row = _row(next(self._ids), context, allowed, proposal)
        outcomes = await self._append_decisions(state, [row], [proposal])
        decided: Decided = _answer(outcomes[0])
        return decided

    async def decide_many(self, point: str, rows: Sequence[DecisionRow]) -> list[Decided]:
        """Decide many, all by what is known now; if one cannot be taken, none is."""
        state = self.point(point)
        one_request_an_id(rows)
        async with self._turns.about({(point, row.id) for row in rows if row.id is not None}):
            return await self._decide(state, rows)

    async def _pause(self) -> None:
        """Let others be answered between two slices; of several batches one goes on at a time."""
        async with self._slicing:
            await asyncio.sleep(0)

    async def _decide(self, point: Point, rows: Sequence[DecisionRow]) -> list[Decided]:
        """Write the rows that were not answered before; a caller's id counts once."""
        names = [(row.id, n if row.id is None else None) for n, row in enumerate(rows)]
        answers: dict[Any, Decided] = {}
        fresh: dict[Any, dict[str, Any]] = {}
        proposals: list[Proposal] = []
        for n, (name, (context, allowed, id)) in enumerate(zip(names, rows, strict=True)):
            if n % SLICE == SLICE - 1:
                await self._pause()
            if name in answers or name in fresh:
                continue
            try:
                key = before = None
                if id is not None:
                    key = fingerprint(context, allowed)
                    if own_id(id) in point.chooser:
                        before = point.answered(id, key, written_fingerprint(context, allowed))
                if before is not None:
                    answers[name] = before
                else:
                    proposals.append(_proposed(point, context, allowed))
                    fresh[name] = _row(id or next(self._ids), context, allowed, proposals[-1], key)
            except InvalidInput as error:
                raise at_row(error, n, len(rows)) from None
        self.repeated[point.name] += len(rows) - len(fresh)
        if fresh:
            written = [*fresh.values()]
            appended = [
                self._append_decisions(point, written[a:b], proposals[a:b])
                for a, b in slices(len(written))
            ]
            for name, outcome in zip(fresh, await _all(appended), strict=True):
                answers[name] = _answer(outcome)
        return [answers[name] for name in names]

    def _append_decisions(
        self, point: Point, rows: list[dict[str, Any]], proposals: list[Proposal]
    ) -> Appended:
        body: dict[str, Any] = {"by": self.replica, "version": point.version, "rows": rows}
        if any("key" in row for row in rows):  # the service's own ids never come again
            body["seen"] = self.seq
        return self.append(point.name, "decisions", body, Prepared(body, proposals, point.chooser))

    async def decide_columns(
        self, point: str, contexts: Mapping[str, Sequence[Any]], allowed: Any = None
    ) -> DecidedMany:
        """Decide many, given by columns: the quick way; ids are the service's own."""
        state = self.point(point)
        lengths = {len(values) for values in contexts.values()}
        count = max(lengths, default=0)
        each = (
            COLUMNS if len(lengths) == 1 else max(count, 1)
        )  # unequal ones are refused as a whole
        for_all = allowed is None or all(isinstance(arm, str) for arm in allowed)
        made: list[Prepared] = []
        for a, b in slices(count, each) or [(0, 0)]:
            part = {name: values[a:b] for name, values in contexts.items()}
            try:
                made.append(self._columns(state, part, allowed if for_all else allowed[a:b]))
            except InvalidInput:
                state.chooser.propose_many(contexts, allowed)  # names the row among all
                raise
            await self._pause()
        if count:
            told = [self.append(point, "decisions", one.body, one) for one in made]
            for outcome in await _all(told):
                _answer(outcome)
        ids, arms = ([one for part in made for one in part.body[name]] for name in ("ids", "arms"))
        propensities = [float(p) for part in made for p in part.proposals.propensities]
        return DecidedMany(ids, arms, propensities, made[0].body["version"])

    def _columns(
        self, point: Point, contexts: Mapping[str, Sequence[Any]], allowed: Any
    ) -> Prepared:
        """Return the event of decisions in columns, to be written."""
        proposals = point.chooser.propose_many(contexts, allowed)
        if proposals.notes:
            check_columns(point.definition.context, contexts)
        body = {
            "by": self.replica,
            "version": point.version,
            "ids": [next(self._ids) for _ in proposals.arms],
            "arms": proposals.arms,
            "propensities": [_number(float(p)) for p in proposals.propensities],
            "contexts": contexts,
            "allowed": allowed,
        }
        return Prepared(body, proposals, point.chooser)

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
                appended = [
                    self.append(point, "rewards", {"rows": fresh[a:b]})
                    for a, b in slices(len(fresh))
                ]
                for row, outcome in zip(fresh, await _all(appended), strict=True):
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
        check_texts(state.definition.context, context)
        return state.chooser.explain(context, allowed)

    def summary(self, point: str) -> Summary:
        """Say what a point learned so far."""
        return self.point(point).chooser.summary()

    async def read_log(self, point: str, since: int, limit: int) -> list[Stored]:
        """Return the events of a point after `since`, at most `limit`."""
        self.point(point)
        return await self.storage.read_since(since, limit, point)


def _proposed(point: Point, context: Mapping[str, Any], allowed: Sequence[str] | None) -> Proposal:
    """Return a proposal for what a request asked."""
    proposal = point.chooser.propose(context, allowed)
    if proposal.notes:  # only what is unknown can be too long
        check_texts(point.definition.context, context)
    return proposal


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
