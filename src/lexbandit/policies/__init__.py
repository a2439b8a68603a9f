"""Policies by name: rules on partitions, one family a file."""

from typing import TYPE_CHECKING, Any

from lexbandit.policies.base import Policy
from lexbandit.policies.registry import (
    REGISTRY,
    make_policy,
    parameters_of,
    settings_known,
    wraps,
)

if TYPE_CHECKING:
    from lexbandit.policies.cells.base import CellPolicy

__all__ = [
    "REGISTRY",
    "CellPolicy",
    "Policy",
    "make_policy",
    "parameters_of",
    "settings_known",
    "wraps",
]


def __getattr__(name: str) -> Any:
    if name == "CellPolicy":  # with its bounds and partitions; a chooser's policy needs none of it
        from lexbandit.policies.cells.base import CellPolicy  # noqa: PLC0415

        return CellPolicy
    raise AttributeError(f"module 'lexbandit.policies' has no attribute {name!r}")
