"""Diagnostics of a log and a candidate: how far the rows can answer for it, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from lexbandit.logs.sums import Sums


@dataclass(frozen=True)
class ArmShare:
    """One arm: how often it was played, beside what the logged propensities say."""

    arm: str
    plays: int
    share: float
    mean_propensity: float
    p_value: float
    mass: float


@dataclass(frozen=True)
class Diagnostics:
    """What the weights of a candidate say; `sentences` has one for each in plain words."""

    rows: int
    effective_rows: float
    largest_weight: float
    mean_weight: float
    pareto_k: float
    unsupported: float
    missing_arms: tuple[str, ...]
    calibration: float
    arms: tuple[ArmShare, ...]
    enough_overlap: bool
    sentences: tuple[str, ...]


def diagnose(sums: Sums, arms: Sequence[str]) -> Diagnostics:
    """Return the diagnostics of a log's sums."""
    raise NotImplementedError
