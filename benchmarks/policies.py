"""Every policy of the package: cost of a round and memory, as docs/policies states them."""

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

import lexbandit
from benchmarks.timing import best_of
from lexbandit.policies import REGISTRY, wraps

NAMES = [name for name in REGISTRY.names() if not wraps(name)]
HORIZON = 100_000
LEARNED = 80_000


def every_policy(console: Console) -> None:
    """Print time a round after 80,000 rounds of Experiment 1, and the bytes of the state then."""
    environment = lexbandit.make_environment("synthetic")
    rounds = environment.rounds(HORIZON, seed=1)
    table = Table(title="Every policy on Experiment 1: 4 arms, 2 objectives, 2 features")
    table.add_column("policy")
    for column in ("replay", "over moc-mab", "state"):
        table.add_column(column, justify="right")
    cost: dict[str, float] = {}
    size: dict[str, int] = {}
    for name in ["moc-mab", *NAMES]:
        own = {"means": environment.means} if name == "oracle" else {}
        policy = lexbandit.make_policy(
            name, arms=4, dimension=2, objectives=2, horizon=HORIZON, **own
        )
        policy.replay(rounds[:LEARNED])
        size[name] = sum(array.nbytes for array in policy.state().values())
        parts = iter(rounds[start : start + 4000] for start in range(LEARNED, HORIZON, 4000))
        replay: Callable[[], object] = lambda p=policy, r=parts: p.replay(next(r))  # type: ignore[misc]  # noqa: E731
        cost[name] = best_of(5, {name: replay})[name] / 4000
    for name in NAMES:
        table.add_row(
            name,
            f"{cost[name] * 1e6:.2f} µs",
            f"{cost[name] / cost['moc-mab']:.1f}",
            f"{size[name] / 1024:,.1f} KiB",
        )
    console.print(table)


if __name__ == "__main__":
    every_policy(Console(width=100))
