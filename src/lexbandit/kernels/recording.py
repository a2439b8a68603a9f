"""What a policy received and how often it played each arm, noted at checkpoints; maps of arms."""

import math

from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import kernel


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
