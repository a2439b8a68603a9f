"""The frontier: loss beyond tolerance against what was missed, as ratios to a baseline."""

import math
from typing import Any

import numpy as np
import polars as pl

from lexbandit.checks import Floats

Numbers = dict[str, Any]

# A policy that loses less than this share of what the baseline loses counts as losing this share:
# a logarithm needs a positive number, and no policy shall gain more than this by one study.
FLOOR = 0.01

_RESAMPLES = 1000
_MEASURES = ("loss", "missed")


def frontier_of(members: list[tuple[Numbers, Numbers]], runs: pl.DataFrame) -> Numbers:
    """Return every policy's tolerance regret beside the baseline's, study by study and overall.

    loss    what was lost beyond tolerance in all objectives but the last, added up
    missed  what was missed in the last objective

    Each is a ratio of sums over runs, never under `FLOOR`; overall it is the geometric mean of the
    studies' ratios. `low` and `high` are a 95 % interval by the bootstrap: runs are drawn anew
    within each study, the same for policy and baseline (percentiles of 1,000). They are null for
    one run. A ratio is null where the baseline loses nothing. Studies without the baseline, and
    checkpoints and policies that not all studies have, are left out.
    """
    baseline = members[0][0]["series"]["baseline"]
    kept = [frozen for frozen, _ in members if frozen["series"]["baseline"] == baseline]
    tables = [runs.filter(pl.col("study") == frozen["name"]) for frozen in kept]
    labels = _common([table["label"].unique(maintain_order=True).to_list() for table in tables])
    horizons = sorted(_common([table["t"].unique().to_list() for table in tables]))
    logarithms = np.array(
        [_log_ratios(table, labels, horizons, baseline, n) for n, table in enumerate(tables)]
    )
    names = [str(frozen["series"]["label"]) for frozen in kept]
    with np.errstate(invalid="ignore"):
        counted = np.isfinite(logarithms).sum(axis=0)
        overall = np.nansum(logarithms, axis=0) / np.where(counted, counted, np.nan)
    return {
        "baseline": baseline,
        "floor": FLOOR,
        "studies": [str(frozen["name"]) for frozen in kept],
        "labels": names,
        "runs": [table["run"].n_unique() for table in tables],
        "policies": {label: label.partition("@")[0] for label in labels},
        "horizons": [
            {
                "horizon": horizon,
                "overall": _points(overall[:, :, h], labels),
                "situations": {
                    name: _points(found[:, :, h], labels)
                    for name, found in zip(names, logarithms, strict=True)
                },
            }
            for h, horizon in enumerate(horizons)
        ],
    }


def _common(lists: list[list[Any]]) -> list[Any]:
    """Return what all lists hold, in the order of the first."""
    return [item for item in lists[0] if all(item in other for other in lists)]


def _log_ratios(
    table: pl.DataFrame, labels: list[str], horizons: list[int], base: str, seed: int
) -> Floats:
    """Return logarithms of ratios, float[1 + resamples, labels, horizons, 2]; NaN for none.

    The first row is that of all runs. With one run there are no resamples to speak of: NaN.
    """
    rows = table.filter(pl.col("label").is_in(labels) & pl.col("t").is_in(horizons))
    rows = rows.sort("run", "label", "t")
    regrets = np.array(rows["tolerance_regret"].to_list())
    sums = np.stack([regrets[:, :-1].sum(axis=1), regrets[:, -1]], axis=1)
    n = rows["run"].n_unique()
    ordered = sums.reshape(n, len(labels), len(horizons), 2)
    ordered = ordered[:, [sorted(labels).index(label) for label in labels]]
    random = np.random.default_rng(seed)
    weights = np.ones((1 + _RESAMPLES, n))
    weights[1:] = random.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES)
    totals = np.einsum("rn,nlhm->rlhm", weights, ordered)
    bases = totals[:, [labels.index(base)]]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(np.maximum(totals / bases, FLOOR))
    ratios[np.broadcast_to(bases == 0.0, ratios.shape)] = np.nan
    if n == 1:
        ratios[1:] = np.nan
    return np.asarray(ratios)


def _points(found: Floats, labels: list[str]) -> Numbers:
    """Return each label's ratios with their intervals from logarithms[1 + resamples, labels, 2]."""
    return {
        label: {measure: _interval(found[:, place, m]) for m, measure in enumerate(_MEASURES)}
        for place, label in enumerate(labels)
    }


def _interval(logarithms: Floats) -> dict[str, float | None] | None:
    if math.isnan(logarithms[0]):
        return None
    resampled = logarithms[1:][np.isfinite(logarithms[1:])]
    low, high = np.percentile(resampled, [2.5, 97.5]) if len(resampled) else (math.nan, math.nan)
    values = {"ratio": logarithms[0], "low": low, "high": high}
    return {
        key: None if math.isnan(value) else float(math.exp(value)) for key, value in values.items()
    }
