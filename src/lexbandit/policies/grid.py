"""The grid that all contextual policies of the paper share."""

from lexbandit.holder import cells_per_side_for
from lexbandit.partitions import UniformGrid


def grid_for(
    *, dimension: int, horizon: int, alpha: float, cells_per_side: int | None
) -> UniformGrid:
    """Return the grid with m from Theorem 2, or the given m."""
    if cells_per_side is None:
        cells_per_side = cells_per_side_for(horizon=horizon, alpha=alpha, dimension=dimension)
    return UniformGrid(dimension, cells_per_side)
