"""The paper's theorems as functions of their parameters."""

from lexbandit.theory.moc_mab import MocMabTheory

__all__ = ["MocMabTheory"]
