"""Every estimator against its plain twin, and against Open Bandit Pipeline on a sample."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.logs import estimators
from lexbandit.logs.differences import ESTIMATORS, differences
from lexbandit.logs.sums import blocks, merge, sum_block
from lexbandit.objectives import Objective
from twins import logs as twin

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "open_bandit_random_men.csv"


def some_log(n: int, *, arms: int = 4, objectives: int = 2, seed: int = 0) -> dict[str, Any]:
    """Rows with small and large weights, predictions that are off, and missing rewards."""
    random = np.random.default_rng(seed)
    chances = random.dirichlet(np.full(arms, 0.7), n) * 0.98 + 0.02 / arms
    action = (chances.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    reward = random.random((n, objectives))
    reward[random.random((n, objectives)) < 0.1] = np.nan
    return {
        "reward": reward,
        "action": action,
        "propensity": chances[np.arange(n), action],
        "candidate": random.dirichlet(np.ones(arms), n),
        "baseline": random.dirichlet(np.ones(arms), n),
        "predicted": random.random((n, arms, objectives)),
    }


def summed(log: dict[str, Any], **more: Any) -> Any:
    """The sums of a whole log, block by block."""
    n = len(log["action"])

    def part(first: int, last: int) -> dict[str, Any]:
        return {k: None if v is None else v[first:last] for k, v in log.items()}

    return merge(sum_block(a, **part(a, b), **more) for a, b in blocks(0, n))


def twin_log(log: dict[str, Any], i: int, policy: str) -> twin.Logged:
    """The rows with a reward in objective i, for the twin."""
    seen = ~np.isnan(log["reward"][:, i])
    return twin.Logged(
        log["reward"][seen, i].tolist(),
        log["action"][seen].tolist(),
        log["propensity"][seen].tolist(),
        log[policy][seen].tolist(),
        log["predicted"][seen, :, i].tolist(),
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_equal_their_twins(name: str) -> None:
    log = some_log(500)
    rows = twin_log(log, 0, "candidate")
    value = getattr(estimators, name)(
        reward=rows.reward,
        action=rows.action,
        propensity=rows.propensity,
        probabilities=rows.probabilities,
        predicted=rows.predicted,
    )
    assert isinstance(value, float)
    assert value == pytest.approx(twin.ESTIMATORS[name](rows), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("switch_dr", "threshold"), ("dr_shrinkage", "shrinkage"), ("clipped_ips", "clip")],
)
def test_settings_of_estimators(name: str, setting: str) -> None:
    rows = twin_log(some_log(300, seed=1), 0, "candidate")
    given: dict[str, Any] = {
        "reward": rows.reward,
        "action": rows.action,
        "propensity": rows.propensity,
        "probabilities": rows.probabilities,
        "predicted": rows.predicted,
    }
    for value in (0.5, 2.0):
        found = getattr(estimators, name)(**given, **{setting: value})
        wanted = getattr(twin, name)(rows, value)
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    with pytest.raises(InvalidInput, match=setting):
        getattr(estimators, name)(**given, **{setting: 0.0})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sums_give_the_same_values(name: Any) -> None:
    log = some_log(700, seed=2)
    objectives = [Objective("a"), Objective("b")]
    found = differences(summed(log), objectives, estimator=name, interval="asymptotic")
    for i, one in enumerate(found):
        candidate = twin.ESTIMATORS[name](twin_log(log, i, "candidate"))
        baseline = twin.ESTIMATORS[name](twin_log(log, i, "baseline"))
        assert one.candidate == pytest.approx(candidate, rel=1e-12, abs=1e-12)
        assert one.baseline == pytest.approx(baseline, rel=1e-12, abs=1e-12)
        assert one.difference == pytest.approx(candidate - baseline, rel=1e-11, abs=1e-12)
        assert one.rows + one.missing == 700


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_was_logged_is_worth_its_rewards(name: Any) -> None:
    log = {**some_log(400, seed=3), "baseline": None}
    found = differences(
        summed(log), [Objective("a"), Objective("b")], estimator=name, interval="asymptotic"
    )
    for i, one in enumerate(found):
        assert one.baseline == pytest.approx(np.nanmean(log["reward"][:, i]), rel=1e-12)


def test_standard_errors_are_those_of_the_row_scores() -> None:
    """Linear estimators: exactly the deviation of their scores; normalised ones: by a bootstrap."""
    log = some_log(1000, seed=4)
    objectives = [Objective("a"), Objective("b")]
    sums = summed(log)
    given = {k: log[k] for k in ("action", "propensity")}
    seen = ~np.isnan(log["reward"][:, 0])
    _, _, robust = estimators.scores(
        reward=log["reward"][:, 0],
        candidate=log["candidate"],
        baseline=log["baseline"],
        predicted=log["predicted"][:, :, 0],
        **given,
    )
    one = differences(sums, objectives, estimator="dr", interval="asymptotic")[0]
    half = 1.959964 * robust[seen].std() / np.sqrt(seen.sum())
    assert one.difference == pytest.approx(robust[seen].mean(), rel=1e-11)
    assert (one.high - one.low) / 2 == pytest.approx(half, rel=1e-6)
    random = np.random.default_rng(0)
    rows = np.flatnonzero(seen)
    names: tuple[Any, ...] = ("snips", "sndr", "switch_dr", "clipped_ips")
    drawn = np.empty((400, len(names)))
    for draw in drawn:
        pick = random.choice(rows, len(rows))
        picked = {k: log[k][pick] for k in ("action", "propensity")}
        picked["reward"] = log["reward"][pick, 0]
        picked["predicted"] = log["predicted"][pick, :, 0]
        candidate, baseline = log["candidate"][pick], log["baseline"][pick]
        for i, name in enumerate(names):
            estimate = getattr(estimators, name)
            draw[i] = estimate(**picked, probabilities=candidate) - estimate(
                **picked, probabilities=baseline
            )
    for name, deviation in zip(names, drawn.std(axis=0).tolist(), strict=True):
        one = differences(sums, objectives, estimator=name, interval="asymptotic")[0]
        assert (one.high - one.low) / 2 / 1.96 == pytest.approx(deviation, rel=0.15), name


def test_scores_equal_their_twin() -> None:
    log = some_log(200, seed=5)
    reward, predicted = np.nan_to_num(log["reward"][:, 0], nan=0.5), log["predicted"][:, :, 0]
    for baseline in (None, log["baseline"]):
        found = estimators.scores(
            reward=reward,
            action=log["action"],
            propensity=log["propensity"],
            candidate=log["candidate"],
            baseline=baseline,
            predicted=predicted,
        )
        for t in range(200):
            row = (int(log["action"][t]), float(log["propensity"][t]), float(reward[t]))
            candidate, model = log["candidate"][t].tolist(), predicted[t].tolist()
            wanted = (
                twin.logged_scores(candidate, model, *row)
                if baseline is None
                else twin.paired_scores(candidate, baseline[t].tolist(), model, *row)
            )
            assert [column[t] for column in found] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
            assert wanted[0] >= -1 - 1e-12
            assert wanted[1] <= 1 + 1e-12


def test_bad_arrays_are_refused() -> None:
    rows = twin_log(some_log(50), 0, "candidate")
    good: dict[str, Any] = {
        "reward": rows.reward,
        "action": rows.action,
        "propensity": rows.propensity,
        "probabilities": rows.probabilities,
        "predicted": rows.predicted,
    }
    with pytest.raises(InvalidInput, match=r"propensity\[0\] is 50.0; a propensity is above 0"):
        estimators.ips(**{**good, "propensity": [50.0, *rows.propensity[1:]]})
    with pytest.raises(InvalidInput, match="arms go from 0 to 3"):
        estimators.dr(**{**good, "action": [4, *rows.action[1:]]})
    with pytest.raises(InvalidInput, match="predicted must have shape"):
        estimators.dr(**{**good, "predicted": np.zeros((3, 4))})
    count = len(rows.reward)
    without = [*rows.reward[:2], math.nan, *rows.reward[3:]]
    with pytest.raises(InvalidInput, match=r"reward\[2\] is nan; a reward is a finite number"):
        estimators.dm(**{**good, "reward": without})
    for wrong, words in (
        ([0.6] * 4, r"sum of probabilities\[0\] is 2.4"),
        ([-1, 1, 1, 0], "negat"),
    ):
        with pytest.raises(InvalidInput, match=words):
            estimators.ips(**{**good, "probabilities": [wrong, *rows.probabilities[1:]]})
    with pytest.raises(InvalidInput, match=r"predicted\[0, 0\] is nan"):
        estimators.dr(**{**good, "predicted": np.full((count, 4), math.nan)})
    elsewhere = np.zeros((count, 4))
    elsewhere[np.arange(count), (np.array(rows.action) + 1) % 4] = 1.0
    for name in ("snips", "sndr"):
        with pytest.raises(InvalidInput, match="no overlap"):
            getattr(estimators, name)(**{**good, "probabilities": elsewhere})


# What Open Bandit Pipeline 0.4.1 computes on these arrays.
PUBLISHED = {
    "ips": 0.005011428571428571,
    "snips": 0.005017076365966259,
    "dm": 0.0062708830237605,
    "dr": 0.0050029832518390695,
    "sndr": 0.0050015543504182206,
    "switch_dr": 0.005414583808618589,
    "dr_shrinkage": 0.005702471938282916,
}


@pytest.mark.skipif(not SAMPLE.exists(), reason="the Open Bandit sample is not here")
def test_open_bandit_sample() -> None:
    """10,000 rows of uniformly random items; the policy plays item k with probability ∝ k + 1."""
    frame = pl.read_csv(SAMPLE, columns=["item_id", "click", "propensity_score"])
    action, reward = frame["item_id"].to_numpy(), frame["click"].to_numpy().astype(float)
    rows, items = len(action), 34
    policy = np.arange(1, items + 1) / np.arange(1, items + 1).sum()
    model = (np.bincount(action, reward, items) + 1) / (np.bincount(action, minlength=items) + 100)
    given: dict[str, Any] = {
        "reward": reward,
        "action": action,
        "propensity": frame["propensity_score"].to_numpy(),
        "probabilities": np.tile(policy, (rows, 1)),
        "predicted": np.tile(model, (rows, 1)),
    }
    settings: dict[str, dict[str, float]] = {
        "switch_dr": {"threshold": 1.5},
        "dr_shrinkage": {"shrinkage": 1.0},
        "clipped_ips": {"clip": 1.5},
    }
    for name, value in PUBLISHED.items():
        found = getattr(estimators, name)(**given, **settings.get(name, {}))
        assert found == pytest.approx(value, rel=1e-12), name
