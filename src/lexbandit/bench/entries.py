"""The entries of a study: a policy at a point of the grid, under a label of its own."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lexbandit.bench import components
from lexbandit.bench.components import Component


@dataclass(frozen=True)
class Entry:
    """One policy at one point of the grid: `label` is unique in its study."""

    policy: Component
    label: str
    scale: float | None
    parameters: dict[str, Any]

    @property
    def variant(self) -> str:
        """What its points of the grid have in common: the label up to the "@"."""
        return self.label.partition("@")[0]


def number(value: Any) -> Any:
    """Return a parameter: fractions such as "1/15" as floats, all else as it is."""
    if isinstance(value, str) and "/" in value:
        try:
            return float(Fraction(value))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{value!r} is not a fraction such as '1/15'.") from None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def tunable(policy: Component) -> list[str]:
    """Return the parameters that a study may set."""
    return [key for key in policy.parameters() if key not in components.PROBLEM]


def points(
    policy: Component,
    fixed: Mapping[str, Any],
    grid: Mapping[str, list[Any]],
    label: str | None = None,
) -> Iterator[Entry]:
    """Return one entry for each point of the grid. A grid of scales alone gives "moc-mab@1/15"."""
    short = label or policy.short
    for values in itertools.product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        parts = [f"{value}" if key == "scale" else f"{key}={value}" for key, value in point.items()]
        parameters = {**fixed, **{key: number(value) for key, value in point.items()}}
        scale = parameters.get("scale")
        whole = f"{short}@{','.join(parts)}" if parts else short
        # A scale that is no number is refused when the policy is tried.
        yield Entry(
            policy, whole, float(scale) if isinstance(scale, int | float) else None, parameters
        )
