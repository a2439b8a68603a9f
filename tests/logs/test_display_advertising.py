"""Experiment 3 as an environment: a finite recording, synthetic unless a file is given."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lexbandit import InvalidInput, make_environment, make_policy
from lexbandit.logs.display_advertising import DisplayAdvertising
from lexbandit.logs.r6a import prepare
from lexbandit.logs.r6a_synthetic import write_synthetic
from lexbandit.metrics import Truth
from support import as_if_real

ROWS = 150_000


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def made(cache: Path, **parameters: object) -> DisplayAdvertising:
    environment = make_environment("display-advertising", cache=cache, **parameters)
    assert isinstance(environment, DisplayAdvertising)
    return environment


@pytest.fixture(scope="module")
def environment(cache: Path) -> DisplayAdvertising:
    return made(cache, rows=ROWS)


def test_its_shape_is_the_papers(environment: DisplayAdvertising) -> None:
    assert (environment.arms, environment.objectives, environment.dimension) == (2, 2, 4)
    assert environment.rows == ROWS
    assert environment.synthetic
    assert "synthetic" in environment.source
    policy = make_policy("moc-mab", arms=2, dimension=4, horizon=4_500_000, beta=0.1)
    assert policy.partition.cells == 9**4  # type: ignore[attr-defined]


def test_the_default_is_the_papers_size_and_nothing_is_made_before_it_is_needed(
    tmp_path: Path,
) -> None:
    environment = made(tmp_path)
    assert environment.rows == 4_500_000
    assert list(tmp_path.iterdir()) == []


def test_rewards_are_the_papers(environment: DisplayAdvertising) -> None:
    rounds = environment.rounds(ROWS, seed=0)
    clicks = rounds.outcomes[:, 0, 0]
    assert set(np.unique(clicks)) == {0.0, 1.0}
    assert abs(clicks.mean() - 0.0407) < 4 * np.sqrt(0.0407 / ROWS)
    assert (rounds.outcomes[:, 0, 1] == 0).all()
    assert (rounds.outcomes[:, 1] == [0, 1]).all()
    assert rounds.means is not None
    assert rounds.means[:, 0, 0].mean() == pytest.approx(0.0407, rel=1e-6)
    assert (rounds.means[:, 1] == [0, 1]).all()


@pytest.mark.parametrize("block", [1_000, 65_536, 70_001, ROWS, 10 * ROWS])
def test_a_stream_is_the_recording_in_order_in_bounded_blocks(
    environment: DisplayAdvertising, block: int
) -> None:
    whole = environment.rounds(ROWS, seed=0)
    horizon = ROWS - 17
    blocks = list(environment.stream(horizon, seed=[5, 6], block=block))
    assert all(len(part) == min(block, horizon) for part in blocks[:-1])
    assert sum(len(part) for part in blocks) == horizon
    np.testing.assert_array_equal(
        np.concatenate([part.contexts for part in blocks]), whole.contexts[:horizon]
    )
    np.testing.assert_array_equal(
        np.concatenate([part.outcomes for part in blocks]), whole.outcomes[:horizon]
    )


def test_means_are_known_everywhere_and_ties_are_exact(environment: DisplayAdvertising) -> None:
    rounds = environment.rounds(20_000, seed=0)
    means = environment.means(rounds.contexts)
    np.testing.assert_array_equal(means, rounds.means)
    never = means[:, 0, 0] == 0.0
    assert 0 < never.sum() < len(never)
    # Where nobody clicks both arms are equal in the first objective: saving is optimal.
    optimal = environment.optimal_arms(means)
    np.testing.assert_array_equal(optimal, np.column_stack([~never, never]))
    assert Truth(means).optimal[never].tolist() == [[0.0, 1.0]] * int(never.sum())


def test_a_horizon_beyond_the_recording_is_refused(environment: DisplayAdvertising) -> None:
    with pytest.raises(InvalidInput, match=r"horizon is 150001, but .* recording of 150000 rounds"):
        environment.stream(ROWS + 1, seed=0)
    with pytest.raises(InvalidInput, match="recording of 150000"):
        environment.rounds(ROWS + 1, seed=0)


def test_real_files_have_no_means(tmp_path: Path) -> None:
    text = write_synthetic(tmp_path, rows=2_000, seed=0)
    text = as_if_real(text, tmp_path / "ydata-fp-td-clicks-v1_0.20090501")
    path = prepare([text], tmp_path)
    environment = made(tmp_path, path=str(path))
    assert environment.rows == 2_000
    assert not environment.synthetic
    assert environment.source == "ydata-fp-td-clicks-v1_0.20090501"
    rounds = environment.rounds(2_000, seed=0)
    assert rounds.means is None
    with pytest.raises(InvalidInput, match="not known"):
        environment.means(rounds.contexts)
    policy = make_policy("moc-mab", arms=2, dimension=4, horizon=2_000, beta=0.1)
    assert len(policy.replay(rounds)) == 2_000
    assert made(tmp_path, path=path, rows=500).rows == 500
    assert made(tmp_path, path=path, rows=9_999).rows == 2_000


def test_bad_parameters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        made(tmp_path, path=tmp_path / "absent.parquet")
    with pytest.raises(InvalidInput, match="rows must be a whole number"):
        made(tmp_path, rows=0)
    with pytest.raises(InvalidInput, match="data_seed"):
        made(tmp_path, data_seed=-1)


def test_the_data_are_kept_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment = make_environment("display-advertising", rows=1_000)
    environment.rounds(1_000, seed=0)
    (kept,) = (tmp_path / "lexbandit" / "r6a").iterdir()
    assert kept.name == "synthetic-r6a-1000-rows-seed-0-v1.prepared.parquet"


def test_its_name_is_known_without_polars() -> None:
    """It is an entry point: listed without being loaded, and refused in words if it cannot be."""
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "from lexbandit import InvalidInput, make_environment\n"
        "from lexbandit.environments import REGISTRY\n"
        "assert 'display-advertising' in REGISTRY.names()\n"
        "try: make_environment('display-advertising')\n"
        "except InvalidInput as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "needs polars, which is not installed: pip install" in done.stdout


def test_the_papers_order_of_clicks(environment: DisplayAdvertising) -> None:
    """CD-UCB1 collects most clicks, always displaying collects all, and nobody more than that."""
    rows = 30_000
    rounds = environment.rounds(rows, seed=0)
    clicks = {}
    for name in ("moc-mab", "cd-ucb1", "cs-ucb1"):
        policy = make_policy(name, arms=2, dimension=4, horizon=rows, beta=0.1, scale=0.2, seed=1)
        arms = policy.replay(rounds)
        clicks[name] = rounds.outcomes[np.arange(rows), arms, 0].sum()
    assert clicks["cs-ucb1"] < clicks["moc-mab"] < clicks["cd-ucb1"]
    assert clicks["cd-ucb1"] < rounds.outcomes[:, 0, 0].sum()
