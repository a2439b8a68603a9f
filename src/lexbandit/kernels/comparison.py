"""The sums that compare a chooser with always playing one arm: doubly robust scores.

For a decision with context x, arm A of probability p and reward r in one objective, and for every
arm a that was allowed, with φ = φ(x) the features that the policy's model is linear in, and
w = min(1/p, 1/ε) the clipped importance weight,

    s(a) = 1 − w·1{A = a}    the part of the decision that the model has to judge

The mean of s(a)·r − s(a)·φᵀθ_a, with θ_a the model of the end, estimates what the chooser earned
more than always playing a: the doubly robust estimator (Dudík et al., 2014, Statistical Science 29)
with weights truncated at 1/ε (Ionides, 2008, Journal of Computational and Graphical Statistics 17).
Since it is linear in θ_a, Σ s(a)·φ is all that has to be stored of the contexts. The noise of that
mean has the variance Σ s(a)²e² / n², with e = r − q_A(x) the error of what the model predicted of
the arm that was played, before it learned r.

    sums[arm, objective, field]   the fields below, then Σ s·φ

All of them are plain sums over decisions, so those of two choosers add up.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import deferred, inlined, kernel, once

# Over rewards of decisions in which the arm was allowed: how many; Σ s·r; Σ e² where another arm
# was played.
COUNT, EARNED, OTHERS = 0, 1, 2
# Over plays of the arm itself: how many; Σ w; Σ s²; Σ s²e²; Σ e²; Σ r.
PLAYS, WEIGHTS, PARTS, PART_ERRORS, ERRORS, REWARDS = 3, 4, 5, 6, 7, 8
FIELDS = 9

# Of the rewards of one objective, in its own units: how many; the first of them, which is the
# origin; the sums of distances from it and of their squares; 1 if every one was 0 or 1.
NUMBER, ORIGIN, TOTAL, SQUARES, BINARY = 0, 1, 2, 3, 4
RECEIVED = 5

# Weights are at most 1/CLIP: what an arm of a smaller probability would have given is partly judged
# by the model (docs/decisions/0020-comparisons-are-doubly-robust.md).
CLIP = 0.02


@once
def receive(received: Array, i: int, value: float) -> None:
    """Add a reward in its own units to received[D, RECEIVED]."""
    if received[i, NUMBER] == 0.0:
        received[i, ORIGIN] = value
        received[i, BINARY] = 1.0
    distance = value - received[i, ORIGIN]
    received[i, NUMBER] += 1.0
    received[i, TOTAL] += distance
    received[i, SQUARES] += distance * distance
    if value not in (0.0, 1.0):
        received[i, BINARY] = 0.0


@inlined
def add_score(
    sums: Array,
    received: Array,
    features: Array,
    means: Array,
    arm: int,
    propensity: float,
    explore: float,
    rewards: Array,
    values: Array,
    allowed: Mask,
) -> None:
    """Add one decision's rewards[D] to the sums of every arm; NaN is no reward.

    values[D] are the same rewards in their own units, for `received`. means[D] are the model's
    predictions for the arm that was played; where they are NaN, its average so far. `allowed`
    has no entries if all arms were. Every allowed arm has a probability of at least `explore`
    divided by their number: weights are not clipped below that. A probability that is not known
    (NaN) gives a weight of 1, the least there is.
    """
    arms = sums.shape[0]
    clip = CLIP
    if explore > 0.0:
        standing = arms
        if allowed.shape[0] > 0:
            standing = 0
            for a in range(arms):
                standing += allowed[a]
        clip = min(clip, explore / standing)
    weight = 1.0 if math.isnan(propensity) else 1.0 / max(propensity, clip)
    for i in range(sums.shape[1]):
        reward = rewards[i]
        if math.isnan(reward):
            continue
        value = values[i]
        receive(received, i, value)
        mean = means[i]
        if math.isnan(mean):
            plays = sums[arm, i, PLAYS]
            mean = sums[arm, i, REWARDS] / plays if plays > 0.0 else 0.5
        square = (reward - mean) * (reward - mean)
        for a in range(arms):
            if allowed.shape[0] > 0 and not allowed[a]:
                continue
            part = 1.0
            if a == arm:
                part -= weight
                sums[a, i, PLAYS] += 1.0
                sums[a, i, WEIGHTS] += weight
                sums[a, i, PARTS] += part * part
                sums[a, i, PART_ERRORS] += part * part * square
                sums[a, i, ERRORS] += square
                sums[a, i, REWARDS] += reward
            else:
                sums[a, i, OTHERS] += square
            sums[a, i, COUNT] += 1.0
            sums[a, i, EARNED] += part * reward
            for k in range(features.shape[0]):
                sums[a, i, FIELDS + k] += part * features[k]


score = deferred(sums=10_000)(add_score)
"""`add_score`, for Python to call."""

NO_MASK = np.empty(0, np.bool_)
"""What `allowed` is if all arms were."""


@kernel
def score_many(
    sums: Array,
    received: Array,
    features: Array,
    means: Array,
    arms: Keys,
    propensities: Array,
    explore: float,
    rewards: Array,
    values: Array,
    allowed: Mask,
) -> None:
    """Call `add_score` for the rewards[n, D] and values[n, D] of many decisions, in order.

    allowed[n, K] has no columns if all arms were allowed in all of them.
    """
    for t in range(rewards.shape[0]):
        add_score(
            sums,
            received,
            features[t],
            means[t],
            arms[t],
            propensities[t],
            explore,
            rewards[t],
            values[t],
            allowed[t],
        )
