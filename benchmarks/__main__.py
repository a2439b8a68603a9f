"""Run every benchmark and print what came out."""

from rich.console import Console

from benchmarks import bench, core, linear, starting

console = Console(width=110)
core.replay_and_step(console)
core.by_cells(console)
core.drawing(console)
linear.against_twins(console)
linear.by_rounds(console)
linear.by_features(console)
bench.whole_runs(console)
bench.scaling(console)
starting.starting(console)
starting.memory(console)
