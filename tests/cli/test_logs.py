"""`lexbandit evaluate` and `lexbandit learn`: what they print, write and leave with."""

import json
from pathlib import Path

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.cli.main import status_of
from logs import made

Captured = pytest.CaptureFixture[str]

CONFIG = """
[points.router]
arms = ["small", "medium", "large"]

[[points.router.objectives]]
name = "quality"
tolerance = 0.03

[[points.router.objectives]]
name = "cost"
goal = "min"
range = [0, 0.2]

[[points.router.context]]
kind = "number"
name = "tokens"
low = 0
high = 1000

[[points.router.context]]
kind = "category"
name = "task"
values = ["chat", "code"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log in two files, and a configuration."""
    folder = tmp_path_factory.mktemp("logs")
    rows = made.frame(6_000, seed=4)
    rows.head(2_500).write_parquet(folder / "log-1.parquet")
    rows.tail(3_500).write_parquet(folder / "log-2.parquet")
    (folder / "router.toml").write_text(CONFIG)
    return folder


def asked(folder: Path, *more: str) -> list[str]:
    like = ["--like", str(folder / "router.toml")]
    return ["evaluate", str(folder / "log-*.parquet"), *like, *more]


def test_verdicts_on_two_candidates(folder: Path, capsys: Captured) -> None:
    both = ["--candidate", "always:small", "--candidate", "always:medium"]
    page = folder / "report.html"
    assert status_of(asked(folder, *both, "--json", "--out", str(page))) == 0
    said = capsys.readouterr()
    small, medium = json.loads(said.out)["evaluations"]
    assert said.err == ""
    assert small["verdict"] == "worse in quality"
    assert medium["rows"] == 6_000
    # The log plays arms with probabilities .5, .3 and .2; medium is better by this much.
    truth = made.QUALITY[1] - made.SHARES @ made.QUALITY
    found = medium["objectives"]["quality"]
    assert found["low"] < truth < found["high"]
    assert found["difference"] == pytest.approx(truth, abs=0.03)
    html = page.read_text()
    assert "always:small" in html
    assert "worse in quality" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_the_status_says_what_failed(folder: Path, capsys: Captured) -> None:
    small = asked(folder, "--candidate", "always:small", "--quiet")
    assert status_of([*small, "--fail-on", "worse,cannot-tell"]) == 3
    assert status_of([*small, "--fail-on", "cannot-tell"]) == 0
    assert status_of([*small, "--fail-on", "bad"]) == 1
    assert "unknown verdict in --fail-on: 'bad'" in capsys.readouterr().err
    assert status_of(asked(folder, "--candidate", "always:smal")) == 1
    assert "did you mean 'small'" in capsys.readouterr().err
    assert status_of(asked(folder)) == 2
    assert "--candidate" in capsys.readouterr().err


def test_a_log_that_is_named_twice_is_refused(folder: Path, capsys: Captured) -> None:
    again = [*asked(folder, "--candidate", "always:small"), str(folder / "log-1.parquet")]
    assert status_of(again) == 1
    assert f"{folder / 'log-1.parquet'} is given twice" in capsys.readouterr().err


def test_a_table_needs_to_know_what_decided(folder: Path, capsys: Captured) -> None:
    log = str(folder / "log-1.parquet")
    assert status_of(["evaluate", log, "--candidate", "always:small"]) == 1
    assert "--like FILE" in capsys.readouterr().err
    assert status_of([*asked(folder, "--candidate", "always:small"), "--column", "quality"]) == 1
    assert "NAME=COLUMN" in capsys.readouterr().err
    assert status_of([*asked(folder, "--candidate", "always:small"), "--point", "ruter"]) == 1
    assert "did you mean 'router'" in capsys.readouterr().err


def test_a_chooser_learns_a_log_and_is_evaluated(folder: Path, capsys: Captured) -> None:
    path = folder / "router.lexbandit"
    first, second = (str(folder / f"log-{n}.parquet") for n in (1, 2))
    like = ["--like", str(folder / "router.toml")]
    assert status_of(["learn", first, *like, "--to", str(path)]) == 0
    assert "learned 2,500 of 2,500 rows" in capsys.readouterr().err
    chooser = lb.Chooser.load(path)
    counts = np.unique(made.frame(6_000, seed=4)["arm"].to_numpy()[:2_500], return_counts=True)
    plays = dict(zip(chooser.arms, chooser.policy.state()["plays"].tolist(), strict=True))
    assert plays == dict(zip(counts[0].tolist(), counts[1].tolist(), strict=True))
    assert status_of(["evaluate", second, *like, "--candidate", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["evaluations"][0]
    assert found["verdict"] in ("better in quality", "better in cost", "as good", "cannot tell")
    assert found["objectives"]["quality"]["difference"] > 0.05
    assert status_of(["learn", first, "--to", str(path)]) == 1
    assert "which chooser learns" in capsys.readouterr().err


def test_learning_says_which_context_values_were_unknown(
    tmp_path: Path, folder: Path, capsys: Captured
) -> None:
    """Those of this log only, though the chooser has met others before."""
    rows = made.frame(400, seed=5)
    odd = int((rows["task"] == "code").sum())
    rows.with_columns(task=rows["task"].replace("code", "Code")).write_csv(tmp_path / "log.csv")
    first, second = (str(tmp_path / name) for name in ("a.lexbandit", "b.lexbandit"))
    log = str(tmp_path / "log.csv")
    words = f"Context values taken otherwise than given: {odd} of task (unknown)."
    assert status_of(["learn", log, "--like", str(folder / "router.toml"), "--to", first]) == 0
    assert words in capsys.readouterr().err
    again = ["learn", log, "--like", first, "--to", second]
    assert status_of(again) == 0
    assert words in capsys.readouterr().err
    assert status_of([*again, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contexts"] == {
        "tokens": {},
        "task": {"unknown": odd},
    }
    assert status_of([*again, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_missing_folder_is_told_before_the_log_is_read(folder: Path, capsys: Captured) -> None:
    like = ["--like", str(folder / "router.toml")]
    for command, option in (("learn", "--to"), ("evaluate", "--out")):
        more = ["--candidate", "always:small"] if command == "evaluate" else []
        path = str(folder / "nowhere" / "made.lexbandit")
        assert status_of([command, "no.parquet", *like, *more, option, path]) == 1
        assert f"{option} {path}: there is no folder" in capsys.readouterr().err
