"""How often lex-linucb locks onto the worse of two arms where contexts never vary.

Not a speed: what docs/beyond.md says of `start`, `threshold` and `width_factor`. About a minute.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit
from lexbandit.rounds import Rounds

ROUNDS = 20_000
RUNS = 150


def run(seed: int, *, width_factor: float, threshold: float, start: int) -> tuple[bool, float]:
    """Return whether the last 2,000 rounds play the worse arm, and the regret of objective 1."""
    random = np.random.default_rng(seed)
    better = random.random((ROUNDS, 2)) < [0.9, 0.5]
    worse = random.random((ROUNDS, 2)) < [0.8, 0.5]
    outcomes = np.stack([better, worse], axis=1).astype(np.float64)
    policy = lexbandit.make_policy(
        "lex-linucb",
        arms=2,
        dimension=1,
        width_factor=width_factor,
        threshold=threshold,
        start=start,
        seed=seed,
    )
    arms = policy.replay(Rounds(np.full((ROUNDS, 1), 0.5), outcomes))
    return bool((arms[-2000:] == 1).mean() > 0.9), 0.1 * float((arms == 1).sum())


def lock_in(console: Console) -> None:
    """Print how many runs are locked in, for twelve settings."""
    table = Table(title=f"Two arms, 0.9 and 0.8, one context: {RUNS} runs of {ROUNDS:,} rounds")
    for column in ("width_factor", "threshold", "start", "locked in", "mean regret", "worst"):
        table.add_column(column, justify="right")
    for width_factor in (0.1, 0.25, 0.5):
        for threshold in (0.5, 2.5):
            for start in (1, 20):
                found = [
                    run(1000 + n, width_factor=width_factor, threshold=threshold, start=start)
                    for n in range(RUNS)
                ]
                regrets = [regret for _, regret in found]
                table.add_row(
                    f"{width_factor}",
                    f"{threshold}",
                    f"{start}",
                    f"{sum(locked for locked, _ in found)} of {RUNS}",
                    f"{np.mean(regrets):.0f}",
                    f"{max(regrets):.0f}",
                )
    console.print(table)


if __name__ == "__main__":
    lock_in(Console(width=100))
