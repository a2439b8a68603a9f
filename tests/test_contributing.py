"""The examples of CONTRIBUTING.md work as they stand there; a policy needs nothing but its file."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lexbandit.policies import REGISTRY

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
POLICY = next(block for block in BLOCKS if '"epsilon-greedy"' in block)
TRIAL = """
from pathlib import Path
from lexbandit import make_environment, make_policy
from lexbandit.policies import REGISTRY
environment = make_environment("models")
policy = make_policy("epsilon-greedy", arms=environment.arms, dimension=environment.dimension,
                     objectives=environment.objectives, horizon=500)
assert len(policy.replay(environment.rounds(500, seed=0))) == 500
assert REGISTRY.describe("epsilon-greedy")
import policies
assert policies.without_page(Path("docs")) == ["epsilon-greedy"]
row = policies.index_section(["epsilon-greedy"]).strip().splitlines()[-1]
assert row == f"| [`epsilon-greedy`](epsilon-greedy.md) | {REGISTRY.describe('epsilon-greedy')} |"
print(policies.page("epsilon-greedy"))
"""


def test_the_examples_work_and_the_policy_gets_a_page_and_a_row(tmp_path: Path) -> None:
    # In a process of its own, since it adds to the registries. Kernels of a file are cached.
    program = tmp_path / "contributing.py"
    program.write_text("\n".join([*BLOCKS, TRIAL]), "utf-8")
    path = os.pathsep.join([str(ROOT / "docs" / "tools"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(program)],
        check=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    page = done.stdout[done.stdout.index("# epsilon-greedy\n") :]
    assert "ε-greedy on the dominant objective in each cell of MOC-MAB's grid." in page
    assert "With probability ε any allowed arm" in page
    assert "| `epsilon` | `0.1` |" in page
    assert "| `horizon` | needed |" in page
    assert 'make_policy("epsilon-greedy", arms=4, dimension=2, horizon=10_000)' in page


@pytest.mark.parametrize("name", ["moc-mab", "doubling", "lex-thompson"])
def test_a_page_can_be_made_for_every_kind_of_policy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    page = importlib.import_module("policies").page(name)
    assert page.startswith(f"# {name}\n")
    assert REGISTRY.describe(name) in page
    call = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert call
    exec(call[1], {})


FILES = {
    "policies/epsilon_greedy.py": POLICY,
    "environments/models.py": next(block for block in BLOCKS if "class ThreeModels" in block),
    "bounds/hoeffding.py": next(block for block in BLOCKS if "class Hoeffding" in block),
    "features/pairs.py": next(block for block in BLOCKS if "class Pairs" in block),
}


@pytest.mark.slow
def test_the_files_pass_lint_and_types(tmp_path: Path) -> None:
    """Who copies a file from the page can run `make check`."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    names = [f"src/lexbandit/{name}" for name in FILES]
    for name, text in zip(names, FILES.values(), strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    for check in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]):
        done = subprocess.run(
            [sys.executable, "-m", *check, *names],
            check=False,
            timeout=600,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": "", "MYPYPATH": "src"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.compiled
def test_the_policy_passes_the_suite_with_nothing_but_its_file(tmp_path: Path) -> None:
    """Contract tests, tests of choosers and of the docs, and the site, in a copy of the tree."""
    skipped = shutil.ignore_patterns(".git", ".venv", "results*", "site", "dist", "__pycache__")
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=skipped)
    (tree / "src/lexbandit/policies/epsilon_greedy.py").write_text(POLICY, "utf-8")
    tests = ["tests/chooser/test_every_policy.py", "tests/contracts/test_policies.py"]
    tests += ["tests/contracts/test_policies_in_bulk.py", "tests/chooser/test_in_parts.py"]
    tests += ["tests/test_site.py", "tests/test_reading_order.py"]
    wanted = "epsilon or site_builds or every_page"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-m", "not slow", "-k", wanted, *tests],
        check=False,
        timeout=900,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 20
