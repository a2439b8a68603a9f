"""The time of a round as a feature."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput

# Up to here every whole number is a float of its own.
_LATEST = 2**53


def time_feature(t: Any, period: int) -> Floats:
    """Return (t mod T_s)/T_s, the time context of Section VI-A, of a round t or an array of them.

    Rounds count from 1, so t = T_s is 0 again. Add it to the context as a further feature; a policy
    then has the dimension d + 1 and learns rewards that change with the period.
    """
    period = checks.whole("period", period, least=1, most=_LATEST)
    if isinstance(t, int | float):
        rounds = np.asarray(checks.whole("t", t, least=0, most=_LATEST), np.float64)
    else:
        try:
            rounds = np.asarray(checks.unmasked(t), np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"t must be a round or an array of rounds, got {t!r}.") from error
        wrong = ~((rounds >= 0) & (rounds <= _LATEST) & (rounds == np.floor(rounds)))
        checks.refuse_first("t", rounds, wrong, "t is a whole number of at least 0")
    return np.asarray(np.mod(rounds, period) / period)
