"""Random worlds of seventeen kinds, as practitioners meet them, each with tolerances of its own."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.environments.base import Environment
from lexbandit.environments.registry import REGISTRY
from lexbandit.environments.waves import Cosines

Random = np.random.Generator
Layout = tuple[tuple[str, int], ...]

# Turns means[n, K] of one objective and two uniform numbers for each, [n, K, 2], into rewards.
Law = Callable[[Floats, Floats], Floats]

_NUMBER = ("number", 1)
# What a `Chooser` without features has: a category of one value, whose coordinate is always 0.
_NO_CONTEXT: Layout = (("category", 1),)


@dataclass(frozen=True)
class ToleranceWorld:
    """The truth of one world: means table[cell] + swings[cell] · waves(numbers), in [0, 1].

    layout      what the coordinates of a context are; see `Environment.layout`
    table       float[cells, …, K, D], one axis for each category, then one for each cut number
    laws        how the rewards of each objective vary around their means
    tolerances  one an objective, 0 for the last
    cuts        where the cells of a number begin, for each number that has cells
    waves       functions of the numbers with values in [−1, 1], one an arm and objective: [n, K·D]
    swings      how far each mean swings with its wave; broadcast to the table
    """

    layout: Layout
    table: Floats
    laws: tuple[Law, ...]
    tolerances: tuple[float, ...]
    cuts: tuple[Floats, ...] = ()
    waves: Callable[[Floats], Floats] | None = None
    swings: Floats | float = 0.0


@REGISTRY.register("tolerance")
class Tolerance(Environment):
    """Random worlds of seventeen kinds, as practitioners meet them, with their tolerances.

    Means, noise, arms and tolerances are drawn from the `kind` and the number of the `world`.
    Values of a category come with unequal frequencies, numbers are uniform. Rewards are shares of a
    declared range and most lie in [0, 1]; a cost c of the range (0, C) is the reward 1 − c/C.
    Rewards of different objectives are independent.
    """

    def __init__(self, *, kind: str = "smooth", world: int = 0) -> None:
        checks.one_of("kind", kind, list(KINDS))
        self.kind = kind
        self.world = checks.whole("world", world, least=0)
        random = np.random.default_rng([crc32(kind.encode()), self.world])
        self._truth = truth = KINDS[kind](random)
        self.layout = truth.layout
        self.tolerances = truth.tolerances
        self.arms, self.objectives = truth.table.shape[-2:]
        self.dimension = sum(size for _, size in truth.layout)
        self._frequencies = [
            np.cumsum(random.dirichlet(np.full(size, 3.0)))[:-1]
            for name, size in truth.layout
            if name == "category" and size > 1
        ]

    def _contexts(self, n: int, random: Random) -> Floats:
        contexts = np.zeros((n, self.dimension))
        uniform = random.random((n, len(self.layout)))
        frequencies = iter(self._frequencies)
        at = 0
        for feature, (name, size) in enumerate(self.layout):
            if name == "number":
                contexts[:, at] = uniform[:, feature]
            elif size > 1:
                value = np.searchsorted(next(frequencies), uniform[:, feature], side="right")
                contexts[np.arange(n), at + value] = 1.0
            at += size
        return contexts

    def _means(self, contexts: Floats) -> Floats:
        truth = self._truth
        cells, columns = self._read(contexts)
        numbers = np.ascontiguousarray(contexts[:, columns])
        for number, cut in enumerate(truth.cuts):
            cells.append(np.searchsorted(cut, numbers[:, number], side="right"))
        means = np.empty((len(contexts), self.arms, self.objectives))
        means[:] = truth.table[tuple(cells)]
        if truth.waves is not None:
            swings = np.broadcast_to(truth.swings, truth.table.shape)[tuple(cells)]
            means += swings * truth.waves(numbers).reshape(means.shape)
        return means

    def _read(self, contexts: Floats) -> tuple[list[Integers], list[int]]:
        """Return the value of every category, int[n] each, and the columns of the numbers."""
        values, columns, at = [], [], 0
        for name, size in self.layout:
            if name == "number":
                columns.append(at)
            else:
                values.append(contexts[:, at : at + size].argmax(axis=1))
            at += size
        return values, columns

    def _outcomes(self, contexts: Floats, means: Floats, random: Random) -> Floats:
        uniform = random.random((*means.shape, 2))
        columns = [law(means[..., i], uniform[:, :, i]) for i, law in enumerate(self._truth.laws)]
        return np.stack(columns, axis=-1)


# Laws of rewards. Each has exactly the mean that it is given.


def _normal(uniform: Floats) -> Floats:
    """Return one standard normal number for each two uniform ones (Box and Muller, 1958)."""
    radius = np.sqrt(-2.0 * np.log1p(-uniform[..., 0]))
    return np.asarray(radius * np.cos(2.0 * math.pi * uniform[..., 1]))


def _gaussian(deviation: Floats | float) -> Law:
    """Return normal noise with a standard deviation for all arms or for each."""
    return lambda means, uniform: np.asarray(means + deviation * _normal(uniform))


def _bernoulli(means: Floats, uniform: Floats) -> Floats:
    """Draw 1 with the probability of the mean, else 0."""
    return np.asarray(uniform[..., 0] < means, np.float64)


def _lognormal_cost(spread: float) -> Law:
    """Return 1 − cost with a lognormal cost; `spread` is the deviation of its logarithm."""

    def draw(means: Floats, uniform: Floats) -> Floats:
        factor = np.exp(spread * _normal(uniform) - 0.5 * spread**2)
        return np.asarray(1.0 - (1.0 - means) * factor)

    return draw


def _failing(chance: Floats, deviation: float) -> Law:
    """Return 0 with an arm's chance of failing, else normal noise around mean/(1 − chance)."""

    def draw(means: Floats, uniform: Floats) -> Floats:
        fails = uniform[..., 0] < chance
        rest = uniform.copy()  # given that it does not fail, this is uniform again
        rest[..., 0] = np.where(fails, 0.5, (uniform[..., 0] - chance) / (1.0 - chance))
        return np.where(fails, 0.0, means / (1.0 - chance) + deviation * _normal(rest))

    return draw


def _purchases(amount: float, spread: float) -> Law:
    """Return 0 but for purchases, whose lognormal amounts have this mean.

    The chance of a purchase is mean/amount; `spread` is the deviation of an amount's logarithm.
    """

    def draw(means: Floats, uniform: Floats) -> Floats:
        chance = means / amount
        buys = uniform[..., 0] < chance
        rest = uniform.copy()  # given that somebody buys, this is uniform again
        rest[..., 0] = np.where(buys, uniform[..., 0] / chance, 0.5)
        factor = np.exp(spread * _normal(rest) - 0.5 * spread**2)
        return np.where(buys, amount * factor, 0.0)

    return draw


def _pareto_cost(tail: float, cap: float) -> tuple[Law, float]:
    """Return 1 − cost with a Pareto cost cut off at `cap` times its least value.

    The second number is the largest mean cost for which no cost is above 1. The mean of
    min(X, cap) with P(X > x) = x^(−tail) is (tail − cap^(1 − tail))/(tail − 1).
    """
    mean = (tail - cap ** (1.0 - tail)) / (tail - 1.0)

    def draw(means: Floats, uniform: Floats) -> Floats:
        factor = np.minimum((1.0 - uniform[..., 0]) ** (-1.0 / tail), cap) / mean
        return np.asarray(1.0 - (1.0 - means) * factor)

    return draw, mean / cap


def _cut_lognormal_cost(spread: float, cap: float) -> tuple[Law, float]:
    """Return 1 − cost with a lognormal cost cut off at `cap` times its median.

    The second number is the largest mean cost for which no cost is above 1. The mean of
    min(exp(s Z), c) is exp(s²/2) Φ(ln c/s − s) + c Φ(−ln c/s).
    """
    edge = math.log(cap) / spread
    mean = math.exp(0.5 * spread**2) * _phi(edge - spread) + cap * _phi(-edge)

    def draw(means: Floats, uniform: Floats) -> Floats:
        factor = np.minimum(np.exp(spread * _normal(uniform)), cap) / mean
        return np.asarray(1.0 - (1.0 - means) * factor)

    return draw, mean / cap


def _phi(x: float) -> float:
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _squeezed(law: Law, low: float, width: float) -> Law:
    """Return a law whose rewards lie in a part of the range that begins at `low`."""
    return lambda means, uniform: low + width * law((means - low) / width, uniform)


# What several kinds have in common.


def _tolerance(random: Random) -> float:
    return float(random.uniform(0.01, 0.05))


def _number_of_arms(random: Random, fewest: int = 3, most: int = 8) -> int:
    return int(random.integers(fewest, most + 1))


def _noise(random: Random, arms: int) -> Law:
    """Return normal noise of a deviation between 0.05 and 0.3, somewhat different between arms."""
    return _gaussian(np.minimum(random.uniform(0.06, 0.25) * random.uniform(0.8, 1.2, arms), 0.3))


def _cost_noise(random: Random) -> Law:
    return _lognormal_cost(float(random.uniform(0.1, 0.5)))


def _qualities(random: Random, arms: int, tolerance: float) -> Floats:
    """Return means float[K] of a first objective, the best between 0.6 and 0.9.

    The gaps reach up to 0.05 to 0.4. In seven worlds of ten the second best arm is as good.
    """
    gaps = np.sort(random.uniform(0.0, random.uniform(0.05, 0.4), arms))
    gaps[0] = 0.0
    if random.random() < 0.7:
        gaps[1] = tolerance * random.uniform(0.2, 0.8)
    return np.asarray(random.uniform(0.6, 0.9) - random.permutation(gaps))


def _thrift(random: Random, quality: Floats, most: float = 0.7) -> Floats:
    """Return means of a last objective, 1 − cost: the better an arm, the dearer, by and large."""
    arms = len(quality)
    rank = quality.argsort().argsort() / max(1, arms - 1)
    share = 0.7 * rank ** random.uniform(1.0, 2.5) + 0.3 * random.random(arms)
    return np.asarray(1.0 - 0.02 - (random.uniform(0.4, 1.0) * most - 0.02) * share)


def _two(random: Random, arms: int, tolerance: float) -> Floats:
    """Return means float[K, 2]: qualities, and 1 − cost."""
    quality = _qualities(random, arms, tolerance)
    return np.stack([quality, _thrift(random, quality)], axis=-1)


def _rare(random: Random, arms: int, best: float, size: int) -> Floats:
    """Return means float[size, K, 2] of a rare reward, at most `best`, and of 1 − cost."""
    share = random.uniform(0.4, 1.0, arms)
    share[random.integers(arms)] = 1.0
    means = best * share * random.uniform(0.7, 1.0, (size, 1))
    means *= best / means.max()
    thrift = np.broadcast_to(1.0 - random.uniform(0.05, 0.7, arms), means.shape)
    return np.stack([means, thrift], axis=-1)


def _by_category(random: Random, base: Floats, sizes: tuple[int, ...], by: float) -> Floats:
    """Return a table float[sizes…, K, D] around base[K, D].

    A value of a category moves all arms alike by up to 0.1 in the first objective, and every mean
    by a deviation of `by` on its own.
    """
    table = base + by * random.standard_normal((*sizes, *base.shape))
    for axis, size in enumerate(sizes):
        common = random.uniform(-0.1, 0.1, size)
        table[..., 0] += common.reshape((size,) + (1,) * (len(sizes) - axis))
    return np.asarray(np.clip(table, 0.02, 0.98))


def _swings(random: Random, table: Floats, least: float, most: float) -> Floats:
    """Return how far each mean swings, up or down: so that it stays inside of [0, 1]."""
    limit = 0.9 * np.minimum(table, 1.0 - table)
    return np.asarray(np.clip(random.uniform(least, most, table.shape), -limit, limit))


def _cosines(random: Random, means: int, numbers: int) -> Cosines:
    return Cosines(
        count=means, dimension=numbers, frequency=random.uniform(0.2, 0.6), random=random
    )


# The kinds.


def _categories(random: Random) -> ToleranceWorld:
    """Quality with diminishing returns and strongly rising costs; two categories, e.g. prompts."""
    arms = _number_of_arms(random, 3, 6)
    sizes = tuple(int(size) for size in random.integers(3, 6, 2))
    strength = np.cumsum(random.uniform(0.5, 1.5, arms))
    strength = (strength - strength[0]) / (strength[-1] - strength[0])
    difficulty = random.random((sizes[0], 1, 1)) + random.random((sizes[1], 1))
    lost = 0.5 * difficulty * np.exp(-random.uniform(1.0, 4.0) * strength)
    quality = random.uniform(0.85, 0.95) - random.uniform(0.2, 0.5) * lost
    quality = quality + 0.01 * random.standard_normal(quality.shape)
    dearest = random.uniform(0.3, 0.6)
    cost = dearest * random.uniform(5.0, 30.0) ** (strength - 1.0)
    length = random.uniform(0.6, 1.4, sizes[1])[:, np.newaxis]
    thrift = np.broadcast_to(1.0 - cost * length, quality.shape)
    return ToleranceWorld(
        layout=tuple(("category", size) for size in sizes),
        table=np.stack([quality, thrift], axis=-1),
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(_tolerance(random), 0.0),
    )


def _successes(random: Random) -> ToleranceWorld:
    """Success or failure with one or two categories, then cost."""
    arms, tolerance = _number_of_arms(random), _tolerance(random)
    sizes = tuple(int(size) for size in random.integers(2, 6, random.integers(1, 3)))
    base = _two(random, arms, tolerance)
    base[:, 0] -= random.uniform(0.0, 0.2)
    return ToleranceWorld(
        layout=tuple(("category", size) for size in sizes),
        table=_by_category(random, base, sizes, 0.03),
        laws=(_bernoulli, _cost_noise(random)),
        tolerances=(tolerance, 0.0),
    )


def _edge(random: Random) -> ToleranceWorld:
    """Arms behind the best by half to one and a half tolerances; the further, the cheaper."""
    arms, tolerance = _number_of_arms(random, 4, 7), float(random.uniform(0.03, 0.05))
    size = int(random.integers(2, 5))
    gaps = tolerance * random.uniform(0.5, 1.5, (size, arms))
    gaps[np.arange(size), random.integers(0, arms, size)] = 0.0
    saved = 0.3 * gaps / tolerance + random.uniform(0.0, 0.15, gaps.shape)
    best = random.uniform(0.6, 0.9, (size, 1))
    return ToleranceWorld(
        layout=(("category", size),),
        table=np.stack([best - gaps, 0.3 + saved], axis=-1),
        laws=(_gaussian(random.uniform(0.05, 0.15)), _cost_noise(random)),
        tolerances=(tolerance, 0.0),
    )


def _smooth(random: Random) -> ToleranceWorld:
    """Smooth functions of two numbers."""
    arms, tolerance = _number_of_arms(random, 3, 6), _tolerance(random)
    table = _two(random, arms, tolerance)
    return ToleranceWorld(
        layout=(_NUMBER, _NUMBER),
        table=table,
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(tolerance, 0.0),
        waves=_cosines(random, 2 * arms, 2),
        swings=_swings(random, table, 0.02, 0.12),
    )


def _interactions(random: Random) -> ToleranceWorld:
    """One or two numbers, whose effect differs between the values of a category."""
    arms, tolerance = _number_of_arms(random), _tolerance(random)
    size, numbers = int(random.integers(3, 6)), int(random.integers(1, 3))
    table = _by_category(random, _two(random, arms, tolerance), (size,), 0.03)
    return ToleranceWorld(
        layout=(*(_NUMBER,) * numbers, ("category", size)),
        table=table,
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(tolerance, 0.0),
        waves=_cosines(random, 2 * arms, numbers),
        swings=_swings(random, table, -0.12, 0.12),
    )


def _many_arms(random: Random) -> ToleranceWorld:
    """15 to 30 arms and a small context: one category or one number."""
    arms, tolerance = _number_of_arms(random, 15, 30), _tolerance(random)
    base = _two(random, arms, tolerance)
    laws = (_noise(random, arms), _cost_noise(random))
    if random.random() < 0.5:
        size = int(random.integers(2, 4))
        table = _by_category(random, base, (size,), 0.03)
        return ToleranceWorld((("category", size),), table, laws, (tolerance, 0.0))
    waves = _cosines(random, 2 * arms, 1)
    swings = _swings(random, base, 0.01, 0.08)
    return ToleranceWorld((_NUMBER,), base, laws, (tolerance, 0.0), waves=waves, swings=swings)


def _winner(random: Random) -> ToleranceWorld:
    """A clear winner in the first objective, and bad arms, most of which are cheap."""
    arms, size = _number_of_arms(random), int(random.integers(2, 5))
    winner = int(random.integers(arms))
    quality = random.uniform(0.3, 0.5, (size, arms))
    quality[:, winner] = 0.5 + random.uniform(0.1, 0.35, size)
    thrift = np.broadcast_to(random.uniform(0.2, 0.98, arms), quality.shape).copy()
    thrift[:, winner] = random.uniform(0.3, 0.6)
    table = np.stack([quality, thrift], axis=-1)
    return ToleranceWorld(
        layout=(("category", size), _NUMBER),
        table=table,
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(_tolerance(random), 0.0),
        waves=_cosines(random, 2 * arms, 1),
        swings=_swings(random, table, 0.0, 0.05),
    )


def _heavy_tails(random: Random) -> ToleranceWorld:
    """Costs with heavy tails; quality that is 0 in the 1 to 5 % of plays that fail."""
    arms, tolerance = _number_of_arms(random), _tolerance(random)
    size = int(random.integers(2, 5))
    chance = random.uniform(0.01, 0.05, arms)
    cap = random.uniform(5.0, 15.0)
    if random.random() < 0.5:
        law, most = _pareto_cost(random.uniform(1.3, 2.5), cap)
    else:
        law, most = _cut_lognormal_cost(random.uniform(0.8, 1.3), cap)
    quality = _by_category(
        random, _qualities(random, arms, tolerance)[:, np.newaxis], (size,), 0.03
    )
    thrift = _thrift(random, quality[..., 0].mean(axis=0), most)
    thrift = np.maximum(thrift * random.uniform(0.97, 1.0, (size, 1)), 1.0 - most)
    return ToleranceWorld(
        layout=(("category", size),),
        table=np.stack([(1.0 - chance) * quality[..., 0], thrift], axis=-1),
        laws=(_failing(chance, random.uniform(0.05, 0.15)), law),
        tolerances=(tolerance, 0.0),
    )


def _quiet(random: Random) -> ToleranceWorld:
    """As `categories` or `interactions`, with noise of at most 0.001; none in a third of worlds."""
    world = (_categories if random.random() < 0.5 else _interactions)(random)
    silent = random.random() < 1.0 / 3.0
    law = _gaussian(0.0 if silent else 10.0 ** random.uniform(-5.0, -3.0))
    return replace(world, laws=(law, law))


def _no_context(random: Random) -> ToleranceWorld:
    """No context; the first objective is Bernoulli in half of the worlds."""
    arms, tolerance = _number_of_arms(random), _tolerance(random)
    law = _bernoulli if random.random() < 0.5 else _noise(random, arms)
    table = _two(random, arms, tolerance)[np.newaxis]
    return ToleranceWorld(_NO_CONTEXT, table, (law, _cost_noise(random)), (tolerance, 0.0))


def _steps(random: Random) -> ToleranceWorld:
    """Means that are constant between jumps in two numbers: no smooth function fits."""
    arms, tolerance = _number_of_arms(random, 3, 6), _tolerance(random)
    cuts = tuple(np.sort(random.uniform(0.1, 0.9, random.integers(1, 4))) for _ in range(2))
    sizes = (len(cuts[0]) + 1, len(cuts[1]) + 1)
    return ToleranceWorld(
        layout=(_NUMBER, _NUMBER),
        table=_by_category(random, _two(random, arms, tolerance), sizes, 0.08),
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(tolerance, 0.0),
        cuts=cuts,
    )


def _sparse(random: Random) -> ToleranceWorld:
    """Eight numbers, three of which matter."""
    arms, tolerance = _number_of_arms(random, 3, 6), _tolerance(random)
    read = np.sort(random.permutation(8)[:3])
    waves = _cosines(random, 2 * arms, 3)
    table = _two(random, arms, tolerance)
    return ToleranceWorld(
        layout=(_NUMBER,) * 8,
        table=table,
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(tolerance, 0.0),
        waves=lambda numbers: waves(np.ascontiguousarray(numbers[:, read])),
        swings=_swings(random, table, 0.02, 0.12),
    )


def _three(random: Random) -> ToleranceWorld:
    """Three objectives, with a tolerance for the first two; a number and a category."""
    arms, size = _number_of_arms(random), int(random.integers(2, 5))
    tolerances = (_tolerance(random), _tolerance(random), 0.0)
    first = _qualities(random, arms, tolerances[0])
    second = _qualities(random, arms, tolerances[1])
    base = np.stack([first, second, _thrift(random, first + second)], axis=-1)
    table = _by_category(random, base, (size,), 0.02)
    return ToleranceWorld(
        layout=(_NUMBER, ("category", size)),
        table=table,
        laws=(_noise(random, arms), _noise(random, arms), _cost_noise(random)),
        tolerances=tolerances,
        waves=_cosines(random, 3 * arms, 1),
        swings=_swings(random, table, 0.0, 0.06),
    )


def _wide(random: Random) -> ToleranceWorld:
    """As `categories` or `smooth`, with ranges that are declared ten times too wide."""
    world = (_categories if random.random() < 0.5 else _smooth)(random)
    width = 0.1
    lows = random.uniform(0.0, 1.0 - width, 2)
    return replace(
        world,
        table=lows + width * world.table,
        swings=width * np.asarray(world.swings),
        laws=tuple(_squeezed(law, low, width) for law, low in zip(world.laws, lows, strict=True)),
        tolerances=tuple(width * tolerance for tolerance in world.tolerances),
    )


def _clicks(random: Random) -> ToleranceWorld:
    """Clicks of 1 to 5 % with a tolerance of a tenth of the best rate; cost is independent."""
    arms, size = _number_of_arms(random, 4, 8), int(random.integers(1, 4))
    best = float(random.uniform(0.01, 0.05))
    return ToleranceWorld(
        layout=(("category", size),),
        table=_rare(random, arms, best, size),
        laws=(_bernoulli, _cost_noise(random)),
        tolerances=(0.1 * best, 0.0),
    )


def _dear(random: Random) -> ToleranceWorld:
    """Quality that rises with the price, step by step: the best arm is the dearest."""
    arms, size = _number_of_arms(random, 4), int(random.integers(2, 5))
    steps = np.cumsum(random.uniform(0.2, 1.0, (2, arms)), axis=1)
    steps = (steps - steps[:, :1]) / (steps[:, -1:] - steps[:, :1])
    quality = random.uniform(0.7, 0.9) - random.uniform(0.1, 0.5) * (1.0 - steps[0])
    thrift = 0.98 - random.uniform(0.3, 0.8) * steps[1]
    order = random.permutation(arms)
    base = np.stack([quality, thrift], axis=-1)[order]
    table = np.broadcast_to(base, (size, arms, 2)).copy()
    table[..., 0] += random.uniform(-0.1, 0.1, (size, 1))
    return ToleranceWorld(
        layout=(("category", size),),
        table=table,
        laws=(_noise(random, arms), _cost_noise(random)),
        tolerances=(_tolerance(random), 0.0),
    )


def _revenue(random: Random) -> ToleranceWorld:
    """Revenue: 0 but for 2 to 10 % of plays, then lognormal; a tolerance of a tenth of the best."""
    arms, size = _number_of_arms(random), int(random.integers(1, 4))
    amount = float(random.uniform(0.1, 0.3))
    best = amount * random.uniform(0.02, 0.1)
    return ToleranceWorld(
        layout=(("category", size),),
        table=_rare(random, arms, best, size),
        laws=(_purchases(amount, random.uniform(0.3, 0.8)), _cost_noise(random)),
        tolerances=(0.1 * best, 0.0),
    )


KINDS: dict[str, Callable[[Random], ToleranceWorld]] = {
    "categories": _categories,
    "bernoulli": _successes,
    "edge": _edge,
    "smooth": _smooth,
    "interactions": _interactions,
    "many-arms": _many_arms,
    "winner": _winner,
    "heavy-tails": _heavy_tails,
    "quiet": _quiet,
    "no-context": _no_context,
    "steps": _steps,
    "sparse": _sparse,
    "three": _three,
    "wide": _wide,
    "clicks": _clicks,
    "dear": _dear,
    "revenue": _revenue,
}
