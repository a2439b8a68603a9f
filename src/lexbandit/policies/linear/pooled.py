"""A rule on pooled regressions: what the model remembers is shared, the rule says which arm."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, Level, PolicyDecision, PolicyExplanation, Reason
from lexbandit.errors import InvalidInput
from lexbandit.features import FeatureMap, features_for
from lexbandit.kernels import pooled, pooled_prediction
from lexbandit.kernels import pooled_rules as kernel
from lexbandit.kernels.jit import Direct
from lexbandit.kernels.linear_features import GIVEN, MIXED, RAW
from lexbandit.kernels.random import RandomState, seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.base import (
    Policy,
    Prior,
    arrays_like,
    check_counted,
    check_priors,
    no_such_play,
    refuse_other_priors,
    same_definition,
)
from lexbandit.policies.linear import credible
from lexbandit.rounds import Rounds

# Features are computed for so many numbers at a time: 8 MB.
_CHUNK = 2**20

# How far what was computed may be from what follows from the sums, as a share of the numbers that
# it was computed from: rounding comes to some 10⁻¹⁴, and more is damage.
_RESIDUE = 1e-10

# Whether the rewards of one decision are further ones.
# The average features of priors where there are none.
_NONE: Floats = np.zeros(1)
_NO, _YES = np.zeros(1, np.bool_), np.ones(1, np.bool_)

_UPDATE = Direct(kernel.update)

_ARRAYS = ("tallies", "vectors", "matrices", "shared", "common", "facts")


def pooled_features(features: Any, *, layout: Any, dimension: int) -> FeatureMap:
    """Return the feature map that `features` names; "mixed" is made for the layout."""
    if features == "mixed":
        features = {"name": "mixed", "layout": layout}
    return features_for(features, dimension=dimension)


class Seen(NamedTuple):
    """What `select` writes: features[n, F], what the rule saw, and the arms to play."""

    features: Floats
    sights: Floats
    widths: Floats
    arms: Integers


class Looks(NamedTuple):
    """What a rule sees in one context: float[D, K] each, and the bands float[D].

    A weighted sum has the weights in place of the bands.
    """

    means: Floats
    deviations: Floats
    spreads: Floats
    reaches: Floats
    bands: Floats

    def narrowed(self, shrink: Floats, widen: float) -> "Looks":
        """Return what it sees with smaller deviations and wider bands."""
        reaches = self.means + shrink * (self.reaches - self.means)
        bands = widen * self.bands
        return Looks(self.means, shrink * self.deviations, shrink * self.spreads, reaches, bands)


class Prospect(NamedTuple):
    """What is known in one context, for an outlook."""

    looks: Looks
    known: credible.Known
    bands: Floats
    allowed: Booleans

    @property
    def as_good(self) -> Booleans:
        """Which arms are within the bands of all objectives before the last, by the estimates."""
        left = self.allowed.copy()
        for means, band in zip(self.known.means[:-1], self.bands, strict=False):
            left &= means >= means[left].max() - band
        return left


class PooledPolicy(Policy):
    """A rule that decides by a pooled regression on features of the context.

    The model is that of `kernels.pooled`: a linear model an arm and objective, drawn towards what
    the arms have in common, with learned noise. A subclass supplies the rule: `_rule`, its compiled
    loops, its `settings`, and `_reason`.
    """

    _rule: kernel.PooledRule

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        tolerance: Any,
        settings: Floats,
        seed: int,
    ) -> None:
        super().__init__(arms=arms, dimension=features.dimension, objectives=objectives)
        self.features = features
        self.tolerances = checks.tolerances(tolerance, objectives)
        self._settings = settings
        self._random = seeded(checks.whole("seed", seed, least=0))
        self._plays: Floats = np.zeros(arms)
        self._clock: Integers = np.zeros(1, np.int64)
        size = features.count
        self._model = pooled.Model(
            tallies=np.zeros((arms, objectives, pooled.TALLIES)),
            vectors=np.zeros((arms, objectives, pooled.VECTORS, size)),
            matrices=np.zeros((arms, objectives, pooled.MATRICES, size, size)),
            shared=np.ones((objectives, pooled.SHARED, size)),
            common=np.zeros((objectives, size, size)),
            facts=np.zeros((objectives, pooled.FACTS)),
            prior=features.prior(),
        )
        self._model.facts[:, pooled.NOISE] = pooled.FIRST_NOISE
        self._left_out: Floats = features.left_out()
        self._unlike: Booleans = features.unlike()
        self._kind = features.kind if features.kind in (MIXED, RAW) else GIVEN
        self._known = self._kind != GIVEN
        self._table: Floats = features.table if self._known else np.empty((size, 0))
        # Space for one decision: what the kernels take of its context, the arm and its rewards; the
        # features and what the arm is expected to give; what `select` writes, the probabilities.
        width = features.dimension if self._known else size
        self._given: Floats = np.empty((1, width))
        self._played_arm: Integers = np.zeros(1, np.int64)
        self._rewarded: Floats = np.empty((1, objectives))
        self._space: tuple[Floats, Floats] = np.empty((1, size)), np.empty((1, objectives))
        self._seen, self._chances = self._space_for(1)
        self._refresh()

    @abstractmethod
    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        """Return the candidates, the levels, and in a sentence why the likely arms are chosen."""

    def _refresh(self, *, anew: bool = False) -> None:
        """Compute all that follows from the sums; `anew` from them alone."""
        pooled.refresh(self._model, anew=anew)

    def _refresh_due(self) -> None:
        """Compute what follows from the sums of the objectives where that is due."""
        pooled.refresh(self._model, only_due=True)

    def _space_for(self, rows: int) -> tuple["Seen", Floats]:
        """Return space for what `select` writes of `rows` contexts, and for the probabilities."""
        shape = (rows, kernel.TABLES, self.objectives, self.arms)
        seen = Seen(
            np.empty((rows, self.features.count)),
            np.empty(shape),
            np.empty((rows, self.objectives)),
            np.empty(rows, np.int64),
        )
        return seen, np.empty((rows, self.arms))

    # Decide.

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point = self._point(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        decision = self._select(point, ceilings)
        if decision[0] < 0:
            checks.in_unit_cube("context", point)
        return tuple.__new__(PolicyDecision, decision)  # in half the time of PolicyDecision(...)

    def _select_checked(self, point: Floats, allowed: Booleans | None) -> tuple[int, float]:
        if allowed is None and self._known:
            decision = self._select(point, self._no_ceiling)
            if decision[0] >= 0:
                return decision
        return self.select(point, allowed)

    def _select(self, point: Floats, ceilings: Floats) -> tuple[int, float]:
        seen, chances, given, rule = self._seen, self._chances, self._given, self._rule
        given[...] = point
        if not self._decide(rule.select.call, self._kind, given, ceilings, self._random, seen):
            return -1, 0.0
        rule.shares.call(self._settings, seen.sights, seen.widths, ceilings, chances)
        arm = seen.arms.item(0)
        return arm, chances.item(arm)

    def _decide(
        self,
        select: Callable[..., int],
        kind: int,
        points: Floats,
        ceilings: Floats,
        random: RandomState,
        seen: "Seen",
    ) -> int:
        """Write arms for points[n, d] and what the rule saw; 0 if the first is outside [0,1]^d."""
        return select(
            kind,
            points,
            self._table,
            ceilings,
            self._plays,
            self._clock,
            self._settings,
            self.tolerances,
            *self._model,
            random,
            *seen,
        )

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities: one compiled loop."""
        arms, shares = self._decide_many(contexts, allowed, self._random)
        return arms, np.take_along_axis(shares, arms[:, np.newaxis], axis=1)[:, 0]

    def propensities(self, context: Any, allowed: Any = None) -> Floats:
        """Return the exact probability of every arm to be selected in `context` now."""
        point = self._point(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        seen, given, rule, shares = self._seen, self._given, self._rule, np.empty((1, self.arms))
        given[...] = point
        unchanged = self._random.copy()
        if not self._decide(rule.select.call, self._kind, given, ceilings, unchanged, seen):
            checks.in_unit_cube("context", point)
        rule.shares.call(self._settings, seen.sights, seen.widths, ceilings, shares)
        found: Floats = shares[0]
        return found

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        return self.propensities(point, allowed)

    def propensities_many(self, contexts: Any, allowed: Any = None) -> Floats:
        """Return the exact probability of every arm in contexts[n, d]: compiled loops."""
        return self._decide_many(contexts, allowed, self._random.copy())[1]

    def _decide_many(
        self, contexts: Any, allowed: Any, random: RandomState
    ) -> tuple[Integers, Floats]:
        """Return arms[n] for contexts[n, d], and the probability of every arm there."""
        points, masks = self._many(contexts, allowed)
        rule = self._rule
        arms, shares = np.empty(len(points), np.int64), np.empty((len(points), self.arms))
        for part in self._chunks(len(points)):
            given = points[part] if self._known else self.features.of_checked(points[part])
            ceilings = self._no_ceiling if masks is None else ceilings_of(masks[part])
            seen, chances = self._space_for(len(given))
            self._decide(rule.select.kernel, self._kind, given, ceilings, random, seen)
            rule.shares.kernel(self._settings, seen.sights, seen.widths, ceilings, chances)
            arms[part], shares[part] = seen.arms, chances
        return arms, shares

    def _see(self, context: Any) -> tuple[Floats, Looks]:
        """Return the features [1, F] of a context, and what the rule sees there."""
        point = self._point(context)
        seen, _ = self._space_for(1)
        select, free, unchanged = self._rule.select.kernel, self._no_ceiling, self._random.copy()
        if not self._decide(select, self._kind, point[np.newaxis], free, unchanged, seen):
            checks.in_unit_cube("context", point)
        means, deviations, spreads, reaches = seen.sights[0]
        return seen.features, Looks(means, deviations, spreads, reaches, seen.widths[0])

    def _shares(self, looks: Looks, ceilings: Floats) -> Floats:
        """Return the exact probability of every arm, given what the rule sees."""
        chances = np.empty((1, self.arms))
        sights, widths = np.stack(looks[: kernel.TABLES])[np.newaxis], looks.bands[np.newaxis]
        self._rule.shares.kernel(self._settings, sights, widths, ceilings, chances)
        found: Floats = chances[0]
        return found

    def _about(self, looks: Looks, ceilings: Floats) -> Floats:
        """Return about the probability of every arm; a rule may be faster than the exact one."""
        return self._shares(looks, ceilings)

    def predict(self, context: Any) -> tuple[Floats, Floats]:
        """Return the means that every arm is expected to have in `context`, and deviations: [K, D].

        The deviation is that of the posterior of the mean, with what is not known of the part that
        all arms share; a reward varies by the noise besides.
        """
        return self._predict_checked(self._context(context))

    def _predict_checked(self, point: Floats) -> tuple[Floats, Floats]:
        sight = np.empty((2, self.objectives, self.arms))
        given = point[np.newaxis] if self._known else self._features(point)
        if not kernel.predict(self._kind, given, self._table, self._model, self._space[0], sight):
            checks.in_unit_cube("context", point)
        return sight[0].T.copy(), sight[1].T.copy()

    @property
    def knows_deviations(self) -> bool:
        """Whether `predict` tells how uncertain its means are: it does."""
        return True

    @property
    def model_features(self) -> int:
        """How many features φ(x) the means are linear in."""
        return self.features.count

    def _expect_checked(self, point: Floats, arm: int) -> tuple[Floats, Floats]:
        features, means = self._space
        if not pooled_prediction.expect(
            self._kind,
            point if self._known else self._features(point)[0],
            self._table,
            arm,
            self._model.vectors,
            self._model.matrices,
            self._model.shared,
            features,
            means[0],
        ):
            checks.in_unit_cube("context", point)
        return features[0], means[0]

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        means, deviations = np.empty((2, self.arms, self.objectives))
        pooled_prediction.predict_averages(self._model, self._unlike, averages, means, deviations)
        return means, deviations

    def _warm_up(self, point: Floats) -> None:
        # `explain` runs the kernels of `propensities`.
        self.select_many(point[np.newaxis])
        self._predict_averages(np.zeros((self.arms, self.objectives, self.model_features)))

    # Learn.

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under; this family has no use for it.
        """
        self._tell(context, arm, rewards, allowed, amends=False)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that `update` recorded; NaN means "not these"."""
        self._tell(context, arm, rewards, allowed, amends=True)

    def _tell(self, context: Any, arm: int, rewards: Any, allowed: Any, *, amends: bool) -> None:
        point = self._point(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._update(point, number, values, amends)
        if answer == kernel.OUTSIDE:
            checks.in_unit_cube("context", point)
        if answer == kernel.TOO_LARGE:
            self._check_rewards("rewards", values)
        if answer == kernel.NO_PLAY:
            raise no_such_play(number, values)

    def _update_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        if not (self._known and self._update(point, arm, rewards, False) >= kernel.DONE):
            self.update(point, arm, rewards, allowed)

    def _amend_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        if not (self._known and self._update(point, arm, rewards, True) >= kernel.DONE):
            self.amend(point, arm, rewards, allowed)

    def _learn_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None, amends: bool
    ) -> tuple[Floats, Floats]:
        if self._known and self._update(point, arm, rewards, amends) >= kernel.DONE:
            features, means = self._space
            return features[0], means[0]
        return super()._learn_checked(point, arm, rewards, allowed, amends)

    def _learn_many_checked(
        self,
        points: Floats,
        arms: Integers,
        rewards: Floats,
        allowed: Sequence[Booleans | None],
        amends: Booleans,
    ) -> tuple[Floats, Floats]:
        if not self._known:
            return super()._learn_many_checked(points, arms, rewards, allowed, amends)
        n = len(points)
        features, means = np.empty((n, self.features.count)), np.empty((n, self.objectives))
        rows: tuple[Any, ...] = (points, arms, rewards, amends, features, means)
        done = 0
        while done < n:
            more, answer = self._record(_UPDATE.kernel, *(array[done:] for array in rows))
            done += more
            if answer < kernel.DONE:  # this one is refused, or learned in another way
                features[done], means[done] = self._learn_checked(
                    points[done], int(arms[done]), rewards[done], allowed[done], bool(amends[done])
                )
                done += 1
        return features, means

    def _update(self, point: Floats, arm: int, rewards: Floats, amends: bool) -> int:
        """Learn the rewards of one decision; the answer is one of the kernel's."""
        given, played, rewarded = self._given, self._played_arm, self._rewarded
        given[...], played[0], rewarded[...] = point, arm, rewards
        further = _YES if amends else _NO
        return self._record(_UPDATE.call, given, played, rewarded, further, *self._space)[1]

    def _record(
        self,
        update: Callable[..., tuple[int, int]],
        points: Floats,
        arms: Integers,
        rewards: Floats,
        amends: Booleans,
        features: Floats,
        means: Floats,
    ) -> tuple[int, int]:
        """Learn the rewards of decisions up to a refresh; returns how many, and the answer."""
        done, answer = update(
            self._kind,
            points,
            self._table,
            arms,
            rewards,
            amends,
            self._plays,
            self._clock,
            *self._model,
            features,
            means,
        )
        if answer == kernel.AGAIN:
            self._refresh_due()
        return done, answer

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]: one compiled loop."""
        points, _ = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        for part in self._chunks(len(points)):
            given = points[part] if self._known else self.features.of_checked(points[part])
            n, done = len(given), 0
            features, means = np.empty((n, self.features.count)), np.empty((n, self.objectives))
            again = np.zeros(n, np.bool_)
            rows: tuple[Any, ...] = (given, played[part], values[part], again, features, means)
            while done < n:
                done += self._record(_UPDATE.kernel, *(array[done:] for array in rows))[0]

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        checks.in_unit_cube("contexts", rounds.contexts)
        arms = np.empty(len(rounds), np.int64)
        for part in self._chunks(len(rounds)):
            features, done = self.features.of_checked(rounds.contexts[part]), 0
            allowed = rounds.allowed
            ceilings = self._no_ceiling if allowed is None else ceilings_of(allowed[part])
            while done < len(features):
                done = self._rule.replay(
                    done,
                    features,
                    rounds.outcomes[part],
                    ceilings,
                    self._plays,
                    self._clock,
                    self._settings,
                    self.tolerances,
                    self._model,
                    self._random,
                    arms[part],
                )
                self._refresh_due()
        return arms

    def _chunks(self, n: int) -> Iterator[slice]:
        """Yield parts of n rounds whose features, and what a rule sees, take little memory."""
        size = max(
            1, _CHUNK // max(self.features.count, kernel.TABLES * self.objectives * self.arms)
        )
        for first in range(0, n, size):
            yield slice(first, first + size)

    def _point(self, context: Any) -> Floats:
        """Return what kernels take of a context: itself, or φ(x) if they do not know the map."""
        return self._context(context) if self._known else self._features(context)[0]

    def _features(self, context: Any) -> Floats:
        """Return φ(x) of a context, checked, as one row."""
        point = self._context(context)
        if not (point.min() >= 0.0 and point.max() <= 1.0):
            checks.in_unit_cube("context", point)
        return self.features.of_checked(point[np.newaxis])

    # Explain.

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen.

        Intervals are credible intervals of level 0.95, and widths half of them; see `credible`. The
        index is the reach: up to there an arm has the benefit of the doubt.
        """
        features, looks = self._see(context)
        ceilings = self._ceilings(allowed)
        known = self._known_at(features, looks)
        shares = self._shares(looks, ceilings)
        candidates, levels, reason = self._reason(looks, ceilings[0] > 0, shares)
        standing, within = credible.standing(known, self._bands(looks), ceilings[0] > 0)
        seen = self._model.tallies[:, :, pooled.COUNT] - self._model.tallies[:, :, pooled.WEIGHT]
        reports = tuple(
            ArmReport(
                arm=arm,
                allowed=bool(ceilings[0, arm] > 0),
                plays=int(self._plays[arm]),
                observations=tuple(int(n) for n in seen[arm]),
                mean=tuple(known.means[:, arm].tolist()),
                width=tuple((0.5 * (known.high - known.low)[:, arm]).tolist()),
                index=tuple(looks.reaches[:, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
                prior=int(self._model.tallies[arm, 0, pooled.WEIGHT]),
                interval=tuple(
                    zip(known.low[:, arm].tolist(), known.high[:, arm].tolist(), strict=True)
                ),
                near=tuple(known.near[:, arm].tolist()),
                within=tuple(within[:, arm].tolist()),
            )
            for arm in range(self.arms)
        )
        return PolicyExplanation(
            self.name,
            None,
            reports,
            Reason(reason),
            levels,
            level=credible.LEVEL,
            standing=standing,
        )

    def _bands(self, looks: Looks) -> Floats:
        """Return how far behind the best an arm is as good, for each objective."""
        return self.tolerances

    def _known_at(self, features: Floats, looks: Looks) -> credible.Known:
        """Return posterior means and deviations, credible intervals, and how near rewards are."""
        expected = self._expected if self._model.tallies[:, :, pooled.WEIGHT].any() else _NONE
        return credible.known_at(
            self._model, features[0], looks.means, self._left_out, self._unlike, expected
        )

    @cached_property
    def _expected(self) -> Floats:
        """The features on average over all contexts, as those of a prior are."""
        return self.features.expectations()[0]

    def prospect(self, point: Floats, allowed: Booleans) -> "Prospect":
        """Return what `expect` needs of a context."""
        features, looks = self._see(point)
        return Prospect(looks, self._known_at(features, looks), self._bands(looks), allowed)

    def expect(
        self, prospects: Sequence["Prospect"], rewards: Floats, widen: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return the probability of every arm to be chosen, and to be within the tolerances.

        The deviations that the rule goes by fall as those of the credible intervals do.
        """
        known = credible.Known(*map(np.stack, zip(*(p.known for p in prospects), strict=True)))
        bands = widen * np.stack([prospect.bands for prospect in prospects])
        allowed = np.stack([prospect.allowed for prospect in prospects])
        ceilings = ceilings_of(allowed)
        later = known.after(rewards).deviations()
        shrink = later / known.deviations()
        shares = [
            self._about(prospect.looks.narrowed(shrink[n], widen), ceilings[n : n + 1])
            for n, prospect in enumerate(prospects)
        ]
        return np.stack(shares), credible.chances_by_draws(known.means, later, bands, allowed)

    # Arms and state.

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number. It starts as what all arms have in common.

        A prior (means, weight) counts as `weight` rewards of these means, in contexts spread evenly
        over [0,1]^d, that say nothing about the noise.
        """
        means, weight = self._prior(prior)
        model, grown = self._model, {}
        for name in ("tallies", "vectors", "matrices"):
            array: Floats = getattr(model, name)
            grown[name] = np.concatenate([array, np.zeros((1, *array.shape[1:]))])
        # What nothing was seen of: B = Λ⁻¹.
        diagonal = np.arange(self.features.count)
        penalties = model.shared[:, pooled.PENALTY]
        grown["matrices"][-1, :, pooled.INVERSE, diagonal, diagonal] = 1.0 / penalties.T
        self._model = model._replace(**grown)
        self._plays = np.append(self._plays, 0.0)
        self._set_arms(self.arms + 1)
        self._seen, self._chances = self._space_for(1)
        if weight > 0:
            self._add_prior(self.arms - 1, weight, means, +1.0)
            self._refresh()
        return self.arms - 1

    def _add_prior(self, arm: int, weight: float, means: Floats, sign: float) -> None:
        """Add a prior of an arm to its sums, or take it away again."""
        first, second = self.features.expectations()
        tallies = self._model.tallies[arm]
        tallies[:, pooled.WEIGHT] += sign * weight
        tallies[:, pooled.MEAN] += sign * means
        tallies[:, pooled.COUNT] += sign * weight
        tallies[:, pooled.TOTAL] += sign * weight * means
        tallies[:, pooled.SQUARE] += sign * weight * means**2
        self._model.vectors[arm, :, pooled.MOMENT] += sign * weight * np.outer(means, first)
        self._model.matrices[arm, :, pooled.GRAM] += sign * weight * second

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        plays     int64[K]                rounds in which each arm was played
        rounds    int64[1]                updates so far: the clock
        tallies   float64[K, D, 6]        counts and sums of rewards, as `kernels.pooled` has them
        vectors   float64[K, D, 3, F]     Σrφ, B times it, and Σe²φ of squared errors
        matrices  float64[K, D, 2, F, F]  Σφφᵀ, and B
        shared    float64[D, 5, F]        penalties, θ_0 and what it is made of, learned scales
        common    float64[D, F, F]        C_0
        facts     float64[D, 6]           noise and counts of all arms together
        features  float64[...]            what the features mean
        random    uint64[2]               the random state
        """
        return {
            "plays": self._plays.astype(np.int64),
            "rounds": self._clock.copy(),
            **{name: getattr(self._model, name).copy() for name in _ARRAYS},
            "features": self.features.signature(),
            "random": self._random.copy(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives and features.

        Settings, tolerance and even the rule may differ. Anything that does not fit is refused, and
        nothing changes.
        """
        arrays = self._checked(state)
        self._model = self._model._replace(**{name: arrays[name] for name in _ARRAYS})
        self._plays = arrays["plays"].astype(np.float64)
        self._clock, self._random = arrays["rounds"], arrays["random"]

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        Sums, counts, plays and clocks are added, priors counted once; noise, scales and inverses
        are computed anew from the sums. The random state stays.
        """
        arrays = self._checked(state)
        refuse_other_priors(self._priors(self._model.tallies), self._priors(arrays["tallies"]))
        for arm, (weight, *means) in enumerate(self._priors(self._model.tallies)):
            if weight > 0:
                self._add_prior(arm, weight, np.array(means), -1.0)
                self._model.tallies[arm, :, [pooled.WEIGHT, pooled.MEAN]] = 0.0
        sums = [pooled.COUNT, pooled.TOTAL, pooled.SQUARE, pooled.WEIGHT, pooled.MEAN]
        self._model.tallies[:, :, sums] += arrays["tallies"][:, :, sums]
        for field in (pooled.MOMENT, pooled.ERRORS):
            self._model.vectors[:, :, field] += arrays["vectors"][:, :, field]
        self._model.matrices[:, :, pooled.GRAM] += arrays["matrices"][:, :, pooled.GRAM]
        self._model.facts[:, pooled.OTHER] += arrays["facts"][:, pooled.OTHER]
        self._plays += arrays["plays"]
        self._clock += arrays["rounds"]
        self._refresh(anew=True)

    @staticmethod
    def _priors(tallies: Floats) -> Floats:
        """Return (weight, means…) of what each arm began with."""
        return np.column_stack([tallies[:, 0, pooled.WEIGHT], tallies[:, :, pooled.MEAN]])

    def _checked(self, state: Any) -> dict[str, np.ndarray]:
        """Return a state's arrays; one that does not fit is refused."""
        arrays = arrays_like(state, self.state(), ())
        same_definition(arrays, {"features": self.features.signature()})
        check_counted(arrays, "plays", "rounds")
        if arrays["plays"].sum() != arrays["rounds"][0]:
            raise InvalidInput(
                f"state['rounds'] is {arrays['rounds'][0]}, and state['plays'] add up to "
                f"{arrays['plays'].sum()}: every round plays one arm."
            )
        for name in _ARRAYS:
            array = arrays[name]
            checks.refuse_first(f"state[{name!r}]", array, ~np.isfinite(array), "all are finite")
        self._check_tallies(arrays["tallies"], arrays["plays"], arrays["facts"])
        self._check_matrices(arrays)
        self._check_solved(arrays)
        return arrays

    def _check_tallies(self, tallies: Floats, plays: Integers, facts: Floats) -> None:
        """Refuse counts and sums that no stream of rewards can lead to."""
        check_priors(self._priors(tallies))
        weights = tallies[:, :, pooled.WEIGHT]
        seen = tallies[:, :, pooled.COUNT] - weights
        checks.refuse_first(
            "state['tallies']",
            seen,
            (weights != weights[:, :1]) | (seen < 0) | (seen > plays[:, None]) | (seen % 1 != 0),
            "counts are whole and go from 0 to the plays of the arm",
        )
        for field in (pooled.TOTAL, pooled.SQUARE, pooled.RESIDUAL):
            values = tallies[:, :, field]
            wrong = (tallies[:, :, pooled.COUNT] == 0) & (values != 0)
            checks.refuse_first("state['tallies']", values, wrong, "0 without counts")
        counts, totals, squares = np.moveaxis(tallies[:, :, : pooled.SQUARE + 1], 2, 0)
        wrong = (squares < 0) | (squares * counts < (1.0 - 1e-9) * totals**2)
        checks.refuse_first(
            "state['tallies']", squares, wrong, "the mean square is at least the square of the mean"
        )
        values = tallies[:, :, pooled.RESIDUAL]
        checks.refuse_first("state['tallies']", values, values < 0, "residuals are at least 0")
        counted = facts[:, [pooled.SEEN, pooled.OTHER, pooled.DUE]]
        wrong = (counted < 0) | (counted % 1 != 0)
        wrong[:, 0] |= counted[:, 0] != seen.sum(axis=0)
        wrong[:, 1] |= counted[:, 1] > counted[:, 0]
        wrong[:, 2] |= counted[:, 2] <= counted[:, 0]
        wrong[:, 2] |= counted[:, 2] > counted[:, 0] + counted[:, 0] // 2 + 1
        checks.refuse_first("state['facts']", counted, wrong, "counts of all arms together")
        noise = facts[:, pooled.NOISE]
        checks.refuse_first("state['facts']", noise, noise <= 0, "noise is above 0")

    def _check_matrices(self, arrays: dict[str, np.ndarray]) -> None:
        """Refuse matrices that are not Σφφᵀ and the inverses that belong to them."""
        matrices, shared = arrays["matrices"], arrays["shared"]
        for name, array in (("matrices", matrices), ("common", arrays["common"])):
            skew = array != array.swapaxes(-1, -2)
            checks.refuse_first(f"state[{name!r}]", array, skew, "each is symmetric")
        for field in (pooled.PENALTY, pooled.SCALE):
            values = shared[:, field]
            checks.refuse_first(
                "state['shared']", values, values <= 0, "penalties and scales are above 0"
            )
        grams, inverses = matrices[:, :, pooled.GRAM], matrices[:, :, pooled.INVERSE]
        lowest, highest = (values := np.linalg.eigvalsh(grams))[..., 0], values[..., -1]
        checks.refuse_first(
            "the least eigenvalue of state['matrices'][:, :, 0]",
            lowest,
            lowest < -1e-9 * np.maximum(highest, 1e-300),
            "sums of squares are not negative",
        )
        diagonal = np.arange(self.features.count)
        whole = grams.copy()
        whole[:, :, diagonal, diagonal] += shared[:, pooled.PENALTY]
        residue = np.abs(inverses @ whole - np.eye(len(diagonal))).max(axis=(2, 3))
        condition = np.linalg.norm(inverses, axis=(2, 3)) * np.linalg.norm(whole, axis=(2, 3))
        checks.refuse_first(
            "state['matrices'][:, :, 1] times Λ + state['matrices'][:, :, 0], less the identity,",
            residue,
            residue > _RESIDUE * condition,
            "each must be the inverse of its sum",
        )

    def _check_solved(self, arrays: dict[str, np.ndarray]) -> None:
        """Refuse estimates that do not follow from the sums and the inverses."""
        inverses = arrays["matrices"][:, :, pooled.INVERSE]
        vectors, shared, common = arrays["vectors"], arrays["shared"], arrays["common"]
        moments, own, errors = np.moveaxis(vectors, 2, 0)
        unseen = (arrays["tallies"][:, :, pooled.COUNT] == 0)[:, :, None]
        checks.refuse_first(
            "state['vectors'][:, :, 0]", moments, unseen & (moments != 0), "0 without counts"
        )
        if (constant := self._model.prior[pooled.CONSTANT]).any():
            sums = (errors @ constant)[:, :, None]
            wrong = (sums < 0) | ((sums == 0) & (errors != 0)) | (unseen & (errors != 0))
            checks.refuse_first(
                "state['vectors'][:, :, 2]", errors, wrong, "sums of squared errors"
            )
        _refuse_other(
            "state['vectors'][:, :, 1]",
            own,
            np.einsum("aijk,aik->aij", inverses, moments),
            np.einsum("aijk,aik->aij", np.abs(inverses), np.abs(moments)),
        )
        lowest, highest = (values := np.linalg.eigvalsh(common))[:, 0], values[:, -1]
        checks.refuse_first(
            "the least eigenvalue of state['common']",
            lowest,
            lowest < -1e-9 * highest,
            "covariances are not negative",
        )
        weighted = shared[:, pooled.WEIGHTED]
        _refuse_other(
            f"state['shared'][:, {pooled.COMMON}]",
            shared[:, pooled.COMMON],
            np.einsum("ijk,ik->ij", common, weighted),
            np.einsum("ijk,ik->ij", np.abs(common), np.abs(weighted)),
        )
        pull = shared[:, pooled.PENALTY] * shared[:, pooled.COMMON]
        _refuse_other(f"state['shared'][:, {pooled.PULL}]", shared[:, pooled.PULL], pull, abs(pull))


def _refuse_other(name: str, given: Floats, wanted: Floats, sizes: Floats) -> None:
    """Refuse numbers that are not those wanted, up to rounding of numbers of these sizes."""
    size = sizes.max(axis=-1, keepdims=True)
    wrong = np.abs(given - wanted) > _RESIDUE * size
    checks.refuse_first(name, given, wrong, "each must follow from the sums")
