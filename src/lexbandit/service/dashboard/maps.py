"""A map: which arm would be chosen where, over two features of the context."""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import Any

from lexbandit.chooser import Chooser
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector, no_value
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.http.json_body import decode
from lexbandit.service.http.problems import Problem

_SIDE = 24
"""So many steps a number has on an axis of a map."""
# So many contexts are explained before decisions get their turn.
_AT_ONCE = 8


def describe_feature(feature: Feature) -> dict[str, Any]:
    """Return what a viewer needs to know of a feature."""
    facts: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    if isinstance(feature, Category):
        facts["values"] = list(feature.values)
    elif isinstance(feature, Number):
        facts |= {"low": feature.low, "high": feature.high, "scale": feature.scale}
    elif isinstance(feature, Cycle):
        facts |= {"low": 0.0, "high": feature.period, "scale": "linear"}
    return facts


def axis(feature: Feature) -> dict[str, Any]:
    """Return the steps of an axis: `values`, and the `edges` between them for numbers."""
    facts = describe_feature(feature)
    if isinstance(feature, Category):
        return facts
    if isinstance(feature, Flag):
        return {**facts, "values": [False, True]}
    if isinstance(feature, Vector):
        raise InvalidInput(f"a map has no axis for {feature.name!r}: it is a vector.")
    low, high = facts["low"], facts["high"]
    if facts["scale"] == "log":
        ends = [low * (high / low) ** (n / _SIDE) for n in range(_SIDE)] + [high]
        values = [math.sqrt(a * b) for a, b in pairwise(ends)]
    else:
        ends = [low + (high - low) * n / _SIDE for n in range(_SIDE)] + [high]
        values = [(a + b) / 2 for a, b in pairwise(ends)]
    return {**facts, "values": values, "edges": ends}


def typical(feature: Feature, seen: Sequence[Any]) -> Any:
    """Return a value that is usual among those seen; the middle if none was."""
    known = [value for value in seen if not no_value(value)]
    if isinstance(feature, Category):
        common = Counter(value for value in known if value in feature.values)
        return common.most_common(1)[0][0] if common else feature.values[0]
    if isinstance(feature, Flag):
        return Counter(known).most_common(1)[0][0] if known else False
    if isinstance(feature, Vector):
        return known[0] if known else [(feature.low + feature.high) / 2] * feature.length
    values = axis(feature)["values"]
    return median_low(known) if known else values[len(values) // 2]


def fixed_values(text: str | None) -> dict[str, Any]:
    """Return the values a viewer set: the query `at`, a JSON object."""
    if not text:
        return {}
    try:
        at = decode(text.encode())
    except Problem as problem:
        raise InvalidInput(
            f"at must be a JSON object of features and values, got {text[:80]!r}: {problem.detail}"
        ) from None
    if not isinstance(at, dict):
        raise InvalidInput(f"at must be a JSON object of features and values, got {text[:80]!r}.")
    return at


async def draw_map(
    chooser: Chooser,
    x: str | None,
    y: str | None,
    at: Mapping[str, Any],
    contexts: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the likeliest arm and its probability at every step of one or two features.

    Other features have the values of `at`, or what is typical of `contexts`. Cells come row by row,
    a row for each step of y, each cell an index into `arms` and a probability (None if unknown).
    Where several arms are equally likely the index is None: no arm is ahead there.
    """
    features = {feature.name: feature for feature in chooser.contexts.features}
    axes = [axis(_named(features, name)) for name in (x, y) if name]
    if not x:
        raise InvalidInput("a map needs x, the name of a context feature.")
    if x == y:
        raise InvalidInput(f"x and y of a map must differ, both are {x!r}.")
    for name in at:
        _named(features, name)
    fixed = {
        name: at[name] if name in at else typical(one, [c.get(name) for c in contexts])
        for name, one in features.items()
        if name not in (x, y)
    }
    down = [{y: value} for value in axes[1]["values"]] if y else [{}]
    points = [{**fixed, **row, x: value} for row in down for value in axes[0]["values"]]
    arms: dict[str, int] = {}
    cells = []
    for n, point in enumerate(points):
        if n % _AT_ONCE == 0:
            await asyncio.sleep(0)
        arm, chance = _likeliest(chooser, point)
        cells.append([arm if arm is None else arms.setdefault(arm, len(arms)), chance])
    across, upward = axes[0], axes[1] if y else None
    return {"x": across, "y": upward, "at": fixed, "arms": list(arms), "cells": cells}


def _named(features: Mapping[str, Feature], name: str) -> Feature:
    if name not in features:
        raise unknown_name("context feature", name, features)
    return features[name]


def _likeliest(chooser: Chooser, context: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Return the likeliest arm and its probability; None for an arm if several are as likely.

    Arms whose probabilities are not known count as equally likely.
    """
    chances = chooser.propensities(context)
    if any(map(math.isnan, chances.values())):
        likely = chooser.explain(context).likely
        return likely[0] if len(likely) == 1 else None, None
    first, *others = sorted(chances, key=lambda arm: -chances[arm])
    tied = bool(others) and math.isclose(chances[others[0]], chances[first])
    return None if tied else first, chances[first]
