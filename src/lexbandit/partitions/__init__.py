"""Partitions of the context space [0,1]^d into cells. One partition a file."""

from lexbandit.partitions.adaptive_tree import AdaptiveTree
from lexbandit.partitions.base import Partition
from lexbandit.partitions.mixed_grid import Exact, MixedGrid, Sides, checked_sides
from lexbandit.partitions.random_boundaries import RandomBoundaryGrid
from lexbandit.partitions.single_cell import SingleCell
from lexbandit.partitions.uniform_grid import UniformGrid

__all__ = [
    "AdaptiveTree",
    "Exact",
    "MixedGrid",
    "Partition",
    "RandomBoundaryGrid",
    "Sides",
    "SingleCell",
    "UniformGrid",
    "checked_sides",
]
