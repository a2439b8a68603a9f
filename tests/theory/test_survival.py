"""The lemmas of docs/theory.md as pure mathematics: a* survives, and what is played loses little.

All numbers are whole or fractions, so the inequalities are checked exactly, ties included. The
rules are written from the definitions and share nothing with the package.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit
from lexbandit.environments.planted import Planted

Number = Fraction | float


@dataclass
class Cell:
    """Arms with true means at one context, estimates, widths; the margin v and λ."""

    truth: Sequence[Sequence[Number]]
    estimates: Sequence[Sequence[Number]]
    widths: Sequence[Number]
    v: Number
    lam: Number

    @property
    def arms(self) -> range:
        return range(len(self.truth))

    @property
    def levels(self) -> range:
        return range(len(self.truth[0]))

    def upper(self, arm: int, i: int) -> Number:
        return self.estimates[arm][i] + self.widths[arm]

    def lower(self, arm: int, i: int) -> Number:
        return self.estimates[arm][i] - self.widths[arm]

    @property
    def optimal(self) -> list[int]:
        best = max(list(row) for row in self.truth)
        return [arm for arm in self.arms if list(self.truth[arm]) == best]

    def loss(self, arm: int, i: int) -> Number:
        return max(list(row) for row in self.truth)[i] - self.truth[arm][i]

    def holds(self) -> bool:
        """Whether every mean lies within width + v of its estimate."""
        return all(
            self.lower(a, i) - self.v <= self.truth[a][i] <= self.upper(a, i) + self.v
            for a, i in product(self.arms, self.levels)
        )


def lex_moc(cell: Cell, beta: Number, error: bool = True) -> tuple[int, int, list[list[int]]]:
    """Return the arm played, the level it was played at, and the candidates of each level."""
    sets, tops = [list(cell.arms)], []
    for i in cell.levels:
        top = max(sets[-1], key=lambda a: cell.upper(a, i))
        tops.append(top)
        if i == cell.levels[-1] or cell.widths[top] > beta * cell.v:
            return top, i, sets
        e: Number = 0
        for j in range(i):
            gap = cell.upper(tops[j], j) - cell.lower(top, j) + 2 * cell.v
            e = max(e, cell.lam * gap) if error else e
        floor = cell.lower(top, i) - 2 * cell.v - e
        sets.append([a for a in sets[-1] if cell.upper(a, i) >= floor])
    raise AssertionError


def growth(lam: Number, i: int) -> Number:
    """Λ_i = 1 + λ + … + λ^(i−1); Λ_0 = 0."""
    total: Number = 0
    for k in range(i):
        total += lam**k
    return total


def staged_filter(cell: Cell, omega: Number, less: Number = 0) -> list[int]:
    """One filter of the staged rule, all widths being at most ω − v; the last margin is `less`."""
    left = list(cell.arms)
    for i in cell.levels:
        best = max(cell.estimates[a][i] for a in left)
        margin = (2 + 4 * cell.lam * growth(cell.lam, i)) * omega
        margin -= less if i == cell.levels[-1] else 0
        left = [a for a in left if cell.estimates[a][i] >= best - margin]
    return left


def interval_filter(cell: Cell) -> list[int]:
    """The filter by each arm's own interval, to its fixed point."""
    left = list(cell.arms)
    while True:
        now, tops = left, list[Number]()
        for i in cell.levels:
            errors = {
                b: max(
                    (cell.lam * (tops[j] - cell.lower(b, j) + 2 * cell.v) for j in range(i)),
                    default=0,
                )
                for b in now
            }
            tops.append(max(cell.upper(a, i) for a in now))
            floor = max(cell.lower(b, i) - max(0, errors[b]) for b in now) - 2 * cell.v
            now = [a for a in now if cell.upper(a, i) >= floor]
        if now == left:
            return left
        left = now


@st.composite
def cells(draw: st.DrawFn, *, even_widths: bool = False) -> Cell:
    """Means with the λ-assumption and estimates whose intervals hold, often at their very ends."""
    D, K = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    lam = draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]))
    v = Fraction(draw(st.integers(0, 6)))
    step = st.integers(-40, 40)
    truth: list[list[Number]] = [[Fraction(0)] * D]
    for _ in range(K - 1):
        row: list[Number] = []
        for i in range(D):
            most = lam * max((-row[j] for j in range(i)), default=Fraction(0))
            row.append(min(Fraction(draw(step)), most))
        truth.append(row)
    one = Fraction(draw(st.integers(0, 12)))
    widths: list[Number] = [
        one if even_widths else Fraction(draw(st.integers(0, 12))) for _ in truth
    ]
    ends = st.sampled_from([-1, -1, 0, 1, 1]) | st.fractions(-1, 1, max_denominator=4)
    estimates: list[list[Number]] = [
        [mean + draw(ends) * (widths[a] + v) for mean in row] for a, row in enumerate(truth)
    ]
    cell = Cell(truth, estimates, widths, v, lam)
    assert cell.holds()
    assert 0 in cell.optimal
    return cell


@settings(max_examples=200)
@given(cell=cells(), beta=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(20)]))
def test_lex_moc(cell: Cell, beta: Fraction) -> None:
    arm, level, sets = lex_moc(cell, beta)
    for a in cell.optimal:
        assert all(a in candidates for candidates in sets)
    v, u, lam, D = cell.v, cell.widths[arm], cell.lam, len(cell.levels)
    for i in range(level):
        c = 2 * (beta + 2) + 4 * (beta + 1) * lam * growth(lam, i)
        assert i < D - 1
        assert cell.loss(arm, i) <= 2 * u + c * v
    assert cell.loss(arm, level) <= 2 * u + 2 * v


@settings(max_examples=200)
@given(cell=cells(), slack=st.integers(0, 5))
def test_staged(cell: Cell, slack: int) -> None:
    omega = max(cell.widths) + slack + cell.v
    left = staged_filter(cell, omega)
    assert set(cell.optimal) <= set(left)
    for a, i in product(left, cell.levels):
        assert cell.loss(a, i) <= 4 * growth(cell.lam, i + 1) * omega


@pytest.mark.parametrize("lam", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_no_margin_of_the_staged_rule_can_be_smaller(lam: Fraction, level: int) -> None:
    """An arm that loses all that passes at one level and gains all that λ allows at the next."""
    omega = Fraction(5)
    # As good as a* at first, then as far behind as can pass: 4 Λ ω; then ahead by λ times that.
    loss = 4 * growth(lam, level) * omega
    other: list[Number] = [Fraction(0)] * (level - 1) + [-loss] * (level > 0) + [lam * loss]
    estimates: list[list[Number]] = [[-omega] * (level + 1), [mean + omega for mean in other]]
    cell = Cell([[Fraction(0)] * (level + 1), other], estimates, [omega, omega], Fraction(0), lam)
    assert cell.holds()
    assert staged_filter(cell, omega) == [0, 1]
    assert staged_filter(cell, omega, less=Fraction(1, 1000)) == [1]


@settings(max_examples=200)
@given(cell=cells())
def test_intervals(cell: Cell) -> None:
    left = interval_filter(cell)
    assert set(cell.optimal) <= set(left)
    widest = max(cell.widths[a] for a in left)
    for a, i in product(left, cell.levels):
        assert cell.loss(a, i) <= 4 * growth(cell.lam, i + 1) * (widest + cell.v)


@settings(max_examples=200)
@given(cell=cells(even_widths=True))
def test_played_at_the_end_of_the_stages(cell: Cell) -> None:
    """With widths of at most v: a filter with 2v, then the highest index of the last objective."""
    cell.v = max(cell.v, *cell.widths)
    left = staged_filter(cell, 2 * cell.v)
    last = cell.levels[-1]
    played = max(left, key=lambda a: cell.upper(a, last))
    assert cell.loss(played, last) <= 4 * cell.v
    for i in range(last):
        assert cell.loss(played, i) <= 8 * growth(cell.lam, i + 1) * cell.v


def test_without_the_allowance_for_lambda_the_optimum_is_lost() -> None:
    """e_i is needed: three objectives, λ = 1, and an arm that is 2 behind, then 2 ahead."""
    truth: list[list[Number]] = [[0, 0, 0], [-2, 2, -50]]
    estimates: list[list[Number]] = [[-1, -1, 0], [-1, 3, -50]]
    cell = Cell(truth, estimates, [Fraction(0)] * 2, Fraction(1), Fraction(1))
    assert cell.holds()
    arm, _, sets = lex_moc(cell, Fraction(1), error=False)
    assert (arm, sets[-1]) == (1, [1])
    arm, _, sets = lex_moc(cell, Fraction(1))
    assert (arm, sets[-1]) == (0, [0, 1])


def test_where_no_lambda_is_true_the_optimum_is_lost() -> None:
    """The example of docs/theory.md: estimates without any error, a margin of nearly nothing."""
    truth = [[0.5 + 1e-3, 0.2, 0.9], [0.5, 0.8, 0.1]]
    cell = Cell(truth, truth, [1e-3, 1e-3], 1e-3, 1.0)
    arm, level, sets = lex_moc(cell, 1.0)
    assert (arm, level, sets) == (1, 2, [[0, 1], [0, 1], [1]])
    assert staged_filter(cell, 2e-3) == [1]


def simulate(
    rounds: int, *, beta: float, lam: float, seed: int, assumption: float, m: int = 4
) -> tuple[int, int, int]:
    """LexMOC in plain Python on `planted`: return how many rounds had what.

    (1) true intervals and an arm chosen by the last objective, (2) true intervals and yet a* lost,
    (3) some false interval. d = 1, m cells, K = 4, D = 3. The width is the one for rewards in
    [0, 1], ½ sqrt((1+N)/N² 2 ln(sqrt(1+N)/δ)), with δ = 0.1 over all arms, cells and objectives.
    """
    environment = lexbandit.make_environment(
        "planted", arms=4, objectives=3, dimension=1, assumption=assumption
    )
    assert isinstance(environment, Planted)
    delta = 0.1 / (m * 4 * 3)
    v = environment.lipschitz / m
    counts, sums = np.zeros((m, 4)), np.zeros((m, 4, 3))
    drawn = environment.rounds(rounds, seed=seed)
    assert drawn.means is not None
    deep = lost = false = 0
    for x, means, outcomes in zip(drawn.contexts, drawn.means, drawn.outcomes, strict=True):
        p = min(int(x[0] * m), m - 1)
        n = np.maximum(counts[p], 1)
        widths = 0.5 * np.sqrt((1 + n) / n**2 * 2 * np.log(np.sqrt(1 + n) / delta))
        widths[counts[p] == 0] = math.inf
        estimates = (sums[p].T / n).T
        cell = Cell(means.tolist(), estimates.tolist(), widths.tolist(), v, lam)
        arm, level, sets = lex_moc(cell, beta)
        if cell.holds():
            deep += level == 2
            lost += cell.optimal[0] not in sets[-1]
        else:
            false += 1
        counts[p, arm] += 1
        sums[p, arm] += outcomes[arm]
    return deep, lost, false


def test_survival_on_a_stream() -> None:
    deep, lost, false = simulate(3000, beta=3.0, lam=1.0, assumption=1.0, seed=0)
    assert (lost, false) == (0, 0)
    assert deep > 1000


@pytest.mark.slow
def test_survival_on_many_streams() -> None:
    """Whenever the intervals hold; in at most a tenth of the streams they may fail at all."""
    results = [
        simulate(20_000, beta=1.0, lam=lam, assumption=lam, seed=s)
        for s in range(4)
        for lam in (0.5, 1.0)
    ]
    assert all(deep > 5000 and lost == 0 for deep, lost, _ in results)
    assert sum(false > 0 for _, _, false in results) <= 2


@pytest.mark.slow
def test_loss_on_a_stream_where_no_lambda_is_true() -> None:
    """The optimum is lost although every interval holds: the assumption is what failed."""
    deep, lost, false = simulate(40_000, beta=1.0, lam=0.0, assumption=math.inf, seed=0, m=8)
    assert deep > 5000
    assert lost > 1000
    assert false == 0
