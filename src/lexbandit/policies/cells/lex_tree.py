"""MOC-MAB's rule on the adaptive tree: no horizon, and memory where contexts come."""

from typing import Any

from lexbandit.bounds import Bound, make_bound
from lexbandit.partitions import AdaptiveTree
from lexbandit.policies.cells.moc_mab import LexicographicRule
from lexbandit.policies.registry import REGISTRY


@REGISTRY.register("lex-tree")
def lex_tree(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    L: float = 1.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    lam: float = 0.0,
    tolerance: Any = 0.0,
    bound: str | Bound = "anytime",
    delta: float = 0.05,
    R: float | None = None,
    scale: float = 1.0,
    split_after: float = 1.0,
    seed: int = 0,
) -> LexicographicRule:
    """MOC-MAB's rule in the leaves of a tree that splits where contexts come; needs no horizon."""
    tree = AdaptiveTree(dimension, rho=3.0 * alpha, split_after=split_after)
    return LexicographicRule(
        arms=arms,
        objectives=objectives,
        partition=tree,
        bound=make_bound(
            bound, arms=arms, objectives=objectives, cells=2, delta=delta, R=R, scale=scale
        ),
        beta=beta,
        seed=seed,
        L=L,
        alpha=alpha,
        lam=lam,
        tolerance=tolerance,
    )
