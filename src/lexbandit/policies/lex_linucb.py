"""LexLinUCB: lexicographic by levels, on features of the context instead of cells."""
import numpy as np
from lexbandit.features import features_for, FeatureMap
from lexbandit.kernels import linear_lexicographic as kernel
from lexbandit.policies.linear_policy import LinearPolicy
from lexbandit.policies.making import REGISTRY

class LexLinearRule(LinearPolicy):
    def __init__(self, *, arms, objectives, features, ridge, exploration, threshold, power, tolerances, lam, seed):
        super().__init__(arms=arms, objectives=objectives, features=features, ridge=ridge, seed=seed)
        self._settings = np.array([exploration, threshold, power, lam])
        self._allowances = tolerances

    def _look(self, features, ceilings):
        m = self._memory
        kernel.look(features, self._clock, self._settings, m.inverses, m.weights, m.counts, self._stats)

    def _select(self, features, ceilings):
        m = self._memory
        return kernel.select(features, ceilings, self._clock, self._settings, self._allowances, m.inverses, m.weights, m.counts, self._stats, self._random)

    def _replay(self, start, features, outcomes, ceilings, arms):
        m = self._memory
        return kernel.replay(start, features, outcomes, ceilings, self._plays, self._clock, self._settings, self._allowances, m.grams, m.inverses, m.moments, m.weights, m.counts, self._stats, self._random, arms)
    def _shares(self, features, ceilings):
        return 0
    def _reason(self, ceilings, shares):
        return 0

@REGISTRY.register("lex-linucb")
def lex_linucb(*, arms, dimension, objectives=2, features="legendre", ridge=0.1, exploration=0.1, scale=1.0, c=2.5, p=1/3, seed=0):
    return LexLinearRule(arms=arms, objectives=objectives, features=features_for(features, dimension=dimension), ridge=ridge, exploration=exploration*scale, threshold=c, power=p, tolerances=np.zeros(objectives), lam=0.0, seed=seed)
