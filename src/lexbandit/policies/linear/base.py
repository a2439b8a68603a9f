"""A rule on ridge regressions: what the models remember is shared, the rule says which arm."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, PolicyDecision, PolicyExplanation, Reason
from lexbandit.kernels import linear as kernel
from lexbandit.kernels.statistics import MEAN, WIDTH, Estimates
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.base import no_such_play
from lexbandit.policies.levels import Levels
from lexbandit.policies.linear.state import LinearState
from lexbandit.rounds import Rounds

# Features are computed for so many numbers at a time: 8 MB.
_CHUNK = 2**20


class LinearPolicy(LinearState):
    """A rule that decides by a ridge regression per arm on features φ(x) of the context.

    A = ridge·I + Σφφᵀ and b^i = Σ r^i φ over the rounds of the arm, θ^i = A⁻¹b^i; the mean at x is
    φᵀθ^i and its width a multiple of sqrt(φᵀA⁻¹φ). A is shared by the objectives until a reward is
    missing in some of them only. A subclass is a rule: it supplies `_look`, `_select`, `_replay`,
    `_shares` and `_reason`; with several `stages` an arm has one model a stage, see `_row`.
    """

    @abstractmethod
    def _look(self, features: Floats, ceilings: Floats) -> Estimates:
        """Return means, widths and indices at features[1, F]."""

    @abstractmethod
    def _select(self, point: Floats, ceilings: Floats) -> tuple[int, float]:
        """Return the arm to play and its exact probability; arm −1 if the context is outside.

        `point` goes to `kernels.linear_features` with `_kind` and `_table`: it is the context, or
        its features if the kernels do not know the map.
        """

    @abstractmethod
    def _replay(
        self, start: int, features: Floats, outcomes: Floats, ceilings: Floats, arms: Integers
    ) -> int:
        """Run the compiled loop from round `start` on, write the arms; returns where it stopped.

        It stops at the end, or at a round whose rewards are partly missing while one Gram matrix
        serves all objectives; that round's arm is written and not learned from.
        """

    @abstractmethod
    def _shares(self, features: Floats, ceilings: Floats, known: Estimates) -> Floats:
        """Return the exact probability of every arm; `known` is from `_look`."""

    @abstractmethod
    def _reason(
        self, features: Floats, ceilings: Floats, known: Estimates, shares: Floats
    ) -> tuple[Booleans, str]:
        """Return which arms are candidates, and in a sentence why the likely ones are chosen."""

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point = self._context(context) if self._known else self._features(context)[0]
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        decision = self._select(point, ceilings)
        if decision[0] < 0:
            checks.in_unit_cube("context", point)
        return tuple.__new__(PolicyDecision, decision)  # in half the time of PolicyDecision(...)

    # What a kernel does not take, and so did not do, is left to the doors.

    def _select_checked(self, point: Floats, allowed: Booleans | None) -> tuple[int, float]:
        if allowed is None and self._known:
            decision = self._select(point, self._no_ceiling)
            if decision[0] >= 0:
                return decision
        return self.select(point, allowed)

    @property
    def learns_in_parts(self) -> bool:
        """Whether there is one stage, so that it is known which model a play belongs to."""
        return self.stages == 1

    @property
    def plays_by_arm(self) -> list[int]:
        """How often each arm was played."""
        counts: list[int] = self._plays.astype(np.int64).tolist()
        return counts

    @property
    def model_features(self) -> int:
        """How many features φ(x) the means are linear in; 1, a constant, with several stages."""
        return self.features.count if self.stages == 1 else 1

    def _predict_checked(self, point: Floats) -> tuple[Floats, Floats]:
        shape = (self.arms, self.objectives, self.features.count)
        return self._predict_averages(np.broadcast_to(self._features(point)[0], shape))

    def _expect_checked(self, point: Floats, arm: int) -> tuple[Floats, Floats]:
        if self.stages > 1:
            return super()._expect_checked(point, arm)
        features, means = self._expected
        at = point if self._known else self._features(point)[0]
        weights = self._memory.weights
        if not kernel.expect(self._kind, at, self._table, arm, weights, features, means):
            checks.in_unit_cube("context", point)
        return features[0], means

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        if self.stages > 1:
            return super()._predict_averages(averages)
        means = np.einsum("kif,kif->ki", self._memory.weights, averages)
        return means, np.full_like(means, np.nan)

    def _update_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        if not (self._known and self._update(self._kind, point, arm, rewards) == kernel.DONE):
            self.update(point, arm, rewards, allowed)

    def _amend_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        one_stage = self._known and self.stages == 1
        if not (one_stage and self._amend(point, arm, rewards) == kernel.DONE):
            self.amend(point, arm, rewards, allowed)

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under; linear policies have no use for it.
        """
        point = self._context(context) if self._known else self._features(context)[0]
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._update(self._kind, point, number, values)
        if answer != kernel.DONE:
            self._refuse(answer, point, number, values)
            self._memory.split()
            self._update(self._kind, point, number, values)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that was told by `update`; NaN means "not these".

        From then on each objective has a Gram matrix of its own, and what is known is what would
        be known if the rewards had come at once, to rounding.
        """
        if self.stages > 1:
            super().amend(context, arm, rewards, allowed)
        point = self._context(context) if self._known else self._features(context)[0]
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._amend(point, number, values)
        if answer != kernel.DONE:
            self._refuse(answer, point, number, values)
            self._memory.split()
            self._amend(point, number, values)

    def _refuse(self, answer: int, point: Floats, arm: int, values: Floats) -> None:
        """Raise for what a kernel did not take; PARTIAL alone can be helped."""
        if answer == kernel.OUTSIDE:
            checks.in_unit_cube("context", point)
        if answer == kernel.TOO_LARGE:
            self._check_rewards("rewards", values)
        if answer == kernel.NO_PLAY:
            raise no_such_play(arm, values)

    def _update(self, kind: int, point: Floats, arm: int, rewards: Floats) -> int:
        """Record a play; nothing is done, and the answer is not DONE, if it can't be."""
        memory = self._memory
        return kernel.update(
            kind,
            point,
            self._table,
            arm,
            arm,
            rewards,
            self._plays,
            self._clock,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
        )

    def _amend(self, point: Floats, arm: int, rewards: Floats) -> int:
        memory = self._memory
        return kernel.amend(
            self._kind,
            point,
            self._table,
            arm,
            rewards,
            memory.priors[arm, 0],
            self._plays,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
        )

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        arms, propensities = np.empty(len(points), np.int64), np.empty(len(points))
        for part in self._chunks(len(points)):
            features = self.features.of_checked(points[part])
            ceilings = self._no_ceiling if masks is None else ceilings_of(masks[part])
            self._select_many(features, ceilings, arms[part], propensities[part])
        return arms, propensities

    @abstractmethod
    def _select_many(
        self, features: Floats, ceilings: Floats, arms: Integers, propensities: Floats
    ) -> None:
        """Write the arms to play at features[n, F] and their probabilities."""

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]: one compiled loop."""
        points, _ = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        for part in self._chunks(len(points)):
            self._update_many(self.features.of_checked(points[part]), played[part], values[part])

    def _update_many(self, features: Floats, arms: Integers, rewards: Floats) -> None:
        """Record checked rewards at features[n, F]."""
        memory = self._memory
        missing = np.isnan(rewards).sum(axis=1)
        if ((missing > 0) & (missing < self.objectives)).any():
            memory.split()
        kernel.update_many(
            features,
            arms,
            rewards,
            self._plays,
            self._clock,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
        )

    def _chunks(self, n: int) -> Iterator[slice]:
        """Yield parts of n rounds whose features take little room."""
        size = max(1, _CHUNK // self.features.count)
        for first in range(0, n, size):
            yield slice(first, first + size)

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        checks.in_unit_cube("contexts", rounds.contexts)
        masks = self._no_ceiling if rounds.allowed is None else ceilings_of(rounds.allowed)
        arms = np.empty(len(rounds), np.int64)
        for part in self._chunks(len(rounds)):
            ceilings = masks if rounds.allowed is None else masks[part]
            features = self.features.of_checked(rounds.contexts[part])
            outcomes, played = rounds.outcomes[part], arms[part]
            done = self._replay(0, features, outcomes, ceilings, played)
            while done < len(features):
                now = slice(done, done + 1)
                self._update_many(features[now], played[now], outcomes[done, played[now]])
                done = self._replay(done + 1, features, outcomes, ceilings, played)
        return arms

    def _features(self, context: Any) -> Floats:
        """Return φ(x) of a context, checked, as one row."""
        point = self._context(context)
        if not (point.min() >= 0.0 and point.max() <= 1.0):
            checks.in_unit_cube("context", point)
        return self.features.of_checked(point[np.newaxis])

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        features, ceilings = self._features(point), self._ceilings(allowed)
        return self._shares(features, ceilings, self._look(features, ceilings))

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        features = self._features(context)
        ceilings = self._ceilings(allowed)
        known = self._look(features, ceilings)
        shares = self._shares(features, ceilings, known)
        candidates, reason = self._reason(features, ceilings, known, shares)
        told = self._memory.counts - self._memory.priors[:, :1]
        seen = told.reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        reports = tuple(
            ArmReport(
                arm=arm,
                allowed=bool(ceilings[0, arm] > 0),
                plays=int(self._plays[arm]),
                observations=tuple(int(n) for n in seen[arm]),
                mean=tuple(known.stats[0, arm, :, MEAN].tolist()),
                width=tuple(known.stats[0, arm, :, WIDTH].tolist()),
                index=tuple(known.indices[0, :, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
                prior=int(self._memory.priors[arm * self.stages, 0]),
            )
            for arm in range(self.arms)
        )
        levels = self._levels(ceilings, known)
        return PolicyExplanation(
            self.name,
            None,
            reports,
            Reason(reason),
            levels.told() if levels else (),
            bool(levels and levels.unsure),
        )

    def _levels(self, ceilings: Floats, known: Estimates) -> Levels | None:
        """Return what a lexicographic rule finds at each objective; None for other rules."""
        return None
