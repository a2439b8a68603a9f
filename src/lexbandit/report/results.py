"""What a results folder holds, as the report sees it: studies and their curves over runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexbandit.checks import Floats, Integers
from lexbandit.report.style import in_order, policy_name


@dataclass(frozen=True)
class Measure:
    """A quantity at each checkpoint: its mean over runs, and half of its 95 % interval.

    float[checkpoints, objectives]; the half is NaN for a single run.
    """

    mean: Floats
    half: Floats


@dataclass(frozen=True)
class Curve:
    """One policy at one grid point, over time."""

    policy: str
    scale: str
    label: str
    runs: int
    t: Integers
    reward: Measure
    regret: Measure | None
    pareto_regret: Measure | None
    seconds: float
    state_bytes: float | None = None
    tolerance_regret: Measure | None = None

    def measure(self, *, regret: bool) -> Measure:
        """Return the regret or the reward; a regret must be known."""
        found = self.regret if regret else self.reward
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """How the curve is called in a figure: the policy and its point of the grid."""
        name, point = policy_name(self.policy), self.label.partition("@")[2] or self.scale
        return f"{name} · {point}" if point else name


@dataclass(frozen=True)
class ArmMap:
    """Counts by cell of a display grid: int[x, y, arms]; `optimal` is None where unknown."""

    played: dict[str, Integers]
    optimal: Integers | None


@dataclass(frozen=True)
class Entry:
    """One policy at one grid point: `policy` is what it is called, `name` what it is."""

    policy: str
    label: str
    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class StudyResults:
    """One study: what was asked, and what came out."""

    key: str
    frozen: dict[str, Any]
    summary: dict[str, Any]
    curves: list[Curve]
    arms: int
    maps: ArmMap | None = None

    @property
    def slug(self) -> str:
        """The study's name in addresses and file names."""
        return str(self.frozen.get("name", self.key))

    @property
    def experiment(self) -> int | None:
        """Which of the paper's experiments this is, if any."""
        return int(self.key) if self.key.isdigit() else None

    @property
    def title(self) -> str:
        """The study's title."""
        return str(self.frozen.get("title") or self.summary.get("title") or self.slug)

    @property
    def objectives(self) -> list[str]:
        """The objectives' names, in order of priority."""
        given = self.frozen.get("objectives") or self.summary.get("objectives")
        if isinstance(given, list):
            return [str(name) for name in given]
        return [f"objective {i + 1}" for i in range(self.curves[0].reward.mean.shape[1])]

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.curves[0].t[-1])

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.curves[0].runs

    @property
    def policies(self) -> list[str]:
        """The policies' names, the paper's first."""
        return in_order([curve.policy for curve in self.curves])

    @property
    def has_regret(self) -> bool:
        """Whether the means were known."""
        return all(curve.regret is not None for curve in self.curves)

    @property
    def has_tolerance_regret(self) -> bool:
        """Whether tolerances were given, and the means known."""
        return all(curve.tolerance_regret is not None for curve in self.curves)

    @property
    def shows_regret(self) -> bool:
        """Whether the figure over time is of regret; the paper shows reward in 2 and 3."""
        return self.has_regret and self.key not in ("2", "3")

    @property
    def entries(self) -> list[Entry]:
        """What was run: one entry for each policy and grid point."""
        own = ("policy", "label", "name", "parameters")
        return [
            # In folders of version 0.1.0 the parameters stand beside the names.
            Entry(
                policy=str(entry.get("policy")),
                label=str(entry.get("label")),
                name=str(entry.get("name", entry.get("policy"))),
                parameters={k: v for k, v in entry.items() if k not in own}
                | entry.get("parameters", {}),
            )
            for entry in self.frozen.get("policies") or []
        ]

    def of(self, policy: str) -> list[Curve]:
        """Return a policy's curves, one a grid point."""
        return [curve for curve in self.curves if curve.policy == policy]

    def best(self, policy: str) -> Curve:
        """Return a policy's curve at its best scale, by the summary's word if it has one."""
        curves = self.of(policy)
        word = "by_regret" if self.shows_regret else "by_reward"
        chosen = self.summary.get("best_scale", {}).get(policy, {})
        scale = chosen.get(word, chosen.get("by_regret"))
        for curve in curves:
            if scale is not None and str(scale) in (curve.scale, curve.label):
                return curve
        if self.shows_regret:
            return min(curves, key=lambda curve: final(curve.regret)[0])
        return max(curves, key=lambda curve: final(curve.reward)[0])

    def ranked(self) -> list[Curve]:
        """Return each policy's best curve, the best in the dominant objective first."""
        best = [self.best(policy) for policy in self.policies]
        if self.shows_regret:
            return sorted(best, key=lambda curve: float(final(curve.regret)[0]))
        return sorted(best, key=lambda curve: -float(final(curve.reward)[0]))


@dataclass(frozen=True)
class Results:
    """A whole results folder."""

    directory: Path
    studies: list[StudyResults]
    claims: list[dict[str, Any]] = field(default_factory=list)
    series: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)


def final(measure: Measure | None) -> Floats:
    """Return the means at the last checkpoint."""
    assert measure is not None
    last: Floats = measure.mean[-1]
    return last
