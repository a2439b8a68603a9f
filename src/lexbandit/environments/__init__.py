"""Environments by name: seeded sources of rounds that know their own truth. One a file."""

from lexbandit.environments.base import Environment
from lexbandit.environments.registry import REGISTRY, make_environment

__all__ = ["REGISTRY", "Environment", "make_environment"]
