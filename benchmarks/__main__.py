"""Run the benchmarks of the policies and of the bench; `make bench` runs all there are."""

from rich.console import Console

from benchmarks import bands, bench, core, linear, logs, policies, starting

console = Console(width=110)
core.against_numba(console)
core.replay_and_step(console)
core.by_cells(console)
core.by_arms(console)
core.drawing(console)
linear.against_twins(console)
linear.by_rounds(console)
linear.by_features(console)
bands.probabilities(console)
logs.arrays(console)
policies.every_policy(console)
bench.whole_runs(console)
bench.scaling(console)
starting.starting(console)
starting.memory(console)
