"""How soon the tolerances are kept: projected from what is known in recent contexts."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.first_guess import (
    HORIZON,
    Outlook,
    asked,
    close,
    first_guess,
    larger_tolerances,
    no_outlook,
    rounded,
)
from lexbandit.decisions import enumerated
from lexbandit.errors import InvalidInput
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

# How many different recent contexts are looked at; fewer where arms are many, since each takes a
# time in proportion to them.
CONTEXTS = 32
_ARMS_IN_ALL = 8_000
# With fewer decisions, in all or for each arm, nothing is projected.
_EARLY, _EARLY_EACH = 100, 10


class Projection(NamedTuple):
    """The share of requests now, the decisions until it is the target, and the plays by then.

    `more` is None, and `plays` are those until the horizon, if the target is not reached.
    """

    share: float
    more: float | None
    plays: Floats


class Traffic(NamedTuple):
    """What a policy knows in different contexts, and which share of the requests each has."""

    policy: Policy
    prospects: list[Any]
    weights: Floats
    explore: float

    def expect(self, plays: Floats, widen: float = 1.0) -> tuple[Floats, float]:
        """Return the probabilities of the arms, and the share of requests within the tolerances.

        After further plays[n, K] in each context, with tolerances that are larger by a factor.
        """
        chances, within = self.policy.expect(self.prospects, plays, widen)
        if self.explore > 0.0:
            allowed = np.stack([prospect.allowed for prospect in self.prospects])
            uniform = allowed / allowed.sum(axis=1, keepdims=True)
            chances = (1.0 - self.explore) * chances + self.explore * uniform
        return chances, float(self.weights @ (chances * within).sum(axis=1))

    def several(self) -> float:
        """Return the share of requests in which several arms are as good by the estimates."""
        return float(self.weights @ [prospect.as_good.sum() > 1 for prospect in self.prospects])


def outlook(chooser: ChooserCore, share: float) -> Outlook:
    """Return the outlook of a chooser; its lock is held for one context at a time."""
    target = checks.positive("share", share)
    if target >= 1.0:
        raise InvalidInput(f"share must be below 1, such as 0.9, got {share!r}.")
    objectives = chooser.objectives
    if len(objectives) == 1 or len(chooser.arms) == 1:
        only = f"{objectives[0].name} is the only objective."
        return no_outlook(only if len(objectives) == 1 else f"{chooser.arms[0]} is the only arm.")
    with chooser._lock:
        ledger = chooser._ledger
        learned = sum(ledger.plays)
        recent = len(ledger.recent)
        missing = [
            objective.name
            for objective, sums in zip(objectives, ledger.received, strict=True)
            if learned and not sums.number and not ledger.rows
        ]
    if missing:
        was = "was" if len(missing) == 1 else "were"
        return no_outlook(f"{enumerated(missing)} {was} never rewarded, so there is no outlook.")
    if not learned or not recent:
        return first_guess(objectives, len(chooser.arms), chooser.contexts, target)
    traffic = _traffic(chooser)
    if None in traffic.prospects:
        name = chooser.policy.name
        return no_outlook(f"{name} has no credible intervals, so there is no outlook.")
    if not traffic.prospects:  # every arm that was allowed lately is retired
        return first_guess(objectives, len(chooser.arms), chooser.contexts, target)
    return _projected(objectives, len(chooser.arms), traffic, learned, target)


def _traffic(chooser: ChooserCore) -> Traffic:
    """Return what is known in recent contexts; the same one again is looked at once."""
    with chooser._lock:
        recent = list(chooser._ledger.recent)
        active = chooser._arms.active.copy()
    counts: Counter[tuple[bytes, bytes]] = Counter()
    points = {}
    for point, mask in recent:
        allowed = active if mask is None else mask & active
        if allowed.any():
            key = point.tobytes(), allowed.tobytes()
            counts[key] += 1
            points[key] = point, allowed
    most = max(1, min(CONTEXTS, _ARMS_IN_ALL // len(active)))
    keys = list(counts)[:: -(-len(counts) // most) or 1]
    prospects = []
    for key in keys:
        with chooser._lock:
            if len(chooser._arms) > len(active):  # one was added meanwhile
                return _traffic(chooser)
            prospects.append(chooser.policy.prospect(*points[key]))
    weights = np.array([counts[key] for key in keys], np.float64)
    return Traffic(chooser.policy, prospects, weights / weights.sum(), chooser.explore)


def project(traffic: Traffic, learned: int, target: float, horizon: int = HORIZON) -> Projection:
    """Project when the target share of requests gets an arm within the tolerances.

    Estimates stay as they are. Each arm becomes better known in a context as it is played there:
    deviations fall by 1/√n, and with them change the probabilities of the arms. `learned` decisions
    were made so far; their number doubles at every step.
    """
    plays: Floats = np.zeros((len(traffic.prospects), len(traffic.prospects[0].allowed)))
    chances, now = traffic.expect(plays)
    if now >= target:
        return Projection(now, 0.0, plays)
    share, done, end = now, float(learned), float(learned + horizon)
    while done < end:
        last, before = done, share
        done = min(2.0 * done, end)
        plays = plays + (done - last) * chances
        chances, share = traffic.expect(plays)
        if share >= target:  # in between it rises with the logarithm of the decisions
            risen = (target - before) / (share - before)
            return Projection(now, last * (done / last) ** risen - learned, plays)
    return Projection(now, None, plays)


def _projected(
    objectives: Sequence[Objective],
    arms: int,
    traffic: Traffic,
    learned: int,
    target: float,
) -> Outlook:
    """Return the outlook by what is known in these contexts, after so many decisions."""
    early = learned < max(_EARLY, _EARLY_EACH * arms)
    now, more, plays = project(traffic, learned, target, 0 if early else HORIZON)
    several = traffic.several()
    kept = f"{now:.0%} of requests get {close(objectives)} now"
    text = f"At this noise and tolerance, {kept}"
    if more == 0.0:
        text += "."
    elif early:
        text += f"; it is too early to say how many more decisions it takes for {asked(target)}."
    elif more is not None:
        text += f"; for {asked(target)} it takes in the order of {rounded(more):,} more decisions."
    else:
        text += f"; {asked(target)} are not reached in the next {HORIZON:,} decisions"
        larger = larger_tolerances(objectives, _widened(traffic, plays, target))
        text += f"; they may be with {larger}." if larger else "."
    decides = _decides(objectives[-1], several)
    further = None if more is None else rounded(more) if more > 0.0 else 0
    return Outlook(now, further, several, len(traffic.prospects), f"{text} {decides}")


def _decides(last: Objective, several: float) -> str:
    """Say in which share of requests the last objective decides between several arms."""
    if several == 0.0:
        return f"By the estimates no request has several such arms, so {last.name} decides nothing."
    share = "all" if several > 0.9999 else f"{max(several, 0.01):.0%} of"
    return f"By the estimates {share} requests have several such arms: there {last.name} decides."


def _widened(traffic: Traffic, plays: Floats, target: float) -> float:
    """Return by how much tolerances must grow so that the target is reached with these plays."""
    low, high = 1.0, 1000.0
    while high > 1.25 * low:
        middle = math.sqrt(low * high)
        reached = traffic.expect(plays, middle)[1] >= target
        low, high = (low, middle) if reached else (middle, high)
    return high
