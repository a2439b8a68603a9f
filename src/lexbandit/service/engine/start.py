"""How an engine starts: from snapshots and the log to where the log ends, and compiled."""

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from lexbandit.chooser.outlook import warn_if_far
from lexbandit.chooser.policy import DEFAULT
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.errors import InvalidInput, counted
from lexbandit.kernels.jit import PATIENCE
from lexbandit.policies import make_policy
from lexbandit.service.definition import Definition
from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.point import Point
from lexbandit.service.events import CorruptLog, Event, Kind, body_of
from lexbandit.service.storage import Storage

log = logging.getLogger("lexbandit.service")

# So many events are read at once.
PAGE = 40_000
# How often to say how far it is, in seconds.
_REPORT = 2.0
_YEAR = 365.25 * 86_400.0
# A changed definition learns so many events before it serves, more of them while another serves.
_BEHIND = 20_000
# So far may the clock be from the log's last event, in seconds.
_FARTHEST = _YEAR


def check_clock(ahead: float | None) -> None:
    """Refuse a clock that is far from the log's last event: its time would stay in the log."""
    if ahead is None or abs(ahead) <= _FARTHEST:
        return
    after = "after" if ahead > 0 else "before"
    raise InvalidInput(
        f"the clock is {abs(ahead) / _YEAR:.1f} years {after} the last event of the log. Set the "
        "clock right; if it is right, start once with --accept-clock. The log's time never goes "
        "back, so what a wrong clock writes cannot be mended."
    )


async def restored(
    definitions: Mapping[str, Definition], storage: Storage
) -> tuple[dict[str, Point], dict[str, Point]]:
    """Return the points to serve, as their snapshots have them, and those to learn anew meanwhile.

    Where a definition was changed, and a snapshot of the one before is much further in the log,
    that one serves until the changed one has learned the log.
    """
    removed = await storage.removed()
    first = await storage.first_events()
    points, behind = {}, {}
    for name, definition in definitions.items():
        point = await _from_snapshot(definition, storage, removed)
        if point is None:
            point = Point(definition)
            for event in first:
                if event.point == name:
                    point.fold(event)
            point.seq = removed
        former = await _former(definition, storage, point.seq + _BEHIND)
        points[name] = point if former is None else former
        if former is not None:
            behind[name] = point
    return points, behind


async def _former(definition: Definition, storage: Storage, after: int) -> Point | None:
    """Return a point under another definition from a snapshot later than an event, if one is."""
    for key in await storage.snapshots():
        if key.point != definition.name or key.definition == definition.fingerprint:
            continue
        if key.seq <= after:
            return None  # so are all others: the newest come first
        snapshot = await storage.load_snapshot(key.point, key.definition)
        try:
            if snapshot is not None and snapshot.seq > after:
                point = Point.unpack_as_it_was(key.point, snapshot.data)
                point.seq = snapshot.seq
                return point
        except (InvalidInput, ValueError, KeyError, TypeError) as error:
            log.warning("%s: a snapshot of before is not read: %s", key.point, error)
    return None


async def _from_snapshot(definition: Definition, storage: Storage, removed: int) -> Point | None:
    """Return a point from its newest snapshot; None if the log says all that is known of it.

    Where the log's beginning was removed, only the snapshots say what that taught.
    """
    name, fingerprint = definition.name, definition.fingerprint
    snapshot = await storage.load_snapshot(name, fingerprint)
    if snapshot is None or snapshot.seq < removed:
        there = [key for key in await storage.snapshots() if key[:2] == (name, fingerprint)]
        if removed and any(key.seq >= removed for key in there):
            raise _lost(name, removed, "all of them are damaged")
        return None
    try:
        point = Point.unpack(definition, snapshot.data)
    except (InvalidInput, ValueError, KeyError, TypeError) as error:
        if removed:
            raise _lost(name, removed, str(error)) from error
        log.warning("%s: its snapshot is not read, its log is: %s", name, error)
        return None
    point.seq = snapshot.seq
    return point


def _lost(name: str, removed: int, reason: str) -> CorruptLog:
    return CorruptLog(
        f"the events up to {removed} were removed from the log, and the snapshots of {name} that "
        f"hold what they taught cannot be read: {reason} Restore the log from a backup."
    )


def warn_of_log(definition: Definition) -> None:
    """Say so if the log of a point will not tell what another policy would have done.

    That takes probabilities of several arms in each decision: a policy that draws, or `explore`.
    """
    if definition.explore > 0.0 or len(definition.arms) == 1 or draws(definition):
        return
    log.warning(
        "%s: the policy %r plays one arm for certain, and explore is 0, so the log will not tell "
        "what another policy would have done (lexbandit evaluate). With explore = 0.05 it would.",
        definition.name,
        definition.policy,
    )


def warn_of_tolerances(point: Point) -> None:
    """Say so if a tolerance is too small for the first decisions; later the outlook is measured."""
    chooser = point.chooser
    if not point.counts["rewards"]:
        warn_if_far(chooser.objectives, len(chooser.arms), chooser.contexts, chooser.policy)


def draws(definition: Definition) -> bool:
    """Tell whether a policy gives several arms a probability, where it saw little of two.

    Both had rewards of 0 and 1, and one of them a single success more.
    """
    objectives = len(definition.objectives)
    try:
        policy = make_policy(
            definition.policy or DEFAULT,
            arms=2,
            dimension=1,
            objectives=objectives,
            horizon=definition.horizon or 1_000,
        )
    except InvalidInput:  # a wrapper, or one with settings of its own: nothing is said of it
        return True
    contexts, arms = np.full((42, 1), 0.5), np.arange(42) % 2
    rewards = np.tile((np.arange(42) // 2 % 2).astype(float)[:, np.newaxis], objectives)
    rewards[0] = 1.0
    policy.update_many(contexts, arms, rewards)
    shares = policy.propensities_many(contexts[:1])[0]
    return not bool((shares >= 1.0 - 1e-9).any())


def found_in(point: Point) -> str:
    """Say what the log has of a point."""
    counts = point.counts
    found = [counted(counts[f"{what}s"], what) for what in ("event", "decision", "reward")]
    return f"{point.name}: {', '.join(found)}"


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Read the log without looking for cycles among its decisions: there are many, and none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@asynccontextmanager
async def reporting(folded: Callable[[], int]) -> AsyncIterator[None]:
    """Say now and then how far the log was read: of a long one that takes a while."""

    async def report_on() -> None:
        while True:
            await asyncio.sleep(_REPORT)
            log.info("reading the log: %s so far", counted(folded(), "event"))

    task = asyncio.create_task(report_on())
    try:
        yield
    finally:
        task.cancel()


def report(points: Mapping[str, Point]) -> None:
    """Say what of the log was found, and what of it could not be taken, after it was read."""
    for name, point in points.items():
        log.info("found %s", found_in(point))
        if point.last_untaken is not None:
            log.warning(
                "%s: %d rows of the log were not taken in all, the last one of event %d",
                name,
                point.counts["untaken"],
                point.last_untaken,
            )


def check_taken(points: Mapping[str, Point]) -> None:
    """Refuse to lose rows that do not fit a changed definition, unless that was asked for."""
    for name, point in points.items():
        if point.unfit:
            raise InvalidInput(
                f"{name}: {point.unfit:,} decisions and rewards of the log do not fit its "
                f"definition as it is now, the first one at {point.first_unfit} "
                "Put the definition back, or give the changed point a new name, or start once with "
                "--skip-untaken to go on without them; they stay in the log."
            )


def example(feature: Feature) -> Any:
    """Return a value that a feature takes."""
    if isinstance(feature, Number):
        return feature.low
    if isinstance(feature, Category):
        return feature.values[0]
    if isinstance(feature, Flag):
        return False
    if isinstance(feature, Cycle):
        return 0.0
    if isinstance(feature, Vector):
        return [feature.low] * feature.length
    return None


def warm_up(definition: Definition) -> None:
    """Decide, learn and explain once with a chooser that is thrown away: that compiles its kernels.

    A policy that cannot be used in a service is refused here, before anybody asks.
    """
    PATIENCE.left = 0.0
    begun = time.perf_counter()
    log.info("preparing point=%s", definition.name)
    try:
        _use(definition)
    except InvalidInput as error:
        raise InvalidInput(f"points.{definition.name} cannot decide: {error}") from None
    log.info("point=%s is ready seconds=%.1f", definition.name, time.perf_counter() - begun)


def _use(definition: Definition) -> None:
    # The clock stands still: compiling may take longer than rewards are waited for.
    chooser = definition.chooser(definition.arms, lambda: 0.0)
    context = {feature.name: example(feature) for feature in definition.context}
    decision = chooser.choose(context)
    for objective in definition.objectives:
        chooser.reward(decision, {objective.name: objective.range[0]})
    chooser.propensities(context)
    # What else requests need of the policy; the rest of them is plain Python.
    chooser.policy._warm_up(chooser.contexts.encode(context)[0])


def warm_up_replay(definition: Definition) -> None:
    """Replay a short log: a replica that follows others must not stop to compile then."""
    context = {feature.name: example(feature) for feature in definition.context}
    row = {"id": "1", "arm": definition.arms[0], "propensity": 0.5, "context": context}
    values = {objective.name: objective.range[0] for objective in definition.objectives}
    bodies: dict[Kind, dict[str, Any]] = {
        "begin": {"arms": list(definition.arms)},
        "decisions": {"by": "", "version": 0, "rows": [row]},
        "rewards": {"rows": [{"id": "1", "values": values}]},
    }
    events = [
        Event(n, 0.0, definition.name, kind, body_of(body))
        for n, (kind, body) in enumerate(bodies.items(), 1)
    ]
    fold_many(Point(definition), events)
