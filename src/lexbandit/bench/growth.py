"""How regret grows with the horizon: fitted exponents beside those that are proved."""

import math
from collections.abc import Callable
from typing import Any

Numbers = dict[str, Any]


def growth_of(members: list[tuple[Numbers, Numbers]]) -> Numbers:
    """Return final regrets by horizon, and their exponents, for every label of a growth series.

    Studies whose objectives are not those of the first are left out.
    """
    objectives = members[0][1]["objectives"]
    joined = sorted(
        (pair for pair in members if pair[1]["objectives"] == objectives),
        key=lambda pair: int(pair[1]["horizon"]),
    )
    lines: dict[str, Numbers] = {}
    for frozen, told in joined:
        entries = {entry["label"]: entry for entry in frozen["policies"]}
        for policy, points in told["policies"].items():
            for at, point in points.items():
                label = f"{policy}@{at}" if f"{policy}@{at}" in entries else policy
                line = lines.setdefault(
                    label,
                    {"policy": policy, "horizons": [], "regret": [], "standard_error": []}
                    | {"runs": [], "theory": _theory(frozen, entries[label], len(objectives))},
                )
                line["horizons"].append(told["horizon"])
                line["regret"].append(point["regret"])
                line["standard_error"].append(point["standard_error"]["regret"])
                line["runs"].append(point["runs"])
    for line in lines.values():
        line["exponents"] = [
            fitted(line["horizons"], [regret[i] for regret in line["regret"]])
            for i in range(len(objectives))
        ]
    return {"objectives": objectives, "studies": [p[0]["name"] for p in joined], "lines": lines}


def fitted(horizons: list[int], regrets: list[float]) -> Numbers | None:
    """Return the least-squares slope of ln regret against ln T, with its standard error.

    `last` is the slope between the two largest horizons. None where there are fewer than two
    horizons or a regret is not positive: a logarithm needs one. Two horizons leave no error.
    """
    if len(set(horizons)) < 2 or min(regrets) <= 0:
        return None
    x = [math.log(T) for T in horizons]
    y = [math.log(regret) for regret in regrets]
    n, mx, my = len(x), math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((a - mx) ** 2 for a in x)
    slope = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / spread
    error = None
    if n > 2:
        left = math.fsum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y, strict=True))
        error = math.sqrt(left / (n - 2) / spread)
    last = (y[-1] - y[-2]) / (x[-1] - x[-2]) if x[-1] > x[-2] else None
    return {"exponent": slope, "standard_error": error, "last": last}


def _theory(frozen: Numbers, entry: Numbers, objectives: int) -> list[str | None]:
    """Return what is proved of a policy's exponent, for each objective; None where nothing is."""
    # The doubling trick keeps the exponent of what it wraps.
    name = str(entry.get("name")).removeprefix("doubling(").removesuffix(")")
    rate = RATES.get(name)
    if rate is None or "dimension" not in frozen:
        return [None] * objectives
    if float(entry["parameters"].get("scale", 1.0)) < 1.0:  # narrower widths have no guarantee
        return [None] * objectives
    alpha = float(entry["parameters"].get("alpha", 1.0))
    return [rate(alpha, int(frozen["dimension"]), i) for i in range(objectives)]


Rate = Callable[[float, int, int], str]


def _grid(alpha: float, d: int, _: int) -> str:
    return f"(2α+d)/(3α+d) = {(2 * alpha + d) / (3 * alpha + d):.3f}"


def _staged(alpha: float, d: int, _: int) -> str:
    return f"(α+d)/(2α+d) = {(alpha + d) / (2 * alpha + d):.3f}"


# What docs/theory.md proves, for the means that it assumes; of the tree, for contexts anywhere.
RATES: dict[str, Rate] = {"moc-mab": _grid, "lex-tree": _grid, "staged-lex": _staged}
