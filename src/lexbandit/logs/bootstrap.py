"""The bootstrap by unit: intervals for logs of a policy that did not learn.

Rows of one unit (a user, a session) depend on each other; rows of different units are independent,
unless what decided learned from one unit what it gave to the next. So units are drawn with
replacement, and the estimate is computed from each draw (Efron and Tibshirani, 1993, chapter 13).

A hash of the unit puts every unit into one of GROUPS groups, and groups are drawn instead of units:
sums of groups add up over the parts of a log, and memory does not grow with the units. Groups are
independent as units are, so the interval is as valid. Without a column of units every row is one.
"""

import numpy as np

from lexbandit.checks import Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.logs.rows import Rows
from lexbandit.logs.tables import pl

GROUPS = 1_024
# A bootstrap of fewer groups says little about the tails of an estimate.
LEAST = 20
DRAWS = 1_000
_SEED = 20_260_101


def groups_of(rows: Rows) -> Integers:
    """Return the group of each row's unit, int64[n] from 0 to below GROUPS."""
    column = rows.columns.unit
    if column is None:
        units = pl.Series(np.arange(rows.start, rows.start + len(rows)))
    else:
        units = rows.table[column]
        rows.refuse(units.is_null().to_numpy(), column, "the unit is missing; every row needs one.")
    return (units.hash(_SEED) % GROUPS).cast(pl.Int64).to_numpy()


def draws(sums: Floats, count: int) -> Floats:
    """Return the sums of drawn logs, float[DRAWS, fields], of groups, sums[GROUPS, fields].

    `count` is the field with the number of rows; groups without any are left out.
    """
    there = sums[sums[:, count] > 0.0]
    if len(there) < LEAST:
        raise InvalidInput(
            f"a bootstrap needs at least {LEAST} units with a reward, got {len(there)}: ask for "
            "interval='anytime', which needs no independent units."
        )
    random = np.random.default_rng(_SEED)
    picked = random.multinomial(len(there), np.full(len(there), 1.0 / len(there)), size=DRAWS)
    return np.asarray(picked @ there)
