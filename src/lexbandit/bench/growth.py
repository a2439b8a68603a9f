"""How regret grows with the horizon: fitted exponents beside those that are proved."""

import math
from collections.abc import Callable
from typing import Any

from lexbandit.environments import REGISTRY as ENVIRONMENTS
from lexbandit.policies import REGISTRY as POLICIES

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
            fitted(
                line["horizons"],
                [regret[i] for regret in line["regret"]],
                [math.nan if error is None else error[i] for error in line["standard_error"]],
            )
            for i in range(len(objectives))
        ]
    return {"objectives": objectives, "studies": [p[0]["name"] for p in joined], "lines": lines}


def fitted(horizons: list[int], regrets: list[float], errors: list[float]) -> Numbers | None:
    """Return the least-squares slope of ln regret against ln T, with its standard error.

    That error says how far the points are from a line; two leave none. `exponent` is None where a
    regret is not positive: a logarithm needs one. `last` is the slope between the two largest
    horizons, and `last_error` what the standard errors of their mean regrets make of it (the runs
    are independent), None where there was one run only, NaN in `errors`. None altogether where
    there are fewer than two horizons, or one of the last two regrets is not positive.
    """
    if len(horizons) < 2 or horizons[-1] == horizons[-2] or min(regrets[-2:]) <= 0:
        return None
    step = math.log(horizons[-1] / horizons[-2])
    blur = math.hypot(*(e / r for e, r in zip(errors[-2:], regrets[-2:], strict=True)))
    last = {
        "last": math.log(regrets[-1] / regrets[-2]) / step,
        "last_error": None if math.isnan(blur) else blur / step,
    }
    if min(regrets) <= 0:
        return {"exponent": None, "standard_error": None, **last}
    x = [math.log(T) for T in horizons]
    y = [math.log(regret) for regret in regrets]
    n, mx, my = len(x), math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((a - mx) ** 2 for a in x)
    slope = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / spread
    error = None
    if n > 2:
        left = math.fsum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y, strict=True))
        error = math.sqrt(left / (n - 2) / spread)
    return {"exponent": slope, "standard_error": error, **last}


def _theory(frozen: Numbers, entry: Numbers, objectives: int) -> list[str | None]:
    """Return what is proved of a policy's exponent, for each objective; None where nothing is."""
    # The doubling trick keeps the exponent of what it wraps.
    name = str(entry.get("name")).removeprefix("doubling(").removesuffix(")")
    rate = RATES.get(name)
    if rate is None or "dimension" not in frozen:
        return [None] * objectives
    given = entry["parameters"]
    if float(given.get("scale", 1.0)) < 1.0:  # narrower widths have no guarantee
        return [None] * objectives
    # MOC-MAB's rule needs no λ for two objectives.
    lam = float(given.get("lam", POLICIES.parameters(name)["lam"].default))
    if (objectives > 2 or name == "staged-lex") and lam < _true_lam(frozen["environment"]):
        return [None] * objectives
    alpha = float(given.get("alpha", 1.0))
    return [rate(alpha, int(frozen["dimension"]), i) for i in range(objectives)]


def _true_lam(environment: Numbers) -> float:
    """Return the λ that an environment says is true; 0 where it says nothing: it is trusted."""
    name, given = environment["name"], environment["parameters"]
    known = ENVIRONMENTS.parameters(name) if name in ENVIRONMENTS.names() else {}
    if "assumption" not in known:
        return 0.0
    return float(given.get("assumption", known["assumption"].default))


Rate = Callable[[float, int, int], str]


def _grid(alpha: float, d: int, _: int) -> str:
    return f"(2α+d)/(3α+d) = {(2 * alpha + d) / (3 * alpha + d):.3f}"


def _staged(alpha: float, d: int, _: int) -> str:
    return f"(α+d)/(2α+d) = {(alpha + d) / (2 * alpha + d):.3f}"


# What docs/theory.md proves, for the means that it assumes; of the tree, for contexts anywhere.
RATES: dict[str, Rate] = {"moc-mab": _grid, "lex-tree": _grid, "staged-lex": _staged}
