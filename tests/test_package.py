"""What a user meets first: the import, its weight, its names."""

import subprocess
import sys

import pytest

import lexbandit


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_import_is_quick() -> None:
    """Under 0.6 s of the processor: the best of three, since the machine may be busy."""
    timed = "import time, lexbandit; print(time.process_time())"
    assert min(float(run(timed)) for _ in range(3)) < 0.6


def test_import_brings_no_compiler_and_use_brings_no_extras() -> None:
    assert run("import sys, lexbandit; print('numba' in sys.modules)") == "False"
    # Not scipy: numba imports it by itself where it is installed.
    extras = "{'altair', 'click', 'gymnasium', 'rich', 'pandas', 'polars', 'pyarrow', 'sklearn'}"
    used = run(
        "import sys, lexbandit;"
        "lexbandit.make_policy('moc-mab', arms=2, dimension=1, horizon=9);"
        "lexbandit.make_environment('synthetic').rounds(5, seed=0);"
        f"print({extras} & {{*sys.modules}})"
    )
    assert used == "set()"


def test_a_policy_by_name_imports_its_own_file_and_not_all() -> None:
    make = "lexbandit.make_policy('cs-ts', arms=2, dimension=1)"
    others = "[m for m in sys.modules if m.startswith('lexbandit.policies.related.')]"
    found = run(f"import sys, lexbandit; {make}; print({others})")
    assert "lexbandit.policies.related.cs_ts" in found
    assert "lexbandit.policies.related.mtlo" not in found


def test_a_name_is_found_whatever_its_file_is_called() -> None:
    code = "from lexbandit.policies import REGISTRY; print('ucb1' in REGISTRY, 'no' in REGISTRY)"
    assert run(code) == "True False"


def test_a_taken_name_is_refused_before_its_file_is_imported() -> None:
    for name in ("moc-mab", "ucb1"):
        code = f"from lexbandit.policies import REGISTRY; REGISTRY.register('{name}')(print)"
        with pytest.raises(subprocess.CalledProcessError) as failed:
            run(code)
        assert f"two builders for the policy '{name}'" in failed.value.stderr


def test_names() -> None:
    assert {"make_policy", "make_environment", "Rounds", "Decision"} <= set(dir(lexbandit))
    for name in lexbandit.__all__:
        assert getattr(lexbandit, name) is not None


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    assert not hasattr(lexbandit, "nothing")
