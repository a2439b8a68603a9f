"""The partitions and bounds that policies on cells are made with, for `register`."""

from collections.abc import Callable

from lexbandit.bounds import Bound, UCB1Bound, make_bound
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.partitions import (
    AdaptiveTree,
    Exact,
    MixedGrid,
    Partition,
    RandomBoundaryGrid,
    Sides,
    SingleCell,
    UniformGrid,
)
from lexbandit.smoothness import cells_per_side_for

BOUNDARIES = ("half-open", "random")


def grid_for(
    *,
    dimension: int,
    horizon: int,
    alpha: float,
    cells_per_side: Sides,
    boundary: str,
    seed: int,
    smoothings: int,
) -> Partition:
    """Return the grid with m from Theorem 2, or the given m, or one for each dimension.

    Where some are given, the others have the m of Theorem 2 for the number of dimensions that are
    not `Exact`. `boundary` says which cell a context on a boundary is in: the upper one, or one
    that is drawn by `seed` at each arrival, as in the paper.
    """
    if boundary not in BOUNDARIES:
        raise unknown_name("boundary rule", boundary, BOUNDARIES)
    if boundary == "random":
        m = cells_per_side
        if m is None:
            m = _theory(horizon, alpha, dimension, smoothings)
        if not isinstance(m, int):
            raise InvalidInput(
                f"boundary='random' needs one number of cells for all sides, got {list(m)!r}."
            )
        return RandomBoundaryGrid(dimension, m, seed=seed)
    if cells_per_side is None:
        return UniformGrid(dimension, _theory(horizon, alpha, dimension, smoothings))
    if isinstance(cells_per_side, int):
        return UniformGrid(dimension, cells_per_side)
    blurred = sum(not isinstance(side, Exact) for side in cells_per_side)
    m = _theory(horizon, alpha, max(blurred, 1), smoothings)
    # With nothing blurred an arm counts as known where Theorem 2 would say so for d = 0.
    finest = float(horizon) ** (-1.0 / (smoothings * alpha))
    return plain_grid(
        dimension, [m if side is None else side for side in cells_per_side], finest=finest
    )


def plain_grid(dimension: int, cells_per_side: Sides, *, finest: float = 0.001) -> Partition:
    """Return the grid with the given cells; one cell where nothing is given."""
    if cells_per_side is None or isinstance(cells_per_side, int):
        return UniformGrid(dimension, cells_per_side or 1)
    if len(cells_per_side) != dimension:
        raise InvalidInput(
            f"cells_per_side must be one number, or one for each of {dimension} dimensions, got "
            f"{len(cells_per_side)}: {list(cells_per_side)!r}."
        )
    return MixedGrid([1 if side is None else side for side in cells_per_side], finest=finest)


def _theory(horizon: int, alpha: float, dimension: int, smoothings: int) -> int:
    return cells_per_side_for(
        horizon=horizon, alpha=alpha, dimension=dimension, smoothings=smoothings
    )


def theory_grid(smoothings: int) -> Callable[..., Partition]:
    """Return a maker of the grid with m = ⌈T^(1/(smoothings·α+d))⌉, unless m is given."""

    def make(
        *,
        dimension: int,
        horizon: int,
        alpha: float = 1.0,
        cells_per_side: Sides = None,
        boundary: str = "half-open",
        seed: int = 0,
    ) -> Partition:
        return grid_for(
            dimension=dimension,
            horizon=horizon,
            alpha=alpha,
            cells_per_side=cells_per_side,
            boundary=boundary,
            seed=seed,
            smoothings=smoothings,
        )

    return make


paper_grid = theory_grid(3)
"""MOC-MAB's grid, with m from Theorem 2."""
fine_grid = theory_grid(2)


def optional_grid(*, dimension: int, cells_per_side: Sides = None) -> Partition:
    """Return one cell, so that contexts are ignored, or the grid with the given cells."""
    return plain_grid(dimension, cells_per_side)


def one_cell(*, dimension: int) -> Partition:
    """Return one cell: contexts are ignored."""
    return SingleCell(dimension)


def tree(*, dimension: int, alpha: float = 1.0, split_after: float = 1.0) -> Partition:
    """Return a tree that splits where contexts come."""
    return AdaptiveTree(dimension, rho=3.0 * alpha, split_after=split_after)


def any_bound(default: str) -> Callable[..., Bound]:
    """Return a maker of the bound that is chosen by name, `default` if none is."""

    def make(
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        horizon: int | None = None,
        bound: str | Bound = default,
        R: float | None = None,
        delta: float | None = None,
        scale: float = 1.0,
    ) -> Bound:
        return make_bound(
            bound,
            arms=arms,
            objectives=objectives,
            cells=partition.cells_at(0),
            horizon=horizon,
            delta=delta,
            R=R,
            scale=scale,
        )

    return make


def explanation_only(*, arms: int) -> Bound:
    """Return UCB1's bound, for a rule that has no use for widths: `explain` shows them."""
    return UCB1Bound(arms=arms)
