"""A study file is read whole or refused with its line."""

from pathlib import Path

import pytest

from bench.studies import MINE, OWN, SMALL, WORLDS, small, written
from lexbandit import InvalidInput
from lexbandit.bench.study import packaged_studies, read_study


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        small(tmp_path, text)
    return str(caught.value)


def test_a_study_is_read(tmp_path: Path) -> None:
    study = small(tmp_path)
    assert (study.name, study.horizon, study.runs) == ("small", 3000, 3)
    assert [entry.label for entry in study.entries] == [
        "moc-mab@1",
        "moc-mab@1/10",
        "cs-ucb1@1",
        "cs-ucb1@1/10",
        "random",
    ]
    assert [entry.scale for entry in study.entries] == [1.0, 0.1, 1.0, 0.1, None]


def test_a_fixed_fraction_is_a_number_too(tmp_path: Path) -> None:
    study = small(tmp_path, SMALL.replace('name = "moc-mab"', 'name = "moc-mab"\nscale = "1/8"'))
    assert study.entries[0].label == "moc-mab"
    assert study.entries[0].parameters["scale"] == study.entries[0].scale == 0.125


def test_a_former_name_of_a_parameter_is_taken_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = '[[policies]]\nname = "cs-ts"\n'
    former = small(tmp_path, f"{SMALL}\n{own}exploration = 0.5\n")
    assert "in policy 4: exploration of cs-ts is called draw_width now" in caplog.text
    assert former.entries == small(tmp_path, f"{SMALL}\n{own}draw_width = 0.5\n").entries
    grid = small(tmp_path, f"{SMALL}\n{own}grid = {{ exploration = [0.5] }}\n")
    assert grid.entries[-1].label == "cs-ts@draw_width=0.5"
    both = refused(tmp_path, f"{SMALL}\n{own}exploration = 0.5\ndraw_width = 0.5\n")
    assert "line" in both
    assert "one of the two" in both


def test_the_paper_is_there_at_full_size() -> None:
    sizes = {}
    for name, path in packaged_studies().items():
        study = read_study(path)
        assert study.name == name
        assert study.about
        if study.paper is not None:
            assert len(study.entries) == 6 * 7
            sizes[study.paper] = (study.runs, study.horizon)
    assert sizes == {1: (100, 100_000), 2: (20, 1_000_000), 3: (1, 4_500_000)}
    third = read_study(packaged_studies()["experiment-3"])
    assert {e.parameters["beta"] for e in third.entries if e.policy.name == "moc-mab"} == {0.1}


@pytest.mark.parametrize(
    ("wrong", "right", "line", "words"),
    [
        ("horizn = 3_000", "horizon = 3_000", 3, ["'horizn'", "did you mean 'horizon'"]),
        ("horizon = -1", "horizon = 3_000", 3, ["-1", "at least 1"]),
        ('runs = "three"', "runs = 3", 4, ["'three'"]),
        ("objectives = []", 'objectives = ["first", "second"]', 5, ["different names"]),
        ("checkpoints = [5, 5]", "checkpoints = 12", 6, ["increase"]),
        ("tolerances = [0.1]", "checkpoints = 12", 6, ["one for each of 2 objectives, got 1"]),
        ("tolerances = [-0.1, 0]", "checkpoints = 12", 6, ["tolerance[0] must be", "-0.1"]),
        ("worlds_from = 5", "checkpoints = 12", 6, ["'world' of synthetic, which has none"]),
        ('name = "syntetic"', 'name = "synthetic"', 9, ["did you mean 'synthetic'"]),
        ('name = "synthetic"\ngain = 1', 'name = "synthetic"', 10, ["unknown key 'gain'"]),
        ("scales = [1]", 'scale = ["1", "1/10"]', 12, ["'scales'", "did you mean 'scale'"]),
        ('scale = ["1/0"]', 'scale = ["1", "1/10"]', 12, ["'1/0'"]),
        ("scale = 3", 'scale = ["1", "1/10"]', 12, ["list"]),
        ("scale = [-3]", 'scale = ["1", "1/10"]', 14, ["-3", "above 0"]),
        ('name = "moc-mba"', 'name = "moc-mab"', 15, ["did you mean 'moc-mab'"]),
        ('name = "moc-mab"\nbeat = 1', 'name = "moc-mab"', 16, ["did you mean 'beta'"]),
        ('name = "moc-mab"\nscale = "1/0"', 'name = "moc-mab"', 16, ["'1/0'"]),
        ('name = "moc-mab"\nscale = "big"', 'name = "moc-mab"', 14, ["scale", "'big'"]),
        ('name = "moc-mab"\nbeta = "x"', 'name = "moc-mab"', 14, ["beta", "'x'"]),
        ('nam = "cs-ucb1"', 'name = "cs-ucb1"', 17, ["needs a name"]),
        ('name = "moc-mab"', 'name = "cs-ucb1"', 17, ["a second time", "label of its own"]),
        ('name = "moc-mab"\nlabel = "a@b"', 'name = "moc-mab"', 16, ["without '@'", "'a@b'"]),
        ('name = "moc-mab"\nlabel = 3', 'name = "moc-mab"', 16, ["label must be text", "3"]),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, wrong: str, right: str, line: int, words: list[str]
) -> None:
    message = refused(tmp_path, SMALL.replace(right, wrong))
    assert f"study.toml, line {line}, " in message
    for word in words:
        assert word in message


def test_broken_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "line 3" in refused(tmp_path, SMALL.replace("horizon = 3_000", "horizon ="))


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    assert "'horizon' is missing" in refused(tmp_path, SMALL.replace("horizon = 3_000\n", ""))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*No such file"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not a text file"):
        read_study(tmp_path / "binary.toml")


def test_a_missing_data_file_is_refused_with_its_line(tmp_path: Path) -> None:
    text = SMALL.replace(
        'name = "synthetic"', 'name = "display-advertising"\npath = "none.parquet"'
    )
    message = refused(tmp_path, text)
    assert "line 10" in message
    assert "none.parquet" in message


def test_a_users_file_is_found_beside_the_study(tmp_path: Path) -> None:
    study = small(tmp_path, OWN)
    assert study.environment.source == MINE
    assert [entry.label for entry in study.entries] == ["Stubborn", "ucb1"]
    assert study.entries[0].parameters == {"arm": 1}


def test_a_module_name_means_the_file_too(tmp_path: Path) -> None:
    study = small(tmp_path, OWN.replace("mine.py:", "mine:"))
    assert study.environment.source == MINE


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("mine.py:Cions", "mine.py:Coins", "did you mean 'Coins'"),
        ("other.py:Coins", "mine.py:Coins", "cannot read"),
        ("no_such_module:Coins", "mine.py:Coins", "there is no module 'no_such_module'"),
        ("chanse", "chance", "did you mean 'chance'"),
        ("amr = 1", "arm = 1", "did you mean 'arm'"),
    ],
)
def test_mistakes_in_naming_ones_own(tmp_path: Path, wrong: str, right: str, words: str) -> None:
    assert words in refused(tmp_path, OWN.replace(right, wrong))


def test_a_users_file_that_fails_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, OWN)
    (tmp_path / "mine.py").write_text("1 / 0\n")
    with pytest.raises(InvalidInput, match=r"line 7, .*mine.py fails: ZeroDivisionError"):
        read_study(path)


def test_a_grid_of_a_policys_own(tmp_path: Path) -> None:
    text = SMALL.replace(
        'name = "moc-mab"\n', 'name = "moc-mab"\n[policies.grid]\nbeta = [0.5, 1]\n'
    )
    labels = [entry.label for entry in small(tmp_path, text).entries]
    assert labels[:4] == [
        "moc-mab@1,beta=0.5",
        "moc-mab@1,beta=1",
        "moc-mab@1/10,beta=0.5",
        "moc-mab@1/10,beta=1",
    ]


def test_variants_of_one_policy_are_told_apart_by_labels(tmp_path: Path) -> None:
    variant = 'name = "moc-mab"\nlabel = "moc-mab (careful)"\nbeta = 0.5\n\n[[policies]]\n'
    text = SMALL.replace('name = "moc-mab"', f'{variant}name = "moc-mab"')
    entries = small(tmp_path, text).entries
    assert [entry.label for entry in entries[:3]] == [
        "moc-mab (careful)@1",
        "moc-mab (careful)@1/10",
        "moc-mab@1",
    ]
    assert [entry.variant for entry in entries[:3]] == [*["moc-mab (careful)"] * 2, "moc-mab"]
    assert {entry.policy.name for entry in entries[:3]} == {"moc-mab"}
    assert entries[0].parameters["beta"] == 0.5


def test_a_world_is_given_once(tmp_path: Path) -> None:
    text = WORLDS.replace('kind = "interactions"', 'kind = "interactions"\nworld = 3')
    message = refused(tmp_path, text)
    assert (
        "study.toml, line 6, worlds_from: worlds_from sets the parameter 'world' of tolerance"
        in message
    )
    assert "given in [environment] too" in message
