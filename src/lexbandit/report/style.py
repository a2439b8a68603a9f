"""How the policies and arms look: Okabe–Ito colours, and a second channel for print."""

from dataclasses import dataclass

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
GREY, YELLOW = "#7F7F7F", "#F0E442"

# Arms of a map: neighbours in this order differ most for every kind of colour vision.
ARM_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY)
# The ink of an arm's mark on its colour.
ARM_INK = ("#FFFFFF", "#000000", "#FFFFFF", "#000000", "#000000", "#FFFFFF", "#000000", "#FFFFFF")


@dataclass(frozen=True)
class Look:
    """How one policy is drawn, everywhere in the report."""

    name: str
    colour: str
    dash: tuple[int, ...]
    shape: str
    width: float = 1.8


_PAPER = {
    "moc-mab": Look("MOC-MAB", BLUE, (1, 0), "circle", 2.8),
    "cd-ucb1": Look("CD-UCB1", VERMILLION, (8, 3), "square"),
    "cp-ucb1": Look("CP-UCB1", GREEN, (4, 2), "triangle-up"),
    "cs-ucb1": Look("CS-UCB1", PURPLE, (10, 3, 2, 3), "diamond"),
    "p-ucb1": Look("P-UCB1", ORANGE, (2, 2), "triangle-down"),
    "s-ucb1": Look("S-UCB1", SKY, (6, 2, 2, 2, 2, 2), "cross"),
}
_OTHERS = (
    (GREY, (1, 0), "triangle-right"),
    (ORANGE, (1, 0), "triangle-left"),
    (GREEN, (1, 0), "stroke"),
    (PURPLE, (3, 3), "circle"),
    (VERMILLION, (2, 4), "diamond"),
    (SKY, (1, 0), "square"),
    (BLUE, (4, 4), "cross"),
    (GREY, (5, 2), "triangle-up"),
)


def looks_of(policies: list[str]) -> dict[str, Look]:
    """Return a look for each policy name: the paper's six have fixed ones, others in turn."""
    looks: dict[str, Look] = {}
    others = 0
    for policy in policies:
        if policy in _PAPER:
            looks[policy] = _PAPER[policy]
        else:
            colour, dash, shape = _OTHERS[others % len(_OTHERS)]
            looks[policy] = Look(policy, colour, dash, shape)
            others += 1
    return looks


def in_order(policies: list[str]) -> list[str]:
    """Return the names with the paper's six first, in its order, then the others as they came."""
    seen = list(dict.fromkeys(policies))
    return [p for p in _PAPER if p in seen] + [p for p in seen if p not in _PAPER]


def policy_name(policy: str) -> str:
    """Return how a policy is written in text."""
    return _PAPER[policy].name if policy in _PAPER else policy
