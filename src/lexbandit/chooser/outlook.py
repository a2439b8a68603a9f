"""`Chooser.outlook`: when most requests get an arm within the tolerances, by recent contexts."""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit._internal.svg import xml
from lexbandit.checks import Floats
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.ledger import Ledger
from lexbandit.contexts import Contexts
from lexbandit.decisions import enumerated
from lexbandit.errors import InvalidInput
from lexbandit.kernels import comparison as kernel
from lexbandit.kernels.pooled import FIRST_NOISE
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

log = logging.getLogger("lexbandit")

# The number of further decisions up to which projections go.
HORIZON = 100_000
# A tolerance is too small if fewer requests than this share get an arm within it by then.
_LEAST = 0.8
# A first guess of the decisions until eight of ten requests get an arm within the tolerances, in
# units of arms × coordinates × (noise/tolerance)², and how many times as many for nine. Measured by
# benchmarks/outlook.py; see docs/choosing-tolerance.md.
FOR_EIGHT, TIMES_FOR_NINE = 4.0, 4.0

_WORDS = {0.8: "eight in ten", 0.9: "nine in ten"}
# The number of different recent contexts that are evaluated; fewer if there are many arms, since
# the time for each is proportional to them.
CONTEXTS = 32
_ARMS_IN_ALL = 8_000
# With fewer decisions than this, in all or per arm, there is no projection.
_EARLY, _EARLY_EACH = 100, 10
# Among so many of the last decisions the newest one with a reward is looked for.
_RECENT_PENDING = 10_000


@dataclass(frozen=True)
class Outlook:
    """When most requests get an arm within the tolerances, and where the last objective decides.

    share     the share of requests that get an arm within the tolerances of the best, by what is
              known; None before any reward came
    more      how many more decisions until that is the share that was asked for, an order of
              magnitude, if as many of them are rewarded as so far; None if they are more than
              100,000, or nothing can be said
    several   the share of requests in which several arms are within the tolerances by the
              estimates, so that the last objective decides between them; None as `share`
    contexts  in how many different recent contexts this was measured; 0 for a first guess
    text      the same in words, which `print` shows
    """

    share: float | None
    more: int | None
    several: float | None
    contexts: int
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<p>{xml(self.text)}</p>"


def first_guess(
    objectives: Sequence[Objective], arms: int, contexts: Contexts, target: float
) -> Outlook:
    """Return the outlook before anything is known: arms × coordinates × (noise/tolerance)².

    The noise is not known yet; the model's initial value is taken, a quarter of the range.
    """
    declared = [o for o in objectives[:-1] if o.tolerance]
    if not declared:
        have = "has" if len(objectives) == 2 else "have"
        decides = f"{objectives[-1].name} decides between equal arms only"
        return _no_outlook(f"{_above(objectives)} {have} no tolerance, so {decides}.")
    narrowest = min(declared, key=lambda o: o.tolerance / o.span)
    noise = math.sqrt(FIRST_NOISE) * narrowest.span
    units = arms * _coordinates(contexts) * (noise / narrowest.tolerance) ** 2
    needed = units * FOR_EIGHT * TIMES_FOR_NINE ** (10.0 * (target - 0.8))
    text = (
        f"A first guess: if single rewards of {narrowest.name} vary by {noise:.3g}, a quarter of "
        f"its range, it takes in the order of {_rounded(needed):,} decisions until "
        f"{_asked(target)} requests get {_close(objectives)}"
    )
    if needed <= HORIZON:
        return Outlook(None, _rounded(needed), None, 0, f"{text}.")
    larger = _larger_tolerances(objectives, math.sqrt(needed / HORIZON))
    return _no_outlook(f"{text}; {HORIZON:,} with {larger}." if larger else f"{text}.")


def warn_if_far(
    objectives: Sequence[Objective], arms: int, contexts: Contexts, policy: Policy
) -> None:
    """Log a warning if a tolerance is too small for the next 100,000 decisions."""
    tolerances = [objective.tolerance for objective in objectives[:-1]]
    if not policy.knows_deviations or not any(tolerances):
        return
    guess = first_guess(objectives, arms, contexts, _LEAST)
    if guess.more is None:
        log.warning("a tolerance may be too small to be kept soon. %s", guess.text)


def _no_outlook(text: str) -> Outlook:
    """Return an outlook without numbers."""
    return Outlook(None, None, None, 0, text)


def _asked(share: float) -> str:
    """Return a share of requests in words."""
    return _WORDS.get(share, f"{share:.0%}")


def _close(objectives: Sequence[Objective]) -> str:
    """Return in words which arm a request is to get."""
    if not any(objective.tolerance for objective in objectives[:-1]):
        return f"an arm level with the best in {_above(objectives)}"
    return f"an arm within the tolerance of the best in {_above(objectives)}"


def _above(objectives: Sequence[Objective]) -> str:
    """Return the names of the objectives before the last."""
    return enumerated([objective.name for objective in objectives[:-1]])


def _larger_tolerances(objectives: Sequence[Objective], widen: float) -> str | None:
    """Return tolerances that are so many times as large, in words; None if one is too large."""
    declared = [o for o in objectives[:-1] if o.tolerance]
    if not declared or any(widen * o.tolerance > 0.5 * o.span for o in declared):
        return None
    larger = [f"{widen * o.tolerance:.2g} for {o.name}" for o in declared]
    return f"a tolerance of {enumerated(larger)}"


def _rounded(number: float) -> int:
    """Round a number to one significant digit, or to two if the first is 1."""
    digits = 1 if f"{number:e}"[0] == "1" else 0
    return max(1, int(float(f"{number:.{digits}e}")))


def _coordinates(contexts: Contexts) -> int:
    """Return how many numbers describe an arm linearly in the context."""
    if not contexts.features:
        return 1
    return 1 + sum(
        max(1, size - 1) if kind == "category" else size for kind, size in contexts.layout
    )


class Projection(NamedTuple):
    """The share of requests now, the decisions until it is the target, and the plays by then.

    `more` is None, and `plays` are those until the horizon, if the target is not reached.
    """

    share: float
    more: float | None
    plays: Floats


class RecentTraffic(NamedTuple):
    """What a policy knows in different contexts, and which share of the requests each has.

    `rewarded` is the share of decisions that get a reward, per objective.
    """

    policy: Policy
    prospects: list[Any]
    weights: Floats
    explore: float
    rewarded: Floats

    def expect(self, plays: Floats, widen: float = 1.0) -> tuple[Floats, float]:
        """Return the probabilities of the arms, and the share of requests within the tolerances.

        After further plays[n, K] in each context, with tolerances that are larger by a factor.
        """
        rewards = plays[:, np.newaxis] * self.rewarded[:, np.newaxis]
        chances, within = self.policy.expect(self.prospects, rewards, widen)
        if self.explore > 0.0:
            allowed = np.stack([prospect.allowed for prospect in self.prospects])
            uniform = allowed / allowed.sum(axis=1, keepdims=True)
            chances = (1.0 - self.explore) * chances + self.explore * uniform
        return chances, float(self.weights @ (chances * within).sum(axis=1))

    def several(self) -> float:
        """Return the share of requests in which several arms are as good by the estimates."""
        return float(self.weights @ [prospect.as_good.sum() > 1 for prospect in self.prospects])


def outlook(
    lock: AbstractContextManager[Any], arms: Arms, ledger: Ledger, explore: float, share: float
) -> Outlook:
    """Return the outlook of a chooser; its lock is held for one context at a time."""
    target = checks.positive("share", share)
    if target >= 1.0:
        raise InvalidInput(f"share must be below 1, such as 0.9, got {share!r}.")
    with lock:
        objectives = ledger.objectives
        learned = sum(ledger.plays)
        recent = len(ledger.recent)
        active = [arm for arm, on in zip(arms.names, arms.active, strict=True) if on]
        missing = [
            objective.name
            for objective, number in zip(
                objectives, ledger.sums.received[:, kernel.NUMBER], strict=True
            )
            if learned and not number and not ledger.rows
        ]
    if len(objectives) == 1 or len(active) == 1:
        only = f"{objectives[0].name} is the only objective."
        return _no_outlook(only if len(objectives) == 1 else f"{active[0]} is the only arm.")
    if missing:
        was = "was" if len(missing) == 1 else "were"
        return _no_outlook(f"{enumerated(missing)} {was} never rewarded, so there is no outlook.")
    if not learned or not recent:
        return first_guess(objectives, len(active), ledger.contexts, target)
    traffic = _traffic(lock, arms, ledger, explore)
    if None in traffic.prospects:
        name = ledger.policy.name
        return _no_outlook(f"{name} has no credible intervals, so there is no outlook.")
    if not traffic.prospects:  # every arm that was allowed lately is retired
        return first_guess(objectives, len(active), ledger.contexts, target)
    return _projected(objectives, len(active), traffic, learned, target)


def _traffic(
    lock: AbstractContextManager[Any], arms: Arms, ledger: Ledger, explore: float
) -> RecentTraffic:
    """Return what is known in recent contexts, with equal contexts counted together."""
    with lock:
        recent = list(ledger.recent)
        active = arms.active.copy()
        rewarded = rewarded_shares(ledger)
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
        with lock:
            if len(arms) > len(active):  # one was added meanwhile
                return _traffic(lock, arms, ledger, explore)
            prospects.append(ledger.policy.prospect(*points[key]))
    weights = np.array([counts[key] for key in keys], np.float64)
    return RecentTraffic(ledger.policy, prospects, weights / weights.sum(), explore, rewarded)


def rewarded_shares(ledger: Ledger) -> Floats:
    """Return per objective which share of the decisions so far got a reward.

    Rewards may come late, so decisions after the newest one that has a reward do not count.
    """
    newer: dict[int, int] = {}  # objective: how many decisions are newer than that one
    seen = 0
    for pending in islice(reversed(ledger.pending.values()), _RECENT_PENDING):
        for i, value in enumerate(pending.rewards):
            if value is not None:
                newer.setdefault(i, seen)
        if len(newer) == len(ledger.objectives):
            break
        seen += 1
    numbers = ledger.sums.received[:, kernel.NUMBER].tolist()
    counts = [ledger.made - newer.get(i, seen) for i in range(len(numbers))]
    return np.array(
        [min(n / of, 1.0) if of else 1.0 for n, of in zip(numbers, counts, strict=True)]
    )


def project(
    traffic: RecentTraffic, learned: int, target: float, horizon: int = HORIZON
) -> Projection:
    """Project when the target share of requests gets an arm within the tolerances.

    Estimates stay as they are, while the deviations of an arm fall by 1/√n as it is played in a
    context, which changes the probabilities of the arms. `learned` is the number of decisions so
    far; it doubles at every step.
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
        if (
            share >= target
        ):  # between two steps the share is linear in the logarithm of the decisions
            risen = (target - before) / (share - before)
            return Projection(now, last * (done / last) ** risen - learned, plays)
    return Projection(now, None, plays)


def _projected(
    objectives: Sequence[Objective],
    arms: int,
    traffic: RecentTraffic,
    learned: int,
    target: float,
) -> Outlook:
    """Return the outlook by what is known in these contexts, after so many decisions."""
    early = learned < max(_EARLY, _EARLY_EACH * arms)
    now, more, plays = project(traffic, learned, target, 0 if early else HORIZON)
    several = traffic.several()
    text = f"At this noise and tolerance, {now:.0%} of requests get {_close(objectives)} now"
    if more == 0.0:
        text += "."
    elif early:
        text += f"; it is too early to say how many more decisions it takes for {_asked(target)}."
    elif more is not None:
        text += (
            f"; for {_asked(target)} it takes in the order of {_rounded(more):,} more decisions."
        )
    else:
        text += f"; {_asked(target)} are not reached in the next {HORIZON:,} decisions"
        larger = _larger_tolerances(objectives, _widened(traffic, plays, target))
        text += f"; they may be with {larger}." if larger else "."
    decides = _decides(objectives[-1], several)
    further = None if more is None else _rounded(more) if more > 0.0 else 0
    return Outlook(now, further, several, len(traffic.prospects), f"{text} {decides}")


def _decides(last: Objective, several: float) -> str:
    """Say in which share of requests the last objective decides between several arms."""
    if several == 0.0:
        return f"By the estimates no request has several such arms, so {last.name} decides nothing."
    share = "all" if several > 0.9999 else f"{max(several, 0.01):.0%} of"
    return f"By the estimates {share} requests have several such arms: there {last.name} decides."


def _widened(traffic: RecentTraffic, plays: Floats, target: float) -> float:
    """Return by how much tolerances must grow so that the target is reached with these plays."""
    low, high = 1.0, 1000.0
    while high > 1.25 * low:
        middle = math.sqrt(low * high)
        reached = traffic.expect(plays, middle)[1] >= target
        low, high = (low, middle) if reached else (middle, high)
    return high
