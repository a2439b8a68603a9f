"""The command line: what it prints, where, and with which exit status."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from bench.studies import MINE, OWN, SMALL, WORLDS, written
from lexbandit.cli.commands import COMMANDS, EXTRA_OF
from lexbandit.cli.main import status_of
from lexbandit.cli.output import Printer, progress_bar
from support import as_if_real

Captured = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Captured) -> None:
    assert status_of(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: lexbandit [OPTIONS] COMMAND [ARGS]...")
    for command, explanation in COMMANDS.items():
        assert command in text
        assert explanation in text
        assert status_of([command, "--help"]) == 0
        assert f"Usage: lexbandit {command}" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["policies", "environments", "studies"])
def test_list_explains_each(kind: str, capsys: Captured) -> None:
    assert status_of(["list", kind, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[kind]
    assert len(found) >= 3
    assert all(found.values())
    assert status_of(["list", kind]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in found)


def test_a_study_of_ones_own(tmp_path: Path, capsys: Captured) -> None:
    path, out = written(tmp_path, OWN), tmp_path / "out"
    assert status_of(["run", str(path), "--out", str(out), "--runs", "2"]) == 0
    said = capsys.readouterr()
    assert "Stubborn" in said.out
    assert "own: 2 of 2 runs" in said.err
    assert "policy-rounds/s" in said.err
    assert (out / "summary.json").exists()
    assert (out / "report.html").exists()
    three = ["run", str(path), "--out", str(out), "--runs", "3", "--no-report"]
    assert status_of([*three, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert status_of([*three, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["studies"]["own"]["runs"] == 3
    assert said.err == ""
    assert status_of(three) == 0
    assert "3 of them found done" in capsys.readouterr().err


def test_compiling_is_said_while_a_study_runs(capsys: Captured) -> None:
    log = logging.getLogger("lexbandit.compile")
    for quiet, said in ((False, "Compiling, for a while.\n"), (True, "")):
        with progress_bar(Printer(quiet=quiet)):
            log.info("compiling, for a while")
        assert capsys.readouterr() == ("", said)


def test_the_paper_in_small(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    small = ["--runs", "2", "--horizon", "500", "--out", str(out)]
    assert status_of(["reproduce", "1", "2", "--no-report", *small]) == 0
    said = capsys.readouterr()
    assert "Claims of the paper" in said.out
    assert "CD-UCB1" in said.out
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["experiments"]) == ["1", "2"]
    assert len(summary["claims"]) == 10 + 7
    assert summary["experiments"]["1"]["policies"]["moc-mab"]["1/15"]["runs"] == 2
    assert status_of(["report", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == summary["claims"]


def test_experiment_3_in_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = ["--out", str(tmp_path / "out"), "--no-report"]
    assert status_of(["reproduce", "3", "--horizon", "3000", *out]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert len(summary["claims"]) == 11
    assert summary["experiments"]["3"]["horizon"] == 3000
    assert "[synthetic data]" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["synthetic-day", "ydata-fp-td-clicks-v1_0.20090501"])
def test_experiment_3_on_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Files that say they are synthetic are called so; others are the real thing."""
    from lexbandit.logs.r6a_synthetic import write_synthetic

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = write_synthetic(tmp_path, rows=2000, seed=0)
    day = tmp_path / "days" / name
    day.parent.mkdir()
    if name.startswith("synthetic"):
        day.write_bytes(made.read_bytes())
    else:
        as_if_real(made, day)
    out = ["--out", str(tmp_path / "out"), "--no-report"]
    assert status_of(["reproduce", "--r6a", str(day), "3", *out]) == 0
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["experiments"]["3"]
    assert told["horizon"] == 2000
    assert told["data"] == ("synthetic" if name.startswith("synthetic") else "Yahoo! R6A")
    assert told["data"] in told["title"]


def test_folders_are_compared(tmp_path: Path, capsys: Captured) -> None:
    path = written(tmp_path, SMALL)
    for out in ("a", "b"):
        assert status_of(["run", str(path), "--out", str(tmp_path / out), "--no-report"]) == 0
    capsys.readouterr()
    assert status_of(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "20 numbers: 20 the same" in " ".join(capsys.readouterr().out.split())
    assert status_of(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 20


def test_an_entry_point_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A package that declares a policy, installed as pip would: files and a dist-info."""
    site = tmp_path / "site"
    info = site / "stubborn-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "stubborn.py").write_text(MINE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stubborn\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lexbandit.policies]\nstubborn = stubborn:Stubborn\n")
    monkeypatch.syspath_prepend(str(site))
    path = written(tmp_path, OWN.replace("mine.py:Stubborn", "stubborn"))
    out = tmp_path / "out"
    assert status_of(["run", str(path), "--out", str(out), "--no-report"]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert "stubborn" in summary["studies"]["own"]["policies"]
    assert status_of(["list", "policies"]) == 0
    assert "stubborn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["frobnicate"], 2, "unknown command 'frobnicate'. Known: compact, compare, copy, demo"),
        (["serv"], 2, "unknown command 'serv'; did you mean 'serve'?"),
        (["reproduce", "4"], 2, "experiments are 1, 2 and 3, got '4'"),
        (["reproduce", "--runs", "0"], 2, "--runs"),
        (["run"], 2, "STUDY.toml"),
        (["run", "none.toml"], 1, "cannot read none.toml: No such file"),
        (["run", "beyond-9"], 1, "no file 'beyond-9', and no study of that name"),
        (["run", "growht-4"], 1, "did you mean 'growth-4'? `lexbandit list studies` shows them"),
        (["report", "none"], 2, "does not exist"),
        (["reproduce", "3", "--r6a", "none.gz"], 1, "none.gz"),
    ],
)
def test_mistakes_are_answered_in_one_line(
    tmp_path: Path,
    arguments: list[str],
    status: int,
    words: str,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert status_of(arguments) == status
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_an_empty_folder_has_no_report(tmp_path: Path, capsys: Captured) -> None:
    assert status_of(["report", str(tmp_path)]) == 1
    assert "no finished run" in capsys.readouterr().err


def test_failed_runs_are_named_and_the_status_says_so(tmp_path: Path, capsys: Captured) -> None:
    path = written(tmp_path, OWN.replace("Coins", "Broken"))
    assert status_of(["run", str(path), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "own, 4 runs failed: RuntimeError: the sensor is gone" in said
    assert "no run was finished" in said


def test_one_failed_run_of_several_is_a_failure_too(tmp_path: Path, capsys: Captured) -> None:
    path = written(tmp_path, OWN.replace("Coins", "Sometimes"))
    out = tmp_path / "out"
    assert status_of(["run", str(path), "--out", str(out), "--no-report"]) == 1
    said = capsys.readouterr().err
    assert "failed: RuntimeError: not this time" in said
    assert 0 < len(list((out / "runs").glob("own-*.parquet"))) < 8
    assert (out / "summary.json").exists()


@pytest.mark.parametrize("arms", ["[-1] * len(rounds)", "[99] * len(rounds)", "[0, 1]", "'abc'"])
def test_arms_that_cannot_be_are_refused(tmp_path: Path, capsys: Captured, arms: str) -> None:
    """Also where the means are not known, as in a recording: nothing is stored."""
    mine = MINE + WILD.replace("ARMS", arms)
    path = written(tmp_path, OWN.replace("mine.py:Stubborn", "mine.py:Wild"))
    (tmp_path / "mine.py").write_text(mine)
    out = tmp_path / "out"
    path.write_text(path.read_text().replace("mine.py:Coins", "mine.py:Unknown"))
    assert status_of(["run", str(path), "--out", str(out), "--no-report"]) == 1
    assert "arms" in capsys.readouterr().err
    assert not list((out / "runs").glob("own-*.parquet"))


WILD = """

class Wild(Stubborn):
    def replay(self, rounds):
        return ARMS


class Unknown(Coins):
    def _blocks(self, left, block, contexts, rewards):
        for rounds in super()._blocks(left, block, contexts, rewards):
            yield type(rounds)(rounds.contexts, rounds.outcomes)
"""


def test_a_truncated_data_file(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "day.parquet").write_bytes(b"PAR1 and then nothing")
    recorded = 'name = "display-advertising"\npath = "day.parquet"'
    path = written(tmp_path, SMALL.replace('name = "synthetic"', recorded))
    assert status_of(["run", str(path), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "day.parquet" in said
    assert "Traceback" not in said


def test_a_name_may_stand_for_several_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for n, horizon in ((1, 200), (2, 2000)):
        text = SMALL.replace('name = "small"', f'name = "small-{n}"')
        text = text.replace("3_000", str(horizon)).replace(
            "[environment]", '[series]\nname = "g"\nkind = "growth"\n\n[environment]'
        )
        (tmp_path / f"small-{n}.toml").write_text(text)
    packaged = {path.stem: path for path in sorted(tmp_path.glob("*.toml"))}
    monkeypatch.setattr("lexbandit.cli.run.packaged_studies", lambda: packaged)
    out = tmp_path / "out"
    arguments = ["run", "small-*", "small-1", "--out", str(out), "--runs", "2"]
    assert status_of(arguments) == 0
    said = capsys.readouterr()
    assert "g: exponents" in said.out
    assert "(2α+d)/(3α+d)" in said.out
    assert said.err.count("2 of 2 runs") == 2
    assert "id='series-g'" in (out / "report.html").read_text()
    assert list(json.loads((out / "summary.json").read_text())["series"]) == ["g"]


def test_a_frontier_is_shown_with_both_regrets(tmp_path: Path, capsys: Captured) -> None:
    series = '[series]\nname = "f"\nkind = "frontier"\nbaseline = "random"\n'
    path = written(tmp_path, WORLDS.replace("[environment]", f"{series}\n[environment]"))
    out = ["--out", str(tmp_path / "out"), "--no-report"]
    assert status_of(["run", str(path), *out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "tolerance regret per 100 rounds" in said
    assert "f: ratios to random, geometric mean over 1" in said


def test_policies_stand_against_the_papers_six(tmp_path: Path, capsys: Captured) -> None:
    six = ("moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1")
    policies = "".join(f'[[policies]]\nname = "{name}"\n' for name in (*six, "random"))
    path = written(tmp_path, SMALL[: SMALL.index("[[policies]]")] + policies)
    out = ["--out", str(tmp_path / "out"), "--runs", "2", "--horizon", "1000", "--no-report"]
    assert status_of(["run", str(path), *out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "which algorithms of the paper have more regret in each objective" in said
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = {row["policy"]: row for row in summary["studies"]["small"]["against_paper"]}
    assert list(rows)[-1] == "random"
    assert rows["cd-ucb1"]["reward"] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("package", "command"),
    [("click", "list"), ("rich", "list"), ("click", "serve"), ("rich", "learn")],
)
def test_without_its_extra_one_line_says_what_to_install(package: str, command: str) -> None:
    """As after `pip install .`, which brings neither."""
    program = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['lexbandit', {command!r}]; "
        "from lexbandit.cli import main; main()"
    )
    extra = EXTRA_OF[command]
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"needs the package {package!r}: pip install 'lexbandit[{extra}]'" in line
    assert f"or '.[{extra}]' in a checkout" in line


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_what_the_report_needs_is_missed_before_the_first_run(package: str, tmp_path: Path) -> None:
    """As after `pip install '.[logs]'`: nothing is played for a report that cannot be written."""
    study, out = written(tmp_path, SMALL), tmp_path / "out"

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = (
            f"import sys; sys.modules[{package!r}] = None; "
            f"sys.argv = ['lexbandit', *{arguments!r}, '--runs', '1', '--horizon', '100', "
            f"'--out', {str(out)!r}]; from lexbandit.cli import main; main()"
        )
        run = [sys.executable, "-c", program]
        return subprocess.run(run, capture_output=True, text=True, check=False)

    for command in (("run", str(study)), ("reproduce", "1")):
        done = ran(*command)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert f"needs the package {package!r}: pip install 'lexbandit[bench]'" in line
        assert "--no-report" in line
        assert not out.exists()
    assert ran("run", str(study), "--no-report").returncode == 0


def test_every_command_has_its_extra() -> None:
    assert EXTRA_OF.keys() == COMMANDS.keys()


def test_python_runs_the_same_command() -> None:
    command = [sys.executable, "-m", "lexbandit", "serv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: lexbandit [OPTIONS] COMMAND")
    assert "did you mean 'serve'?" in done.stderr
