"""Loops of the policies on a pooled regression: one loop for all, around the rule of each policy.

A rule is three compiled functions: `prepare`, `choose` and `chances`. The functions here that a
rule replaces say what is expected of them, and `pooled_rule` compiles the loops around them.

What a rule sees in a context is `sight`, four tables [D, K] of means m and deviations s of the
posterior, spreads of draws and reaches, and `bands` [D].

numba compiles everything that a kernel calls into the kernel, so each large part is called by
one kernel only: `shares_many` computes probabilities, `pooled.refresh` what follows from the sums.
Python calls them between the others. That keeps the first call of a chooser quick.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels import bands
from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import bind, kernel, once, part
from lexbandit.kernels.linear_features import features_at
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
from lexbandit.kernels.ties import ONLY_ROW, row_of

# The tables of what a rule sees.
MEANS, DEVIATIONS, SPREADS, REACHES = 0, 1, 2, 3
TABLES = 4

# What an update answers; AGAIN is DONE, and a refresh is due.
OUTSIDE, TOO_LARGE, NO_PLAY, DONE, AGAIN = 0, 1, 2, 3, 4

# The settings of lex-thompson, in one array.
BENEFIT, BINARY, FEW, NEGLECT, DRAWS, FLOOR, STEADY = 0, 1, 2, 3, 4, 5, 6
SETTINGS = 7

# κ grows with this power of ln t.
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

    In the round t, for an arm with n of the N rewards of K arms: the reach is m +
    κws with κ = benefit · ln(2 + t)^1.25 and w² = 1 + neglect · ln⁺(N/(K(n + 1))); draws spread by
    draws · us with u² = 1 + few/(n + 1), and u = 1 in the last objective and in one that never had
    a reward when others had. Of an objective whose rewards were all 0 or 1, with variance v =
    p(1 − p) at the mean p of them, κ is multiplied by binary · √v, and u² = 1 + few/(4vn + 1).
    The band is the tolerance. An objective before the last that has none has the band floor · σ ·
    t^(−1/3), which lets exact ties resolve; there κ = steady, and draws are wider by w too.
    """
    means, deviations = sight[MEANS], sight[DEVIATIONS]
    spreads, reaches = sight[SPREADS], sight[REACHES]
    last = means.shape[0] - 1
    arms = means.shape[1]
    benefit = settings[BENEFIT] * math.log(clock[0] + 3.0) ** _GROWTH
    for i in range(last + 1):
        exact = i < last and tolerances[i] == 0.0
        observed = i < last and (model.facts[i, SEEN] > 0.0 or clock[0] == 0)
        doubt, worth = settings[STEADY] if exact else benefit, 1.0
        if model.facts[i, OTHER] == 0.0 and model.facts[i, SEEN] > 0.0:
            variance = model.facts[i, CENTRE] * (1.0 - model.facts[i, CENTRE])
            doubt *= settings[BINARY] * math.sqrt(variance)
            worth = 4.0 * variance
        for arm in range(arms):
            count = model.tallies[arm, i, COUNT]
            ratio = model.facts[i, SEEN] / (arms * (count + 1.0))
            wider = math.sqrt(1.0 + settings[NEGLECT] * math.log(ratio)) if ratio > 1.0 else 1.0
            few = 1.0 + settings[FEW] / (worth * count + 1.0) if observed else 1.0
            spread = settings[DRAWS] * math.sqrt(few) * deviations[i, arm]
            spreads[i, arm] = spread * wider if exact else spread
            reaches[i, arm] = means[i, arm] + doubt * wider * deviations[i, arm]
        widths[i] = tolerances[i]
        if exact:
            fall = (clock[0] + 1.0) ** (-1.0 / 3.0)
            widths[i] = settings[FLOOR] * math.sqrt(model.facts[i, NOISE]) * fall


@once
def choose_by_bands(
    _settings: Array,
    sight: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    random: RandomState,
    members: Keys,
    draws: Array,
) -> int:
    """Return the arm that lex-thompson plays."""
    means, spreads, reaches = sight[MEANS], sight[SPREADS], sight[REACHES]
    return bands.decide(means, spreads, reaches, widths, ceilings, row, random, members, draws)


@once
def chances_of_two(
    _settings: Array, sight: Array, widths: Array, ceilings: Array, row: int, out: Array
) -> None:
    """Write the probabilities of lex-thompson with one objective or two."""
    means, spreads, reaches = sight[MEANS], sight[SPREADS], sight[REACHES]
    bands.chances_of_two(means, spreads, reaches, widths, ceilings, row, out)


@once
def chances_of_many(
    _settings: Array, sight: Array, widths: Array, ceilings: Array, row: int, out: Array
) -> None:
    """Write the probabilities of lex-thompson with three objectives or more."""
    means, spreads, reaches = sight[MEANS], sight[SPREADS], sight[REACHES]
    bands.chances_of_many(means, spreads, reaches, widths, ceilings, row, out)


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


def look(
    fully: bool,
    features: Array,
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
    sights: Array,
    widths: Array,
) -> None:
    """Write what the rule sees at features[n, F] to sights[n, TABLES, D, K] and widths[n, D].

    `fully` counts what is not known of the part that all arms share in the deviations.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    work = np.empty(features.shape[1])
    for t in range(features.shape[0]):
        estimate(model, features, t, fully, work, sights[t, MEANS], sights[t, DEVIATIONS])
        prepare(model, plays, clock, settings, tolerances, sights[t], widths[t])


def select(
    kind: int,
    point: Array,
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
    sights: Array,
    widths: Array,
) -> int:
    """Return the arm to play in a context, −1 if it is outside; what the rule saw is in row 0."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return -1
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    sight, bands_ = sights[ONLY_ROW], widths[ONLY_ROW]
    work = np.empty(features.shape[1])
    estimate(model, features, ONLY_ROW, False, work, sight[MEANS], sight[DEVIATIONS])
    prepare(model, plays, clock, settings, tolerances, sight, bands_)
    arms = tallies.shape[0]
    members, draws = np.empty(arms, np.int64), np.empty(arms)
    return choose(settings, sight, bands_, ceilings, ONLY_ROW, random, members, draws)


def select_many(
    features: Array,
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
    sights: Array,
    widths: Array,
    chosen: Keys,
) -> None:
    """Write the arms to play at features[n, F], by what is known now, and what the rule saw."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms = tallies.shape[0]
    work, members, draws = np.empty(features.shape[1]), np.empty(arms, np.int64), np.empty(arms)
    for t in range(features.shape[0]):
        sight, row = sights[t], row_of(ceilings, t)
        estimate(model, features, t, False, work, sight[MEANS], sight[DEVIATIONS])
        prepare(model, plays, clock, settings, tolerances, sight, widths[t])
        chosen[t] = choose(settings, sight, widths[t], ceilings, row, random, members, draws)


def shares_many(settings: Array, sights: Array, widths: Array, ceilings: Array, out: Array) -> None:
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
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
    random: RandomState,
    chosen: Keys,
) -> int:
    """Select, observe and update for each round in order from `start` on; writes the arms played.

    Returns where it stopped: at the end, or after a round that makes a refresh due.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, objectives = tallies.shape[0], tallies.shape[1]
    sight, widths = np.empty((TABLES, objectives, arms)), np.empty(objectives)
    work, members, draws = np.empty(features.shape[1]), np.empty(arms, np.int64), np.empty(arms)
    for t in range(start, features.shape[0]):
        estimate(model, features, t, False, work, sight[MEANS], sight[DEVIATIONS])
        prepare(model, plays, clock, settings, tolerances, sight, widths)
        row = row_of(ceilings, t)
        arm = choose(settings, sight, widths, ceilings, row, random, members, draws)
        chosen[t] = arm
        plays[arm] += 1.0
        clock[0] += 1
        if learn_all(model, arm, features, t, outcomes, arm, work):
            return t + 1
    return int(features.shape[0])


class PooledRule(NamedTuple):
    """The compiled loops of a rule, as described above."""

    look: Callable[..., None]
    select: Callable[..., int]
    select_many: Callable[..., None]
    shares_many: Callable[..., None]
    replay: Callable[..., int]


def pooled_rule(
    *, prepare: Callable[..., Any], choose: Callable[..., Any], chances: Callable[..., Any]
) -> PooledRule:
    """Compile the loops for a rule, from functions with the decorators of `kernels.jit`."""
    return PooledRule(
        look=bind(look, prepare=prepare),
        select=bind(select, prepare=prepare, choose=choose),
        select_many=bind(select_many, prepare=prepare, choose=choose),
        shares_many=bind(shares_many, chances=chances),
        replay=bind(replay, prepare=prepare, choose=choose),
    )


@kernel
def predict(
    kind: int,
    point: Array,
    table: Array,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
) -> tuple[Array, Array]:
    """Return posterior means and deviations [K, D] in a context; empty if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return np.empty((0, 0)), np.empty((0, 0))
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, objectives = tallies.shape[0], tallies.shape[1]
    means, deviations = np.empty((objectives, arms)), np.empty((objectives, arms))
    work = np.empty(features.shape[1])
    estimate(model, features, ONLY_ROW, True, work, means, deviations)
    return means.T.copy(), deviations.T.copy()


@once
def learn_all(
    model: Model,
    arm: int,
    features: Array,
    t: int,
    outcomes: Array,
    played: int,
    work: Array,
) -> bool:
    """Learn the rewards outcomes[t, played] of an arm; NaN is "not observed".

    Returns whether a refresh is due.
    """
    due = False
    for i in range(outcomes.shape[2]):
        reward = outcomes[t, played, i]
        if not math.isnan(reward):
            learn(model, arm, i, features, t, reward, work)
            due |= model.facts[i, SEEN] >= model.facts[i, DUE]
    return due


@part
def refused(rewards: Array) -> bool:
    """Tell whether a reward is larger than any can be; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= abs(rewards[i]) > LARGEST_REWARD
    return found


@kernel
def update(
    kind: int,
    point: Array,
    table: Array,
    arm: int,
    rewards: Array,
    amends: bool,
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
) -> int:
    """Record the rewards[D] of one decision, or further ones of an earlier decision (`amends`).

    Nothing is done unless the answer is DONE or AGAIN. Then features[0] has φ of the context, and
    means[D] what was expected of these rewards before, NaN where there is none. NO_PLAY if every
    play of the arm has a reward in one of these objectives.
    """
    if not features_at(kind, point, table, features):
        return OUTSIDE
    if refused(rewards):
        return TOO_LARGE
    if amends:
        for i in range(rewards.shape[0]):
            rewarded = tallies[arm, i, COUNT] - tallies[arm, i, WEIGHT]
            if not math.isnan(rewards[i]) and rewarded >= plays[arm]:
                return NO_PLAY
    else:
        plays[arm] += 1.0
        clock[0] += 1
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    work = np.empty(features.shape[1])
    answer = DONE
    for i in range(rewards.shape[0]):
        reward = rewards[i]
        means[i] = math.nan
        if not math.isnan(reward):
            means[i] = learn(model, arm, i, features, ONLY_ROW, reward, work)
            if facts[i, SEEN] >= facts[i, DUE]:
                answer = AGAIN
    return answer


@kernel
def update_each(
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
    """Call `update` for points[n, d] in order, into features[n, F] and means[n, D].

    Returns how many were recorded, and the last answer: all were, or those up to one that makes a
    refresh due, or those before the first that `update` did not record.
    """
    for t in range(points.shape[0]):
        answer = update(
            kind,
            points[t],
            table,
            arms[t],
            rewards[t],
            amends[t],
            plays,
            clock,
            tallies,
            vectors,
            matrices,
            shared,
            common,
            facts,
            prior,
            features[t : t + 1],
            means[t],
        )
        if answer != DONE:
            return (t + 1 if answer == AGAIN else t), answer
    return len(points), DONE


@kernel
def update_many(
    start: int,
    features: Array,
    arms: Keys,
    rewards: Array,
    plays: Array,
    clock: Keys,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
) -> int:
    """Record checked rewards[n, D] of many decisions at features[n, F], in order from `start` on.

    Returns where it stopped: at the end, or after one that makes a refresh due.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    work = np.empty(features.shape[1])
    for t in range(start, features.shape[0]):
        arm = arms[t]
        plays[arm] += 1.0
        clock[0] += 1
        if learn_all(model, arm, features, t, outcomes, ONLY_ROW, work):
            return t + 1
    return int(features.shape[0])
