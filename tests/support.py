"""What several test files share."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import lexbandit
from lexbandit.checks import Floats
from lexbandit.kernels.cells import Cells, new_work
from lexbandit.kernels.jit import F, kernel
from lexbandit.policies import REGISTRY, Policy
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.rounds import Rounds
from naive import DominantUcb1, InEveryCell, MocMab, ParetoUcb1, ScalarizedUcb1, Vector

PAPER = ["moc-mab", "cp-ucb1", "cs-ucb1", "cd-ucb1", "p-ucb1", "s-ucb1"]
EVERY_POLICY = REGISTRY.names()

# What a policy needs beyond the common parameters.
OWN: dict[str, dict[str, Any]] = {
    "doubling": {"policy": "moc-mab"},
    "projected": {"policy": "moc-mab", "visible": [1]},
    # Not needed, but quick also without the JIT; the defaults have tests of their own.
    "lex-linucb": {"features": "raw"},
    "lex-thompson": {"features": "raw"},
    "thompson": {"features": "raw"},
    "sum-thompson": {"features": "raw"},
    "cs-ts": {"features": "raw"},
    # Widths of learned noise: a tenth of them would be no exploration.
    "cs-ucb": {"features": "raw", "scale": 1.0},
    "cs-etc": {"features": "raw", "scale": 1.0},
    "pe-cs": {"features": "raw", "scale": 1.0},
}


def estimates(stats: Floats, indices: Floats) -> Cells:
    """Return what is known of arms in one context, as the lexicographic kernels read it.

    It is of the package's own type: a compiled kernel is kept on disk with the types of its
    arguments, and other programs could not read one that names a type of the tests.
    """
    arms, channels = stats.shape[1:3]
    plays, totals = np.zeros((1, arms)), np.zeros((1, 1 + channels))
    unused = np.zeros((1, 1)), np.zeros(0)
    return Cells(plays, totals, stats, indices, *unused, new_work(indices))


def cached(part: F) -> F:
    """Return a part of kernels as a kernel of its own: those are cached on disk, parts are not."""
    return kernel(getattr(part, "py_func", part))


def policy_in(test: str) -> str | None:
    """Return the policy among the parameters of a test such as test_one[plain-moc-mab]."""
    given = f"-{test.partition('[')[2].removesuffix(']')}-"
    found = [name for name in REGISTRY.names() if f"-{name}-" in given]
    return max(found, key=len, default=None)


def says(text: object, *parts: str) -> bool:
    """Tell whether a text has these parts in this order, whatever the words between them."""
    return re.search(".*".join(map(re.escape, parts)), str(text), re.DOTALL) is not None


def flat_means(contexts: np.ndarray) -> np.ndarray:
    """Means for the oracle of tests: arm 0 and 1 tied in objective 1, arm 1 better in 2."""
    means = np.zeros((len(contexts), 4, 2))
    means[:, :, 0] = [0.6, 0.6, 0.5, 0.1]
    means[:, :, 1] = [0.2, 0.4, 0.9, 0.9]
    return means


def make(name: str, *, arms: int = 4, seed: int = 0, **parameters: Any) -> Policy:
    """A policy for tests: 2 context features, 3 cells a side, a scale that makes it decide."""
    values: dict[str, Any] = {
        "dimension": 2,
        "objectives": 2,
        "horizon": 1000,
        "cells_per_side": 3,
        "scale": 0.1,
        **OWN.get(name, {}),
        **parameters,
    }
    if name == "oracle":
        values["means"] = lambda contexts: flat_means(contexts)[:, :arms]
    return lexbandit.make_policy(name, arms=arms, seed=seed, **values)


def on_cells(name: str) -> bool:
    """Whether a policy is a rule on a partition that keeps all it has learned in cells."""
    return isinstance(make(name), CellPolicy)


def some_rounds(n: int, *, arms: int = 4, seed: int = 0, binary: bool = False) -> Rounds:
    """Rounds with continuous rewards, or Bernoulli ones, that differ between arms."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, 2))
    means = np.tile(np.linspace(0.3, 0.6, 2 * arms).reshape(arms, 2), (n, 1, 1))
    noise = random.random((n, arms, 2))
    outcomes = (noise < means).astype(float) if binary else means + 0.5 * (noise - 0.5)
    if arms == 4:
        means = flat_means(contexts)
    return Rounds(contexts, outcomes, means)


def twin_of(name: str, *, arms: int, m: int, scale: float, horizon: int, seed: int) -> Any:
    """The plain twin of one of the paper's policies, with the same parameters."""
    if name == "moc-mab":
        return MocMab(arms, horizon, 2, m, scale=scale, seed=seed)
    rules: dict[str, Any] = {
        "cp-ucb1": ParetoUcb1,
        "cs-ucb1": ScalarizedUcb1,
        "cd-ucb1": DominantUcb1,
        "p-ucb1": ParetoUcb1,
        "s-ucb1": ScalarizedUcb1,
        "ucb1": DominantUcb1,
    }
    contextual = name.startswith("c")
    return InEveryCell(rules[name], arms, m if contextual else 1, scale, seed)


def as_lists(rounds: Rounds) -> tuple[list[Vector], list[list[Vector]]]:
    """Contexts and outcomes as plain Python numbers."""
    return rounds.contexts.tolist(), rounds.outcomes.tolist()


def step(policy: Policy, rounds: Rounds) -> np.ndarray:
    """Replay by hand: select and update, one round at a time."""
    arms = np.empty(len(rounds), np.int64)
    for t in range(len(rounds)):
        mask = None if rounds.allowed is None else rounds.allowed[t]
        arms[t] = policy.select(rounds.contexts[t], mask).arm
        policy.update(rounds.contexts[t], int(arms[t]), rounds.outcomes[t, arms[t]], mask)
    return arms


def as_if_real(path: Path, to: Path) -> Path:
    """Return a synthetic R6A file dressed up as a real one: another name, visits of 2009."""
    lines = (line.partition(" ") for line in path.read_text().splitlines(keepends=True))
    to.write_text("".join(f"{int(t) + 1_241_000_000} {rest}" for t, _, rest in lines))
    return to


def assert_same_state(one: Policy, other: Policy) -> None:
    """Every array of the two states is equal, bit for bit."""
    first, second = one.state(), other.state()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
