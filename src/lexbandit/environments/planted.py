"""Any number of arms, objectives and features, with ties planted at every level."""

import math
from collections.abc import Sequence

import numpy as np

from lexbandit.checks import Floats, Integers, positive, whole
from lexbandit.environments.base import Environment
from lexbandit.environments.clusters import Clusters
from lexbandit.environments.registry import REGISTRY
from lexbandit.environments.waves import Cosines, Waves
from lexbandit.errors import InvalidInput
from lexbandit.kernels.planting import plant

# Chosen so that all means stay within [0.01, 0.99]: 0.5 ± (0.19 + 0.3) at the last level.
_BEST, _BEST_SWING = 0.6, 0.09  # the best mean of a level before the last
_LAST, _LAST_SWING = 0.5, 0.19  # the means of the last level
_GAP, _GAP_SWING = 0.2, 0.1  # how far an arm falls behind, if the λ-assumption holds
_SMALL_GAP = 0.1  # at most so far, down to 0, if it holds for no λ
_LARGE_GAIN = 0.3


class Planted(Environment):
    """An optimum that needs every level; contexts uniform on [0,1]^d, or in clusters.

    Each arm has a level at which it falls behind, `levels[arm]` (from 0). On the levels before, its
    mean is the best one, b_i(x), in the same floating-point number as every other arm that is still
    level. On its own level ℓ it is b_ℓ(x) − g_a(x) with a gap g_a(x) ≥ 0. On the levels after that
    it is b_i(x) + s, b_i(x) − s, b_i(x) + s, … in turn: first a temptation, then a loss. Arms that
    never fall behind have levels[arm] = D − 1 and means of their own at the last level, which
    cross; b_D is the mean there of one of them.

    `assumption` is the λ for which μ^i_a(x) − μ^i_*(x) ≤ λ max_{j<i} (μ^j_*(x) − μ^j_a(x)) for all
    arms, objectives and contexts. Then 0.1 ≤ g_a(x) ≤ 0.3 and s = min(λ, 1) · g_a(x), so for
    λ ≤ 1 no smaller λ would do. It is infinite if no λ will do: then 0 ≤ g_a(x) ≤ 0.1, the gap
    vanishes on a surface through the cube, and s = 0.3 everywhere. (On that surface itself the arm
    is tied, and better.)

    Rewards are Bernoulli, or the mean ± `noise` with equal chances: that noise is sub-Gaussian with
    R = `noise` exactly, and rewards may leave [0, 1] by as much.
    """

    def __init__(
        self,
        *,
        dimension: int,
        objectives: int,
        levels: Integers,
        assumption: float,
        waves: Waves,
        noise: float | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        self.arms = len(levels)
        self.objectives = objectives
        self.dimension = dimension
        self.levels = levels
        self.assumption = assumption
        self.noise = None if noise is None else positive("noise", noise)
        self.clusters = clusters
        self._waves = waves
        self._plan()

    @property
    def lipschitz(self) -> float:
        """A Lipschitz constant of all means: the L of Assumption 1 for α = 1."""
        return float((self._shared + np.abs(self._own)).max() * self._waves.slope)

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        if self.clusters is not None:
            return self.clusters.draw(n, random)
        return random.random((n, self.dimension))

    def _means(self, contexts: Floats) -> Floats:
        return plant(self._waves(contexts), self._middle, self._shared, self._own, self._best)

    def _plan(self) -> None:
        """Set middle, shared and own[K, D]: each mean is middle + shared · wave + own · wave."""
        last = self.objectives - 1
        self._best = np.append(np.arange(last), last + np.argmax(self.levels))
        self._middle = np.full((self.arms, self.objectives), _BEST)
        self._shared = np.full((self.arms, self.objectives), _BEST_SWING)
        self._own = np.zeros((self.arms, self.objectives))
        self._middle[:, last] = _LAST
        self._shared[:, last] = _LAST_SWING
        gap, gap_swing, gain, gain_swing = self._gap_and_gain()
        for arm, level in enumerate(self.levels):
            if level == last:
                self._shared[arm, last] = 0.0
                self._own[arm, last] = _LAST_SWING
                continue
            self._middle[arm, level] -= gap
            self._own[arm, level] = -gap_swing
            signs = np.where(np.arange(last - level) % 2, -1.0, 1.0)
            self._middle[arm, level + 1 :] += signs * gain
            self._own[arm, level + 1 :] = signs * gain_swing

    def _gap_and_gain(self) -> tuple[float, float, float, float]:
        """Return the middle and swing of the gap, and those of the gain."""
        if math.isinf(self.assumption):
            return _SMALL_GAP / 2, _SMALL_GAP / 2, _LARGE_GAIN, 0.0
        share = min(self.assumption, 1.0)
        return _GAP, _GAP_SWING, share * _GAP, share * _GAP_SWING

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        draws = random.random(means.shape)
        if self.noise is None:
            return np.asarray(draws < means, np.float64)
        return means + np.where(draws < 0.5, -self.noise, self.noise)


def planted_levels(
    *, arms: int, objectives: int, ties: int | Sequence[int] | None, random: np.random.Generator
) -> Integers:
    """Return levels[K] from 0 to D − 1, in random order, with the numbers of arms in `ties`.

    ties[i] arms are level with the best through objectives 1 to i + 1, for i = 0 to D − 2. One
    number stands for that number at every level; None for D, D − 1, …, 2, at most K.
    """
    if ties is None:
        ties = [min(arms, objectives - i) for i in range(objectives - 1)]
    elif np.ndim(ties) == 0:
        ties = [whole("ties", ties, least=1, most=arms)] * (objectives - 1)
    elif len(ties) != objectives - 1:  # type: ignore[arg-type]
        raise InvalidInput(
            f"ties must be {objectives - 1} numbers, one for each objective but the last, "
            f"got {ties!r}."
        )
    sizes = [whole(f"ties[{i}]", size, least=1, most=arms) for i, size in enumerate(ties)]  # type: ignore[arg-type]
    if sizes != sorted(sizes, reverse=True):
        raise InvalidInput(f"ties cannot grow from one objective to the next, got {ties!r}.")
    levels = np.zeros(arms, np.int64)
    for size in sizes:
        levels[:size] += 1
    return random.permutation(levels)


def checked_assumption(value: float, *, finite: bool = False) -> float:
    """Return λ as a float of at least 0; infinity, unless refused, stands for "for no λ"."""
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if numeric else math.nan
    if not number >= 0 or (finite and math.isinf(number)):
        allowed = "a finite λ of at least 0" if finite else "a λ of at least 0, or inf for none"
        raise InvalidInput(f"assumption must be {allowed}, got {value!r}.")
    return number


@REGISTRY.register("planted")
def planted(
    *,
    arms: int = 6,
    objectives: int = 3,
    dimension: int = 2,
    ties: int | Sequence[int] | None = None,
    assumption: float = 1.0,
    frequency: float = 0.5,
    noise: float | None = None,
    clusters: int = 0,
    spread: float = 0.03,
    strays: float = 0.0,
    plan: int = 0,
) -> Planted:
    """Any number of arms, objectives and features; exact ties at every level; Bernoulli rewards."""
    arms = whole("arms", arms, least=1)
    objectives = whole("objectives", objectives, least=1)
    dimension = whole("dimension", dimension, least=1)
    assumption = checked_assumption(assumption)
    random = np.random.default_rng(whole("plan", plan, least=0))
    levels = planted_levels(arms=arms, objectives=objectives, ties=ties, random=random)
    waves = Cosines(
        count=objectives - 1 + arms,
        dimension=dimension,
        frequency=positive("frequency", frequency),
        random=random,
        valleys=slice(objectives - 1, None) if math.isinf(assumption) else slice(0),
    )
    gathered = None
    if whole("clusters", clusters, least=0) > 0:
        gathered = Clusters(
            dimension=dimension, clusters=clusters, spread=spread, strays=strays, random=random
        )
    return Planted(
        dimension=dimension,
        objectives=objectives,
        levels=levels,
        assumption=assumption,
        waves=waves,
        noise=noise,
        clusters=gathered,
    )
