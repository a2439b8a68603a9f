"""The theorems as functions of their parameters: the paper's, and those of docs/theory.md."""

from lexbandit.theory.moc_mab import MocMabTheory, periodic_theory
from lexbandit.theory.staged import StagedTheory
from lexbandit.theory.tree import TreeTheory

__all__ = ["MocMabTheory", "StagedTheory", "TreeTheory", "periodic_theory"]
