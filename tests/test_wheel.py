"""The wheel, installed with only what it declares: bare, and with each extra.

An environment is a venv with the wheel and links to those installed packages that the wheel's own
metadata asks for. So nothing is fetched, and a dependency that is used but not declared is missing.
A slow test installs with pip.
"""

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lexbandit import __version__
from lexbandit.cli.commands import EXTRA_OF

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")

pytestmark = pytest.mark.compiled  # it runs other interpreters: once is enough

# What each extra is for, in the fewest lines that use its packages.
SMOKE = {
    "bench": "from lexbandit.cli import main; main(['run', 'tiny.toml', '--out', 'results'])",
    "client": "import lexbandit as lb; lb.Client('http://127.0.0.1:9').close()",
    "cluster": "import lexbandit.bench.dask_cluster",
    "gym": """
import gymnasium, lexbandit.gym
env = gymnasium.make("lexbandit/Synthetic-v1")
env.reset(seed=0)
assert env.step(0)[1].shape == (2,)
""",
    "logs": """
import lexbandit as lb
log = lb.Log("log.csv", arms=["a", "b"], objectives=[lb.Objective("click")], arm="arm")
print(lb.evaluate(log, "always:a"))
""",
    "otel": "import lexbandit.service.telemetry, opentelemetry.exporter.otlp.proto.http",
    "postgres": "import asyncpg, lexbandit.service.storage.postgresql",
    "service": """
from pathlib import Path
import lexbandit.client, lexbandit.service.process, lexbandit.service.dashboard.what_if
from lexbandit.cli import main
main(['serve', str(Path(lexbandit.client.__file__).parents[1] / 'samples/router.toml'), '--check'])
""",
    "sklearn": """
import numpy as np
from lexbandit.sklearn import LexBanditClassifier
contexts = np.linspace(0, 1, 20)[:, None]
LexBanditClassifier().fit(contexts, np.arange(20) % 2, np.ones((20, 2))).predict(contexts)
""",
}
TINY = """
name = "tiny"
title = "Tiny"
horizon = 60
runs = 1
objectives = ["first", "second"]
checkpoints = 3

[environment]
name = "synthetic"

[[policies]]
name = "random"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what `make dist` builds, and return the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert len(list(folder.glob("lexbandit-*.tar.gz"))) == 1
    (wheel,) = folder.glob("lexbandit-*.whl")
    return wheel


def needed(package: Distribution, extras: set[str], found: dict[str, Distribution]) -> None:
    """Add to `found` what a package needs with these extras, and what that needs."""
    for text in package.requires or ():
        asked = Requirement(text)
        environments = [{"extra": extra} for extra in extras or {""}]
        if asked.marker and not any(asked.marker.evaluate(one) for one in environments):
            continue
        if asked.name == package.name:  # an extra that is made of others
            needed(package, asked.extras, found)
        elif asked.name not in found or asked.extras:
            found[asked.name] = distribution(asked.name)
            needed(found[asked.name], asked.extras, found)


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contents of the wheel: Python compiles its files once for all."""
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def installed(wheel: Path, folder: Path, extra: str | None) -> Path:
    """Return the Python of a venv with the wheel and what it declares for `extra`.

    pip installs the wheel without extras; with one, `wheel` is the folder that it was unpacked to.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    if extra:
        for part in wheel.iterdir():
            (site / part.name).symlink_to(part)
    else:
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
        install = [*pip, "install", *options, str(wheel)]
        subprocess.run(install, check=True, capture_output=True, timeout=120)
    (info,) = site.glob("lexbandit-*.dist-info")
    found: dict[str, Distribution] = {}
    needed(Distribution.at(info), {extra} if extra else set(), found)
    for package in found.values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            link, target = site / top, Path(str(package.locate_file(top)))
            if not link.exists() and target.exists():
                link.symlink_to(target)
    return python


def run(command: list[str], folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of the venv in a folder of its own, away from the checkout."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean, **more},
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )


def example() -> tuple[str, str]:
    """Return the README's example and what it says that it prints."""
    found = re.search(r"^```python\n(.*?)^```\n+```text\n(.*?)^```", README, re.M | re.S)
    assert found
    return found[1], found[2]


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, tmp_path_factory.mktemp("bare"), None)


def test_the_readme_s_example_runs_without_extras(bare: Path, tmp_path: Path) -> None:
    """Uncompiled, so with a twentieth of its requests."""
    code, _ = example()
    shorter = code.replace("range(0, 8000, 4)", "range(0, 8000, 80)")
    assert shorter != code
    done = run([str(bare), "-W", "ignore", "-c", shorter], tmp_path, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("arm     plays  quality")


def test_the_command_line_without_extras(bare: Path, tmp_path: Path) -> None:
    command = str(bare.parent / "lexbandit")
    told = run([command, "--help"], tmp_path)
    assert told.returncode == 0
    assert told.stdout.startswith("Usage: lexbandit [OPTIONS] COMMAND")
    for name, extra in EXTRA_OF.items():
        assert re.search(rf"^  {name} +{extra} ", told.stdout, re.M)
    assert run([command, "--version"], tmp_path).stdout == f"lexbandit, version {__version__}\n"
    served = run([command, "serve", "router.toml"], tmp_path)
    assert served.returncode == 1
    assert "pip install 'lexbandit[service]'" in served.stderr
    unknown = run([command, "serv"], tmp_path)
    assert unknown.returncode == 2
    assert "did you mean 'serve'?" in unknown.stderr


@pytest.mark.parametrize("name", ["Client", "Log"])
def test_a_name_that_needs_an_extra_says_which(bare: Path, tmp_path: Path, name: str) -> None:
    extra = {"Client": "client", "Log": "logs"}[name]
    done = run([str(bare), "-c", f"import lexbandit; lexbandit.{name}"], tmp_path)
    assert done.returncode == 1
    assert f"lexbandit[{extra}]" in done.stderr


@pytest.mark.parametrize("extra", [*SMOKE, "all"])
def test_an_extra_brings_what_it_is_for(unpacked: Path, tmp_path: Path, extra: str) -> None:
    python = installed(unpacked, tmp_path / "venv", extra)
    (tmp_path / "tiny.toml").write_text(TINY)
    rows = "".join(f"{'ab'[i % 2]},0.5,{i % 3 % 2}\n" for i in range(40))
    (tmp_path / "log.csv").write_text("arm,propensity,click\n" + rows)
    code = SMOKE.get(extra, "import lexbandit.sklearn, lexbandit.gym, lexbandit.service.process")
    command = [str(python), "-W", "ignore", "-c", code]
    done = run(command, tmp_path, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr


def test_all_is_every_extra_of_users() -> None:
    """Nothing is left out but what documents, tests or shows lexbandit itself."""
    names = {*(distribution("lexbandit").metadata.get_all("Provides-Extra") or ())}
    assert names == {*SMOKE, "all", "dev", "docs", "examples"}


@pytest.mark.slow
def test_pip_installs_it_into_an_empty_venv(wheel: Path, tmp_path: Path) -> None:
    """As a user does, compiled; needs a package index. A typed program of a user's passes mypy."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    done = run(install, tmp_path)
    assert done.returncode == 0, done.stderr
    code, printed = example()
    done = run([python, "-c", code], tmp_path)
    assert done.stdout == printed, done.stderr
    (tmp_path / "program.py").write_text(code)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    checked = run([*mypy, "--cache-dir", str(tmp_path / "mypy"), "program.py"], tmp_path)
    assert checked.returncode == 0, checked.stdout
