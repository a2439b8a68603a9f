import math

import numpy as np

import lexbandit


def bump(x: float, y: float, cx: float, cy: float) -> float:
    """A Gaussian density of covariance 0.3 I divided by its value at the centre."""

    def density(px: float, py: float) -> float:
        return math.exp(-0.5 * ((px - cx) ** 2 + (py - cy) ** 2) / 0.3) / (2 * math.pi * 0.3)

    return density(x, y) / density(cx, cy)


def test_means_are_the_papers() -> None:
    x, y = 0.23, 0.81
    means = lexbandit.make_environment("synthetic").means([[x, y]])[0]
    expected = [
        [bump(x, y, 0.3, 0.5), bump(x, y, 0.3, 0.7)],
        [bump(x, y, 0.3, 0.5), bump(x, y, 0.3, 0.3)],
        [bump(x, y, 0.7, 0.5), bump(x, y, 0.7, 0.5)],
        [0.0, bump(x, y, 0.7, 0.5)],
    ]
    np.testing.assert_allclose(means, expected, rtol=1e-12)


def test_arms_0_and_1_are_tied_exactly_and_the_second_objective_decides() -> None:
    environment = lexbandit.make_environment("synthetic")
    means = environment.means(np.random.default_rng(0).random((1000, 2)))
    assert (means[:, 0, 0] == means[:, 1, 0]).all()
    optimal = environment.optimal_arms(means)
    left = means[:, 0, 0] > means[:, 2, 0]
    assert (optimal[left].sum(1) == 1).all()
    upper = means[:, 0, 1] > means[:, 1, 1]
    assert optimal[left & upper, 0].all()
    assert optimal[left & ~upper, 1].all()
    assert optimal[~left, 2].all()


def test_the_two_rewards_are_independent() -> None:
    rounds = lexbandit.make_environment("synthetic").rounds(20_000, seed=0)
    assert rounds.means is not None
    noise = (rounds.outcomes - rounds.means)[:, 2]
    correlation = np.asarray(np.corrcoef(noise.T))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(20_000)
    assert set(np.unique(rounds.outcomes)) == {0.0, 1.0}
