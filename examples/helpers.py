"""What the examples share: a comparison of strategies over several seeds, and the command line."""

import argparse
import logging
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import lexbandit as lb

Floats = np.ndarray


@dataclass
class Comparison:
    """What each strategy received on average, per seed: values[strategy][seed] = one a column.

    `columns` are the objectives' names, and whatever else an example measures. `lines` are further
    sentences that it prints below its table.
    """

    columns: Sequence[str]
    units: Sequence[str]
    decimals: Sequence[int]
    values: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, strategy: str, rewards: Floats) -> None:
        """Take the rewards[n, columns] of a strategy with one more seed; NaN is not observed."""
        means = tuple(float(mean) for mean in np.nanmean(rewards, axis=0))
        self.values.setdefault(strategy, []).append(means)

    def mean(self, strategy: str, column: int) -> float:
        """Return what a strategy received in a column, on average over the seeds."""
        return statistics.fmean(means[column] for means in self.values[strategy])

    def spread(self, strategy: str, column: int) -> float:
        """Return the standard deviation over the seeds."""
        values = [means[column] for means in self.values[strategy]]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def __str__(self) -> str:
        names = [
            f"{name} ({unit})" if unit else name
            for name, unit in zip(self.columns, self.units, strict=True)
        ]
        rows = [["strategy", *names]]
        for strategy in self.values:
            cells = [
                f"{self.mean(strategy, i):.{digits}f} ± {self.spread(strategy, i):.{digits}f}"
                for i, digits in enumerate(self.decimals)
            ]
            rows.append([strategy, *cells])
        wide = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        table = [
            "  ".join([row[0].ljust(wide[0]), *(row[j].rjust(wide[j]) for j in range(1, len(row)))])
            for row in rows
        ]
        seeds = len(next(iter(self.values.values())))
        note = f"Means over {seeds} seeds, ± the standard deviation between them."
        return "\n".join([*table, note, *self.lines])


def oracle(means: Floats, objectives: Sequence[lb.Objective]) -> Floats:
    """Return the arms[n] that means[n, arms, objectives] and the tolerances make the best.

    Nobody can do better: the means are what a chooser has to learn.
    """
    left = np.ones(means.shape[:2], np.bool_)
    for i, objective in enumerate(objectives):
        values = means[..., i] if objective.goal == "max" else -means[..., i]
        values = np.where(left, values, -np.inf)
        last = i == len(objectives) - 1
        slack = 0.0 if last else objective.tolerance
        left &= values >= values.max(axis=1, keepdims=True) - slack
    return np.asarray(left.argmax(axis=1))


def received(outcomes: Floats, arms: Floats) -> Floats:
    """Return the rewards[n, objectives] of the arms played, of outcomes[n, arms, objectives]."""
    return np.asarray(outcomes[np.arange(len(outcomes)), arms])


def main(
    run: Callable[..., Comparison], name: str, *, further: Sequence[tuple[str, str]] = ()
) -> None:
    """Run an example from the command line; `further` are options of its own, with their help."""
    parser = argparse.ArgumentParser(prog=f"python -m examples.{name}", description=run.__doc__)
    parser.add_argument("--rounds", type=int, help="decisions a seed")
    parser.add_argument("--seeds", type=int, help="how often it is repeated")
    parser.add_argument("--out", type=Path, default=Path("results", "examples", f"{name}.svg"))
    for option, text in further:
        parser.add_argument(option, help=text)
    given = {k: v for k, v in vars(parser.parse_args()).items() if v is not None}
    # A chooser warns of its first reward outside a range; here every seed has a chooser.
    logging.getLogger("lexbandit").setLevel(logging.ERROR)
    print(run(**given))
    print(f"The picture: {given['out']}")
