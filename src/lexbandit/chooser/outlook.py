"""How soon the last objective decides: projected from recent contexts, or by a first guess."""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.decisions import enumerated
from lexbandit.errors import InvalidInput
from lexbandit.kernels.pooled import FIRST_NOISE
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

if TYPE_CHECKING:
    from lexbandit.chooser.core import ChooserCore

log = logging.getLogger("lexbandit")

# Nothing is projected beyond so many further decisions.
HORIZON = 100_000
# How many different recent contexts are looked at; fewer where arms are many, since each takes a
# time in proportion to them.
CONTEXTS = 32
_ARMS_IN_ALL = 8_000
# With fewer decisions, in all or for each arm, nothing is projected.
_EARLY, _EARLY_EACH = 100, 10
# A tolerance is too small if the last objective does not decide in this share of requests.
_LEAST = 0.8
# A first guess of the decisions until the last objective decides in eight of ten requests, in units
# of arms × coordinates × (noise/tolerance)², and how many times as many for nine. Measured by
# benchmarks/outlook.py; see docs/choosing-tolerance.md.
FOR_EIGHT, TIMES_FOR_NINE = 4.0, 4.0

_WORDS = {0.8: "eight in ten", 0.9: "nine in ten"}


@dataclass(frozen=True)
class Outlook:
    """How soon the last objective decides. Print it.

    It decides in a request if the arm that is chosen is within the tolerances of the best: then
    nothing but the last objective sets that arm apart.

    share     the share of requests in which it does, by what is known; None before any reward came
    more      about how many more decisions until it does in the share that was asked for; None if
              they are more than 100,000, or nothing can be said
    contexts  in how many different recent contexts this was measured; 0 for a first guess
    text      it in words
    """

    share: float | None
    more: int | None
    contexts: int
    text: str

    def __str__(self) -> str:
        return self.text


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
        """Return the probabilities of the arms, and the share in which the last objective decides.

        After further plays[n, K] in each context, with tolerances that are larger by a factor.
        """
        chances, within = self.policy.expect(self.prospects, plays, widen)
        if self.explore > 0.0:
            allowed = np.stack([prospect.allowed for prospect in self.prospects])
            uniform = allowed / allowed.sum(axis=1, keepdims=True)
            chances = (1.0 - self.explore) * chances + self.explore * uniform
        return chances, float(self.weights @ (chances * within).sum(axis=1))


def outlook(chooser: "ChooserCore", share: float) -> Outlook:
    """Return the outlook of a chooser; its lock is held for one context at a time."""
    target = checks.positive("share", share)
    if target >= 1.0:
        raise InvalidInput(f"share must be below 1, such as 0.9, got {share!r}.")
    objectives = chooser.objectives
    if len(objectives) == 1 or len(chooser.arms) == 1:
        only = f"{objectives[0].name} is the only objective."
        return _nothing(only if len(objectives) == 1 else f"{chooser.arms[0]} is the only arm.")
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
        return _nothing(f"{enumerated(missing)} {was} never rewarded, so there is no outlook.")
    if not learned or not recent:
        return first_guess(objectives, len(chooser.arms), _coordinates(chooser), target)
    traffic = _traffic(chooser)
    if None in traffic.prospects:
        name = chooser.policy.name
        return _nothing(f"{name} has no credible intervals, so there is no outlook.")
    if not traffic.prospects:  # every arm that was allowed lately is retired
        return first_guess(objectives, len(chooser.arms), _coordinates(chooser), target)
    return _projected(objectives, len(chooser.arms), traffic, learned, target)


def _traffic(chooser: "ChooserCore") -> Traffic:
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
    """Project when the last objective decides in the target share of requests.

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
    last, count = objectives[-1].name, len(traffic.prospects)
    text = f"At this noise and tolerance, {last} decides in {now:.0%} of requests now"
    if more == 0.0:
        return Outlook(now, 0, count, f"{text}.")
    asked = _WORDS.get(target, f"{target:.0%}")
    if early:
        told = f"{text}; it is too early to say how many more decisions it takes for {asked}."
        return Outlook(now, None, count, told)
    if more is not None:
        told = f"{text}; about {_rounded(more):,} more decisions for {asked}."
        return Outlook(now, _rounded(more), count, told)
    text += f"; {asked} are not reached in the next {HORIZON:,} decisions"
    larger = _larger(objectives, _widened(traffic, plays, target))
    advice = f"; they may be with {larger}." if larger else "."
    return Outlook(now, None, count, f"{text}{advice}")


def _widened(traffic: Traffic, plays: Floats, target: float) -> float:
    """Return by how much tolerances must grow so that the target is reached with these plays."""
    low, high = 1.0, 1000.0
    while high > 1.25 * low:
        middle = math.sqrt(low * high)
        reached = traffic.expect(plays, middle)[1] >= target
        low, high = (low, middle) if reached else (middle, high)
    return high


def _larger(objectives: Sequence[Objective], widen: float) -> str | None:
    """Return tolerances that are so many times as large, in words; None if one is too large."""
    declared = [o for o in objectives[:-1] if o.tolerance]
    if not declared or any(widen * o.tolerance > 0.5 * o.span for o in declared):
        return None
    told = [f"{widen * o.tolerance:.2g} for {o.name}" for o in declared]
    return f"a tolerance of {enumerated(told)}"


def first_guess(
    objectives: Sequence[Objective], arms: int, coordinates: int, target: float
) -> Outlook:
    """Return the outlook before anything is known: arms × coordinates × (noise/tolerance)².

    Nobody says the noise, so it is what the model begins with: a quarter of the range.
    """
    declared = [o for o in objectives[:-1] if o.tolerance]
    last = objectives[-1].name
    if not declared:
        names = enumerated([o.name for o in objectives[:-1]])
        have = "has" if len(objectives) == 2 else "have"
        return _nothing(f"{names} {have} no tolerance, so {last} decides between equal arms only.")
    narrowest = min(declared, key=lambda o: o.tolerance / o.span)
    noise = math.sqrt(FIRST_NOISE) * narrowest.span
    units = arms * coordinates * (noise / narrowest.tolerance) ** 2
    needed = units * FOR_EIGHT * TIMES_FOR_NINE ** (10.0 * (target - 0.8))
    text = (
        f"A first guess: if single rewards of {narrowest.name} vary by {noise:.3g}, a quarter of "
        f"its range, it takes in the order of {_rounded(needed):,} decisions until {last} decides "
        f"in {_WORDS.get(target, f'{target:.0%}')} requests"
    )
    if needed <= HORIZON:
        return Outlook(None, _rounded(needed), 0, f"{text}.")
    larger = _larger(objectives, math.sqrt(needed / HORIZON))
    return _nothing(f"{text}; {HORIZON:,} with {larger}." if larger else f"{text}.")


def warn_if_far(chooser: "ChooserCore") -> None:
    """Log a warning if a tolerance is too small to be reached in the next 100,000 decisions."""
    tolerances = [objective.tolerance for objective in chooser.objectives[:-1]]
    if not chooser.policy.knows_deviations or not any(tolerances):
        return
    guess = first_guess(chooser.objectives, len(chooser.arms), _coordinates(chooser), _LEAST)
    if guess.more is None:
        log.warning("a tolerance may be too small to be reached soon. %s", guess.text)


def _coordinates(chooser: "ChooserCore") -> int:
    """Return how many numbers describe an arm linearly in the context."""
    if not chooser.contexts.features:
        return 1
    return 1 + sum(
        max(1, size - 1) if kind == "category" else size for kind, size in chooser.contexts.layout
    )


def _nothing(text: str) -> Outlook:
    return Outlook(None, None, 0, text)


def _rounded(number: float) -> int:
    """Return a number with one digit, or two if it begins with a 1."""
    digits = 1 if f"{number:e}"[0] == "1" else 0
    return max(1, int(float(f"{number:.{digits}e}")))
