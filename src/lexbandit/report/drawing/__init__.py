"""The kinds of panel a figure is made of. The only place that imports Altair.

A panel is one Vega-Lite view, so that the page can fit it to its column.
"""

from lexbandit.report.drawing.cells import heat_panel, map_panel
from lexbandit.report.drawing.common import VEGA_LITE
from lexbandit.report.drawing.frontier import frontier_panel, legend_panel
from lexbandit.report.drawing.lines import line_panel
from lexbandit.report.drawing.planes import labelled_panel, path_panel

__all__ = [
    "VEGA_LITE",
    "frontier_panel",
    "heat_panel",
    "labelled_panel",
    "legend_panel",
    "line_panel",
    "map_panel",
    "path_panel",
]
