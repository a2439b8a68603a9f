"""A rule on ridge regressions: the models are shared, the rule says which arm to play."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, PolicyDecision, PolicyExplanation, Reason
from lexbandit.errors import InvalidInput
from lexbandit.features import FeatureMap
from lexbandit.kernels import linear as kernel
from lexbandit.kernels.cells import MEAN, WIDTH
from lexbandit.kernels.linear_features import GIVEN
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.base import (
    Policy,
    Prior,
    array_of,
    arrays_like,
    check_counted,
    check_priors,
    mapping_of,
    no_such_play,
    refuse_other_priors,
    same_definition,
)
from lexbandit.policies.levels import Levels
from lexbandit.rounds import Rounds

# Features are computed for so many numbers at a time: 8 MB.
_CHUNK = 2**20

# With it, widths are right to 10⁻⁵ after 5·10⁶ rounds of one and the same context.
LEAST_RIDGE = 0.001

# How far A⁻¹A may be from the identity, in units of the condition number: rounding, not damage.
_RESIDUE = 1e-8


def _ridge(value: object) -> float:
    """Return the ridge; without one the Gram matrix of a new arm is singular."""
    number = checks.at_least_zero("ridge", value)
    if number < LEAST_RIDGE:
        raise InvalidInput(
            f"ridge must be at least {LEAST_RIDGE}, got {value!r}: at 0 the Gram matrix of a new "
            "arm is singular, and with less than this its inverse is not accurate."
        )
    return number


def _prior_sums(priors: Floats, features: FeatureMap) -> tuple[Floats, Floats]:
    """Return what priors add to Gram matrices[R, 1, F, F] and to moments[R, D, F].

    w E[φφᵀ] and w m E[φ], with contexts uniform on [0,1]^d.
    """
    weights, means = priors[:, :1, np.newaxis], priors[:, 1:, np.newaxis]
    if not weights.any():
        return np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1))
    first, second = features.expectations()
    return weights[..., np.newaxis] * second, weights * means * first


def _solved(grams: Floats, inverses: Floats, moments: Floats) -> Floats:
    """Return θ that solves Aθ = b, from A⁻¹ and with one step that corrects its rounding."""
    weights = np.matmul(inverses, moments[..., np.newaxis])
    error = moments[..., np.newaxis] - np.matmul(grams, weights)
    return np.ascontiguousarray((weights + np.matmul(inverses, error))[..., 0])


class LinearMemory:
    """The models of all arms, as `kernels.linear` reads them.

    `stages` models an arm, of `size` features. One Gram matrix a row serves all objectives until
    `split`. priors[row] is (weight, means…) of what a model began with: it is part of the other
    arrays as if it had been observed, and is stored so that it can be subtracted again.
    """

    def __init__(
        self,
        *,
        arms: int,
        stages: int,
        objectives: int,
        size: int,
        ridge: float,
        settings: Sequence[float],
    ) -> None:
        self.stages, self.ridge = stages, ridge
        rows = arms * stages
        self.priors: Floats = np.zeros((rows, 1 + objectives))
        self.models = kernel.Models(
            plays=np.zeros(arms),
            clock=np.zeros(1, np.int64),
            grams=np.tile(ridge * np.eye(size), (rows, 1, 1, 1)),
            inverses=np.tile(np.eye(size) / ridge, (rows, 1, 1, 1)),
            moments=np.zeros((rows, objectives, size)),
            weights=np.zeros((rows, objectives, size)),
            counts=np.zeros((rows, objectives)),
            settings=np.array(settings, np.float64),
        )

    def split(self) -> None:
        """Give every objective a Gram matrix of its own, if they share one; so far it is theirs."""
        grams, inverses = self.models.grams, self.models.inverses
        objectives = self.models.counts.shape[1] // grams.shape[1]
        self.models = self.models._replace(
            grams=np.repeat(grams, objectives, axis=1),
            inverses=np.repeat(inverses, objectives, axis=1),
        )

    def add_arm(self) -> None:
        """Add models that have seen nothing."""
        old = self.models
        fresh = LinearMemory(
            arms=1,
            stages=self.stages,
            objectives=old.counts.shape[1],
            size=old.weights.shape[2],
            ridge=self.ridge,
            settings=(),
        )
        if old.grams.shape[1] > 1:
            fresh.split()
        names = ("plays", "grams", "inverses", "moments", "weights", "counts")
        self.models = old._replace(
            **{
                name: np.concatenate([getattr(old, name), getattr(fresh.models, name)])
                for name in names
            }
        )
        self.priors = np.concatenate([self.priors, fresh.priors])

    def set_prior(self, row: int, weight: int, means: Floats, features: FeatureMap) -> None:
        """Let a model that saw nothing know as much as after `weight` rounds of these means."""
        self.priors[row] = [weight, *means]
        gram, moments = _prior_sums(self.priors[row : row + 1], features)
        models, one = self.models, slice(row, row + 1)
        models.counts[row] += weight
        models.grams[row] += gram[0]
        models.moments[row] += moments[0]
        kernel.invert_all(models.grams[one], models.inverses[one])
        models.weights[row] = _solved(models.grams[row], models.inverses[row], models.moments[row])

    def merge(self, contents: dict[str, np.ndarray], features: FeatureMap) -> None:
        """Add checked contents of other rounds; the ridge and the priors are counted once."""
        if contents["grams"].shape[1] > self.models.grams.shape[1]:
            self.split()
        models = self.models
        gram, moments = _prior_sums(self.priors, features)
        ridge = self.ridge * np.eye(models.grams.shape[2])
        theirs = np.broadcast_to(contents["grams"], models.grams.shape)
        grams = models.grams + (theirs - ridge - gram)
        inverses = np.empty_like(grams)
        if not kernel.invert_all(grams, inverses):
            raise InvalidInput("state['grams'] cannot be added: the sum is singular.")
        summed = models.moments + (contents["moments"] - moments)
        self.models = models._replace(
            plays=models.plays + contents["plays"],
            clock=models.clock + contents["rounds"],
            grams=grams,
            inverses=inverses,
            moments=summed,
            weights=_solved(grams, inverses, summed),
            counts=models.counts + (contents["counts"] - self.priors[:, :1]),
        )

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of everything but the settings."""
        models = self.models
        return {
            "plays": models.plays.astype(np.int64),
            "rounds": models.clock.copy(),
            "counts": models.counts.astype(np.int64),
            "grams": models.grams.copy(),
            "inverses": models.inverses.copy(),
            "moments": models.moments.copy(),
            "weights": models.weights.copy(),
            "priors": self.priors.copy(),
        }

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything but the settings by checked contents."""
        self.priors = contents["priors"]
        self.models = self.models._replace(
            plays=contents["plays"].astype(np.float64),
            clock=contents["rounds"],
            grams=contents["grams"],
            inverses=contents["inverses"],
            moments=contents["moments"],
            weights=contents["weights"],
            counts=contents["counts"].astype(np.float64),
        )

    def check(self, contents: dict[str, np.ndarray]) -> None:
        """Refuse contents that no stream of rewards can lead to."""
        for name in ("grams", "inverses", "moments", "weights"):
            array = contents[name]
            checks.refuse_first(f"state[{name!r}]", array, ~np.isfinite(array), "all are finite")
        for name in ("grams", "inverses"):
            array = contents[name]
            checks.refuse_first(
                f"state[{name!r}]", array, array != array.swapaxes(2, 3), "each is symmetric"
            )
        counts = contents["counts"]
        check_counted(contents, "counts")
        if contents["grams"].shape[1] == 1 and (counts != counts[:, :1]).any():
            raise InvalidInput(
                "state['counts'] differ between objectives, and one Gram matrix serves them all."
            )
        for name in ("moments", "weights"):
            wrong = (counts[:, :, np.newaxis] == 0) & (contents[name] != 0)
            checks.refuse_first(f"state[{name!r}]", contents[name], wrong, "0 without counts")
        self._check_grams(contents["grams"], contents["inverses"], counts)
        self._check_weights(contents["grams"], contents["moments"], contents["weights"])

    def _check_weights(self, grams: Floats, moments: Floats, weights: Floats) -> None:
        """Refuse weights that do not solve Aθ = b."""
        grams = np.broadcast_to(grams, (*weights.shape[:2], *grams.shape[2:]))
        solved = np.einsum("rgjk,rgk->rgj", grams, weights)
        size = np.linalg.norm(grams, axis=(2, 3)) * np.linalg.norm(weights, axis=2)
        residue = np.abs(solved - moments).max(axis=2)
        checks.refuse_first(
            "state['grams'] times state['weights'], less state['moments'],",
            residue,
            residue > _RESIDUE * (size + np.linalg.norm(moments, axis=2)),
            "the weights must solve Aθ = b",
        )

    def _check_grams(self, grams: Floats, inverses: Floats, counts: np.ndarray) -> None:
        """Refuse Gram matrices that are not ridge·I + Σφφᵀ, and inverses that are not theirs."""
        size = grams.shape[2]
        unseen = np.broadcast_to((counts[:, : grams.shape[1]] == 0)[:, :, None, None], grams.shape)
        checks.refuse_first(
            "state['grams']",
            grams,
            unseen & (grams != self.ridge * np.eye(size)),
            f"a model without counts has the ridge {self.ridge:g} and nothing else",
        )
        values = np.linalg.eigvalsh(grams)
        lowest, highest = values[..., 0], values[..., -1]
        wrong = lowest < self.ridge * (1 - 1e-6) - 1e-12 * size * highest
        checks.refuse_first(
            "the least eigenvalue of state['grams']",
            lowest,
            wrong,
            f"each matrix is positive definite, with the ridge {self.ridge:g} or more",
        )
        residue = np.abs(inverses @ grams - np.eye(size)).max(axis=(2, 3))
        condition = np.linalg.norm(inverses, axis=(2, 3)) * highest
        checks.refuse_first(
            "state['inverses'] times state['grams'], less the identity,",
            residue,
            residue > _RESIDUE * condition,
            "each must be the inverse of its Gram matrix",
        )


class LinearPolicy(Policy):
    """A rule that decides by a ridge regression per arm on features φ(x) of the context.

    A = ridge·I + Σφφᵀ and b^i = Σ r^i φ over the rounds of the arm, θ^i = A⁻¹b^i; the mean at x is
    φᵀθ^i and its width a multiple of sqrt(φᵀA⁻¹φ). A is shared by the objectives until a reward is
    missing in some of them only. A subclass is a rule: `_rule` has its compiled functions (see
    `kernels.linear`), which read the numbers in `settings` and look at the first `ranked`
    objectives; `_reason` explains. With several `stages` an arm has one model a stage.
    """

    _rule: kernel.LinearRule

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        ridge: float,
        seed: int,
        settings: Sequence[float],
        ranked: int,
        stages: int = 1,
    ) -> None:
        super().__init__(arms=arms, dimension=features.dimension, objectives=objectives)
        self.features = features
        self.ridge = _ridge(ridge)
        self.stages = stages
        self._ranked = ranked
        self._random = seeded(checks.whole("seed", seed, least=0))
        self._memory = LinearMemory(
            arms=arms,
            stages=stages,
            objectives=objectives,
            size=features.count,
            ridge=self.ridge,
            settings=settings,
        )
        self._kind = features.kind
        self._known = self._kind != GIVEN
        self._table: Floats = features.table if self._known else np.empty((features.count, 0))
        # For `_expect_checked`: the features of a context, and what an arm is expected to give.
        self._expected: tuple[Floats, Floats] = np.empty((1, features.count)), np.empty(objectives)

    @abstractmethod
    def _reason(
        self, features: Floats, ceilings: Floats, work: kernel.LinearWork, shares: Floats
    ) -> tuple[Booleans, str]:
        """Return which arms are candidates, and in a sentence why the likely ones are chosen.

        `work` has what is known of all arms and objectives at features[1, F].
        """

    def _select(self, point: Floats, ceilings: Floats) -> tuple[int, float]:
        """Return the arm to play and its exact probability; arm −1 if the context is outside.

        `point` is the context, or its features if the kernels do not know the map.
        """
        return self._rule.select(
            self._kind,
            point,
            self._table,
            ceilings,
            self._ranked,
            self._random,
            *self._memory.models,
        )

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point = self._point(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        decision = self._select(point, ceilings)
        if decision[0] < 0:
            checks.in_unit_cube("context", point)
        return tuple.__new__(PolicyDecision, decision)  # in half the time of PolicyDecision(...)

    # What a kernel does not take, and so did not do, is left to the checked methods.

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
        counts: list[int] = self._memory.models.plays.astype(np.int64).tolist()
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
        weights = self._memory.models.weights
        if not kernel.expect(self._kind, at, self._table, arm, weights, features, means):
            checks.in_unit_cube("context", point)
        return features[0], means

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        if self.stages > 1:
            return super()._predict_averages(averages)
        means = np.einsum("kif,kif->ki", self._memory.models.weights, averages)
        return means, np.full_like(means, np.nan)

    def _update_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        if not (self._known and self._update(point, arm, rewards) == kernel.DONE):
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
        self._learn(self._update, context, arm, rewards, allowed)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that `update` recorded; NaN means "not these".

        From then on each objective has a Gram matrix of its own, and what is known is what would
        be known if the rewards had come at once, to rounding.
        """
        if self.stages > 1:
            super().amend(context, arm, rewards, allowed)
        self._learn(self._amend, context, arm, rewards, allowed)

    def _learn(
        self,
        record: Callable[[Floats, int, Floats], int],
        context: Any,
        arm: int,
        rewards: Any,
        allowed: Any,
    ) -> None:
        """Check the arguments and `record` them; raise for what a kernel does not take.

        PARTIAL alone can be helped: from then on each objective has a Gram matrix of its own.
        """
        point = self._point(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = record(point, number, values)
        if answer == kernel.DONE:
            return
        if answer == kernel.OUTSIDE:
            checks.in_unit_cube("context", point)
        if answer == kernel.TOO_LARGE:
            self._check_rewards("rewards", values)
        if answer == kernel.NO_PLAY:
            raise no_such_play(number, values)
        self._memory.split()
        record(point, number, values)

    def _update(self, point: Floats, arm: int, rewards: Floats) -> int:
        """Record a play; nothing is done, and the answer is not DONE, if it can't be."""
        return self._rule.update(self._kind, point, self._table, arm, rewards, *self._memory.models)

    def _amend(self, point: Floats, arm: int, rewards: Floats) -> int:
        prior = self._memory.priors[arm, 0]
        models = self._memory.models
        return kernel.amend(self._kind, point, self._table, arm, rewards, prior, models)

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        arms, propensities = np.empty(len(points), np.int64), np.empty(len(points))
        for part in self._chunks(len(points)):
            self._rule.select_many(
                self.features.of_checked(points[part]),
                self._no_ceiling if masks is None else ceilings_of(masks[part]),
                self._ranked,
                self._random,
                arms[part],
                propensities[part],
                self._memory.models,
            )
        return arms, propensities

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]: one compiled loop."""
        points, _ = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        for part in self._chunks(len(points)):
            self._update_many(self.features.of_checked(points[part]), played[part], values[part])

    def _update_many(self, features: Floats, arms: Integers, rewards: Floats) -> None:
        """Record checked rewards at features[n, F]."""
        memory = self._memory
        done = self._rule.update_many(0, features, arms, rewards, memory.models)
        if done < len(features):  # from here on each objective needs a Gram matrix of its own
            memory.split()
            self._rule.update_many(done, features, arms, rewards, memory.models)

    def _chunks(self, n: int) -> Iterator[slice]:
        """Yield parts of n rounds whose features take little memory."""
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
            if done < len(features):
                now = slice(done, done + 1)
                self._update_many(features[now], played[now], outcomes[done, played[now]])
                self._replay(done + 1, features, outcomes, ceilings, played)
        return arms

    def _replay(
        self, start: int, features: Floats, outcomes: Floats, ceilings: Floats, arms: Integers
    ) -> int:
        """Run the compiled loop from round `start` on, write the arms; returns where it stopped."""
        models = self._memory.models
        return self._rule.replay(
            start, features, outcomes, ceilings, self._ranked, self._random, arms, models
        )

    def _point(self, context: Any) -> Floats:
        """Return what kernels take of a context: itself, or φ(x) if they do not know the map."""
        return self._context(context) if self._known else self._features(context)[0]

    def _features(self, context: Any) -> Floats:
        """Return φ(x) of a context, checked, as one row."""
        point = self._context(context)
        if not (point.min() >= 0.0 and point.max() <= 1.0):
            checks.in_unit_cube("context", point)
        return self.features.of_checked(point[np.newaxis])

    def _examine(self, features: Floats, ceilings: Floats) -> tuple[kernel.LinearWork, Floats]:
        """Return what is known at features[1, F] and the exact probability of every arm."""
        return self._rule.examine(features, ceilings, self.objectives, self._memory.models)

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        return self._examine(self._features(point), self._ceilings(allowed))[1]

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        features = self._features(context)
        ceilings = self._ceilings(allowed)
        known, shares = self._examine(features, ceilings)
        candidates, reason = self._reason(features, ceilings, known, shares)
        observed = self._memory.models.counts - self._memory.priors[:, :1]
        seen = observed.reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        reports = tuple(
            ArmReport(
                arm=arm,
                allowed=bool(ceilings[0, arm] > 0),
                plays=int(self._memory.models.plays[arm]),
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
            levels.reported() if levels else (),
            bool(levels and levels.unsure),
        )

    def _levels(self, ceilings: Floats, work: kernel.LinearWork) -> Levels | None:
        """Return what a lexicographic rule finds at each objective; None for other rules."""
        return None

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number. Nothing is known of it: its Gram matrix is the ridge.

        A prior (means, weight) adds weight · E[φφᵀ] to it and weight · mean · E[φ] to the moments,
        with contexts uniform on [0,1]^d. The weight is a whole number.
        """
        if self.stages > 1:
            self._refuse_prior(prior)
        means, weight = self._prior(prior)
        self._memory.add_arm()
        if weight > 0:
            self._memory.set_prior(self.arms, weight, means, self.features)
        self._set_arms(self.arms + 1)
        return self.arms - 1

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        With R models (one an arm, or one an arm and stage) and G = 1 or D Gram matrices each:

        plays     int64[K]              rounds in which each arm was played
        rounds    int64[1]              updates so far: the clock
        counts    int64[R, D]           observations learned from, per objective
        grams     float64[R, G, F, F]   A = ridge·I + Σφφᵀ
        inverses  float64[R, G, F, F]   A⁻¹ as it was updated, to go on bit by bit
        moments   float64[R, D, F]      b = Σ r φ
        weights   float64[R, D, F]      θ, which solves Aθ = b, as it was updated
        priors    float64[R, 1 + D]     weight and means each began with; part of all sums
        features  float64[...]          what the features mean
        ridge     float64[1]            the ridge
        random    uint64[2]             the random state
        """
        return {
            **self._memory.contents(),
            **self._definition(),
            "random": self._random.copy(),
        }

    def _definition(self) -> dict[str, np.ndarray]:
        """Return what says what the state's numbers mean; it must be equal to load a state."""
        return {"features": self.features.signature(), "ridge": np.array([self.ridge])}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives, features and ridge.

        Scale, widths, tolerance and even the rule may differ. Anything that does not fit is
        refused, and nothing changes.
        """
        arrays = self._checked(state)
        self._memory.restore(arrays)
        self._random = arrays["random"]

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        Gram matrices, moments, counts, plays and clocks are added, the ridge and priors counted
        once, the inverses computed anew. The random state stays.
        """
        if self.stages > 1:
            super().merge(state)
        arrays = self._checked(state)
        refuse_other_priors(self._memory.priors, arrays["priors"])
        self._memory.merge(arrays, self.features)

    def _checked(self, state: Any) -> dict[str, np.ndarray]:
        """Return a state's arrays; one that does not fit is refused."""
        wanted = self.state()
        shape = array_of("grams", mapping_of(state).get("grams", ())).shape
        if shape[1:2] in ((1,), (self.objectives,)):
            # One Gram matrix an objective, or one for all: the state says which.
            for name in ("grams", "inverses"):
                like = wanted[name]
                wanted[name] = np.empty((like.shape[0], shape[1], *like.shape[2:]))
        arrays = arrays_like(state, wanted, ())
        self._check_state(arrays)
        return arrays

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        same_definition(arrays, self._definition())
        check_counted(arrays, "plays", "rounds")
        if arrays["plays"].sum() != arrays["rounds"][0]:
            raise InvalidInput(
                f"state['rounds'] is {arrays['rounds'][0]}, and state['plays'] add up to "
                f"{arrays['plays'].sum()}: every round plays one arm."
            )
        check_priors(arrays["priors"])
        observed = arrays["counts"] - arrays["priors"][:, :1].astype(np.int64)
        seen = observed.reshape(self.arms, self.stages, self.objectives).sum(axis=1)
        checks.refuse_first(
            "state['counts']",
            seen,
            (seen < 0) | (seen > arrays["plays"][:, np.newaxis]),
            "counts go from 0 to the plays of the arm",
        )
        self._memory.check(arrays)
