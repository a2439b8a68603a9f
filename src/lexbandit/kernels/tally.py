"""Running totals of what a policy's arms gained and missed, noted at checkpoints; maps of arms."""

import math

from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import kernel


@kernel
def tally(
    means: Array,
    optimal: Array,
    gaps: Array,
    floors: Array,
    arms: Keys,
    observed: Mask,
    done: int,
    totals: Array,
    checkpoints: Keys,
    notes: Array,
) -> None:
    """Add a block of rounds to `totals` and copy them to notes[c] when checkpoint c is reached.

    totals = (regret in each of D objectives, Pareto regret, expected reward in each of D, tolerance
    regret in each of D): the summands of equations (1) and (2), and how far a mean is below its
    floor (see `band_floors`). Where observed[t, i] is False, the round adds nothing to the
    regrets of objective i; no rows mean that all is observed. `done` rounds came before this block.
    """
    objectives = means.shape[2]
    c = 0
    while c < checkpoints.shape[0] and checkpoints[c] <= done:
        c += 1
    for t in range(arms.shape[0]):
        arm = arms[t]
        for i in range(objectives):
            totals[objectives + 1 + i] += means[t, arm, i]
            if observed.shape[0] == 0 or observed[t, i]:
                totals[i] += optimal[t, i] - means[t, arm, i]
                totals[2 * objectives + 1 + i] += max(0.0, floors[t, i] - means[t, arm, i])
        totals[objectives] += gaps[t, arm]
        if c < checkpoints.shape[0] and done + t + 1 == checkpoints[c]:
            for j in range(totals.shape[0]):
                notes[c, j] = totals[j]
            c += 1


@kernel
def record(
    outcomes: Array, arms: Keys, done: int, totals: Array, checkpoints: Keys, notes: Array
) -> None:
    """Add a block of rounds to `totals` and copy them to notes[c] when checkpoint c is reached.

    totals = (reward received in each of D objectives, plays of each of K arms). An outcome that
    was not observed (NaN) adds nothing. `done` rounds came before this block.
    """
    objectives = outcomes.shape[2]
    c = 0
    while c < checkpoints.shape[0] and checkpoints[c] <= done:
        c += 1
    for t in range(arms.shape[0]):
        arm = arms[t]
        for i in range(objectives):
            reward = outcomes[t, arm, i]
            if not math.isnan(reward):
                totals[i] += reward
        totals[objectives + arm] += 1.0
        if c < checkpoints.shape[0] and done + t + 1 == checkpoints[c]:
            for j in range(totals.shape[0]):
                notes[c, j] = totals[j]
            c += 1


@kernel
def map_played(cells: Keys, arms: Keys, start: int, counts: Keys) -> None:
    """Add one to counts[cell, arm] for every round from `start` on."""
    for t in range(start, cells.shape[0]):
        counts[cells[t], arms[t]] += 1


@kernel
def map_first(cells: Keys, marked: Mask, start: int, counts: Keys) -> None:
    """Add one to counts[cell, arm] for the first marked arm of every round from `start` on."""
    for t in range(start, cells.shape[0]):
        for arm in range(marked.shape[1]):
            if marked[t, arm]:
                counts[cells[t], arm] += 1
                break
