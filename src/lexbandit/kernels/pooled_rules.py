"""Loops of the policies on a pooled regression: one loop for all, around the rule of each policy.

A rule is three compiled functions: `prepare`, `choose` and `chances`. The functions here that a
rule replaces say what is expected of them, and `pooled_rule` compiles the loops around them.

What a rule sees in a context is `sight`, four tables [D, K] of means m and deviations s of the
posterior, spreads of draws and reaches, and `bands` [D].

numba compiles everything that a kernel calls into the kernel, so each large part is called by
one kernel only: `select` decides, `shares` computes the probabilities of what `select` saw, and
`pooled.refresh_one` learns variances. Python calls them in turn. That keeps the first call quick.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.bands import DEVIATIONS, MEANS, REACHES, SPREADS
from lexbandit.kernels.jit import Direct, bind, deferred, kernel, once
from lexbandit.kernels.linear_features import MIXED_FACTORS, simple_at
from lexbandit.kernels.pooled import (
    CENTRE,
    COUNT,
    DUE,
    NOISE,
    OTHER,
    SEEN,
    WEIGHT,
    Model,
    estimate,
    learn,
)
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import ONLY_ROW

# The tables of what a rule sees.
TABLES = 4

# What an update answers; AGAIN is DONE, and a refresh is due.
OUTSIDE, TOO_LARGE, NO_PLAY, DONE, AGAIN = 0, 1, 2, 3, 4

# The settings of lex-thompson, in one array.
BENEFIT, BINARY, SIMPLE, FEW, DRAWS, FLOOR, STEADY, EXACT = 0, 1, 2, 3, 4, 5, 6, 7
SETTINGS = 8

# κ grows with this power of a logarithm.
_GROWTH = 1.25


@once
def prepare_draws(
    model: Model,
    _plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    sight: Array,
    widths: Array,
) -> None:
    """Write spreads of draws, reaches and bands of every level for lex-thompson.

    In the round t, for an arm with n of the N rewards of K arms: the reach is m + κws with
    κ = benefit · ln(3 + N)^1.25 and w² = 1 + ln⁺(N/(K(n + 1))); draws spread by draws · us with
    u² = 1 + few/(n + 1), and u = 1 in the last objective. Of an objective whose rewards were all 0
    or 1, with variance v = p(1 − p) at the mean p of them, κ is multiplied by binary · sqrt(v(1 +
    simple/F)), where the model has F features, and u² = 1 + few/(4vn + 1).
    The band is the tolerance. An objective before the last that has none has the band floor · σ ·
    t^(−1/3), which lets exact ties resolve; there κ = steady, simple = 0, and draws are wider by
    exact · w too.
    """
    means, deviations = sight[MEANS], sight[DEVIATIONS]
    spreads, reaches = sight[SPREADS], sight[REACHES]
    last = means.shape[0] - 1
    arms, features = means.shape[1], model.vectors.shape[3]
    for i in range(last + 1):
        benefit = settings[BENEFIT] * math.log(model.facts[i, SEEN] + 3.0) ** _GROWTH
        exact = i < last and tolerances[i] == 0.0
        doubt, worth = settings[STEADY] if exact else benefit, 1.0
        if model.facts[i, OTHER] == 0.0 and model.facts[i, SEEN] > 0.0:
            variance = model.facts[i, CENTRE] * (1.0 - model.facts[i, CENTRE])
            simple = 0.0 if exact else settings[SIMPLE] / features
            doubt *= settings[BINARY] * math.sqrt(variance * (1.0 + simple))
            worth = 4.0 * variance
        for arm in range(arms):
            count = model.tallies[arm, i, COUNT]
            ratio = model.facts[i, SEEN] / (arms * (count + 1.0))
            wider = math.sqrt(1.0 + math.log(ratio)) if ratio > 1.0 else 1.0
            few = 1.0 + settings[FEW] / (worth * count + 1.0) if i < last else 1.0
            spread = settings[DRAWS] * math.sqrt(few) * deviations[i, arm]
            spreads[i, arm] = settings[EXACT] * spread * wider if exact else spread
            reaches[i, arm] = means[i, arm] + doubt * wider * deviations[i, arm]
        widths[i] = tolerances[i]
        if exact:
            fall = (clock[0] + 1.0) ** (-1.0 / 3.0)
            widths[i] = settings[FLOOR] * math.sqrt(model.facts[i, NOISE]) * fall


def prepare(
    model: Model,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    sight: Array,
    widths: Array,
) -> None:
    """Write spreads, reaches and bands, given means and deviations in `sight`."""
    raise NotImplementedError


def choose(
    settings: Array,
    sight: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    random: RandomState,
    members: Keys,
    draws: Array,
) -> int:
    """Return the arm to play; `members` and `draws` are space for one number an arm.

    `ceilings[row, arm]` is ∞ for an allowed arm and −∞ for another. Nothing may change but the
    random state and the space.
    """
    raise NotImplementedError


def chances(
    settings: Array, sight: Array, widths: Array, ceilings: Array, row: int, out: Array
) -> None:
    """Write to out[arm] the exact probability with which `choose` returns each arm."""
    raise NotImplementedError


def select(
    kind: int,
    points: Array,
    table: Array,
    ceilings: Array,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
    random: RandomState,
    features: Array,
    sights: Array,
    widths: Array,
    chosen: Keys,
) -> int:
    """Write the arms to play in points[n, d] by what is known now, to chosen[n].

    Features are written to features[n, F], and what the rule saw to sights[n, TABLES, D, K] and
    widths[n, D]. Returns where it stopped: at the end, or at the first point outside of [0,1]^d.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, size = tallies.shape[0], table.shape[0]
    members, draws, work = np.empty(arms, np.int64), np.empty(arms), np.empty(size)
    powers = np.empty(points.shape[1] * MIXED_FACTORS)
    for t in range(points.shape[0]):
        inside = simple_at(kind, points, t, table, powers, features)
        if not inside:
            return t
        sight, bands_, row = sights[t], widths[t], min(t, ceilings.shape[0] - 1)
        estimate(model, features, t, False, work, sight)
        prepare(model, plays, clock, settings, tolerances, sight, bands_)
        arm = choose(settings, sight, bands_, ceilings, row, random, members, draws)
        chosen[t] = arm
    return int(points.shape[0])


def shares(settings: Array, sights: Array, widths: Array, ceilings: Array, out: Array) -> None:
    """Write the exact probability of every arm to out[n, K], given what the rule sees."""
    for t in range(out.shape[0]):
        row = min(t, ceilings.shape[0] - 1)
        chances(settings, sights[t], widths[t], ceilings, row, out[t])


def replay(
    start: int,
    features: Array,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    model: Model,
    random: RandomState,
    chosen: Keys,
) -> int:
    """Select, observe and update for each round in order from `start` on; writes the arms played.

    Returns where it stopped: at the end, or after a round that makes a refresh due.
    """
    arms, objectives = model.tallies.shape[0], model.tallies.shape[1]
    sight, widths = np.empty((TABLES, objectives, arms)), np.empty(objectives)
    work, members, draws = np.empty(features.shape[1]), np.empty(arms, np.int64), np.empty(arms)
    for t in range(start, features.shape[0]):
        estimate(model, features, t, False, work, sight)
        prepare(model, plays, clock, settings, tolerances, sight, widths)
        row = min(t, ceilings.shape[0] - 1)
        arm = choose(settings, sight, widths, ceilings, row, random, members, draws)
        chosen[t] = arm
        plays[arm] += 1.0
        clock[0] += 1
        due = False
        for i in range(objectives):
            reward = outcomes[t, arm, i]
            if not math.isnan(reward):
                learn(model, arm, i, features, t, reward, work)
                due |= model.facts[i, SEEN] >= model.facts[i, DUE]
        if due:
            return t + 1
    return int(features.shape[0])


class PooledRule(NamedTuple):
    """The compiled loops of a rule, as described above."""

    select: Direct
    shares: Direct
    replay: Callable[..., int]


def pooled_rule(
    *, prepare: Callable[..., Any], choose: Callable[..., Any], chances: Callable[..., Any]
) -> PooledRule:
    """Compile the loops for a rule, from functions with the decorators of `kernels.jit`."""
    return PooledRule(
        select=Direct(bind(select, deferred(sights=256), prepare=prepare, choose=choose)),
        shares=Direct(bind(shares, deferred(sights=128), chances=chances)),
        replay=bind(replay, prepare=prepare, choose=choose),
    )


@kernel
def predict(
    kind: int,
    points: Array,
    table: Array,
    model: Model,
    features: Array,
    sight: Array,
) -> bool:
    """Write posterior means and deviations in the context points[0] to the first tables of `sight`.

    Deviations have what is not known of the part that all arms share. False if it is outside.
    """
    powers, work = np.empty(points.shape[1] * MIXED_FACTORS), np.empty(table.shape[0])
    inside = simple_at(kind, points, ONLY_ROW, table, powers, features)
    if inside:
        estimate(model, features, ONLY_ROW, True, work, sight)
    return inside


@deferred(rewards=4)
def update(
    kind: int,
    points: Array,
    table: Array,
    arms: Keys,
    rewards: Array,
    amends: Mask,
    plays: Array,
    clock: Keys,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
    features: Array,
    means: Array,
) -> tuple[int, int]:
    """Record rewards[n, D] of decisions in order, or further ones of an earlier one (`amends`).

    Then features[n, F] has φ of the context, and means[n, D] what was expected of these rewards
    before, NaN where there is none. Returns how many were recorded, and the last answer: all were,
    or those up to one that makes a refresh due, or those before the first that is refused. NO_PLAY
    if every play of the arm has a reward in one of these objectives.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    powers, work = np.empty(points.shape[1] * MIXED_FACTORS), np.empty(table.shape[0])
    for t in range(points.shape[0]):
        inside = simple_at(kind, points, t, table, powers, features)
        if not inside:
            return t, OUTSIDE
        arm = arms[t]
        huge = False
        complete = False
        for i in range(rewards.shape[1]):
            huge |= abs(rewards[t, i]) > LARGEST_REWARD
            rewarded = tallies[arm, i, COUNT] - tallies[arm, i, WEIGHT]
            complete |= not math.isnan(rewards[t, i]) and rewarded >= plays[arm]
        if huge:
            return t, TOO_LARGE
        if not amends[t]:
            plays[arm] += 1.0
            clock[0] += 1
        elif complete:
            return t, NO_PLAY
        due = False
        for i in range(rewards.shape[1]):
            reward = rewards[t, i]
            means[t, i] = math.nan
            if not math.isnan(reward):
                expected = learn(model, arm, i, features, t, reward, work)
                means[t, i] = expected
                due |= facts[i, SEEN] >= facts[i, DUE]
        if due:
            return t + 1, AGAIN
    return len(points), DONE
