"""Results are whole or absent; a stopped study goes on where it was."""

import errno
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from bench.studies import OWN, WORLDS, small
from lexbandit import InvalidInput
from lexbandit.bench.executors import Executor, Failure, Progress, Report, Threads, run_study
from lexbandit.bench.results import MAP_SCHEMA, SCHEMA, Folder, load_maps, load_runs
from lexbandit.bench.run import Run, plan, play, sized
from lexbandit.bench.summary import summarize


class Counting(Executor):
    """Plays in this thread and remembers which runs it was given."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.given: list[int] = []
        self.stop_after = stop_after

    def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
        for n, run in enumerate(runs):
            if n == self.stop_after:
                raise KeyboardInterrupt
            self.given.append(run.number)
            yield play(run)


def test_a_runs_file_has_the_columns_and_rows_promised(tmp_path: Path) -> None:
    study = small(tmp_path)
    run_study(study, tmp_path / "out", Threads(2))
    table = load_runs(tmp_path / "out")
    run = plan(study)[0]
    assert dict(table.schema) == SCHEMA
    assert table.height == 3 * 5 * len(run.checkpoints)
    assert table.n_unique(["run", "label", "t"]) == table.height
    curve = play(run).curves[1]
    rows = table.filter((pl.col("run") == 0) & (pl.col("label") == "moc-mab@1/10"))
    assert rows["policy"].unique().to_list() == ["moc-mab"]
    assert rows["scale"].unique().to_list() == [0.1]
    assert rows["t"].to_list() == list(run.checkpoints)
    assert curve.regret is not None
    assert rows["regret"].to_list() == curve.regret.tolist()
    assert rows["reward"].to_list() == curve.reward.tolist()
    assert rows["arm_share"].to_list() == curve.arm_share.tolist()
    assert table.filter(pl.col("label") == "random")["scale"].null_count() > 0
    maps = load_maps(tmp_path / "out")
    assert dict(maps.schema) == MAP_SCHEMA
    assert maps.height == 3 * 5 * 100
    assert sum(map(sum, maps["played"].to_list())) == 3 * 5 * 1500


def test_the_study_is_written_as_it_was_run(tmp_path: Path) -> None:
    run_study(small(tmp_path, OWN), tmp_path / "out", Threads(1))
    text = (tmp_path / "out" / "study-own.json").read_text()
    told = json.loads(text)
    assert told["environment"] == {"name": "mine:Coins", "parameters": {"chance": 0.8}}
    assert told["objectives"] == ["first", "second"]
    assert told["checkpoints"][-1] == told["horizon"] == 2000
    assert len(told["files"]) == 4
    assert str(tmp_path) not in text
    assert load_maps(tmp_path / "out").is_empty()


def test_a_stopped_study_goes_on_where_it_was(tmp_path: Path) -> None:
    study = small(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "out", Counting(stop_after=2))
    again = Counting()
    outcome = run_study(study, tmp_path / "out", again)
    assert again.given == [2]
    assert (outcome.found, outcome.stored, outcome.finished) == (2, 1, 3)
    run_study(study, tmp_path / "whole", Threads(2))
    alike = load_runs(tmp_path / "out").drop("seconds")
    assert alike.equals(load_runs(tmp_path / "whole").drop("seconds"))
    nothing = Counting()
    run_study(study, tmp_path / "out", nothing)
    assert nothing.given == []


def test_a_damaged_file_is_done_again(tmp_path: Path) -> None:
    study = small(tmp_path)
    run_study(study, tmp_path / "out", Threads(1))
    file = Folder(tmp_path / "out").file(plan(study)[1])
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_runs(tmp_path / "out")
    again = Counting()
    run_study(study, tmp_path / "out", again)
    assert again.given == [1]


def test_the_size_of_a_policys_state_is_kept(tmp_path: Path) -> None:
    study = small(tmp_path)
    run = plan(study)[0]
    run_study(sized(study, runs=1), tmp_path / "out", Threads(1))
    rows = load_runs(tmp_path / "out").filter(pl.col("label") == "moc-mab@1")
    assert rows["state_bytes"].to_list()[:-1] == [None] * (rows.height - 1)
    problem = {"arms": 4, "dimension": 2, "objectives": 2, "horizon": run.horizon, "seed": 1}
    policy = study.entries[0].policy.build(study.entries[0].parameters, problem)
    rounds = run.environment.build({}).rounds(run.horizon, seed=run.stream_seed)
    policy.replay(rounds)
    size = sum(part.nbytes for part in policy.state().values())
    assert rows["state_bytes"].to_list()[-1] == size


def test_a_parameter_may_be_infinite(tmp_path: Path) -> None:
    text = OWN.replace("chance = 0.8", "chance = inf").replace(
        "mine.py:Stubborn", 'mine.py:Stubborn"\nlabel = "still'
    )
    run_study(sized(small(tmp_path, text), runs=1), tmp_path / "out", Threads(1))
    told = json.loads((tmp_path / "out" / "study-own.json").read_text())
    assert told["environment"]["parameters"] == {"chance": "inf"}
    assert told["policies"][0] == {
        "policy": "still",
        "label": "still",
        "name": "Stubborn",
        "parameters": {"arm": 1},
    }


def test_runs_of_another_size_are_not_mixed_in(tmp_path: Path) -> None:
    study = small(tmp_path)
    run_study(study, tmp_path / "out", Threads(1))
    run_study(sized(study, runs=2, horizon=100), tmp_path / "out", Threads(1))
    table = load_runs(tmp_path / "out")
    assert table["t"].max() == 100
    assert table["run"].n_unique() == 2


def test_a_failed_run_is_reported_and_never_stored(tmp_path: Path) -> None:
    study = small(tmp_path, OWN.replace("Coins", "Broken"))
    outcome = run_study(study, tmp_path / "out", Threads(2))
    assert outcome.finished == 0
    assert len(outcome.failures) == 4
    assert outcome.failures[0].error == "RuntimeError: the sensor is gone"
    assert "mine.py" in outcome.failures[0].details
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_one_failed_run_does_not_stop_the_others(tmp_path: Path) -> None:
    study = small(tmp_path)

    class Half(Counting):
        def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
            yield Failure(runs[0], "no luck")
            yield from super().play(runs[1:], progress)

    outcome = run_study(study, tmp_path / "out", Half())
    assert (outcome.stored, len(outcome.failures)) == (2, 1)
    assert set(load_runs(tmp_path / "out")["run"]) == {1, 2}


def test_a_write_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small(tmp_path)
    run_study(sized(study, runs=1), tmp_path / "out", Threads(1))
    before = sorted(p.name for p in (tmp_path / "out" / "runs").iterdir())

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = Folder(tmp_path / "out")
    played = play(plan(study)[1])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        folder.store(played)
    assert sorted(p.name for p in (tmp_path / "out" / "runs").iterdir()) == before


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write to"):
        Folder(tmp_path / "file" / "out")


def test_numbers_of_one_run_do_not_depend_on_the_others(tmp_path: Path) -> None:
    study = small(tmp_path)
    fewer = replace(study, entries=study.entries[1:2])
    alone = play(plan(fewer)[0]).curves[0]
    among = play(plan(study)[0]).curves[1]
    assert alone.reward.tolist() == among.reward.tolist()


def test_what_an_interruption_leaves_is_swept_away(tmp_path: Path) -> None:
    """Also a file that was made and not yet written to; another process's is left alone."""
    folder = Folder(tmp_path)
    mine, other = folder.runs / f".{os.getpid()}-a.parquet.x", folder.runs / ".1-a.parquet.x"
    for file in (mine, other):
        file.touch()
    folder.sweep()
    assert list(folder.runs.iterdir()) == [other]


def test_tolerance_regret_and_worlds_are_kept(tmp_path: Path) -> None:
    study = small(tmp_path, WORLDS)
    run_study(study, tmp_path / "out", Threads(1))
    rows = load_runs(tmp_path / "out")
    curve = play(plan(study)[2]).curves[0]
    assert curve.tolerance_regret is not None
    kept = rows.filter((pl.col("run") == 2) & (pl.col("label") == "lex-linucb"))
    assert kept["tolerance_regret"].to_list() == curve.tolerance_regret.tolist()
    told = json.loads((tmp_path / "out" / "study-worlds.json").read_text())
    assert told["environment"]["parameters"] == {"kind": "interactions", "world": "1000 to 1002"}
    assert "dimension" not in told  # each world has its own
    point = summarize(tmp_path / "out")["studies"]["worlds"]["policies"]["lex-linucb"]["-"]
    last = rows.filter((pl.col("t") == 1000) & (pl.col("label") == "lex-linucb"))
    for i in range(2):
        mean = last["tolerance_regret"].list.get(i).mean()
        assert point["tolerance_regret"][i] == pytest.approx(mean)
    assert len(point["standard_error"]["tolerance_regret"]) == 2
