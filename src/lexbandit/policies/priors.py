"""What arms begin with, before their first round: priors[n, 1 + D] is (weight, means…)."""

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput


def check_priors(priors: Floats) -> None:
    """Refuse priors of a state that no prior leads to."""
    checks.refuse_first("state['priors']", priors, ~np.isfinite(priors), "all are finite")
    weights = priors[:, :1]
    wrong = (weights < 0) | (weights > 2**53) | (weights != np.floor(weights))
    checks.refuse_first("state['priors']", weights, wrong, "weights are whole, at least 0")
    checks.refuse_first(
        "state['priors']", priors, (weights == 0) & (priors != 0), "no means without a weight"
    )


def refuse_other_priors(mine: Floats, theirs: Floats) -> None:
    """Refuse to merge what was learned under other priors."""
    if (mine != theirs).any():
        arm = int(np.argwhere(mine != theirs)[0, 0])
        raise InvalidInput(
            f"state['priors'][{arm}] is {theirs[arm].tolist()}, of this policy "
            f"{mine[arm].tolist()}: only policies whose arms had the same priors can be merged."
        )
