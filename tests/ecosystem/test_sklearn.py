"""The estimator with scikit-learn's conventions."""

from typing import Any

import numpy as np
import pytest

from lexbandit import InvalidInput, UnknownName

pytest.importorskip("sklearn", reason="scikit-learn is not installed: the extra sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from lexbandit.sklearn import LexBanditClassifier


def expected_failures(_: Any) -> dict[str, str]:
    """None: with y for the arms every check of scikit-learn's applies, and passes."""
    return {}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [LexBanditClassifier(random_state=0)], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("default")
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_an_arm_that_was_never_played_is_not_predicted() -> None:
    """The model expects more of it than of the others, and nobody has seen it."""
    made = LexBanditClassifier(random_state=0)
    rewards = [[0.02], [0.04]] * 2
    made.partial_fit([[0.0], [1.0]] * 2, ["a", "b"] * 2, rewards, classes=["a", "b", "c"])
    means = [arm.mean[0] for arm in made.policy_.explain([0.5]).arms]
    assert means.index(max(means)) == 2
    assert made.predict([[0.5]]).tolist() == ["b"]


def test_parameters_and_clones() -> None:
    made = LexBanditClassifier("linucb", tolerance=0.1, settings={"scale": 0.5}, random_state=3)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert copy.set_params(tolerance=0.2).tolerance == 0.2
    assert "policy='linucb'" in repr(made)


def test_it_classifies() -> None:
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(LexBanditClassifier(random_state=0), X, y, cv=5)
    assert scores.mean() > 0.85
    piped = make_pipeline(QuantileTransformer(n_quantiles=50), LexBanditClassifier(random_state=0))
    assert piped.fit(X, y).score(X, y) > 0.9


def log(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arms b and c are as good in the first objective where x > 5, c is better in the second."""
    random = np.random.default_rng(seed)
    X = random.uniform(0, 10, (n, 1))
    arms = random.choice(["a", "b", "c"], n)
    first = np.where((arms == "a") == (X[:, 0] < 5), 0.9, 0.1)
    second = np.where(arms == "c", 0.8, 0.2)
    return X, arms, np.column_stack([first, second])


def test_it_learns_from_a_log_in_order_of_priority() -> None:
    bandit = LexBanditClassifier(tolerance=[0.1, 0.0], random_state=0)
    X, arms, rewards = log(1500)
    for part in range(0, 1500, 500):
        now = slice(part, part + 500)
        bandit.partial_fit(X[now], arms[now], rewards[now], classes=["c", "b", "a"])
    assert bandit.predict([[1.0], [2.0], [8.0], [9.0]]).tolist() == ["a", "a", "c", "c"]
    chosen, propensities = bandit.choose(X[:50])
    assert set(chosen) <= {"a", "b", "c"}
    assert ((propensities > 0) & (propensities <= 1)).all()


def test_the_same_random_state_gives_the_same_choices() -> None:
    X, arms, rewards = log(20)

    def run(seed: Any) -> list[str]:
        bandit = LexBanditClassifier("random", random_state=seed).fit(X, arms, rewards)
        return list(bandit.choose(X)[0])

    assert run(1) == run(1) == run(np.random.RandomState(1))
    assert run(1) != run(2)


def test_missing_rewards_and_points_outside() -> None:
    X, arms, rewards = log(300)
    rewards[::2, 1] = np.nan
    bandit = LexBanditClassifier(random_state=0).fit(X, arms, rewards)
    assert (
        bandit.predict([[-100.0], [100.0]]).tolist()
        == bandit.predict([[X.min()], [X.max()]]).tolist()
    )


def test_wrong_input() -> None:
    X, arms, rewards = log(30)
    with pytest.raises(InvalidInput, match="rewards lie between 0 and 1"):
        LexBanditClassifier().partial_fit(X, arms, rewards + 1)
    with pytest.raises(InvalidInput, match="shape"):
        LexBanditClassifier().partial_fit(X, arms, rewards[:5])
    with pytest.raises(UnknownName, match="did you mean 'linucb'"):
        LexBanditClassifier("linuc").partial_fit(X, arms, rewards)
    bandit = LexBanditClassifier().partial_fit(X, arms, rewards, classes=["a", "b", "c"])
    with pytest.raises(InvalidInput, match="'d' is not one of the arms"):
        bandit.partial_fit(X[:1], ["d"], rewards[:1])
    with pytest.raises(InvalidInput, match="2 rewards are needed"):
        bandit.partial_fit(X, arms)
    for wrong in (["good"] * 30, np.full((30, 2), "0.5"), [None, "x"] * 15, [[1.0], [1.0, 2.0]]):
        with pytest.raises(InvalidInput, match="rewards must be an array of numbers"):
            bandit.partial_fit(X, arms, wrong)
    for ask in (LexBanditClassifier().predict, LexBanditClassifier().choose):
        with pytest.raises(NotFittedError):
            ask([[1.0]])


def test_what_is_masked_is_missing() -> None:
    X, arms, rewards = log(30)
    hidden = np.ma.array(rewards, mask=np.arange(60).reshape(30, 2) % 3 == 0)
    told = LexBanditClassifier(random_state=0).partial_fit(X, arms, hidden)
    nan = LexBanditClassifier(random_state=0).partial_fit(X, arms, hidden.filled(np.nan))
    state = nan.policy_.state()
    assert all((told.policy_.state()[name] == state[name]).all() for name in state)
    masked = np.ma.array(X, mask=True)
    with pytest.raises(ValueError, match="NaN"):
        LexBanditClassifier().partial_fit(masked, arms, rewards)
    with pytest.raises(ValueError, match="NaN"):
        nan.predict(masked)
    with pytest.raises(InvalidInput, match=r"y\[0\] is masked"):
        LexBanditClassifier().fit(X, np.ma.array(arms, mask=True))


def test_probabilities_are_those_of_choosing() -> None:
    random = np.random.default_rng(3)
    points, arms = random.random((60, 2)), random.integers(3, size=60)
    model = LexBanditClassifier(random_state=0)
    model.partial_fit(points, arms, random.random((60, 2)))
    shares = model.predict_proba(points[:10])
    assert shares.shape == (10, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9)
    chosen, propensities = model.choose(points[:10])
    np.testing.assert_allclose(shares[np.arange(10), chosen], propensities, atol=1e-9)


def test_rewards_have_ranges_of_their_own() -> None:
    random = np.random.default_rng(4)
    points, arms = random.random((40, 2)), random.integers(2, size=40)
    shares = random.random((40, 2))
    own = np.column_stack([10 * shares[:, 0], 0.05 * (1 - shares[:, 1])])
    plain = LexBanditClassifier(tolerance=[0.1, 0], random_state=0).fit(points, arms, shares)
    ranges = [(0, 10), (0.05, 0)]
    scaled = LexBanditClassifier(tolerance=[1.0, 0], ranges=ranges, random_state=0)
    scaled.fit(points, arms, own)
    np.testing.assert_allclose(scaled.predict_proba(points), plain.predict_proba(points), atol=1e-6)
    with pytest.raises(
        InvalidInput, match=r"between 0 and 0\.05, or are NaN; got .*0\.06.* in row 0"
    ):
        scaled.partial_fit(points[:1], arms[:1], [[5.0, 0.06]])
    with pytest.raises(InvalidInput, match="the worst and the best"):
        LexBanditClassifier(ranges=[(1, 1)]).fit(points, arms, own[:, :1])


def test_the_tolerance_of_the_last_objective_decides_nothing() -> None:
    X = np.linspace(0.0, 1.0, 60)[:, np.newaxis]
    arms = np.tile(["a", "b"], 30)
    rewards = np.where(arms == "a", 0.6, 0.9)[:, np.newaxis]
    made = LexBanditClassifier(tolerance=0.5, random_state=0).partial_fit(X, arms, rewards)
    assert set(made.predict(X)) == {"b"}
