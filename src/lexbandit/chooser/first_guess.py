"""How soon the tolerances are kept, before anything is known: a first guess, and a warning."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lexbandit.contexts import Contexts
from lexbandit.decisions import enumerated
from lexbandit.kernels.pooled import FIRST_NOISE
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

log = logging.getLogger("lexbandit")

# Nothing is projected beyond so many further decisions.
HORIZON = 100_000
# A tolerance is too small if it is not kept in this share of requests by then.
_LEAST = 0.8
# A first guess of the decisions until eight of ten requests get an arm within the tolerances, in
# units of arms × coordinates × (noise/tolerance)², and how many times as many for nine. Measured by
# benchmarks/outlook.py; see docs/choosing-tolerance.md.
FOR_EIGHT, TIMES_FOR_NINE = 4.0, 4.0

_WORDS = {0.8: "eight in ten", 0.9: "nine in ten"}


@dataclass(frozen=True)
class Outlook:
    """How soon the tolerances are kept, and where the last objective decides. Print it.

    share     the share of requests that get an arm within the tolerances of the best, by what is
              known; None before any reward came
    more      how many more decisions until that is the share that was asked for, an order of
              magnitude; None if they are more than 100,000, or nothing can be said
    several   the share of requests in which several arms are within the tolerances by the
              estimates, so that the last objective decides between them; None as `share`
    contexts  in how many different recent contexts this was measured; 0 for a first guess
    text      it in words
    """

    share: float | None
    more: int | None
    several: float | None
    contexts: int
    text: str

    def __str__(self) -> str:
        return self.text


def first_guess(
    objectives: Sequence[Objective], arms: int, contexts: Contexts, target: float
) -> Outlook:
    """Return the outlook before anything is known: arms × coordinates × (noise/tolerance)².

    Nobody says the noise, so it is what the model begins with: a quarter of the range.
    """
    declared = [o for o in objectives[:-1] if o.tolerance]
    if not declared:
        have = "has" if len(objectives) == 2 else "have"
        decides = f"{objectives[-1].name} decides between equal arms only"
        return no_outlook(f"{above(objectives)} {have} no tolerance, so {decides}.")
    narrowest = min(declared, key=lambda o: o.tolerance / o.span)
    noise = math.sqrt(FIRST_NOISE) * narrowest.span
    units = arms * _coordinates(contexts) * (noise / narrowest.tolerance) ** 2
    needed = units * FOR_EIGHT * TIMES_FOR_NINE ** (10.0 * (target - 0.8))
    text = (
        f"A first guess: if single rewards of {narrowest.name} vary by {noise:.3g}, a quarter of "
        f"its range, it takes in the order of {rounded(needed):,} decisions until "
        f"{asked(target)} requests get {close(objectives)}"
    )
    if needed <= HORIZON:
        return Outlook(None, rounded(needed), None, 0, f"{text}.")
    larger = larger_tolerances(objectives, math.sqrt(needed / HORIZON))
    return no_outlook(f"{text}; {HORIZON:,} with {larger}." if larger else f"{text}.")


def warn_if_far(
    objectives: Sequence[Objective], arms: int, contexts: Contexts, policy: Policy
) -> None:
    """Log a warning if a tolerance is too small to be kept in the next 100,000 decisions."""
    tolerances = [objective.tolerance for objective in objectives[:-1]]
    if not policy.knows_deviations or not any(tolerances):
        return
    guess = first_guess(objectives, arms, contexts, _LEAST)
    if guess.more is None:
        log.warning("a tolerance may be too small to be kept soon. %s", guess.text)


def no_outlook(text: str) -> Outlook:
    """Return an outlook that has words only."""
    return Outlook(None, None, None, 0, text)


def asked(share: float) -> str:
    """Return a share of requests in words."""
    return _WORDS.get(share, f"{share:.0%}")


def close(objectives: Sequence[Objective]) -> str:
    """Return in words which arm a request is to get."""
    if not any(objective.tolerance for objective in objectives[:-1]):
        return f"an arm level with the best in {above(objectives)}"
    return f"an arm within the tolerance of the best in {above(objectives)}"


def above(objectives: Sequence[Objective]) -> str:
    """Return the names of the objectives before the last."""
    return enumerated([objective.name for objective in objectives[:-1]])


def larger_tolerances(objectives: Sequence[Objective], widen: float) -> str | None:
    """Return tolerances that are so many times as large, in words; None if one is too large."""
    declared = [o for o in objectives[:-1] if o.tolerance]
    if not declared or any(widen * o.tolerance > 0.5 * o.span for o in declared):
        return None
    told = [f"{widen * o.tolerance:.2g} for {o.name}" for o in declared]
    return f"a tolerance of {enumerated(told)}"


def rounded(number: float) -> int:
    """Return a number with one digit, or two if it begins with a 1."""
    digits = 1 if f"{number:e}"[0] == "1" else 0
    return max(1, int(float(f"{number:.{digits}e}")))


def _coordinates(contexts: Contexts) -> int:
    """Return how many numbers describe an arm linearly in the context."""
    if not contexts.features:
        return 1
    return 1 + sum(
        max(1, size - 1) if kind == "category" else size for kind, size in contexts.layout
    )
