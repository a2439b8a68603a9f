"""Lemma 1 and Lemma 4 of the paper, measured beside their bounds: `python -m benchmarks.lemmas`.

Lemma 1: with probability at most 1/T a mean is ever outside its interval [L − v, U + v].
Lemma 4: in a cell, the width of the top arm exceeds βv in at most K (2R²A/(βv)² + 1) rounds.

MOC-MAB plays `planted` with two objectives and one feature; L is the environment's own Lipschitz
constant and R its noise, so that the lemmas apply at scale 1. Narrower widths have no guarantee.
"""

import sys
from dataclasses import dataclass

import numpy as np

from lexbandit import make_environment, make_policy
from lexbandit.checks import Floats, Integers
from lexbandit.rounds import Rounds
from lexbandit.theory import MocMabTheory

ARMS, HORIZON, NOISE = 4, 30_000, 0.1
SCALES = (1.0, 1 / 2, 1 / 5, 1 / 10)


@dataclass(frozen=True)
class Measured:
    """Of one run: whether a mean left its interval, and the most unsure rounds of a cell."""

    left: bool
    unsure: int


def measure(rounds: Rounds, arms: Integers, theory: MocMabTheory, scale: float) -> Measured:
    """Return what the lemmas are about, from the arms that were played."""
    cells = np.minimum((rounds.contexts[:, 0] * theory.m).astype(np.int64), theory.m - 1)
    left, most = False, 0
    for cell in range(theory.m):
        inside = np.flatnonzero(cells == cell)
        means = rounds.means[inside]  # type: ignore[index]
        outside, unsure = _in_cell(means, rounds.outcomes[inside], arms[inside], theory, scale)
        left, most = left or outside, max(most, unsure)
    return Measured(left, most)


def _in_cell(
    means: Floats, outcomes: Floats, arms: Integers, theory: MocMabTheory, scale: float
) -> tuple[bool, int]:
    """Return whether a mean of the cell left its interval, and in how many rounds it was unsure."""
    played = (arms[:, np.newaxis] == np.arange(theory.arms))[:, :, np.newaxis]
    before = np.cumsum(played, axis=0) - played  # the observations at the beginning of each round
    sums = np.cumsum(played * outcomes, axis=0) - played * outcomes
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = sums / before
        widths = scale * theory.R * np.sqrt(2.0 * theory.A / before)
    known = before[:, :, 0] > 0
    far = np.abs(estimates - means) > widths + theory.margin
    index = np.where(known, estimates[:, :, 0] + widths[:, :, 0], np.inf)
    top = widths[np.arange(len(arms)), index.argmax(axis=1), 0]
    return bool((far & known[:, :, np.newaxis]).any()), int(
        (top > theory.beta * theory.margin).sum()
    )


def study(runs: int) -> list[tuple[float, int, int, float]]:
    """Return for each scale: runs in which a mean left, the most unsure rounds, and Lemma 4's."""
    found = []
    for scale in SCALES:
        environment = make_environment("planted", arms=ARMS, objectives=2, dimension=1, noise=NOISE)
        smooth = float(environment.lipschitz)  # type: ignore[attr-defined]
        theory = MocMabTheory(arms=ARMS, dimension=1, horizon=HORIZON, L=smooth, R=NOISE)
        measured = []
        for run in range(runs):
            rounds = environment.rounds(HORIZON, seed=run)
            policy = make_policy(
                "moc-mab",
                arms=ARMS,
                dimension=1,
                horizon=HORIZON,
                L=smooth,
                R=NOISE,
                scale=scale,
                seed=run,
            )
            measured.append(measure(rounds, policy.replay(rounds), theory, scale))
        left = sum(one.left for one in measured)
        bound = ARMS * (scale**2 * theory.plays_to_confidence + 1.0)
        found.append((scale, left, max(one.unsure for one in measured), bound))
    return found


def main(runs: int = 20) -> None:
    """Print the table."""
    print(f"{runs} runs of {HORIZON:,} rounds; Lemma 1 allows a share of 1/T = {1 / HORIZON:.1e}")
    print("scale  runs in which a mean left  unsure rounds of a cell, at most  Lemma 4")
    for scale, left, unsure, bound in study(runs):
        print(f"{scale:5g}  {left:26d}  {unsure:32d}  {bound:7.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
