"""The theorems as functions of their parameters: the paper's, and those of docs/theory.md."""

from lexbandit.theory.grid import MocMabTheory, StagedTheory, finer_cells, periodic_theory
from lexbandit.theory.tree import TreeTheory

__all__ = ["MocMabTheory", "StagedTheory", "TreeTheory", "finer_cells", "periodic_theory"]
