"""Confidence bounds: each computes the width of an estimate. One bound a file."""

from lexbandit.bounds.base import Bound
from lexbandit.bounds.holder import HolderBound
from lexbandit.bounds.pareto_ucb1 import ParetoUCB1Bound
from lexbandit.bounds.ucb1 import UCB1Bound

__all__ = ["Bound", "HolderBound", "ParetoUCB1Bound", "UCB1Bound"]
