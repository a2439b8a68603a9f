"""Loops of the policies on a pooled regression: one loop for all, with a rule that says which arm.

A rule is a number; `prepare`, `choose` and `chances` are the only places that tell rules apart.
"""

import math

import numpy as np

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels import bands, rivals
from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.pooled import (
    CENTRE,
    COUNT,
    NOISE,
    OTHER,
    SEEN,
    WEIGHT,
    Model,
    estimate,
    estimate_fully,
    learn,
    refresh,
)
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import ONLY_ROW, row_of

# What an update answers.
OUTSIDE, TOO_LARGE, NO_PLAY, DONE = 0, 1, 2, 3

# The rules; those of `rivals` go on from 1.
LEX_THOMPSON = 0

# The settings of lex-thompson, in one array; `rivals` has those of its rules.
BENEFIT, BINARY, FEW, NEGLECT, DRAWS, FLOOR = 0, 1, 2, 3, 4, 5
SETTINGS = 6

# κ grows with this power of ln t.
_GROWTH = 1.25


@inlined
def prepare(
    rule: int,
    model: Model,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    means: Array,
    deviations: Array,
    spreads: Array,
    reaches: Array,
    widths: Array,
) -> None:
    """Write what rules read: spreads of draws, reaches and bands of every level.

    For lex-thompson, in the round t, for an arm with n of the N rewards of K arms: the reach is m +
    κws with κ = benefit · ln(2 + t)^1.25 and w² = 1 + neglect · ln⁺(N/(K(n + 1))); draws spread by
    draws · us with u² = 1 + few/(n + 1), and u = 1 in the last objective and in one that never had
    a reward when others had. Of an objective whose rewards were all 0 or 1, with variance v =
    p(1 − p) at the mean p of them, κ is multiplied by binary · √v, and u² = 1 + few/(4vn + 1).
    The band is the tolerance. An objective before the last that has none has the band floor · σ ·
    t^(−1/3), which lets exact ties resolve, and there draws are wider by w too.
    """
    if rule != LEX_THOMPSON:
        rivals.prepare(
            rule,
            model.facts,
            plays,
            clock,
            settings,
            tolerances,
            means,
            deviations,
            spreads,
            reaches,
            widths,
        )
        return
    last = means.shape[0] - 1
    arms = means.shape[1]
    benefit = settings[BENEFIT] * math.log(clock[0] + 3.0) ** _GROWTH
    for i in range(last + 1):
        exact = i < last and tolerances[i] == 0.0
        told = i < last and (model.facts[i, SEEN] > 0.0 or clock[0] == 0)
        doubt, worth = benefit, 1.0
        if model.facts[i, OTHER] == 0.0 and model.facts[i, SEEN] > 0.0:
            variance = model.facts[i, CENTRE] * (1.0 - model.facts[i, CENTRE])
            doubt *= settings[BINARY] * math.sqrt(variance)
            worth = 4.0 * variance
        for arm in range(arms):
            count = model.tallies[arm, i, COUNT]
            ratio = model.facts[i, SEEN] / (arms * (count + 1.0))
            wider = math.sqrt(1.0 + settings[NEGLECT] * math.log(ratio)) if ratio > 1.0 else 1.0
            few = 1.0 + settings[FEW] / (worth * count + 1.0) if told else 1.0
            spread = settings[DRAWS] * math.sqrt(few) * deviations[i, arm]
            spreads[i, arm] = spread * wider if exact else spread
            reaches[i, arm] = means[i, arm] + doubt * wider * deviations[i, arm]
        widths[i] = tolerances[i]
        if exact:
            fall = (clock[0] + 1.0) ** (-1.0 / 3.0)
            widths[i] = settings[FLOOR] * math.sqrt(model.facts[i, NOISE]) * fall


@inlined
def choose(
    rule: int,
    means: Array,
    deviations: Array,
    spreads: Array,
    reaches: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    random: RandomState,
    members: Keys,
    draws: Array,
) -> int:
    """Return the arm that a rule plays; `members` and `draws` are room for one number an arm."""
    if rule == LEX_THOMPSON:
        return bands.decide(means, spreads, reaches, widths, ceilings, row, random, members, draws)
    return rivals.decide(
        rule,
        means,
        deviations,
        spreads,
        reaches,
        widths,
        ceilings,
        row,
        random,
        members,
        draws,
    )


@inlined
def chances(
    rule: int,
    means: Array,
    deviations: Array,
    spreads: Array,
    reaches: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    out: Array,
) -> None:
    """Write the exact probability of every arm to be the one that `choose` returns."""
    if rule == LEX_THOMPSON:
        bands.chances(means, spreads, reaches, widths, ceilings, row, out)
    else:
        rivals.chances(rule, means, deviations, spreads, reaches, widths, ceilings, row, out)


@kernel
def shares(
    rule: int,
    means: Array,
    deviations: Array,
    spreads: Array,
    reaches: Array,
    widths: Array,
    ceilings: Array,
) -> Array:
    """Return the exact probability of every arm, given what `look` returned."""
    out = np.empty(means.shape[1])
    chances(rule, means, deviations, spreads, reaches, widths, ceilings, ONLY_ROW, out)
    return out


@kernel
def look(
    rule: int,
    model: Model,
    features: Array,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    fully: bool,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return means, deviations, spreads, reaches [D, K] and bands [D] at features[0]."""
    arms, objectives = model.tallies.shape[0], model.tallies.shape[1]
    means, deviations = np.empty((objectives, arms)), np.empty((objectives, arms))
    spreads, reaches = np.empty((objectives, arms)), np.empty((objectives, arms))
    widths = np.empty(objectives)
    work = np.empty(features.shape[1])
    if fully:
        estimate_fully(model, features, 0, work, means, deviations)
    else:
        estimate(model, features, 0, work, means, deviations)
    prepare(
        rule,
        model,
        plays,
        clock,
        settings,
        tolerances,
        means,
        deviations,
        spreads,
        reaches,
        widths,
    )
    return means, deviations, spreads, reaches, widths


@kernel
def select(
    rule: int,
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
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return -1, 0.0
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    seen = look(rule, model, features, plays, clock, settings, tolerances, False)
    means, deviations, spreads, reaches, widths = seen
    arms = means.shape[1]
    arm = choose(
        rule,
        means,
        deviations,
        spreads,
        reaches,
        widths,
        ceilings,
        ONLY_ROW,
        random,
        np.empty(arms, np.int64),
        np.empty(arms),
    )
    return arm, shares(rule, means, deviations, spreads, reaches, widths, ceilings)[arm]


@kernel
def propensities(
    rule: int,
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
) -> Array:
    """Return the exact probability of every arm in a context; an empty array if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return np.empty(0)
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    seen = look(rule, model, features, plays, clock, settings, tolerances, False)
    means, deviations, spreads, reaches, widths = seen
    return shares(rule, means, deviations, spreads, reaches, widths, ceilings)


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
    estimate_fully(model, features, 0, np.empty(features.shape[1]), means, deviations)
    return means.T.copy(), deviations.T.copy()


@kernel
def select_many(
    rule: int,
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
    chosen: Keys,
    propensities: Array,
) -> None:
    """Write the arms to play at features[n, F], by what is known now, and their probabilities."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, objectives = tallies.shape[0], tallies.shape[1]
    means, deviations = np.empty((objectives, arms)), np.empty((objectives, arms))
    spreads, reaches = np.empty((objectives, arms)), np.empty((objectives, arms))
    widths, work = np.empty(objectives), np.empty(features.shape[1])
    members, draws, out = np.empty(arms, np.int64), np.empty(arms), np.empty(arms)
    for t in range(features.shape[0]):
        row = row_of(ceilings, t)
        estimate(model, features, t, work, means, deviations)
        prepare(
            rule,
            model,
            plays,
            clock,
            settings,
            tolerances,
            means,
            deviations,
            spreads,
            reaches,
            widths,
        )
        arm = choose(
            rule,
            means,
            deviations,
            spreads,
            reaches,
            widths,
            ceilings,
            row,
            random,
            members,
            draws,
        )
        chances(rule, means, deviations, spreads, reaches, widths, ceilings, row, out)
        chosen[t] = arm
        propensities[t] = out[arm]


@kernel
def propensities_many(
    rule: int,
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
    out: Array,
) -> None:
    """Write the exact probability of every arm at features[n, F] to out[n, K]."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, objectives = tallies.shape[0], tallies.shape[1]
    means, deviations = np.empty((objectives, arms)), np.empty((objectives, arms))
    spreads, reaches = np.empty((objectives, arms)), np.empty((objectives, arms))
    widths, work = np.empty(objectives), np.empty(features.shape[1])
    for t in range(features.shape[0]):
        estimate(model, features, t, work, means, deviations)
        prepare(
            rule,
            model,
            plays,
            clock,
            settings,
            tolerances,
            means,
            deviations,
            spreads,
            reaches,
            widths,
        )
        row = row_of(ceilings, t)
        chances(rule, means, deviations, spreads, reaches, widths, ceilings, row, out[t])


@inlined
def learn_all(
    model: Model,
    arm: int,
    features: Array,
    t: int,
    outcomes: Array,
    played: int,
    work: Array,
) -> None:
    """Learn the rewards outcomes[t, played] of an arm; NaN is "not observed"."""
    for i in range(outcomes.shape[2]):
        reward = outcomes[t, played, i]
        if not math.isnan(reward):
            learn(model, arm, i, features, t, reward, work)


@kernel
def replay(
    rule: int,
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
) -> None:
    """Select, observe and update for each round in order; writes the arms played."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    arms, objectives = tallies.shape[0], tallies.shape[1]
    means, deviations = np.empty((objectives, arms)), np.empty((objectives, arms))
    spreads, reaches = np.empty((objectives, arms)), np.empty((objectives, arms))
    widths, draws, members = np.empty(objectives), np.empty(arms), np.empty(arms, np.int64)
    work = np.empty(features.shape[1])
    for t in range(features.shape[0]):
        row = row_of(ceilings, t)
        estimate(model, features, t, work, means, deviations)
        prepare(
            rule,
            model,
            plays,
            clock,
            settings,
            tolerances,
            means,
            deviations,
            spreads,
            reaches,
            widths,
        )
        arm = choose(
            rule,
            means,
            deviations,
            spreads,
            reaches,
            widths,
            ceilings,
            row,
            random,
            members,
            draws,
        )
        chosen[t] = arm
        plays[arm] += 1.0
        clock[0] += 1
        learn_all(model, arm, features, t, outcomes, arm, work)


@inlined
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
    """Record the rewards[D] of one decision, or further ones of a decision told before (`amends`).

    Nothing is done unless the answer is DONE; then features[0] has φ of the context, and means[D]
    what was expected of these rewards before, NaN where there is none. NO_PLAY if every play of the
    arm was told a reward in one of these objectives.
    """
    if not features_at(kind, point, table, features):
        return OUTSIDE
    if refused(rewards):
        return TOO_LARGE
    if amends:
        for i in range(rewards.shape[0]):
            told = tallies[arm, i, COUNT] - tallies[arm, i, WEIGHT]
            if not math.isnan(rewards[i]) and told >= plays[arm]:
                return NO_PLAY
    else:
        plays[arm] += 1.0
        clock[0] += 1
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    work = np.empty(features.shape[1])
    for i in range(rewards.shape[0]):
        reward = rewards[i]
        means[i] = math.nan
        if not math.isnan(reward):
            means[i] = learn(model, arm, i, features, 0, reward, work)
    return DONE


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
) -> int:
    """Call `update` for points[n, d] in order, into features[n, F] and means[n, D].

    Returns how many were recorded: all, or those before the first that `update` did not record.
    """
    for t in range(points.shape[0]):
        done = update(
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
        if done != DONE:
            return t
    return len(points)


@kernel
def update_many(
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
) -> None:
    """Record checked rewards[n, D] of many decisions at features[n, F], in order."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    work = np.empty(features.shape[1])
    for t in range(features.shape[0]):
        arm = arms[t]
        plays[arm] += 1.0
        clock[0] += 1
        learn_all(model, arm, features, t, outcomes, 0, work)


@kernel
def refresh_all(
    steps: int,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
) -> None:
    """Compute all that follows from the sums, for every objective."""
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    for i in range(tallies.shape[1]):
        refresh(model, i, steps)
