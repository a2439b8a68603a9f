"""What a policy is: it decides and learns; and what states every policy refuses to load."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import PolicyDecision, PolicyExplanation
from lexbandit.errors import InvalidInput, counted, unknown_name
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.rounds import Rounds

_MOST_ARMS = 10**7
_contiguous, _DOUBLE = np.ascontiguousarray, np.dtype(np.float64)
_Plain, _Masked = np.ndarray, np.ma.MaskedArray

# A prior counts as whole observations, at most so many.
_HEAVIEST = 10**9

# Counts are stored as doubles, which are exact up to here.
MOST_PLAYS = 2**53

Prior = tuple[Any, int]


class Policy(ABC):
    """Decides and learns for `arms` arms, `objectives` objectives, `dimension` context features.

    `select` changes nothing but the random state, and `update` needs only its arguments: rewards
    may come late, in any order, for any arm, or never.

    A policy of your own needs these two: a study can play it then. Without `explain`, `state` and
    `load_state` or `add_arm` it says so where somebody asks for an explanation, saves it or adds an
    arm.
    """

    def __init__(self, *, arms: int, dimension: int, objectives: int) -> None:
        self.name = type(self).__name__  # make_policy sets the one it was made by
        self._set_arms(checks.whole("arms", arms, least=1, most=_MOST_ARMS))
        self.dimension = checks.whole("dimension", dimension, least=1)
        self.objectives = checks.whole("objectives", objectives, least=1)
        self._context_shape = (self.dimension,)
        self._reward_shape = (self.objectives,)

    def _set_arms(self, arms: int) -> None:
        self.arms = arms
        self._no_ceiling = np.full((1, arms), np.inf)

    # What a caller may ask of a policy before it relies on it. A policy, also one of another
    # package, overrides those that differ.

    @property
    def read_tolerances(self) -> Floats | None:
        """The tolerances that the policy works with, one or one an objective; None if it has none.

        They are those in an attribute `tolerances`, unless a policy says otherwise.
        """
        return getattr(self, "tolerances", None)

    @property
    def has_state(self) -> bool:
        """Whether `state` returns what was learned, so that it can be saved."""
        return type(self).state is not Policy.state

    @property
    def learns_in_parts(self) -> bool:
        """Whether `amend` can add rewards of a play later; else all are to be given at once."""
        return type(self).amend is not Policy.amend

    @property
    def plays_by_arm(self) -> list[int] | None:
        """How often it learned from each arm so far; None where that is not stored."""
        return None

    @property
    def knows_deviations(self) -> bool:
        """Whether `predict` says how uncertain its means are."""
        return False

    @property
    def model_features(self) -> int:
        """How many features φ(x) the means are linear in; 1, a constant, without such a model."""
        return 1

    @abstractmethod
    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""

    @abstractmethod
    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under. Only Scalarized UCB1 has a use for it.
        """

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        raise self._lacks("explain")

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays."""
        raise self._lacks("state")

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy that knows the same things; refuses any other."""
        raise self._lacks("load_state")

    def _lacks(self, method: str) -> InvalidInput:
        return InvalidInput(f"the policy {self.name} has no method {method}, which is needed here.")

    def reseed(self, seed: int) -> None:
        """Start another random stream; what was learned stays.

        A chooser does it after a fork, so that two processes do not make the same draws. A policy
        whose random state is not the array `_random` overrides it.
        """
        random = getattr(self, "_random", None)
        if random is not None:
            random[:] = seeded(seed)

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number.

        Nothing is known of it, or, with `prior` = (means, weight), as much as if `weight`
        observations with these means had come, one mean an objective, from all of the context
        space evenly. A policy that cannot take a prior says so.
        """
        raise self._lacks("add_arm")

    def predict(self, context: Any) -> tuple[Floats, Floats]:
        """Return every arm's expected rewards in `context`, and their standard deviations.

        Both are float[K, D], in the units of the rewards; a deviation is that of what is
        believed of the mean, without the noise of a reward. They are NaN where a policy does not
        know them: all of them if it has no linear model.
        """
        point = self._context(context)
        checks.in_unit_cube("context", point)
        return self._predict_checked(point)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that `update` recorded; NaN means "not these".

        In the end the policy knows what it would know if all of the play's rewards had come at
        once. Plays do not grow, nor does a clock advance. A policy that cannot says so.
        """
        raise InvalidInput(
            f"{self.name} cannot learn the rewards of a play in parts: what it keeps depends on "
            "all of them at once. Tell them together."
        )

    # For a caller that makes its points and rewards itself, as arrays of the proper shape: the
    # chooser. A policy may leave out its checks here; that is a third of the time of a decision.

    def _select_checked(self, point: Floats, allowed: Booleans | None) -> tuple[int, float]:
        return self.select(point, allowed)

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        """Return the exact probability of every arm; NaN where it has no closed form."""
        return np.array([report.propensity for report in self.explain(point, allowed).arms])

    def _predict_checked(self, point: Floats) -> tuple[Floats, Floats]:
        nothing = np.full((self.arms, self.objectives), np.nan)
        return nothing, nothing.copy()

    def _expect_checked(self, point: Floats, arm: int) -> tuple[Floats, Floats]:
        """Return φ(x) and the expected rewards of one arm, float[D]; NaN without a linear model.

        Both may be overwritten by the next call.
        """
        return np.ones(1), np.full(self.objectives, np.nan)

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        """Return the means θᵀφ and their deviations, float[K, D], at averages[K, D, F] of features.

        NaN where they are not known.
        """
        nothing = np.full((self.arms, self.objectives), np.nan)
        return nothing, nothing

    def _warm_up(self, point: Floats) -> None:
        """Compile what `select`, `update` and `propensities` do not run, so that no request waits.

        A policy whose `explain` runs no kernel of its own may leave that out.
        """
        self.select_many(point[np.newaxis])
        self._predict_averages(np.zeros((self.arms, self.objectives, self.model_features)))
        self.explain(point)

    def _update_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        self.update(point, arm, rewards, allowed)

    def _amend_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None
    ) -> None:
        self.amend(point, arm, rewards, allowed)

    def _learn_checked(
        self, point: Floats, arm: int, rewards: Floats, allowed: Booleans | None, amends: bool
    ) -> tuple[Floats, Floats]:
        """Learn by `_amend_checked` or `_update_checked`; return `_expect_checked` of before.

        Means are needed where there are rewards only. Both may be overwritten by the next call.
        """
        expected = self._expect_checked(point, arm)
        learn = self._amend_checked if amends else self._update_checked
        learn(point, arm, rewards, allowed)
        return expected

    def _learn_many_checked(
        self,
        points: Floats,
        arms: Integers,
        rewards: Floats,
        allowed: Sequence[Booleans | None],
        amends: Booleans,
    ) -> tuple[Floats, Floats]:
        """Call `_learn_checked` for points[n, d] in order; return features[n, F] and means[n, D].

        This loop is the meaning; policies may bring a compiled one.
        """
        features, means = [], np.empty((len(points), self.objectives))
        for t, (point, arm, mask) in enumerate(zip(points, arms.tolist(), allowed, strict=True)):
            seen, means[t] = self._learn_checked(point, arm, rewards[t], mask, bool(amends[t]))
            features.append(seen.copy())
        return np.array(features), means

    def prospect(self, point: Floats, allowed: Booleans) -> Any:
        """Return what `expect` needs of a context; None for a policy without credible intervals."""
        return None

    def expect(
        self, prospects: Sequence[Any], rewards: Floats, widen: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return what is expected after so many further rewards[n, D, K] in each of these contexts.

        The probability of every arm to be chosen, and the probability that it is within the
        tolerances, `widen` times as large as they are: float[n, K] each. Means stay as they are.
        """
        raise NotImplementedError

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        What was learned is a sum over rounds, so the sums are added; the random state stays. A
        policy whose state is not a sum cannot be merged, and says so.
        """
        raise InvalidInput(
            f"{self.name} cannot be merged: what it keeps depends on the order of its rounds, so "
            "it is not a sum."
        )

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d], and their exact probabilities.

        As `select`, one after the other, and with the same draws. `allowed` is None or bool[n, K].
        This loop is the meaning; policies bring a compiled one.
        """
        points, masks = self._many(contexts, allowed)
        arms, propensities = np.empty(len(points), np.int64), np.empty(len(points))
        for t, point in enumerate(points):
            mask = None if masks is None else masks[t]
            arms[t], propensities[t] = self.select(point, mask)
        return arms, propensities

    def propensities_many(self, contexts: Any, allowed: Any = None) -> Floats:
        """Return the exact probability of every arm in contexts[n, d] now, as float[n, K].

        NaN where a policy has no closed form of them. Nothing changes, the random state neither.
        This loop is the meaning; policies may bring a compiled one.
        """
        points, masks = self._many(contexts, allowed)
        shares = np.empty((len(points), self.arms))
        for t, point in enumerate(points):
            shares[t] = self._propensities_checked(point, None if masks is None else masks[t])
        return shares

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]; NaN means "not observed".

        As `update`, one after the other; nothing is learned if anything is refused. This loop is
        the meaning; policies bring a compiled one.
        """
        points, masks = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        for t, point in enumerate(points):
            mask = None if masks is None else masks[t]
            self.update(point, int(played[t]), values[t], mask)

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order, from the present state on.

        Returns the arms played. This loop is the meaning; policies bring a compiled one.
        """
        self._check_rounds(rounds)
        arms = np.empty(len(rounds), np.int64)
        for t in range(len(rounds)):
            context = rounds.contexts[t]
            mask = () if rounds.allowed is None else (rounds.allowed[t],)
            arm = self.select(context, *mask).arm
            self.update(context, arm, rounds.outcomes[t, arm], *mask)
            arms[t] = arm
        return arms

    def __repr__(self) -> str:
        return (
            f"<{self.name}: {counted(self.arms, 'arm')}, {counted(self.objectives, 'objective')}, "
            f"{counted(self.dimension, 'context feature')}>"
        )

    # Checks of arguments, on the path of every decision: so the usual case comes first, and the
    # words for the other cases are found only when they are needed.

    def _context(self, context: Any) -> Floats:
        """Return the context in its proper shape; whether it lies in [0,1]^d is for the caller."""
        if (
            context.__class__ is _Plain
            and context.dtype is _DOUBLE
            and context.shape == self._context_shape
        ):
            return _contiguous(context)
        array = _usual(context, self._context_shape)
        return checks.floats("context", context, self._context_shape) if array is None else array

    def _rewards(self, rewards: Any) -> Floats:
        """Return the rewards in their proper shape; whether they are finite is for the caller."""
        if (
            rewards.__class__ is _Plain
            and rewards.dtype is _DOUBLE
            and rewards.shape == self._reward_shape
        ):
            return _contiguous(rewards)
        array = _usual(rewards, self._reward_shape)
        return checks.floats("rewards", rewards, self._reward_shape) if array is None else array

    def _arm(self, arm: Any) -> int:
        number: int = arm
        if arm.__class__ is int and 0 <= number < self.arms:
            return number
        try:
            number = index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < self.arms or arm is True or arm is False:
            raise InvalidInput(
                f"arm must be a whole number from 0 to {self.arms - 1}, got {arm!r}."
            )
        return number

    def _ceilings(self, allowed: Any) -> Floats:
        """Return the mask of allowed arms as the kernels read it; None allows all."""
        if allowed is None:
            return self._no_ceiling
        mask = checks.allowed_arms(allowed, (self.arms,))
        return ceilings_of(mask[np.newaxis])

    def _many(self, contexts: Any, allowed: Any) -> tuple[Floats, Booleans | None]:
        """Return contexts[n, d] and masks allowed[n, K], checked."""
        points = checks.floats("contexts", contexts, (None, self.dimension))
        checks.in_unit_cube("contexts", points)
        if allowed is None:
            return points, None
        return points, checks.allowed_arms(allowed, (len(points), self.arms))

    def _played(self, n: int, arms: Any, rewards: Any) -> tuple[Integers, Floats]:
        """Return arms[n] and rewards[n, D], checked."""
        played = checks.arms_of(arms, rounds=n, arms_known=self.arms)
        values = checks.floats("rewards", rewards, (n, self.objectives))
        self._check_rewards("rewards", values)
        return played, values

    def _check_rewards(self, name: str, rewards: Floats) -> None:
        """Refuse rewards the policy cannot learn from; NaN is "not observed"."""
        too_large = np.abs(rewards) > checks.LARGEST_REWARD
        checks.refuse_first(name, rewards, too_large, checks.REWARDS_ALLOWED)

    def _prior(self, prior: Any) -> tuple[Floats, int]:
        """Return means and weight of a prior; without one the weight is 0."""
        if prior is None:
            return np.zeros(self.objectives), 0
        if not isinstance(prior, Sequence) or isinstance(prior, str) or len(prior) != 2:
            raise InvalidInput(f"prior must be (means, weight), got {prior!r}.")
        means = checks.floats("means of the prior", prior[0], (self.objectives,))
        finite = np.isfinite(means)
        checks.refuse_first("means of the prior", means, ~finite, "means must be finite")
        self._check_rewards("means of the prior", means)
        weight = checks.whole("weight of the prior", prior[1], least=1, most=_HEAVIEST)
        return means, weight

    def _refuse_prior(self, prior: Any) -> None:
        if prior is not None:
            raise InvalidInput(f"{self.name} cannot take a prior for a new arm, got {prior!r}.")

    def _check_rounds(self, rounds: Rounds) -> None:
        if not isinstance(rounds, Rounds):
            raise InvalidInput(f"replay takes lexbandit.Rounds, got {type(rounds).__name__}.")
        shape = (rounds.contexts.shape[1], *rounds.outcomes.shape[1:])
        if shape != (self.dimension, self.arms, self.objectives):
            for what in ("arms", "objectives", "dimension"):
                mine, theirs = getattr(self, what), getattr(rounds, what)
                if mine != theirs:
                    raise InvalidInput(f"{what} of the rounds is {theirs}, of the policy {mine}.")


def _usual(value: Any, shape: tuple[int]) -> Floats | None:
    """Return plain numbers of the proper shape as an array; None for all that needs a look."""
    try:
        array = _contiguous(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.shape != shape or isinstance(value, _Masked):
        return None
    if array.dtype is _DOUBLE:
        return array
    return _contiguous(array, _DOUBLE) if array.dtype.kind in "biuf" else None


def no_such_play(arm: int, rewards: Floats) -> InvalidInput:
    """Return the error for further rewards of a play that was not recorded."""
    given = ", ".join(str(i + 1) for i in np.flatnonzero(~np.isnan(rewards)))
    return InvalidInput(
        f"no play of arm {arm} here waits for a reward in objective {given}: amend is for further "
        "rewards of a play that update recorded."
    )


# Checks of states, for `load_state` and `merge`.


def mapping_of(state: Any) -> Mapping[str, Any]:
    """Return a state that is a mapping from names."""
    if not isinstance(state, Mapping):
        raise InvalidInput(f"load_state takes what state() returns, got {state!r}.")
    return state


def array_of(name: str, value: Any) -> np.ndarray:
    """Return one array of a state."""
    checks.refuse_masked(f"state[{name!r}]", value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"state[{name!r}] must be an array, got {value!r}.") from error


def arrays_like(
    state: Any, wanted: Mapping[str, np.ndarray], growing: Collection[str]
) -> dict[str, np.ndarray]:
    """Return copies of a state's arrays, with the names, types and shapes of those `wanted`.

    The first axes of the `growing` ones may have another length, the same for all.
    """
    given = mapping_of(state)
    for name in given:
        if name not in wanted:
            raise unknown_name("state array", name, wanted)
    for name in wanted:
        if name not in given:
            raise InvalidInput(f"state has no array {name!r}; it needs {', '.join(wanted)}.")
    arrays: dict[str, np.ndarray] = {}
    length: int | None = None
    for name, like in wanted.items():
        array = array_of(name, given[name])
        shape = like.shape
        if name in growing:
            length = (len(array) if array.ndim else 0) if length is None else length
            shape = (length, *like.shape[1:])
        if array.shape != shape or array.dtype.kind != like.dtype.kind:
            raise InvalidInput(
                f"state[{name!r}] must be {like.dtype} of shape {shape}, "
                f"got {array.dtype} of shape {array.shape}."
            )
        arrays[name] = np.array(array, like.dtype)
    return arrays


def same_definition(arrays: Mapping[str, np.ndarray], mine: Mapping[str, np.ndarray]) -> None:
    """Refuse a state whose numbers mean something else than those of the policy that loads it."""
    for name, wanted in mine.items():
        if (wanted != arrays[name]).any():
            raise InvalidInput(
                f"state[{name!r}] is {arrays[name].tolist()}, of this policy {wanted.tolist()}: "
                "the state means something else."
            )


def check_counted(arrays: Mapping[str, np.ndarray], *names: str) -> None:
    """Refuse numbers of plays, rounds or observations that nothing can have counted."""
    for name in names:
        counts: Integers = arrays[name]
        wrong = (counts < 0) | (counts > MOST_PLAYS)
        checks.refuse_first(
            f"state[{name!r}]", counts, wrong, f"{name} are at least 0, at most 2^53"
        )


def check_priors(priors: Floats) -> None:
    """Refuse priors[n, 1 + D] of a state, (weight, means…), that no prior leads to."""
    checks.refuse_first("state['priors']", priors, ~np.isfinite(priors), "all are finite")
    weights = priors[:, :1]
    wrong = (weights < 0) | (weights > 2**53) | (weights != np.floor(weights))
    checks.refuse_first("state['priors']", weights, wrong, "weights are whole, at least 0")
    checks.refuse_first(
        "state['priors']", priors, (weights == 0) & (priors != 0), "no means without a weight"
    )


def refuse_other_priors(mine: Floats, theirs: Floats) -> None:
    """Refuse to merge what was learned under other priors."""
    if (mine != theirs).any():
        arm = int(np.argwhere(mine != theirs)[0, 0])
        raise InvalidInput(
            f"state['priors'][{arm}] is {theirs[arm].tolist()}, of this policy "
            f"{mine[arm].tolist()}: only policies whose arms had the same priors can be merged."
        )
