"""Wrappers in a study: two of one name are told apart by what they wrap."""

from pathlib import Path

import pytest

from bench.studies import SMALL, small
from lexbandit import InvalidInput
from lexbandit.bench.results import Folder
from lexbandit.bench.run import plan, play, sized
from lexbandit.bench.study import Study
from lexbandit.bench.summary import summarize

WRAPPED = SMALL.replace(
    '[[policies]]\nname = "cs-ucb1"\n',
    """[[policies]]
name = "doubling"
policy = "moc-mab"

[[policies]]
name = "doubling"
policy = "cd-ucb1"
first = 100

[[policies]]
name = "projected"
policy = "moc-mab"
[policies.grid]
visible = [[0], [1]]
""",
)


def test_a_study_tells_wrappers_apart(tmp_path: Path) -> None:
    study: Study = small(tmp_path, WRAPPED)
    assert [entry.label for entry in study.entries] == [
        "moc-mab@1",
        "moc-mab@1/10",
        "doubling(moc-mab)@1",
        "doubling(moc-mab)@1/10",
        "doubling(cd-ucb1)@1",
        "doubling(cd-ucb1)@1/10",
        "projected(moc-mab)@1,visible=[0]",
        "projected(moc-mab)@1,visible=[1]",
        "projected(moc-mab)@1/10,visible=[0]",
        "projected(moc-mab)@1/10,visible=[1]",
        "random",
    ]


def test_a_study_with_wrappers_is_played_and_summarized(tmp_path: Path) -> None:
    study = sized(small(tmp_path, WRAPPED), runs=1, horizon=300)
    runs = plan(study)
    results = Folder(tmp_path / "results")
    for one in runs:
        results.store(play(one))
    results.store_study(study, runs)
    told = summarize(tmp_path / "results")["studies"]["small"]["policies"]
    assert {"doubling(moc-mab)", "doubling(cd-ucb1)", "projected(moc-mab)"} < set(told)
    assert set(told["projected(moc-mab)"]) == {
        f"{scale},visible=[{j}]" for scale in ("1", "1/10") for j in (0, 1)
    }


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('policy = "mocmab"', "did you mean 'moc-mab'"),
        ('policy = "projected"', "doubling cannot wrap projected"),
        ('policy = "moc-mab"\nbeat = 1', "did you mean 'beta'"),
        ('policy = "moc-mab"\nfirst = 0', "first must be a whole number"),
        ("", "doubling needs policy"),
    ],
)
def test_mistakes_in_a_wrapper_are_named_with_their_line(
    tmp_path: Path, wrong: str, words: str
) -> None:
    text = WRAPPED.replace('name = "doubling"\npolicy = "moc-mab"', f'name = "doubling"\n{wrong}')
    with pytest.raises(InvalidInput, match=words) as caught:
        small(tmp_path, text)
    assert "line" in str(caught.value)
