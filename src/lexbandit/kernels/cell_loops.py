"""The loops that every rule on cells shares: select, update, replay.

A rule is a few functions, `choose` or `mark`, perhaps `learn`, and `cell_rule` compiles the loops
around them. The functions of this module that a rule may replace say what is expected of them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.cells import Table, grid_key, slot_of
from lexbandit.kernels.jit import bind, inlined, kernel, leaf
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import COUNT, LEAST, MOST, Cells, observe_all
from lexbandit.kernels.ties import ONLY_ROW, draw_marked, row_of

# What an update answers.
NO_SLOT, OUT_OF_RANGE, NO_PLAY, OUTSIDE, DONE = 0, 1, 2, 3, 4


@inlined
def prepare(_cells: Cells, _settings: Array) -> Any:
    """Return a tuple of arrays to work in, made once for many rounds.

    For a rule that marks arms the first is bool[K], the marks.
    """
    return ()


def mark(cells: Cells, slot: int, ceilings: Array, row: int, settings: Array, work: Any) -> int:
    """Mark in work[0] the arms of which one is drawn uniformly; return how many there are."""
    raise NotImplementedError


def choose(
    cells: Cells,
    slot: int,
    ceilings: Array,
    row: int,
    settings: Array,
    random: RandomState,
    work: Any,
) -> int:
    """Return the arm to play; nothing may change but the random state and `work`.

    `ceilings[row, arm]` is ∞ for an allowed arm and −∞ for another. A rule that draws no random
    number had no other arm to play.
    """
    size = mark(cells, slot, ceilings, row, settings, work)
    return draw_marked(work[0], size, random)


def shares(cells: Cells, slot: int, ceilings: Array, row: int, settings: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    work = prepare(cells, settings)
    size = mark(cells, slot, ceilings, row, settings, work)
    out = np.zeros(ceilings.shape[1])
    for arm in range(ceilings.shape[1]):
        out[arm] = work[0][arm] / size
    return out


@leaf
def learn(
    cells: Cells,
    slot: int,
    _key: int,
    arm: int,
    outcomes: Array,
    t: int,
    r: int,
    ranked: int,
    _ceilings: Array,
    _row: int,
    _settings: Array,
    _random: RandomState,
    _work: Any,
) -> None:
    """Record the rewards outcomes[t, r] of an arm played in the cell `key`; NaN: not observed."""
    cells.plays[slot, arm] += 1.0
    cells.totals[slot, 0] += 1.0
    observe_all(cells, slot, arm, outcomes, t, r, ranked)


@leaf
def any_out_of_range(rewards: Array, bounds: Array) -> bool:
    """Tell whether a reward is one that the bound is not valid for; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= (rewards[i] < bounds[0, LEAST]) | (rewards[i] > bounds[0, MOST])
    return found


def select(
    context: Array,
    sides: Keys,
    key: int,
    ceilings: Array,
    settings: Array,
    random: RandomState,
    table: Table,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside.

    The cell is that of a grid of sides[j] cells in dimension j, or `key` if there are no sides.
    """
    if sides.shape[0] > 0:
        key = grid_key(context, sides)
        if key < 0:
            return -1, 0.0
    cells = Cells(plays, totals, stats, index, bounds)
    slot = slot_of(table, key)
    before = random[0]
    work = prepare(cells, settings)
    arm = choose(cells, slot, ceilings, ONLY_ROW, settings, random, work)
    if random[0] == before:
        return arm, 1.0
    return arm, shares(cells, slot, ceilings, ONLY_ROW, settings)[arm]


def select_many(
    keys: Keys,
    ceilings: Array,
    settings: Array,
    random: RandomState,
    table: Table,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> tuple[Keys, Array]:
    """Return the arms to play in many cells, by what is known now, and their probabilities."""
    cells = Cells(plays, totals, stats, index, bounds)
    work = prepare(cells, settings)
    arms, propensities = np.empty(keys.shape[0], np.int64), np.ones(keys.shape[0])
    for t in range(keys.shape[0]):
        slot, row, before = slot_of(table, keys[t]), row_of(ceilings, t), random[0]
        arm = choose(cells, slot, ceilings, row, settings, random, work)
        arms[t] = arm
        if random[0] != before:
            propensities[t] = shares(cells, slot, ceilings, row, settings)[arm]
    return arms, propensities


def update(
    context: Array,
    sides: Keys,
    key: int,
    arm: int,
    rewards: Array,
    ranked: int,
    ceilings: Array,
    settings: Array,
    random: RandomState,
    table: Table,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE.

    `ranked` says by how many of the objectives, the first ones, the rule ranks arms.
    """
    if sides.shape[0] > 0:
        key = grid_key(context, sides)
        if key < 0:
            return OUTSIDE
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    cells = Cells(plays, totals, stats, index, bounds)
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    work = prepare(cells, settings)
    learn(cells, slot, key, arm, outcomes, 0, 0, ranked, ceilings, ONLY_ROW, settings, random, work)
    return DONE


def update_many(
    slots: Keys,
    keys: Keys,
    arms: Keys,
    rewards: Array,
    ranked: int,
    ceilings: Array,
    settings: Array,
    random: RandomState,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> None:
    """Record checked rewards[n, D] of many decisions, in order; keys[slot] is a slot's cell."""
    cells = Cells(plays, totals, stats, index, bounds)
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    work = prepare(cells, settings)
    for t in range(slots.shape[0]):
        slot, row = slots[t], row_of(ceilings, t)
        learn(
            cells, slot, keys[slot], arms[t], outcomes, t, 0, ranked, ceilings, row, settings,
            random, work,
        )  # fmt: skip


def replay(
    slots: Keys,
    keys: Keys,
    outcomes: Array,
    ranked: int,
    ceilings: Array,
    settings: Array,
    random: RandomState,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    cells = Cells(plays, totals, stats, index, bounds)
    work = prepare(cells, settings)
    arms = np.empty(slots.shape[0], np.int64)
    for t in range(slots.shape[0]):
        slot, row = slots[t], row_of(ceilings, t)
        arm = choose(cells, slot, ceilings, row, settings, random, work)
        learn(
            cells, slot, keys[slot], arm, outcomes, t, arm, ranked, ceilings, row, settings,
            random, work,
        )  # fmt: skip
        arms[t] = arm
    return arms


@kernel
def amend(
    key: int,
    arm: int,
    rewards: Array,
    prior: float,
    ranked: int,
    table: Table,
    plays: Array,
    totals: Array,
    stats: Array,
    index: Array,
    bounds: Array,
) -> int:
    """Record further rewards of a play; nothing is done unless the answer is DONE.

    `prior` of the arm's counts are its prior's. NO_PLAY if every play of the arm in the cell has a
    reward in one of these objectives.
    """
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    for i in range(rewards.shape[0]):
        if not math.isnan(rewards[i]) and stats[slot, arm, i, COUNT] - prior >= plays[slot, arm]:
            return NO_PLAY
    cells = Cells(plays, totals, stats, index, bounds)
    observe_all(cells, slot, arm, rewards.reshape((1, 1, rewards.shape[0])), 0, 0, ranked)
    return DONE


class CellRule(NamedTuple):
    """The compiled loops of a rule, and the probabilities of its arms."""

    select: Callable[..., tuple[int, float]]
    select_many: Callable[..., tuple[Keys, Array]]
    update: Callable[..., int]
    update_many: Callable[..., None]
    replay: Callable[..., Keys]
    shares: Callable[..., Array]


# Rules that keep nothing but the objectives share one compiled update.
_UPDATE, _UPDATE_MANY = bind(update), bind(update_many)


def cell_rule(**functions: Callable[..., Any]) -> CellRule:
    """Compile the loops for a rule: `mark`, or `choose` and `shares`; `prepare`, `learn` if needed.

    All are functions with the decorators of `kernels.jit` and the arguments they have here. They
    may call kernels and functions of their own file.
    """
    work = {name: functions[name] for name in ("prepare", "learn") if name in functions}
    if "mark" in functions:
        parts = {name: functions[name] for name in ("prepare", "mark") if name in functions}
        functions = {
            **functions,
            "choose": bind(choose, leaf, mark=functions["mark"]),
            "shares": bind(shares, **parts),
        }
    learns = "learn" in functions
    return CellRule(
        select=bind(select, **functions),
        select_many=bind(select_many, **functions),
        update=bind(update, **work) if learns else _UPDATE,
        update_many=bind(update_many, **work) if learns else _UPDATE_MANY,
        replay=bind(replay, **functions),
        shares=functions["shares"],
    )
