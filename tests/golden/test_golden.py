"""Every policy decides as it did when its digests were recorded.

A failure means that decisions changed. If that is meant, record anew with `golden.record` and say
so in the changelog; a change of a policy that a study may use needs a new SEMANTICS in
bench/run.py too. A new policy needs digests: `python -m golden.record NAME` in the folder tests.
"""

from pathlib import Path

import pytest

from golden.runs import FOLDER, digests_of, file_of, recorded, same, study_digests
from lexbandit.policies import REGISTRY

POLICIES = [
    name for file in (FOLDER / "policies.json", FOLDER / "pooled.json") for name in recorded(file)
]

pytestmark = pytest.mark.compiled


def test_every_policy_has_digests() -> None:
    assert set(POLICIES) == set(REGISTRY.names())


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_decides_as_recorded(name: str) -> None:
    known = recorded(file_of(name))[name]
    now = digests_of(name)
    changed = {
        case for case in known.keys() | now.keys() if not same(known.get(case), now.get(case))
    }
    assert not changed, f"{name} decides otherwise than recorded in {file_of(name).name}"


def test_a_study_gives_the_recorded_numbers(tmp_path: Path) -> None:
    assert study_digests(tmp_path) == recorded(FOLDER / "study.json")
