"""How good the arms were: regret in D dimensions, Pareto regret, rewards; from means and arms."""

from lexbandit.metrics.regret import Tally, pareto_regret, regret, total
from lexbandit.metrics.truth import Truth, pareto_gaps

__all__ = ["Tally", "Truth", "pareto_gaps", "pareto_regret", "regret", "total"]
