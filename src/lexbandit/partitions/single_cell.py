"""The partition with one cell: contexts are ignored."""

from lexbandit.partitions.uniform_grid import UniformGrid


class SingleCell(UniformGrid):
    """All of [0,1]^d as one cell; a rule on it is the rule without contexts."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension, 1)
