"""Confidence bounds: each computes the interval of an estimate. One family a file."""

from lexbandit.bounds.base import Bound, CentredBound, UniformBound
from lexbandit.bounds.empirical_bernstein import EmpiricalBernsteinBound
from lexbandit.bounds.holder import HolderBound
from lexbandit.bounds.kl import AnytimeKLBound, KLBound, KLUCBBound
from lexbandit.bounds.pareto_ucb1 import ParetoUCB1Bound
from lexbandit.bounds.prior_free import PriorFreeBound
from lexbandit.bounds.registry import REGISTRY, make_bound
from lexbandit.bounds.sub_gaussian import SubGaussianBound
from lexbandit.bounds.ucb1 import UCB1Bound

__all__ = [
    "REGISTRY",
    "AnytimeKLBound",
    "Bound",
    "CentredBound",
    "EmpiricalBernsteinBound",
    "HolderBound",
    "KLBound",
    "KLUCBBound",
    "ParetoUCB1Bound",
    "PriorFreeBound",
    "SubGaussianBound",
    "UCB1Bound",
    "UniformBound",
    "make_bound",
]
