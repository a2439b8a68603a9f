"""The words explanations share, with placeholders that `lexbandit.decisions.Reason` fills in."""

from lexbandit.checks import Floats


def listed(arms: list[int]) -> str:
    """Return the placeholder of arms: "arm 2", "arms 0, 1 and 3", or names, in a `Reason`."""
    return f"{{arms {' '.join(map(str, arms))}}}"


def objective(i: int) -> str:
    """Return the placeholder of objective i, from 0 on, in a `Reason`."""
    return f"{{objective {i}}}"


def is_are(arms: list[int]) -> str:
    """Return "is" for one arm, "are" for several."""
    return "is" if len(arms) == 1 else "are"


def likely(shares: Floats) -> list[int]:
    """Return the arms with a positive probability."""
    return [int(arm) for arm in shares.nonzero()[0]]


def drawn(arms: list[int]) -> str:
    """Return what happens among tied arms: nothing for one, a uniform draw for several."""
    return "" if len(arms) == 1 else f" ({len(arms)} tied, one is drawn uniformly)"


def one_of(arms: list[int]) -> str:
    """Return what happens among arms that need not be tied: one of them is drawn uniformly."""
    return "" if len(arms) == 1 else ", one of which is drawn uniformly"
