"""What all panels need: data by name, axes with short numbers, specs."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import altair as alt

from lexbandit.report.layout import Axis, Row, ticks
from lexbandit.report.numbers import rounded

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
_SHORT = "datum.value == 0 ? '0' : abs(datum.value) < 1 ? format(datum.value, '~g') : "
_LABEL_EXPR = _SHORT + "replace(format(datum.value, '~s'), 'G', 'B')"


def axis_of(
    axis: Axis, limits: tuple[float, float] | None = None, *, grid: bool = True
) -> alt.Axis:
    """Return an axis with few ticks and short numbers."""
    short: dict[str, Any] = {"labelExpr": _LABEL_EXPR, "labelOverlap": True, "grid": grid}
    if axis.kind == "linear" or limits is None:
        return alt.Axis(tickCount=5, **short)
    return alt.Axis(values=ticks(limits, axis), **short)


def scale_of(axis: Axis, limits: tuple[float, float], **given: Any) -> alt.Scale:
    """Return a scale that ends where it is told to."""
    kinds: dict[str, Any] = {"symlog": {"type": "symlog", "constant": axis.constant}}
    kind = kinds.get(axis.kind, {"type": axis.kind})
    return alt.Scale(**kind, domain=list(limits), nice=False, **given)


def data_of(rows: Iterable[Row], kept: dict[str, list[Row]]) -> alt.NamedData:
    """Keep rows for a chart, in the few digits that a picture can show; return their name.

    By name, since Altair would walk through every row of every layer to check it.
    """
    short = [{k: rounded(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    name = "rows-" + hashlib.sha256(json.dumps(short).encode()).hexdigest()[:12]
    kept[name] = short
    return alt.NamedData(name=name)


def spec_of(chart: alt.LayerChart | alt.FacetChart, kept: dict[str, list[Row]]) -> dict[str, Any]:
    """Return the chart as Vega-Lite, with its data."""
    found: dict[str, Any] = chart.to_dict()
    return found | {"datasets": kept}
