"""Small studies for tests."""

from pathlib import Path

from lexbandit.bench.study import Study, read_study

SMALL = """\
name = "small"
title = "A small study"
horizon = 3_000
runs = 3
objectives = ["first", "second"]
checkpoints = 12

[environment]
name = "synthetic"

[grid]
scale = ["1", "1/10"]

[[policies]]
name = "moc-mab"

[[policies]]
name = "cs-ucb1"

[[policies]]
name = "random"
"""

# A policy and an environment of a user, uncompiled: they run in any executor.
MINE = '''\
import numpy as np
from lexbandit.decisions import PolicyDecision
from lexbandit.environments import Environment
from lexbandit.policies import Policy


class Stubborn(Policy):
    """Always the same arm."""

    def __init__(self, *, arms, dimension, objectives, arm=0):
        super().__init__(arms=arms, dimension=dimension, objectives=objectives)
        self.arm = arm

    def select(self, context, allowed=None):
        return PolicyDecision(self.arm, 1.0)

    def update(self, context, arm, rewards):
        pass


class Coins(Environment):
    """Two coins, of different chances."""

    arms, objectives, dimension = 2, 2, 1

    def __init__(self, *, chance=0.7):
        self.chance = chance

    def _contexts(self, n, random):
        return random.random((n, 1))

    def _means(self, contexts):
        means = np.empty((len(contexts), 2, 2))
        means[:, 0] = self.chance
        means[:, 1] = 0.5
        return means

    def _outcomes(self, contexts, means, random):
        return (random.random(means.shape) < means).astype(float)


class Broken(Coins):
    """Fails after some rounds."""

    def _means(self, contexts):
        raise RuntimeError("the sensor is gone")


class Sometimes(Coins):
    """Fails in streams whose first context is above a half."""

    def _means(self, contexts):
        if contexts[0, 0] > 0.5:
            raise RuntimeError("not this time")
        return super()._means(contexts)


def slow(seconds=0.05):
    """Coins that take their time."""
    import time

    class Slow(Coins):
        def _contexts(self, n, random):
            time.sleep(seconds)
            return super()._contexts(n, random)

    return Slow()


def suicide(*, arms, dimension, objectives):
    """Ends the process that builds it."""
    import multiprocessing
    import os

    if multiprocessing.parent_process() is not None:
        os._exit(9)
    return Stubborn(arms=arms, dimension=dimension, objectives=objectives)
'''

OWN = """\
name = "own"
horizon = 2_000
runs = 4
objectives = ["first", "second"]

[environment]
name = "mine.py:Coins"
chance = 0.8

[[policies]]
name = "mine.py:Stubborn"
arm = 1

[[policies]]
name = "ucb1"
"""

# Another world in every run; the environment says its tolerances.
WORLDS = """\
name = "worlds"
horizon = 1_000
runs = 3
objectives = ["quality", "cost"]
checkpoints = [300, 1_000]
worlds_from = 1000

[environment]
name = "tolerance"
kind = "interactions"

[[policies]]
name = "lex-linucb"

[[policies]]
name = "random"
"""


def small(folder: Path, text: str = SMALL) -> Study:
    """Write a study and the user's file beside it, and read it."""
    return read_study(written(folder, text))


def written(folder: Path, text: str = SMALL) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(MINE)
    path = folder / "study.toml"
    path.write_text(text)
    return path
