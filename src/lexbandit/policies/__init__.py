"""Policies by name: rules on partitions, one family a file."""

from lexbandit.policies.base import Policy
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.registry import (
    REGISTRY,
    make_policy,
    parameters_of,
    settings_known,
    wraps,
)

__all__ = [
    "REGISTRY",
    "CellPolicy",
    "Policy",
    "make_policy",
    "parameters_of",
    "settings_known",
    "wraps",
]
