"""How good the arms were: regrets in D dimensions and rewards, from means and arms."""

from lexbandit.metrics.regret import Tally, pareto_regret, regret, tolerance_regret, total
from lexbandit.metrics.truth import Truth, pareto_gaps

__all__ = ["Tally", "Truth", "pareto_gaps", "pareto_regret", "regret", "tolerance_regret", "total"]
