"""The version of what policies and environments compute is raised when that changes.

A failure here means: runs in people's results folders are no longer what this code would give.
Raise `SEMANTICS` in bench/run.py, then record with `python -m bench.test_semantics` in the folder
tests. The digests of a number that is in use are never overwritten.

The decisions of policies are those of the runs in tests/golden, which says whether the code still
makes them. Policies and environments that are not recorded yet are new: they change nothing.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden.runs import FOLDER, recorded
from lexbandit import make_environment
from lexbandit.bench.run import SEMANTICS
from lexbandit.environments import REGISTRY as ENVIRONMENTS

FILE = Path(__file__).parent / "semantics.json"


def decisions() -> dict[str, str]:
    """Return a digest of the recorded decisions of every policy."""
    runs = recorded(FOLDER / "policies.json") | recorded(FOLDER / "pooled.json")
    return {f"policy {name}": _digest(sorted(cases.items())) for name, cases in runs.items()}


def drawn(name: str) -> str:
    """Return a digest of what an environment draws, to 6 decimals."""
    rounds = make_environment(name).rounds(500, seed=1)
    return _digest(
        [np.round(part.sum(axis=0), 6).tolist() for part in (rounds.contexts, rounds.outcomes)]
    )


def known() -> dict[str, str]:
    """Return the digests of the present `SEMANTICS`."""
    found: dict[str, str] = json.loads(FILE.read_text()).get(str(SEMANTICS), {})
    return found


def _digest(content: Any) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def record() -> None:
    """Add the digests that are not recorded for the present `SEMANTICS`."""
    versions = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = decisions() | {f"environment {name}": drawn(name) for name in ENVIRONMENTS.names()}
    before = versions.get(str(SEMANTICS), {})
    versions[str(SEMANTICS)] = dict(sorted((now | before).items()))
    FILE.write_text(json.dumps(versions, indent=2) + "\n")


def test_policies_decide_as_this_version_did() -> None:
    now, then = decisions(), known()
    changed = [name for name, digest in now.items() if then.get(name, digest) != digest]
    assert not changed, f"raise SEMANTICS: {', '.join(changed)}"


def test_every_recorded_policy_is_guarded() -> None:
    missing = decisions().keys() - known().keys()
    assert not missing, f"run python -m bench.test_semantics: {', '.join(sorted(missing))}"


@pytest.mark.parametrize("name", [n.partition(" ")[2] for n in known() if n.startswith("env")])
def test_environments_draw_as_this_version_did(name: str) -> None:
    assert drawn(name) == known()[f"environment {name}"], f"raise SEMANTICS: {name}"


if __name__ == "__main__":
    record()
