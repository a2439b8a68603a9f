"""The lexicographic rule's levels, as an explanation describes them."""

from dataclasses import dataclass

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import lexicographic as kernel
from lexbandit.kernels.cells import WIDTH, ArmStatistics
from lexbandit.policies.explain import drawn, listed, objective


@dataclass(frozen=True)
class Levels:
    """What happens at each level, with ties at the top decided for the first arm.

    tops[i] is h_i, floors[i] the index from which arms stay candidates, opened[i] those that do.
    `unsure`: the last of the tops is played because a width of it exceeds the threshold, in the
    level's objective or in one above.
    """

    tops: list[int]
    floors: list[float]
    opened: list[list[int]]
    candidates: Booleans
    unsure: bool

    def reported(self) -> tuple[Level, ...]:
        """Return the levels as an explanation has them."""
        arms = [*self.opened, np.flatnonzero(self.candidates).tolist()]
        return tuple(Level(top, tuple(arms[i])) for i, top in enumerate(self.tops))


def levels_of(
    known: ArmStatistics,
    slot: int,
    ceilings: Floats,
    tolerances: Floats,
    limits: kernel.Limits,
) -> Levels:
    """Follow `kernels.lexicographic.choose_of_many` level by level."""
    depth = len(tolerances)
    tops = np.full(depth, -1, np.int64)
    opened = ceilings.copy()
    floors: list[float] = []
    candidates: list[list[int]] = []
    for i in range(depth):
        values = np.minimum(known.indices[slot, i], opened[0])
        best = np.flatnonzero(values == values.max())
        tops[i] = best[0]
        if i == depth - 1:
            break
        closed = np.empty_like(opened)
        sure = kernel.close_arms(known, slot, i, tops, tolerances, limits, opened, closed)
        if not sure:
            mask = np.zeros(ceilings.shape[1], np.bool_)
            mask[best] = True
            return Levels(tops[: i + 1].tolist(), floors, candidates, mask, True)
        opened = closed
        floors.append(kernel.floor_at(known, slot, i, tops, tolerances, limits))
        candidates.append(np.flatnonzero(opened[0] > 0).tolist())
    last = opened[0] > 0
    if depth == 1:
        last = values == values.max()
    return Levels(tops.tolist(), floors, candidates, last, False)


def least_known(known: ArmStatistics, slot: int, levels: Levels, limit: float) -> int:
    """Return the first objective in which the width of the last top arm exceeds the limit.

    It is that of the level itself, or one above it: where rewards are missing, an arm may be known
    in an objective and not in one before.
    """
    widths = known.stats[slot, levels.tops[-1], : len(levels.tops), WIDTH]
    return int(np.flatnonzero(widths > limit)[0])


def reason_of(
    known: ArmStatistics,
    slot: int,
    levels: Levels,
    chosen: list[int],
    *,
    limit: float,
    limit_name: str,
    less: list[str],
    lam: float,
    where: str = "",
) -> str:
    """Return in a few sentences why the likely arms are `chosen`.

    An arm is known well enough if its width is at most `limit`, less[i] is what an arm may lack at
    level i, and `where` says what part of the contexts was observed.
    """
    tied, limited = drawn(chosen), f"{limit_name} = {limit:.4g}"
    if levels.unsure:
        level, unknown = len(levels.tops) - 1, least_known(known, slot, levels, limit)
        width = known.stats[slot, levels.tops[-1], unknown, WIDTH]
        if width == np.inf:
            seen = f" in {objective(unknown)}" if level else ""
            return f"{listed(chosen)}: not observed yet{seen}{where}{tied}."
        there = "" if unknown == level else f" in {objective(unknown)}"
        return (
            f"{listed(chosen)}: highest index in {objective(level)}{tied}, but its width "
            f"{width:.4g}{there} exceeds {limited}, so it is played to learn about it and "
            f"{objective(level + 1)} is not considered yet."
        )
    if len(less) == 1:
        return f"{listed(chosen)}: highest index{tied}."
    passed = " ".join(
        f"The top arm in {objective(i)} is {listed([top])}, known to within {limited}. "
        f"Candidates, with an index of at least its lower bound less {lack}"
        f"{' and what λ adds' if i and lam > 0.0 else ''} = {floor:.4g}: {listed(arms)}."
        for i, (top, floor, arms, lack) in enumerate(
            zip(levels.tops, levels.floors, levels.opened, less, strict=False)
        )
    )
    last = f"the highest index among them in {objective(len(less) - 1)}{tied}"
    return f"{passed} To be played: {listed(chosen)}, {last}."
