"""Seeded runs of every policy and of a small study, and the digests of what they decide.

Arms count exactly. Propensities are rounded to 12 decimals, so that another order of a sum does
not count as a change. Those of the pooled rules come from LAPACK, whose rounding differs from one
processor to the next: a weighted sum of them is recorded, and compared with a tolerance.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.studies import SMALL, small
from lexbandit import InvalidInput
from lexbandit.bench.run import plan, play
from lexbandit.policies import REGISTRY, Policy
from lexbandit.rounds import Rounds
from support import make

FOLDER = Path(__file__).parent
# The rules on the pooled linear model change on purpose while they are worked on.
POOLED = ("cs-etc", "cs-ts", "cs-ucb", "lex-thompson", "pe-cs", "sum-thompson", "thompson")

ARMS = 4
ROUNDS = 240
BOUNDS = ("anytime", "anytime-kl", "empirical-bernstein", "kl", "prior-free", "ucb1")


def file_of(name: str) -> Path:
    """Return the file that holds the digests of a policy."""
    return FOLDER / ("pooled.json" if name in POOLED else "policies.json")


def recorded(file: Path) -> dict[str, Any]:
    """Return the digests of a file, without its note."""
    return {key: value for key, value in json.loads(file.read_text()).items() if key != "note"}


class Log:
    """What a run decides: arms and propensities in order."""

    def __init__(self, *, exact: bool = True) -> None:
        self._hash = hashlib.sha256()
        self._exact = exact
        self._seen = 0
        self._sum = 0.0

    def add(self, arms: Any, propensities: Any = ()) -> None:
        """Add arms and their propensities."""
        self._hash.update(np.asarray(arms, np.int64).tobytes())
        values = np.asarray(propensities, np.float64)
        if self._exact:
            self._hash.update((np.round(values, 12) + 0.0).tobytes())
        else:
            weights = 1.0 + (self._seen + np.arange(values.size)) % 7  # so that their order counts
            self._sum += float(np.nansum(weights * values.ravel()))
            self._seen += values.size

    def digest(self) -> str:
        """Return the digest of all that was added, and the sum where that is recorded."""
        digest = self._hash.hexdigest()[:16]
        return digest if self._exact else f"{digest} {self._sum:.9f}"


def same(known: str | None, now: str | None) -> bool:
    """Tell whether two digests are of the same decisions."""
    if known is None or now is None:
        return known == now
    (digest, *total), (digest_now, *total_now) = known.split(), now.split()
    sums = np.array(total, np.float64), np.array(total_now, np.float64)
    return digest == digest_now and len(total) == len(total_now) and np.allclose(*sums, atol=1e-6)


def flat_means(contexts: np.ndarray, arms: int, objectives: int) -> np.ndarray:
    """Return means that do not depend on the context; two arms are tied in every objective."""
    means = np.linspace(0.3, 0.7, arms * objectives).reshape(arms, objectives)
    means[1] = means[0]
    return np.tile(means, (len(contexts), 1, 1))


def rounds_of(n: int, *, arms: int, objectives: int, seed: int, binary: bool = False) -> Rounds:
    """Return rounds with rewards in [0, 1]; binary ones lead to many ties."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, 2))
    means = flat_means(contexts, arms, objectives)
    noise = random.random(means.shape)
    outcomes = (noise < means).astype(float) if binary else 0.5 * means + 0.5 * noise
    return Rounds(contexts, outcomes, means)


def masked(rounds: Rounds, seed: int) -> Rounds:
    """Return the rounds with random masks that allow at least one arm each."""
    random = np.random.default_rng(seed)
    allowed = random.random((len(rounds), rounds.arms)) < 0.5
    allowed[np.arange(len(rounds)), random.integers(rounds.arms, size=len(rounds))] = True
    return Rounds(rounds.contexts, rounds.outcomes, rounds.means, allowed)


def missing(rounds: Rounds, seed: int) -> Rounds:
    """Return the rounds with a quarter of the rewards not observed."""
    hidden = np.random.default_rng(seed).random(rounds.outcomes.shape) < 0.25
    outcomes = np.where(hidden, np.nan, rounds.outcomes)
    return Rounds(rounds.contexts, outcomes, rounds.means, rounds.allowed)


def policy_of(name: str, *, objectives: int = 2, **parameters: Any) -> Policy:
    """Return the policy for the runs."""
    if name == "oracle":
        policy: Policy = REGISTRY.builder(name)(
            arms=ARMS,
            dimension=2,
            objectives=objectives,
            means=lambda contexts: flat_means(contexts, ARMS, objectives),
            seed=5,
        )
        return policy
    return make(name, arms=ARMS, objectives=objectives, seed=5, **parameters)


def replayed(policy: Policy, rounds: Rounds, log: Log) -> None:
    """Replay in two parts, then select in some contexts one by one and at once."""
    log.add(policy.replay(rounds[: len(rounds) // 2]))
    log.add(policy.replay(rounds[len(rounds) // 2 :]))
    contexts = np.random.default_rng(99).random((24, 2))
    decisions = [policy.select(context) for context in contexts[:12]]
    log.add([d.arm for d in decisions], [d.propensity for d in decisions])
    log.add(*policy.select_many(contexts[12:]))
    for context in contexts[:2]:
        arms = policy.explain(context).arms
        log.add([report.plays for report in arms], [report.propensity for report in arms])


def late(policy: Policy, rounds: Rounds, log: Log) -> None:
    """Select, and learn the rewards up to 20 rounds later, in another order."""
    random = np.random.default_rng(17)
    waiting: list[tuple[int, int]] = []
    for t in range(len(rounds)):
        mask = None if rounds.allowed is None else rounds.allowed[t]
        decision = policy.select(rounds.contexts[t], mask)
        log.add([decision.arm], [decision.propensity])
        waiting.append((t, decision.arm))
        while len(waiting) > 20 or (waiting and t == len(rounds) - 1):
            then, arm = waiting.pop(random.integers(len(waiting)))
            before = None if rounds.allowed is None else rounds.allowed[then]
            policy.update(rounds.contexts[then], arm, rounds.outcomes[then, arm], before)
    contexts = random.random((8, 2))
    log.add(*policy.select_many(contexts))


def grown(policy: Policy, rounds: Rounds, log: Log) -> None:
    """Learn, add an arm, and one with a prior where the policy takes priors; go on."""
    log.add(policy.replay(rounds))
    policy.add_arm()
    try:
        policy.add_arm(([0.6] * policy.objectives, 3))
    except InvalidInput:
        log.add([-1])
    more = rounds_of(ROUNDS // 2, arms=policy.arms, objectives=policy.objectives, seed=8)
    replayed(policy, more, log)


def by_objectives(objectives: int, name: str, log: Log) -> None:
    """Replay rounds of so many objectives."""
    rounds = rounds_of(ROUNDS, arms=ARMS, objectives=objectives, seed=7, binary=True)
    replayed(policy_of(name, objectives=objectives), rounds, log)


def by_bound(bound: str, rounds: Rounds, name: str, log: Log) -> None:
    """Replay with another bound than the policy's own."""
    replayed(policy_of(name, bound=bound, delta=0.1), rounds, log)


def by_tolerance(rounds: Rounds, name: str, log: Log) -> None:
    """Replay with tolerances."""
    replayed(policy_of(name, tolerance=[0.2, 0.1], lam=0.5), rounds, log)


Run = Callable[[str, Log], None]


def cases(name: str) -> Iterator[tuple[str, Run]]:
    """Yield the names of a policy's runs, and the runs."""
    base = rounds_of(ROUNDS, arms=ARMS, objectives=2, seed=1)
    binary = rounds_of(ROUNDS, arms=ARMS, objectives=2, seed=2, binary=True)
    yield "plain", lambda n, log: replayed(policy_of(n), base, log)
    yield "ties", lambda n, log: replayed(policy_of(n), binary, log)
    yield "masked", lambda n, log: replayed(policy_of(n), masked(base, 3), log)
    yield "missing", lambda n, log: replayed(policy_of(n), missing(base, 4), log)
    yield (
        "masked-missing-late",
        lambda n, log: late(policy_of(n), missing(masked(binary[:80], 5), 6), log),
    )
    if name != "oracle":  # it is given the means of its arms
        yield "added-arms", lambda n, log: grown(policy_of(n), base[: ROUNDS // 2], log)
    for objectives in (1, 3):
        yield f"objectives-{objectives}", partial(by_objectives, objectives)
    if "tolerance" in REGISTRY.parameters(name):
        for case, rounds in (("tolerance", base), ("tolerance-ties", binary)):
            yield case, partial(by_tolerance, rounds)
    for bound in BOUNDS if "bound" in REGISTRY.parameters(name) else ():
        yield f"bound-{bound}", partial(by_bound, bound, base)


def digests_of(name: str) -> dict[str, str]:
    """Return the digest of every run of a policy; "refused" where the policy refuses it."""
    found = {}
    for case, run in cases(name):
        log = Log(exact=name not in POOLED)
        try:
            run(name, log)
            found[case] = log.digest()
        except InvalidInput:
            found[case] = "refused"
    return found


def study_digests(folder: Path) -> dict[str, str]:
    """Return the digests of a small study's numbers, by policy and scale."""
    found: dict[str, Any] = {}
    for run in plan(small(folder, SMALL)):
        for entry, curve in zip(run.entries, play(run).curves, strict=True):
            log = found.setdefault(f"{entry.policy.name} {dict(entry.parameters)}", Log())
            for numbers in (curve.regret, curve.pareto_regret, curve.reward, curve.arm_share):
                log.add([run.number], np.round(np.asarray(numbers, np.float64), 6))
    return {label: log.digest() for label, log in found.items()}
