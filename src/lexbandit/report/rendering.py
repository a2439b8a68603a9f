"""From panels to SVG, PNG and what the page embeds. The only file that imports vl-convert."""

import functools
from collections.abc import Sequence
from typing import Any

import vl_convert

from lexbandit.report.drawing import VEGA_LITE
from lexbandit.report.layout import Panel

Spec = dict[str, Any]


def page_spec(panel: Panel) -> Spec:
    """Return the panel as Vega-Lite for the page: it takes the width and the ink it finds there."""
    return panel.spec | {
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": panel.description,
        "config": _config("currentColor", "system-ui, sans-serif"),
    }


def file_spec(title: str, panels: Sequence[Panel]) -> Spec:
    """Return the panels side by side as one Vega-Lite picture, for a file."""
    views: list[Spec] = []
    datasets: Spec = {}
    for panel in panels:
        spec = dict(panel.spec)
        datasets |= spec.pop("datasets", {})
        schema = spec.pop("$schema")
        spec.pop("config", None)
        # What only answers a pointer has no place in a still picture.
        spec["layer"] = [layer for layer in spec["layer"] if layer["mark"].get("opacity") != 0]
        fixed = _with_width(spec, panel.width)
        views.append(fixed | {"width": panel.width, "title": panel.title})
    own = dict.fromkeys(("color", "shape", "size", "strokeDash", "strokeWidth"), "independent")
    return {
        "$schema": schema,
        "title": {"text": title, "fontSize": 16, "anchor": "start", "offset": 14},
        "background": "white",
        "padding": 16,
        "concat": views,
        "columns": 4 if panels[0].square else 1 if panels[0].wide else 2,
        "spacing": 28,
        "resolve": {"scale": own},
        "datasets": datasets,
        "config": _config("#1b1f24", "Arial, sans-serif"),
    }


def _with_width(spec: Any, width: int) -> Any:
    """Return the spec with `width - n` worked out: side by side, views have no such signal."""
    if isinstance(spec, list):
        return [_with_width(part, width) for part in spec]
    if not isinstance(spec, dict):
        return spec
    if set(spec) == {"expr"} and str(spec["expr"]).startswith("width - "):
        return width - float(spec["expr"].removeprefix("width - "))
    return {key: _with_width(part, width) for key, part in spec.items()}


def _config(ink: str, font: str) -> dict[str, Any]:
    axis = {
        "labelColor": ink,
        "titleColor": ink,
        "domainColor": ink,
        "tickColor": ink,
        "gridColor": ink,
        "gridOpacity": 0.12,
        "domainOpacity": 0.6,
        "tickOpacity": 0.6,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "font": font,
        "axis": axis,
        "background": "transparent",
        "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 11},
        "text": {"color": ink},
        "title": {"color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start"},
        "view": {"stroke": None},
    }


def to_svg(spec: dict[str, Any]) -> str:
    """Return the picture as SVG."""
    return str(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))


def to_png(svg: str) -> bytes:
    """Return an SVG picture as PNG, at twice the size for sharp print."""
    return bytes(vl_convert.svg_to_png(svg, scale=2))


@functools.cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, so that the page needs no network."""
    # The type stub asks for a snippet; without one the bundle sets window.vegaEmbed.
    return str(vl_convert.javascript_bundle(vl_version=VEGA_LITE))  # type: ignore[call-arg]
