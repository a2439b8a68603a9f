"""The grids of policies on cells."""

from lexbandit.holder import cells_per_side_for
from lexbandit.partitions import UniformGrid


def grid_for(
    *,
    dimension: int,
    horizon: int,
    alpha: float,
    cells_per_side: int | None,
    smoothings: int = 3,
) -> UniformGrid:
    """Return the grid with the given m, or the least with m^(`smoothings`·α + d) ≥ T.

    That is 3α + d in Theorem 2 of the paper.
    """
    if cells_per_side is None:
        cells_per_side = cells_per_side_for(
            horizon=horizon, alpha=alpha, dimension=dimension, smoothings=smoothings
        )
    return UniformGrid(dimension, cells_per_side)


def one_cell_or_grid(*, dimension: int, cells_per_side: int | None) -> UniformGrid:
    """Return the grid with the given m, or a single cell: a policy without contexts."""
    return UniformGrid(dimension, 1 if cells_per_side is None else cells_per_side)
