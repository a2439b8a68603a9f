"""How scale factors are chosen where a reading of Experiment 2 is held beside the paper."""

from typing import Any

import pytest
from benchmarks import readings


def points(**rewards: list[float]) -> dict[str, Any]:
    return {at.replace("_", "/"): {"reward": reward} for at, reward in rewards.items()}


@pytest.fixture
def policies() -> dict[str, dict[str, Any]]:
    rival = points(**{"1": [1.0, 1.0], "1_5": [0.5, 4.0]})
    return {readings.MOC: points(**{"1": [1.1, 1.0], "1_5": [1.0, 3.0]})} | {
        name: dict(rival) for name in readings.RIVALS
    }


def test_each_rule_chooses_by_what_it_says(policies: dict[str, dict[str, Any]]) -> None:
    chosen = {rule: choose(policies)[readings.MOC] for rule, choose in readings.RULES.items()}
    assert chosen["objective 1"] == "1"
    assert chosen["objective 2"] == chosen["sum"] == chosen["product"] == "1/5"
    assert chosen["one for all"] == "1"  # +10 % each, nearer to the paper than +100 %
    free = readings.by_hindsight(policies)
    assert free["s-ucb1"] == "1/5"  # +120 % is nearer to +82.94 % than +10 %
    assert free["cp-ucb1"] == "1"
    best = readings.distance(policies, free)
    assert all(
        best <= readings.distance(policies, rule(policies)) for rule in readings.RULES.values()
    )


def test_the_table_has_the_paper_first_and_then_the_nearest(
    policies: dict[str, dict[str, Any]],
) -> None:
    study = {"policies": policies, "environment": {"name": "multichannel"}}
    other = {"policies": policies, "environment": {"name": "synthetic"}}
    lines = readings.table(
        {"experiments": {"2": study, "1": other}}, list(readings.RULES)
    ).splitlines()
    assert "+82.94" in lines[2]
    assert len(lines) == 3 + len(readings.RULES)
    assert lines[3].startswith("| `experiment-2` | free |")
    distances = [float(line.split("|")[-2]) for line in lines[3:]]
    assert distances == sorted(distances)
