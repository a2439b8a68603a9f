"""The reward model of doubly robust estimates: the package's pooled regression on features."""

from lexbandit.checks import Floats, Integers
from lexbandit.features import FeatureMap


class RewardModel:
    """Predicts the rewards of every arm from features of the context, block by block.

    Call `predict` for a block before `learn` of the same block: then predictions depend on earlier
    rows alone, as the intervals need. Rewards are shares, NaN where missing.
    """

    def __init__(self, *, arms: int, objectives: int, features: FeatureMap) -> None:
        raise NotImplementedError

    def predict(self, contexts: Floats) -> Floats:
        """Return float[n, K, D] in [0, 1] for contexts[n, d] in the unit cube."""
        raise NotImplementedError

    def learn(self, contexts: Floats, action: Integers, reward: Floats) -> None:
        """Learn reward[n, D] of action[n] in contexts[n, d], a block of `sums.blocks`."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether the model learns no more: it has seen its 262,144 rows and stays as it is.

        From there on blocks may be predicted in any order, on many machines.
        """
        raise NotImplementedError
