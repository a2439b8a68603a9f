"""The arithmetic of the report: intervals, growth exponents, thinning, places for labels, words."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lexbandit.bench.series import log_log_fit
from lexbandit.checks import Floats, Integers

# Student's t at 97.5 % for 1 to 12 degrees of freedom; beyond, the expansion below has 4 digits.
_STUDENT = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788,
)  # fmt: skip
_NORMAL = 1.959963984540054


def student_factor(runs: int) -> float:
    """Return the factor that turns a standard error over `runs` runs into a 95 % half-width.

    NaN for a single run: one run has no spread to speak of.
    """
    freedom = runs - 1
    if freedom < 1:
        return math.nan
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def growth_exponent(t: Integers, regret: Floats) -> float | None:
    """Return the slope of log regret against log t over the last decade, by least squares.

    None if fewer than three checkpoints there have a positive regret: a logarithm needs one.
    """
    used = (t >= t[-1] / 10) & (regret > 0) & np.isfinite(regret)
    if used.sum() < 3 or not used[-1]:
        return None
    slope, _ = log_log_fit(t[used].tolist(), regret[used].tolist())
    return slope


def thinned(t: Integers, most: int, *, logarithmic: bool) -> Integers:
    """Return the places of at most `most` checkpoints, evenly spread on the axis; the last stays.

    A figure of 400 pixels shows no more, and a page of 10,000 points is slow on a phone.
    """
    if len(t) <= most:
        return np.arange(len(t))
    axis = np.log(t) if logarithmic else t.astype(np.float64)
    wanted = np.linspace(axis[0], axis[-1], most)
    return np.unique(np.abs(axis[:, np.newaxis] - wanted).argmin(axis=0))


def spread(places: Sequence[float], *, gap: float, lowest: float, highest: float) -> list[float]:
    """Return the places moved as little as needed to stand `gap` apart within the two ends.

    Neighbours that are too near form a group, and a group stands centred on its members.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[list[int]] = []
    starts: list[float] = []
    for i in order:
        groups.append([i])
        starts.append(min(max(places[i], lowest), highest))
        while len(groups) > 1 and starts[-2] + gap * len(groups[-2]) > starts[-1]:
            joining = groups.pop()
            groups[-1] += joining
            starts.pop()
            members = groups[-1]
            middle = sum(places[j] for j in members) / len(members)
            start = middle - gap * (len(members) - 1) / 2
            starts[-1] = max(lowest, min(start, highest - gap * (len(members) - 1)))
    moved = [0.0] * len(places)
    for start, members in zip(starts, groups, strict=True):
        for offset, j in enumerate(members):
            moved[j] = start + gap * offset
    return moved


def rounded(value: float) -> float | None:
    """Return `value` to five significant digits, None if it is no number: JSON has no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def ratio_text(scale: float | None) -> str:
    """Return a scale factor as the paper writes it: 1, 1/5, 1/15; "" for a policy without one."""
    if scale is None or not math.isfinite(scale):
        return ""
    fraction = Fraction(scale).limit_denominator(1000)
    close = math.isclose(float(fraction), scale, rel_tol=1e-9)
    return str(fraction) if close and fraction > 0 else f"{scale:g}"


def number_text(value: float | None) -> str:
    """Return a number for people: 123,456 from a hundred on, three significant digits below."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        text = f"{value:,.0f}"
    elif abs(value) >= 10:
        text = f"{value:.1f}"
    elif value == int(value):
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return text.replace("-", "−")


def percent_text(share: float) -> str:
    """Return a share as whole per cent, without saying 100 % or 0 % of what is only near."""
    if 0.995 <= share < 1:
        return "over 99 %"
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def time_text(seconds: float | None) -> str:
    """Return a time for people."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def bytes_text(size: float | None) -> str:
    """Return a size of memory for people."""
    if size is None or not math.isfinite(size):
        return "–"
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{number_text(round(size, 1))} {unit}"
        size /= 1000
    return f"{number_text(size)} GB"
