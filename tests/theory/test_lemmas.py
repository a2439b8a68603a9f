"""The lemmas are measured as the paper defines them: against a plain walk through the rounds."""

import importlib
import math

import numpy as np

from lexbandit import make_environment, make_policy
from lexbandit.theory import MocMabTheory

lemmas = importlib.import_module("benchmarks.lemmas")


def test_a_run_is_measured_as_a_plain_walk_does() -> None:
    environment = make_environment("planted", arms=3, objectives=2, dimension=1, noise=0.3)
    rounds = environment.rounds(600, seed=4)
    assert rounds.means is not None
    theory = MocMabTheory(arms=3, dimension=1, horizon=600, L=0.5, R=0.3)
    seen = set()
    for scale in (1.0, 0.2, 0.05):
        policy = make_policy(
            "moc-mab", arms=3, dimension=1, horizon=600, L=0.5, R=0.3, scale=scale, seed=1
        )
        arms = policy.replay(rounds)
        left, unsure = False, dict.fromkeys(range(theory.m), 0)
        plays: dict[tuple[int, int], list[list[float]]] = {}
        for t in range(600):
            cell = min(int(rounds.contexts[t, 0] * theory.m), theory.m - 1)
            best, width_of_best = -math.inf, math.inf
            for arm in range(3):
                found = np.array(plays.get((cell, arm), []))
                if not len(found):
                    best, width_of_best = math.inf, math.inf
                    continue
                width = scale * 0.3 * math.sqrt(2 * theory.A / len(found))
                mean = found.mean(axis=0)
                left |= bool((abs(mean - rounds.means[t, arm]) > width + theory.margin).any())
                if mean[0] + width > best:
                    best, width_of_best = mean[0] + width, width
            unsure[cell] += width_of_best > theory.margin
            plays.setdefault((cell, int(arms[t])), []).append(rounds.outcomes[t, arms[t]].tolist())
        measured = lemmas.measure(rounds, arms, theory, scale)
        assert (measured.left, measured.unsure) == (left, max(unsure.values()))
        assert measured.unsure <= 3 * (scale**2 * theory.plays_to_confidence + 1)
        seen.add(left)
    assert seen == {False, True}
