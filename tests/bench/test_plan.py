"""Runs are frozen; their seeds and file names follow from names."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from bench.studies import OWN, SMALL, WORLDS, small
from lexbandit import InvalidInput
from lexbandit.bench import run as planning
from lexbandit.bench.run import checkpoints_for, plan, seed_of, sized


def test_seeds_derive_from_names(tmp_path: Path) -> None:
    first, second, third = plan(small(tmp_path))
    assert first.stream_seed == seed_of(0, "small", "synthetic", 0)
    seeds = {run.stream_seed for run in (first, second, third)}
    seeds |= {run.policy_seed(e) for run in (first, second, third) for e in run.entries}
    assert len(seeds) == 3 + 3 * 5


def test_more_runs_leave_the_others_as_they_were(tmp_path: Path) -> None:
    study = small(tmp_path)
    few, many = plan(study), plan(sized(study, runs=5))
    assert [run.key for run in many][:3] == [run.key for run in few]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("horizon = 3_000", "horizon = 3_001"),
        ('name = "small"', 'name = "other"'),
        ("checkpoints = 12", "checkpoints = 14"),
        ("checkpoints = 12", "checkpoints = 12\ntolerances = 0.1"),
        ("runs = 3", "runs = 3\nseed = 1"),
        ('"1/10"', '"1/11"'),
        ('name = "moc-mab"', 'name = "moc-mab"\nbeta = 2.0'),
        ('name = "synthetic"', 'name = "multichannel"'),
        ('name = "random"', 'name = "oracle"'),
    ],
)
def test_the_key_depends_on_all_that_determines_the_run(tmp_path: Path, old: str, new: str) -> None:
    keys = {run.key for run in plan(small(tmp_path))}
    assert len(keys) == 3
    assert not keys & {run.key for run in plan(small(tmp_path, SMALL.replace(old, new)))}


@pytest.mark.parametrize(("old", "new"), [("A small study", "x"), ("runs = 3", "runs = 4")])
def test_the_key_depends_on_nothing_else(tmp_path: Path, old: str, new: str) -> None:
    keys = [run.key for run in plan(small(tmp_path))]
    other = [run.key for run in plan(small(tmp_path / "elsewhere", SMALL.replace(old, new)))]
    assert other[:3] == keys


def test_the_key_depends_on_a_users_file(tmp_path: Path) -> None:
    before = plan(small(tmp_path, OWN))[0].key
    assert plan(small(tmp_path / "elsewhere", OWN))[0].key == before
    study = small(tmp_path, OWN)
    edited = replace(study.environment, source=(study.environment.source or "") + "\n")
    assert plan(replace(study, environment=edited))[0].key != before


def test_the_key_depends_on_the_semantics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plan(small(tmp_path))[0].key
    monkeypatch.setattr(planning, "SEMANTICS", planning.SEMANTICS + 1)
    assert plan(small(tmp_path))[0].key != before


def test_the_key_depends_on_what_a_data_file_holds(tmp_path: Path) -> None:
    text = SMALL.replace('name = "synthetic"', 'name = "display-advertising"\npath = "day"')
    keys = []
    for content in (b"one", b"two"):
        (tmp_path / "day").write_bytes(content)
        keys.append(plan(small(tmp_path, text))[0].key)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "day").write_bytes(b"two")
    keys.append(plan(small(tmp_path / "elsewhere", text))[0].key)
    assert keys[0] != keys[1] == keys[2]


def test_a_recording_is_asked_for_as_many_rows_as_are_played(tmp_path: Path) -> None:
    text = SMALL.replace('name = "synthetic"', 'name = "display-advertising"')
    assert plan(small(tmp_path, text))[0].environment_parameters == {"rows": 3000}


def test_runs_can_be_sent(tmp_path: Path) -> None:
    run = plan(small(tmp_path, OWN))[0]
    assert pickle.loads(pickle.dumps(run)).key == run.key


@pytest.mark.parametrize("horizon", [1, 2, 7, 100, 12_345, 1_000_000])
@pytest.mark.parametrize("wanted", [1, 2, 60, (1, 5, 50)])
def test_checkpoints_increase_to_the_horizon(horizon: int, wanted: int | tuple[int, ...]) -> None:
    marks = checkpoints_for(horizon, wanted)
    assert marks[-1] == horizon
    assert marks[0] >= 1
    assert list(marks) == sorted(set(marks))


def test_checkpoints_are_even_in_time_and_in_its_logarithm() -> None:
    marks = checkpoints_for(100_000, 60)
    assert 55 <= len(marks) <= 60
    assert {10_000, 20_000, 50_000} <= set(marks)
    assert sum(t <= 1000 for t in marks) >= 14


def test_sizes_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="runs must be"):
        sized(small(tmp_path), runs=0)


def test_every_run_may_have_a_world_of_its_own(tmp_path: Path) -> None:
    runs = plan(small(tmp_path, WORLDS))
    assert [run.environment_parameters["world"] for run in runs] == [1000, 1001, 1002]
    others = plan(small(tmp_path, WORLDS.replace("worlds_from = 1000", "worlds_from = 0")))
    assert not {run.key for run in runs} & {run.key for run in others}
