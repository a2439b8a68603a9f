"""The version of what policies and environments compute is raised when that changes.

A failure here means: runs in people's results folders are no longer what this code would give.
Raise `SEMANTICS` in bench/plan.py and put the new numbers here.
"""

import hashlib

import numpy as np
import pytest

from lexbandit import make_environment, make_policy
from lexbandit.bench.plan import SEMANTICS

POLICIES = ("moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1", "ucb1", "random")

# How often each arm is played in 2,000 rounds at scale 1/10.
KNOWN: dict[int, dict[str, list[int]]] = {
    2: {  # as before; lex-thompson is another rule
        "moc-mab": [593, 569, 489, 349],
        "cd-ucb1": [922, 550, 503, 25],
        "cp-ucb1": [622, 585, 590, 203],
        "cs-ucb1": [610, 586, 602, 202],
        "p-ucb1": [191, 1074, 688, 47],
        "s-ucb1": [25, 1333, 637, 5],
        "ucb1": [1927, 68, 4, 1],
        "random": [522, 520, 474, 484],
    }
}

DRAWN = {2: "f664a0d497441214"}


def plays(name: str) -> list[int]:
    rounds = make_environment("synthetic").rounds(2000, seed=1)
    policy = make_policy(name, arms=4, dimension=2, horizon=2000, scale=0.1, seed=7)
    return [int(n) for n in np.bincount(policy.replay(rounds), minlength=4)]


@pytest.mark.parametrize("name", POLICIES)
def test_policies_do_what_they_did(name: str) -> None:
    assert plays(name) == KNOWN[SEMANTICS][name]


def test_environments_draw_what_they_drew() -> None:
    totals = {
        name: make_environment(name).rounds(2000, seed=1).outcomes.sum(axis=0).round(6).tolist()
        for name in ("synthetic", "multichannel")
    }
    assert hashlib.sha256(repr(totals).encode()).hexdigest()[:16] == DRAWN[SEMANTICS]
