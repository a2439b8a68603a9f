"""The rule of bands by arms and objectives, against the twin's quadrature with NumPy."""

import math

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import best_of
from lexbandit.kernels import bands
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, seeded
from twins.bands import Bands

POSTERIORS = 50
# Where the twin, which goes through every set and every winner, takes less than a second.
TWIN = {(2, 3), (2, 5), (3, 3)}


@kernel
def all_chances(sights: Array, band: Array, ceilings: Array) -> None:
    out = np.empty(sights.shape[3])
    for n in range(sights.shape[0]):
        bands.chances(band, sights[n], band, ceilings, 0, out)


@kernel
def all_decisions(sights: Array, band: Array, ceilings: Array, random: RandomState) -> int:
    members, draws = np.empty(sights.shape[3], np.int64), np.empty(sights.shape[3])
    total = 0
    for n in range(sights.shape[0]):
        total += bands.decide(band, sights[n], band, ceilings, 0, random, members, draws)
    return total


def probabilities(console: Console) -> None:
    """Print µs of all arms' probabilities: at most 4 for 3 arms and 35 for 10, 2 objectives."""
    table = Table(
        title="The rule of bands inside a kernel: a decision, and every arm's probability"
    )
    for column in ("objectives", "arms", "decide", "chances", "twin", "over chances"):
        table.add_column(column, justify="right")
    for objectives in (2, 3):
        for arms in (3, 5, 10, 30):
            random, state = np.random.default_rng(0), seeded(0)
            m = random.normal(0.5, 0.1, (POSTERIORS, objectives, arms))
            deviations = random.uniform(0.02, 0.1, m.shape)
            s, reaches, band = 0.7 * deviations, m + deviations, np.full(objectives, 0.05)
            sights = np.ascontiguousarray(np.stack([m, deviations, s, reaches], axis=1))
            free = np.full((1, arms), math.inf)

            def decide() -> int:
                return all_decisions(sights, band, free, state)  # noqa: B023  run at once

            def chances() -> None:
                all_chances(sights, band, free)  # noqa: B023

            def twin() -> list[float]:
                rows = m[0].tolist(), s[0].tolist(), reaches[0].tolist()  # noqa: B023
                return Bands(*rows, band.tolist(), list(range(arms))).chances()  # noqa: B023

            best_of(1, {"decide": decide, "chances": chances})  # compiles
            least = best_of(5, {"decide": decide, "chances": chances})
            ours = least["chances"] / POSTERIORS
            row = [str(objectives), str(arms), f"{least['decide'] / POSTERIORS * 1e6:.2f} µs"]
            row.append(f"{ours * 1e6:.1f} µs")
            if (objectives, arms) in TWIN:
                slow = best_of(1, {"twin": twin})["twin"]
                row += [f"{slow * 1e3:.0f} ms", f"{slow / ours:,.0f}"]
            table.add_row(*row)
    console.print(table)
