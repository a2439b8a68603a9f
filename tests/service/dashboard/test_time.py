"""The axes of time: their labels have room, and all charts show the same time."""

import itertools
from typing import Any

import httpx
import pytest

from service.dashboard.visits import Go, Visit
from service.watched import Watched

pytestmark = pytest.mark.compiled

SPANS = [5, 3600, 3 * 86400]
WIDTHS = (320, 390, 768, 1280)
CHARTS = "#objectives .chart, #shares, #traffic, #waiting"


def _lasting(service: Watched, seconds: int) -> dict[str, Any]:
    """Return how a point stands after such a time, without rewards in its last third."""
    told: dict[str, Any] = httpx.get(f"{service.url}/v1/router/history").json()
    n = min(seconds, 60)
    width = seconds / n
    begin = [1_760_000_037 + width * k for k in range(n)]
    rewards = [[9, 0.5, 0.1] if 3 * k < 2 * n else [0, 0.0, 0.0] for k in range(n)]
    told["series"] = {
        "width": width,
        "begin": begin,
        "end": [one + width for one in begin],
        "arms": {arm["name"]: [9] * n for arm in told["arms"]},
        "rewards": {objective["name"]: rewards for objective in told["objectives"]},
        "late": [1] * n,
        "expired": [1] * n,
    }
    told["totals"]["late"] = n
    return told


# Places are told from the left edge of each chart, so that those beside each other compare.
_AXES = """(charts) => [...document.querySelectorAll(charts)].map((chart) => {
  const edge = chart.getBoundingClientRect().left;
  const box = (node) => {
    const { left, right, bottom } = node.getBoundingClientRect();
    return { left: left - edge, right: right - edge, bottom, text: node.textContent };
  };
  const seen = (node) => getComputedStyle(node).opacity !== "0";
  const axes = [...chart.querySelectorAll(".role-axis-label")];
  const lowest = axes.sort((one, other) => box(one).bottom - box(other).bottom).at(-1);
  const labels = [...lowest.querySelectorAll("text")].filter(seen).map(box);
  return {
    ...box(chart.querySelector(".role-frame .background")),
    labels: labels.sort((one, other) => one.left - other.left),
    width: chart.clientWidth,
  };
})"""
_FITS = """([charts, width]) => innerWidth === width
  && [...document.querySelectorAll(charts)].every((chart) => chart.role === "img"
    && Math.abs(chart.querySelector("svg").clientWidth - chart.clientWidth) <= 1)"""


def _axes(one: Visit, width: int) -> list[dict[str, Any]]:
    """Return the charts' axes of time in a window of such a width."""
    one.page.set_viewport_size({"width": width, "height": 900})
    one.page.wait_for_function(_FITS, arg=[CHARTS, width])
    found: list[dict[str, Any]] = one.page.evaluate(_AXES, CHARTS)
    assert len(found) == 5
    return found


@pytest.mark.parametrize(
    "seconds", [120, *(pytest.param(n, marks=pytest.mark.slow) for n in SPANS)]
)
def test_labels_of_times_have_room(visit: Go, service: Watched, seconds: int) -> None:
    one = visit(told=_lasting(service, seconds))
    for width in WIDTHS:
        for axis in _axes(one, width):
            labels = axis["labels"]
            assert len(labels) >= 2, width
            gaps = [b["left"] - a["right"] for a, b in itertools.pairwise(labels)]
            assert min(gaps) >= 8, (width, labels)
            assert labels[0]["left"] >= 0
            assert labels[-1]["right"] <= axis["width"]
            texts = [label["text"] for label in labels]
            # The same hour may come again if days are told too.
            assert len({*texts}) == len(texts) or any("Oct" in text for text in texts), texts
    # All charts show the same time.
    first, *others = _axes(one, 390)  # here they stand below each other
    texts = [label["text"] for label in first["labels"]]
    for axis in others:
        assert [label["text"] for label in axis["labels"]] == texts
        for place in ("left", "right"):
            assert axis[place] == pytest.approx(first[place], abs=2)


def test_axes_beside_each_other_are_level(visit: Go, service: Watched) -> None:
    one = visit(told=_lasting(service, 3600))
    heights = [axis["bottom"] for axis in _axes(one, 1280)]
    assert heights[0] == heights[1] < heights[2] == heights[3]


def test_the_axes_of_time_go_on_with_it(visit: Go, service: Watched) -> None:
    one = visit(told=_lasting(service, 5))
    assert not any("Oct" in label["text"] for axis in _axes(one, 768) for label in axis["labels"])
    later = _lasting(service, 3 * 86400)
    one.page.route("**/history*", lambda route: route.fulfill(json=later))
    for chart in CHARTS.split(", "):
        one.page.locator(chart).last.get_by_text("Oct 11").wait_for()
