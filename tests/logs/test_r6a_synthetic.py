"""The synthetic day: what is planted is there, and it says what it is."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.logs.r6a_lines import parse_line
from lexbandit.logs.r6a_synthetic import (
    CLICK_RATE,
    POOL,
    SyntheticDay,
    interest,
    prepare_synthetic,
    write_synthetic,
)


@pytest.fixture(scope="module")
def day() -> SyntheticDay:
    return SyntheticDay(rows=300_000, seed=0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_click_rate_is_the_papers(seed: int) -> None:
    rows = 300_000
    day = SyntheticDay(rows=rows, seed=seed)
    expected = clicked = 0.0
    for _, contexts, clicks in day.clicked():
        expected += (day.ceiling * interest(contexts)).sum()
        clicked += clicks.sum()
    assert expected / rows == pytest.approx(CLICK_RATE, rel=1e-9)
    # Four standard deviations of chance, as the module says.
    assert abs(clicked / rows - CLICK_RATE) < 4 * np.sqrt(CLICK_RATE / rows)


def test_clicks_follow_the_planted_probability(day: SyntheticDay) -> None:
    blocks = list(day.clicked())
    probability = np.concatenate([day.ceiling * interest(x) for _, x, _ in blocks])
    clicks = np.concatenate([clicks for _, _, clicks in blocks])
    never = probability == 0.0
    assert 0.05 < never.mean() < 0.5  # some regions have no clicks at all
    assert not clicks[never].any()
    order = np.argsort(probability)
    for group in np.array_split(order, 20):
        deviation = np.sqrt(max(probability[group].mean(), 1e-6) / len(group))
        assert abs(clicks[group].mean() - probability[group].mean()) < 4 * deviation


def test_the_probability_is_as_smooth_as_the_policies_assume(day: SyntheticDay) -> None:
    random = np.random.default_rng(0)
    x = random.random((200_000, 4))
    y = np.clip(x + 0.05 * random.standard_normal(x.shape), 0.0, 1.0)
    steps = np.abs(interest(x) - interest(y)) * day.ceiling
    assert (steps <= np.linalg.norm(x - y, axis=1)).all()


def test_the_pool_drifts_and_is_shown_uniformly(day: SyntheticDay) -> None:
    visits = list(day.visits("test"))
    shown = np.concatenate([v.shown for v in visits])
    times = np.concatenate([v.timestamps for v in visits])
    assert (np.diff(times) >= 0).all()
    assert times[-1] - times[0] == 287 * 300
    first = shown[times < times[0] + 2400]
    last = shown[times >= times[-1] - 2100]
    assert sorted(np.unique(first)) == list(range(POOL))
    assert sorted(np.unique(last)) == list(range(35, 35 + POOL))
    counts = np.bincount(first)
    expected = len(first) / POOL
    assert ((counts - expected) ** 2 / expected).sum() < 43.8  # 0.1 % of chi² with 19 degrees


def test_features_are_memberships_with_six_digits(day: SyntheticDay) -> None:
    users = next(day.visits("test")).users
    for features in (users, day.articles):
        assert features.shape[1] == 5
        assert (features >= 0).all()
        np.testing.assert_allclose(features.sum(axis=1), 1.0, atol=5e-6)
        np.testing.assert_array_equal(features, np.round(features, 6))


def test_a_day_is_determined_by_its_seed(tmp_path: Path) -> None:
    one = prepare_synthetic(seed=3, rows=2_000, cache=tmp_path / "a")
    again = prepare_synthetic(seed=3, rows=2_000, cache=tmp_path / "b")
    other = prepare_synthetic(seed=4, rows=2_000, cache=tmp_path / "a")
    assert one.read_bytes() == again.read_bytes() != other.read_bytes()
    time = one.stat().st_mtime_ns
    assert prepare_synthetic(seed=3, rows=2_000, cache=tmp_path / "a").stat().st_mtime_ns == time


@pytest.mark.parametrize("compressed", [False, True])
def test_the_text_file_is_r6a_and_labelled(tmp_path: Path, compressed: bool) -> None:
    path = write_synthetic(tmp_path, rows=300, seed=0, compressed=compressed)
    assert path.name.startswith("synthetic-ydata-fp-td-clicks-v1_0.20090501")
    content = path.read_bytes()
    text = (gzip.decompress(content) if compressed else content).decode()
    lines = text.splitlines()
    assert len(lines) == 300
    assert all(line.count("|") == 1 + POOL and parse_line(line).shown for line in lines)
    about = tmp_path / "synthetic-ydata-fp-td-clicks-v1_0.20090501.about.json"
    note = json.loads(about.read_text())
    assert note["source"] == "synthetic"
    assert "not Yahoo! data" in note["note"]
    assert sorted(tmp_path.iterdir()) == sorted([path, about])


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="rows must be a whole number of at least 1"):
        SyntheticDay(rows=0, seed=0)
    with pytest.raises(InvalidInput, match="seed must be a whole number of at least 0"):
        SyntheticDay(rows=10, seed=-1)
