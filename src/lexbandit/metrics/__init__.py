"""How good the arms were: regrets in D dimensions and rewards, from means and arms."""

from lexbandit.metrics.regret import (
    Tally,
    Truth,
    pareto_gaps,
    pareto_regret,
    regret,
    tolerance_regret,
    total,
)

__all__ = ["Tally", "Truth", "pareto_gaps", "pareto_regret", "regret", "tolerance_regret", "total"]
