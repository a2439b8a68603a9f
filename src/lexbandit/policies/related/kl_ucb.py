"""KL-UCB on the dominant objective, with and without contexts."""

from lexbandit.bounds import KLUCBBound
from lexbandit.policies.cells.dominant_ucb1 import DominantRule
from lexbandit.policies.cells.grid import optional_grid
from lexbandit.policies.registry import register

register(
    "kl-ucb",
    DominantRule,
    """KL-UCB on the dominant objective, for rewards in [0, 1] (Garivier and Cappé, 2011).

    Each arm once, then the highest max{q : N kl(mean, q) ≤ scale² · ln n}: their Algorithm 1 with
    c = 0, as they advise in practice. Contexts are ignored unless `cells_per_side` is given: then
    it runs on its own in each cell of that grid. Rewards outside [0, 1] are refused, in the other
    objectives too, since `explain` shows their intervals by the same bound.
    """,
    partition=optional_grid,
    bound=KLUCBBound,
)
