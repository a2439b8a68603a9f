"""MOC-MAB's rule on the adaptive tree: no horizon, and memory where contexts come."""

from lexbandit.bounds import Bound, make_bound
from lexbandit.partitions import Partition
from lexbandit.policies.cells.grid import tree
from lexbandit.policies.cells.moc_mab import LexicographicRule
from lexbandit.policies.registry import register


def anytime_bound(
    *,
    arms: int,
    objectives: int,
    partition: Partition,
    bound: str | Bound = "anytime",
    delta: float = 0.05,
    R: float | None = None,
    scale: float = 1.0,
) -> Bound:
    """Return a bound that needs no horizon."""
    return make_bound(
        bound,
        arms=arms,
        objectives=objectives,
        cells=partition.cells_at(0),
        delta=delta,
        R=R,
        scale=scale,
    )


register(
    "lex-tree",
    LexicographicRule,
    "MOC-MAB's rule in the leaves of a tree that splits where contexts come; needs no horizon.",
    partition=tree,
    bound=anytime_bound,
)
