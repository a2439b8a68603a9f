"""The partition with one cell: contexts are ignored."""

from dataclasses import dataclass

from lexbandit.partitions.uniform_grid import UniformGrid


@dataclass(frozen=True)
class SingleCell(UniformGrid):
    """All of [0,1]^d as one cell; a rule on it is the rule without contexts."""

    cells_per_side: int = 1

    def __init__(self, dimension: int) -> None:
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "cells_per_side", 1)
        self.__post_init__()
