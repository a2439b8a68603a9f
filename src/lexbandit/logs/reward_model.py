"""The reward model of doubly robust estimates: the package's pooled regression on features.

It is the model of `kernels.pooled`, the one that the default policy decides by: a linear model an
arm and objective on features of the context, drawn towards what all arms have in common, with
learned noise. A model that fits badly makes intervals wider; it never makes them wrong.

With m the mean of all rewards so far and g what the regression says of an arm, the prediction is
m + s(g − m). The share s is that of the regression through the rows so far, each with the g and m
that it was predicted by: s = Σ(g − m)(y − m) / Σ(g − m)², clipped to [0, 1]. So a regression that
knows nothing yet, or overfits rare rewards, counts for little.

A row must not be predicted by a model that learned from it. `RewardModel` learns from earlier rows
only, as the log of a policy that learns needs it. `CrossFitted` learns from other rows, earlier and
later ones: it is for logs of policies that did not learn, and predicts the first rows better.
"""

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.features import FeatureMap
from lexbandit.kernels import pooled
from lexbandit.kernels import reward_model as kernel

# Rows that the model learns from. More of them hardly change a linear model, and a model that stays
# as it is lets the rest of a log be summed in any order.
ROWS = 262_144


class RewardModel:
    """Predicts the rewards of every arm from features of the context, block by block.

    Call `predict` for a block before `learn` of the same block: then predictions depend on earlier
    rows alone, as the intervals need. Rewards are shares of the objectives' ranges, NaN where
    missing. Blocks are learned in the order of the log, one at a time.
    """

    def __init__(self, *, arms: int, objectives: int, features: FeatureMap) -> None:
        self.features = features
        self.rows = 0
        size = features.count
        self._model = pooled.Model(
            np.zeros((arms, objectives, pooled.TALLIES)),
            np.zeros((arms, objectives, pooled.VECTORS, size)),
            np.zeros((arms, objectives, pooled.MATRICES, size, size)),
            np.ones((objectives, pooled.SHARED, size)),
            np.zeros((objectives, size, size)),
            np.zeros((objectives, pooled.FACTS)),
            features.prior(),
        )
        self._model.facts[:, pooled.NOISE] = pooled.FIRST_NOISE
        self._found: Floats = np.empty((arms, objectives, size))
        self._tried: Floats = np.zeros((objectives, 2))
        self._learn(np.empty((0, size)), np.empty(0, np.int64), np.empty((0, objectives)))

    def predict(self, contexts: Floats) -> Floats:
        """Return float[n, K, D] in [0, 1] for contexts[n, d] in the unit cube."""
        features = self.features.apply_all(contexts)
        predicted = np.empty((len(features), *self._found.shape[:2]))
        kernel.predict_rows(self._found, self._means, self._shares, features, predicted)
        return predicted

    def learn(self, contexts: Floats, action: Integers, reward: Floats) -> None:
        """Learn reward[n, D] of action[n] in contexts[n, d], a block of `sums.blocks`.

        Does nothing once the model is `done`.
        """
        if self.done:
            return
        features = self.features.apply_all(contexts)
        arms, objectives = self._found.shape[:2]
        played = checks.arms_of(action, rounds=len(features), arms_known=arms)
        values = checks.floats("reward", reward, (len(features), objectives))
        kernel.try_rows(self._found, self._means, features, played, values, self._tried)
        self._learn(features, played, values)
        self.rows += len(features)

    def _learn(self, features: Floats, action: Integers, reward: Floats) -> None:
        kernel.learn_rows(self._model, features, action, reward)
        pooled.refresh(self._model)
        kernel.coefficients(self._model, self._found)
        seen, total = self._model.tallies[:, :, [pooled.COUNT, pooled.TOTAL]].sum(axis=0).T
        self._means: Floats = np.divide(total, seen, out=np.full(len(seen), 0.5), where=seen > 0.0)
        fitted, square = self._tried.T
        shares = np.divide(fitted, square, out=np.zeros(len(seen)), where=square > 0.0)
        self._shares: Floats = shares.clip(0.0, 1.0)

    @property
    def done(self) -> bool:
        """Whether the model learns no more: it has seen its 262,144 rows and stays as it is.

        From there on blocks may be predicted in any order, on many machines.
        """
        return self.rows >= ROWS


# Parts of the rows; each is predicted by a model that learned from the other parts.
FOLDS = 5


class CrossFitted:
    """A model for each of FOLDS parts of the rows, which learned from all other parts.

    Chernozhukov et al., 2018, Econometrics Journal 21, "Double/debiased machine learning". `learn`
    the rows first, then `predict` any of them.
    """

    def __init__(self, *, arms: int, objectives: int, features: FeatureMap) -> None:
        self._models = [
            RewardModel(arms=arms, objectives=objectives, features=features) for _ in range(FOLDS)
        ]
        self._shape = (arms, objectives)

    def learn(self, contexts: Floats, action: Integers, reward: Floats, folds: Integers) -> None:
        """Learn a block of rows; folds[n] is the part of each, from 0 to below FOLDS."""
        for fold, model in enumerate(self._models):
            others = folds != fold
            model.learn(contexts[others], action[others], reward[others])

    def predict(self, contexts: Floats, folds: Integers) -> Floats:
        """Return float[n, K, D] in [0, 1], by the models that did not learn from a row's part."""
        predicted = np.empty((len(contexts), *self._shape))
        for fold, model in enumerate(self._models):
            mine = folds == fold
            predicted[mine] = model.predict(contexts[mine])
        return predicted

    @property
    def done(self) -> bool:
        """Whether no model learns any more."""
        return all(model.done for model in self._models)
