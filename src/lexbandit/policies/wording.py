"""The words explanations share."""

from lexbandit.checks import Floats


def listed(arms: list[int]) -> str:
    """Return "arm 2" or "arms 0, 1 and 3"."""
    if len(arms) == 1:
        return f"arm {arms[0]}"
    return f"arms {', '.join(map(str, arms[:-1]))} and {arms[-1]}"


def likely(shares: Floats) -> list[int]:
    """Return the arms with a positive probability."""
    return [int(arm) for arm in shares.nonzero()[0]]


def drawn(arms: list[int]) -> str:
    """Return what happens among tied arms: nothing for one, a uniform draw for several."""
    return "" if len(arms) == 1 else f" ({len(arms)} tied, one is drawn uniformly)"


def one_of(arms: list[int]) -> str:
    """Return what happens among arms that need not be tied: one of them is drawn uniformly."""
    return "" if len(arms) == 1 else ", one of which is drawn uniformly"
