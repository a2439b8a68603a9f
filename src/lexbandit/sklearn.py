"""A bandit with scikit-learn's conventions: arrays in, arms out. It needs the extra `sklearn`."""

from typing import Any, cast

import numpy as np

from lexbandit.checks import Floats, floats, numbers, refuse_masked, tolerances, unmasked
from lexbandit.errors import InvalidInput
from lexbandit.policies import Policy, make_policy

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise InvalidInput(
        'lexbandit.sklearn needs scikit-learn, which is not installed: pip install "lexbandit'
        '[sklearn]".'
    ) from error


class LexBanditClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses one of `classes_`, the arms, by rewards in order of priority.

    policy        the name of a policy; see `lexbandit.make_policy`
    tolerance     how much less of an objective is as good: one number, or one for each objective,
                  in the units of its rewards
    ranges        where rewards lie: (worst, best) for each objective, such as [(0, 1), (0.05, 0)]
                  for quality and a cost; from 0 to 1 if it is left out
    settings      further parameters of the policy, a dict
    random_state  of the policy's draws

    Two kinds of data teach it. `partial_fit(X, arms, rewards)` takes what was played and what
    came of it, rewards[n, D] within their ranges, the most important first, NaN where not
    observed: a bandit's log. `fit(X, y)` takes the right class of each row: every arm's reward
    is known then, 1 for the right one and 0 for the others.

    Features are scaled to [0, 1] by the least and largest values of the first data; what comes
    later is clipped to them. To set the range yourself scale X before, and pass a first block that
    has it. `predict` returns the arm of the best estimates and draws nothing; `choose` explores as
    the policy does and returns the propensities; `predict_proba` has those of all arms.
    """

    def __init__(
        self,
        policy: str = "lex-thompson",
        *,
        tolerance: Any = 0.0,
        ranges: Any = None,
        settings: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.policy = policy
        self.tolerance = tolerance
        self.ranges = ranges
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any, rewards: Any = None) -> "LexBanditClassifier":
        """Learn anew: from the right classes y, or from arms y played and their rewards."""
        for name in ("policy_", "classes_", "low_", "span_"):
            self.__dict__.pop(name, None)
        return self._learn(X, y, rewards, None, first=True)

    def partial_fit(
        self, X: Any, y: Any, rewards: Any = None, classes: Any = None
    ) -> "LexBanditClassifier":
        """Learn further rows: the arms y that were played, and their rewards.

        The first call must name all arms in `classes`, unless all of them occur. Without rewards y
        are the right classes, as in `fit`.
        """
        return self._learn(X, y, rewards, classes, first=not hasattr(self, "policy_"))

    def _learn(
        self, X: Any, arms: Any, rewards: Any, classes: Any, *, first: bool
    ) -> "LexBanditClassifier":
        refuse_masked("y", arms)
        values, labels = validate_data(self, unmasked(X), arms, dtype=np.float64, reset=first)
        check_classification_targets(labels)
        shares = None if rewards is None else _shares(rewards, len(labels), self.ranges)
        if first:
            self._begin(values, labels, classes, 1 if shares is None else shares.shape[1])
        positions = np.searchsorted(self.classes_, labels)
        unknown = self.classes_[np.minimum(positions, len(self.classes_) - 1)] != labels
        if unknown.any():
            raise InvalidInput(
                f"arm {labels[unknown].tolist()[0]!r} is not one of the arms "
                f"{self.classes_.tolist()}; name all arms in the first call: "
                "partial_fit(X, arms, rewards, classes=[...])."
            )
        points, count = self._points(values), len(self.classes_)
        if shares is None:
            if self.policy_.objectives > 1:
                raise InvalidInput(f"{self.policy_.objectives} rewards are needed for each row.")
            every = np.tile(np.arange(count), len(points))
            right = (every == np.repeat(positions, count)).astype(np.float64)
            self.policy_.update_many(np.repeat(points, count, axis=0), every, right[:, np.newaxis])
        else:
            self.policy_.update_many(points, positions, shares)
        return self

    def _begin(self, values: Floats, labels: Any, classes: Any, objectives: int) -> None:
        self.classes_ = np.unique(labels if classes is None else classes)
        self.low_ = values.min(axis=0)
        self.span_ = np.where(np.ptp(values, axis=0) > 0, np.ptp(values, axis=0), 1.0)
        seed = check_random_state(self.random_state).randint(2**31)
        spans = np.ptp(_ends(self.ranges, objectives), axis=1)
        self.tolerances_ = tolerances(self.tolerance, objectives) / spans
        self.policy_: Policy = make_policy(
            self.policy,
            arms=len(self.classes_),
            dimension=values.shape[1],
            objectives=objectives,
            seed=int(seed),
            **{"tolerance": self.tolerances_, **(self.settings or {})},
        )

    def _points(self, values: Floats) -> Floats:
        return cast("Floats", np.clip((values - self.low_) / self.span_, 0.0, 1.0))

    def _seen(self, X: Any) -> Floats:
        check_is_fitted(self, "policy_")
        return self._points(validate_data(self, unmasked(X), dtype=np.float64, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """Return the arm of the best estimates for each row; arms as good go on to the next."""
        points = self._seen(X)
        positions = [self._best(self.policy_.explain(point).arms) for point in points]
        return np.asarray(self.classes_[positions])

    def _best(self, arms: Any) -> int:
        """Return the arm that is best by the means, objective by objective."""
        left = [arm for arm in arms if all(arm.observations)] or list(arms)
        for i, tolerance in enumerate(self.tolerances_.tolist()):
            most = max(arm.mean[i] for arm in left)
            last = i == len(self.tolerances_) - 1
            left = [arm for arm in left if arm.mean[i] >= most - (0.0 if last else tolerance)]
        return int(left[0].arm)

    def predict_proba(self, X: Any) -> Floats:
        """Return the exact probability with which `choose` plays each of `classes_`, row by row."""
        points = self._seen(X)  # refuses an estimator that is not fitted
        return self.policy_.propensities_many(points)

    def choose(self, X: Any) -> tuple[np.ndarray, Floats]:
        """Return the arms to play, as the policy explores, and their exact probabilities."""
        points = self._seen(X)
        positions, propensities = self.policy_.select_many(points)
        return np.asarray(self.classes_[positions]), propensities


def _ends(ranges: Any, objectives: int) -> Floats:
    """Return (worst, best) of each objective, float[D, 2]."""
    if ranges is None:
        return np.tile([0.0, 1.0], (objectives, 1))
    ends = floats("ranges", ranges, (objectives, 2))
    wrong = ~np.isfinite(ends).all(axis=1) | (ends[:, 0] == ends[:, 1])
    if wrong.any():
        raise InvalidInput(
            "ranges are two different finite numbers for each objective, the worst and the best, "
            f"got {ends[wrong][0].tolist()}."
        )
    return ends


def _shares(rewards: Any, n: int, ranges: Any) -> Floats:
    """Return rewards[n, D] as shares of the way from the worst to the best end of their ranges."""
    array = numbers("rewards", rewards)
    values = floats("rewards", array[:, np.newaxis] if array.ndim == 1 else array, (n, None))
    worst, best = _ends(ranges, values.shape[1]).T
    shares = (values - worst) / (best - worst)
    wrong = (shares < 0) | (shares > 1)
    if wrong.any():
        row, i = (int(place) for place in np.argwhere(wrong)[0])
        low, high = sorted((worst[i], best[i]))
        raise InvalidInput(
            f"rewards lie between {low:g} and {high:g}, or are NaN; got {values[row, i]!r} in row "
            f"{row}; ranges=[(worst, best), ...] says where they lie."
        )
    return cast("Floats", shares)
