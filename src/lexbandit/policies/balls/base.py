"""A policy on balls in the space of (context, arm), which zooms in where it plays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.decisions import ArmReport, PolicyDecision, PolicyExplanation, Reason
from lexbandit.errors import InvalidInput, counted
from lexbandit.kernels import balls as kernel
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.base import (
    Policy,
    Prior,
    arrays_like,
    check_counted,
    same_definition,
)
from lexbandit.policies.explain import likely, listed
from lexbandit.rounds import Rounds

_BY_BALL = ("centres", "radii", "owners", "plays", "counts", "sums")
_FIRST_BALLS = 64


class BallMemory:
    """The arrays of `kernels.balls`; they grow as balls are added, in order after the root.

    `bound` is (factor, offset) of the widths, `metric` is (L, α).
    """

    def __init__(
        self, *, arms: int, dimension: int, objectives: int, bound: Floats, metric: Floats
    ) -> None:
        self.used = 1
        self.balls = kernel.Balls(
            centres=np.zeros((_FIRST_BALLS, dimension)),
            sizes=np.zeros((_FIRST_BALLS, 2)),
            links=np.zeros((_FIRST_BALLS, 2), np.int64),
            heads=np.zeros(arms, np.int64),
            plays=np.zeros(_FIRST_BALLS),
            stats=np.zeros((_FIRST_BALLS, objectives, kernel.FIELDS)),
            metric=metric,
            bound=bound,
        )
        self.balls.sizes[0] = 1.0, np.inf
        self.balls.links[0, kernel.ARM] = -1
        kernel.derive(self.balls, 0, 1)

    def grow_if_full(self) -> None:
        """Double the arrays if there is no space for another ball."""
        if self.used == len(self.balls.plays):
            self._grow()

    def _grow(self) -> None:
        names = ("centres", "sizes", "links", "plays", "stats")
        old = {name: getattr(self.balls, name) for name in names}
        self.balls = self.balls._replace(
            **{name: np.concatenate([array, np.zeros_like(array)]) for name, array in old.items()}
        )

    def add_arm(self) -> None:
        """Add an arm, which the root alone covers."""
        self.balls = self.balls._replace(heads=np.append(self.balls.heads, 0))

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of what is known of the balls."""
        balls, used = self.balls, slice(0, self.used)
        return {
            "centres": balls.centres[used].copy(),
            "radii": balls.sizes[used, kernel.RADIUS].copy(),
            "owners": balls.links[used, kernel.ARM].copy(),
            "plays": balls.plays[used].astype(np.int64),
            "counts": balls.stats[used, :, kernel.COUNT].astype(np.int64),
            "sums": balls.stats[used, :, kernel.SUM].copy(),
        }

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        n, old = len(contents["plays"]), self.balls
        fresh = BallMemory(
            arms=len(old.heads),
            dimension=old.centres.shape[1],
            objectives=old.stats.shape[1],
            bound=old.bound,
            metric=old.metric,
        )
        while len(fresh.balls.plays) < n:
            fresh._grow()
        fresh.used, balls = n, fresh.balls
        balls.centres[:n] = contents["centres"]
        balls.sizes[1:n, kernel.RADIUS] = contents["radii"][1:]
        for ball in range(1, n):
            radius = balls.sizes[ball, kernel.RADIUS]
            balls.sizes[ball, kernel.REACH] = kernel.reach_of(radius, balls.metric)
        balls.links[:n, kernel.ARM] = contents["owners"]
        kernel.link(balls, 1, n)
        balls.plays[:n] = contents["plays"]
        balls.stats[:n, :, kernel.COUNT] = contents["counts"]
        balls.stats[:n, :, kernel.SUM] = contents["sums"]
        kernel.derive(balls, 0, n)
        self.used, self.balls = n, balls


class BallPolicy(Policy):
    """Zooming with widths factor/sqrt(offset + N), by the first `ranked` objectives.

    The distance of two points is min(1, L‖x − x'‖^α) for one arm and 1 for two arms: nothing is
    known of how arms resemble each other. At first one ball of radius 1 covers everything. In a
    round, the domain of a ball is what it covers and no smaller ball does; the balls in whose
    domain an allowed arm lies are relevant. One is drawn from the relevant balls of the highest
    index (of those that no other dominates, by several objectives), then one of the allowed arms in
    its domain. Once the widths of the ball that learns are at most its radius, every play of it
    adds a ball of half the radius at the point played.

    `update` credits a ball by its arguments alone: the one of the highest index, first objective
    first, of those with (context, arm) in their domain; the oldest of equals.
    """

    _why: str

    def __init__(
        self,
        *,
        arms: int,
        dimension: int,
        objectives: int,
        ranked: int,
        factor: float,
        offset: float,
        L: float,
        alpha: float,
        seed: int,
    ) -> None:
        super().__init__(arms=arms, dimension=dimension, objectives=objectives)
        self._ranked = ranked
        self._random = seeded(checks.whole("seed", seed, least=0))
        self._memory = BallMemory(
            arms=self.arms,
            dimension=self.dimension,
            objectives=self.objectives,
            bound=np.array([factor, offset]),
            metric=np.array([L, alpha]),
        )

    @property
    def balls(self) -> int:
        """The number of balls: memory, and the time of a round, grow with it alone."""
        return self._memory.used

    def _point(self, context: Any) -> Floats:
        """Return the checked context as an array of one row."""
        point = self._context(context)
        checks.in_unit_cube("context", point)
        return np.asarray(point[np.newaxis])

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point, ceilings = self._point(context), self._ceilings(allowed)
        memory = self._memory
        return PolicyDecision._make(
            kernel.select(memory.balls, memory.used, self._ranked, point, ceilings, self._random)
        )

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed"."""
        point = self._point(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        self._ceilings(allowed)
        self._check_rewards("rewards", values)
        memory = self._memory
        memory.grow_if_full()
        outcomes = values[np.newaxis, np.newaxis]
        memory.used = kernel.update(
            memory.balls, memory.used, self._ranked, point, number, outcomes
        )

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        ceilings = self._no_ceiling
        if rounds.allowed is not None:
            ceilings = ceilings_of(rounds.allowed)
        memory = self._memory
        arms = np.empty(len(rounds), np.int64)
        done = 0
        while done < len(rounds):
            memory.grow_if_full()
            done, memory.used = kernel.replay(
                memory.balls,
                memory.used,
                self._ranked,
                rounds.contexts,
                rounds.outcomes,
                ceilings,
                done,
                self._random,
                arms,
            )
        return arms

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what is known of every arm at `context`, by the ball that would learn from it."""
        point, ceilings = self._point(context), self._ceilings(allowed)
        balls, used = self._memory.balls, self._memory.used
        shares = kernel.shares(balls, used, self._ranked, point, ceilings)
        reports = tuple(
            self._report(point, arm, bool(ceilings[0, arm] > 0), float(shares[arm]))
            for arm in range(self.arms)
        )
        chosen = likely(shares)
        credited = [self._credited(point, arm) for arm in chosen]
        radii = sorted({float(balls.sizes[ball, kernel.RADIUS]) for ball in credited})
        sizes = " and ".join(f"{radius:g}" for radius in radii)
        found = f"radius {sizes}; {counted(used, 'ball')} in all"
        reason = Reason(f"{listed(chosen)}: {self._why} ({found}).")
        return PolicyExplanation(self.name, None, reports, reason)

    def _report(self, point: Floats, arm: int, allowed: bool, share: float) -> ArmReport:
        balls, used = self._memory.balls, self._memory.used
        ball = self._credited(point, arm)
        known = balls.stats[ball]
        far = balls.stats[:used, :, kernel.PRE].min(axis=0) + 1.0
        index = [kernel.index_of(balls, ball, i, float(far[i])) for i in range(self.objectives)]
        return ArmReport(
            arm=arm,
            allowed=allowed,
            plays=int(balls.plays[ball]),
            observations=tuple(int(n) for n in known[:, kernel.COUNT]),
            mean=tuple(known[:, kernel.MEAN].tolist()),
            width=tuple(known[:, kernel.WIDTH].tolist()),
            index=tuple(index),
            candidate=share > 0,
            propensity=share,
        )

    def _credited(self, point: Floats, arm: int) -> int:
        balls, used = self._memory.balls, self._memory.used
        found = np.empty(used, np.int64)
        return kernel.credited(balls, used, self._ranked, point, 0, arm, found)

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm that nothing is known of; the ball of radius 1 covers it."""
        self._refuse_prior(prior)
        self._memory.add_arm()
        self._set_arms(self.arms + 1)
        return self.arms - 1

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        centres  float64[B, d]  the context at which each ball was added (0 for the first)
        radii    float64[B]     1, ½, ¼ and so on
        owners   int64[B]       the arm of each ball, −1 for the first, which covers all
        plays    int64[B]       rounds that each ball learned from
        counts   int64[B, D]    observations per objective
        sums     float64[B, D]  their sums
        metric   float64[2]     L and α
        random   uint64[2]      the random state
        """
        return {
            **self._memory.contents(),
            **self._definition(),
            "random": self._random.copy(),
        }

    def _definition(self) -> dict[str, np.ndarray]:
        """Return what says what the state's numbers mean; it must be equal to load a state."""
        return {"metric": self._memory.balls.metric.copy()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives and metric.

        Anything that does not fit is refused, and nothing changes.
        """
        arrays = arrays_like(state, self.state(), _BY_BALL)
        self._check_state(arrays)
        self._memory.restore(arrays)
        self._random = arrays["random"]

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        same_definition(arrays, self._definition())
        check_counted(arrays, "plays")
        centres, radii, owners, plays, counts, sums = (arrays[name] for name in _BY_BALL)
        checks.in_unit_cube("state['centres']", centres)
        first = np.arange(len(radii)) == 0
        if not first.any():
            raise InvalidInput("state['radii'] holds no ball; the first one covers everything.")
        halved = (np.frexp(radii)[0] == 0.5) & (radii > 0) & (radii <= 0.5)
        checks.refuse_first(
            "state['radii']",
            radii,
            ~np.where(first, radii == 1.0, halved),
            "the first radius is 1, the others are ½, ¼ and so on",
        )
        owned = (owners >= 0) & (owners < self.arms)
        checks.refuse_first(
            "state['owners']",
            owners,
            ~np.where(first, owners == -1, owned),
            f"the first owner is -1, the others go from 0 to {self.arms - 1}",
        )
        wrong = (counts < 0) | (counts > plays[:, np.newaxis])
        checks.refuse_first(
            "state['counts']", counts, wrong, "counts go from 0 to the plays of the ball"
        )
        wrong = ~np.isfinite(sums) | ((counts == 0) & (sums != 0))
        checks.refuse_first("state['sums']", sums, wrong, "sums are finite, and 0 without counts")
