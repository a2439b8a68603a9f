"""What the dashboard says and draws, in a real browser."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from lexbandit.service.engine.point import DecisionRequest
from service.dashboard.visits import Go, Visit
from service.watched import ODD, Watched, watched

pytestmark = pytest.mark.compiled


def test_it_compares_with_always_playing_one_arm_in_words(visit: Go) -> None:
    one = visit()
    assert one.text("h1") == "router"
    headline = one.text("#headline")
    intro, *lines = headline.splitlines()
    assert intro == "The chooser compared with always playing"
    assert len(lines) == 3
    assert lines[0].startswith("small: quality is ")
    assert "lower" in headline
    assert "95" in one.text("#certainty")
    assert "Decisions" in one.text("#tiles")


def test_the_lines_of_the_arms_lie_where_they_should(visit: Go, service: Watched) -> None:
    one = visit()
    summary = service.engine.points["router"].chooser.summary()
    mean, more = summary.received["cost"].value, summary.against["small"]["cost"].value
    assert mean is not None
    assert more is not None
    label = one.page.get_attribute("#objectives figure:nth-child(2) .chart", "aria-label")
    found = re.search(r"Always small would have given about (0\.\d+)\.", label)
    assert found is not None
    assert float(found[1]) == pytest.approx(mean + more, abs=2e-5)  # less is better
    assert one.page.locator("#objectives figure:nth-child(2) .dash").count() == 3
    assert one.page.locator("#objectives figure:nth-child(1) .dash.tolerance").count() == 1


@pytest.mark.parametrize(("rewards", "early"), [(29, True), (30, False)])
def test_nothing_is_compared_while_one_objective_has_few_rewards(
    visit: Go, service: Watched, rewards: int, early: bool
) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    told["summary"]["received"]["quality"]["count"] = rewards
    one = visit(told=told)
    told_early = (
        "It is too early to compare with always playing one arm: 29 of the 30 rewards of quality "
        "that it takes have come."
    )
    assert (one.text("#headline") == told_early) == early
    assert one.page.is_visible("#dashed-note") != early
    assert one.page.is_visible("#against") != early
    assert (one.page.locator("#objectives .dash").count() == 0) == early


_INTRO = "The chooser compared with always playing\n"
_COMPARED = _INTRO + "small: "
_SURE = (0.012, 0.011, 0.013)


_CLAIMS: list[tuple[tuple[float | None, ...], tuple[float | None, ...], str]] = [
    (
        (-0.066, -0.2, 0.07),
        (-0.00018, -0.002, 0.0016),
        _COMPARED + "it cannot be told yet whether quality and cost are better or worse.",
    ),
    (
        (-0.015, -0.03, 0.001),  # it may be more than the tolerance
        _SURE,
        _COMPARED
        + "cost is 0.0120 lower; it cannot be told yet whether quality is better or worse.",
    ),
    (
        (-0.009, -0.019, 0.001),
        _SURE,
        _COMPARED + "quality is as good, within its tolerance of 0.02; cost is 0.0120 lower.",
    ),
    (
        (-0.013, -0.019, -0.007),
        _SURE,
        _COMPARED + "quality is 0.0130 lower, within its tolerance of 0.02; cost is 0.0120 lower.",
    ),
    (
        (-0.015, -0.022, -0.008),  # it may be more than the tolerance
        _SURE,
        _COMPARED + "quality is 0.0150 lower; cost is 0.0120 lower.",
    ),
    (
        (None, None, None),
        _SURE,
        _COMPARED
        + "cost is 0.0120 lower; it cannot be told yet whether quality is better or worse.",
    ),
    (
        (None, None, None),
        (None, None, None),
        _COMPARED + "how this would compare cannot be told; it was tried in 3 of 600 decisions.",
    ),
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), _COMPARED + "it was always played."),
]


def _says(words: str, headline: str) -> bool:
    """Tell whether a headline has these words; it may tell shares beside them."""
    return re.sub(r" \(\d\S*\s%\)", "", headline) == words


def test_only_what_is_certain_is_claimed(visit: Go, service: Watched) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    small = told["summary"]["against"]["small"]
    told["summary"]["against"] = {"small": small}
    one = visit(told=told)
    for quality, cost, words in _CLAIMS:
        for name, difference in (("quality", quality), ("cost", cost)):
            small[name] |= {"tried": 3, "decisions": 600}
            small[name] |= zip(("value", "low", "high"), difference, strict=True)
        one.until("#headline", partial(_says, words))


def test_every_arm_stands_in_a_table(visit: Go, service: Watched) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    told["summary"]["more"] = 990
    one = visit(told=told)
    one.page.locator("#against summary").click()
    one.page.locator("#against-table tbody tr").first.wait_for()
    rows = one.page.locator("#against-table tbody tr").all_inner_texts()
    assert len(rows) == 4
    assert rows[0].startswith("small")
    assert rows[-1].strip() == "and 990 more arms"
    assert one.page.locator("#against-table .gain").count() >= 1
    assert one.page.locator("#against-table .loss").count() >= 1


def test_one_reward_has_no_interval(visit: Go, service: Watched) -> None:
    decided = service.wait_for(service.engine.decide("once", {"member": True}))
    service.wait_for(service.engine.reward("once", decided.id, {"clicks": 0.5}))
    one = visit("/#once")
    one.page.wait_for_selector("#objectives svg")
    assert one.text("#objectives .figure-line") == "0.500 lately (by one reward)"
    one.page.locator("#objectives summary").click()
    assert "by one reward" in one.text("#objectives table")


_SERIES = """async ([name, ...given]) => {
  const series = await import("/dashboard/series.js");
  return name === "runs" ? series.runs(...given, (part) => part.n) : series[name](...given);
}"""


def test_a_gap_in_time_is_a_gap_in_the_charts(visit: Go) -> None:
    page = visit().page
    parts = [{"n": n} for n in (0, 3, 1, 0, 0, 2)]
    assert page.evaluate(_SERIES, ["runs", parts]) == [[parts[1], parts[2]], [parts[5]]]
    series = {"width": 1, "begin": [0, 9], "end": [1, 10], "arms": {"a": [1, 1]}, "rewards": {}}
    series |= {"late": [0, 0], "expired": [0, 0]}
    found = page.evaluate(_SERIES, ["stretches", series, 60])
    assert [part["decisions"] for part in found] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_parts_of_the_time_are_put_together(visit: Go) -> None:
    values = [np.array([1.7e9, 1.7e9 + 4, 1.7e9 + 5]), np.array([]), np.array([1.7e9 + 20.0])]
    spreads = [[len(v), v.mean(), ((v - v.mean()) ** 2).sum()] for v in values if len(v)]
    parts = [{"rewards": {"q": spreads[0]}}, {"rewards": {}}, {"rewards": {"q": spreads[1]}}]
    parts.append({"rewards": {"q": [0, 0.0, 0.0]}})
    found = visit().page.evaluate(_SERIES, ["lately", parts, "q"])
    every = np.concatenate(values)
    half = 1.96 * every.std() / np.sqrt(len(every) - 1)
    assert found["count"] == 4
    assert found["value"] == pytest.approx(every.mean(), abs=1e-6)
    assert found["high"] - found["value"] == pytest.approx(half, abs=1e-5)


def test_the_last_minute_goes_on_while_nothing_happens(visit: Go, service: Watched) -> None:
    one = visit("/#silent")
    before = int(one.text("#tiles dd >> nth=0"))
    service.traffic(30, "silent", rewarded=False)
    one.until("#tiles dd >> nth=0", lambda text: int(text) == before + 30)
    assert one.text("#tiles dt >> nth=1") == "Last minute"
    assert int(one.text("#tiles dd >> nth=1").removesuffix(" decisions")) >= 30
    # Nothing new, and the time goes on.
    one.page.route("**/history*", lambda route: route.fulfill(status=304))
    one.goes_on()
    one.page.evaluate("const now = Date.now; Date.now = () => now() + 9 * 60000; 0")
    one.until("#tiles dd >> nth=1", lambda text: text == "0 decisions")
    told = [[900, 930, 60], [930, 960, 120]]
    found = [one.page.evaluate(_SERIES, ["lastMinute", told, now]) for now in (960, 975, 1020)]
    assert found == [180, 150, 0]


_TICKS = """() => [...document.querySelectorAll("#objectives .chart")].map((chart) => {
  const middle = (node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return (top + bottom) / 2;
  };
  const axes = [...chart.querySelectorAll(".role-axis-label")];
  const upward = axes.sort((one, other) => middle(one) - middle(other))[0];
  const label = (node) => [Number(node.textContent), middle(node)];
  const labels = [...upward.querySelectorAll("text")].map(label);
  return { line: middle(chart.querySelector(".mark-line path")), labels };
})"""


def test_the_first_reward_lies_where_the_axis_says(tmp_path: Path, browser: Any) -> None:
    with watched(tmp_path) as service:
        service.warm()
        first = {"tokens": 900, "task": "code", "hour": 9.0}
        decided = service.wait_for(service.engine.decide("router", first))
        told = {"quality": 0.7, "cost": 0.01}
        service.wait_for(service.engine.reward("router", decided.id, told))
        one = Visit(browser, service.url)
        for n in range(2):
            one.page.wait_for_selector(f"#objectives .chart[role=img] >> nth={n}")
        assert one.text("#tiles dd >> nth=1") == "1 decision"
        for chart, value in zip(one.page.evaluate(_TICKS), told.values(), strict=True):
            (low, below), *_, (high, above) = sorted(chart["labels"])
            assert low < value < high
            shown = low + (high - low) * (below - chart["line"]) / (below - above)
            assert shown == pytest.approx(value, abs=(high - low) / 50)
            assert len({label for label, _ in chart["labels"]}) >= 3
        one.context.close()
        assert one.wrong == []


def test_an_axis_has_room_for_one_value(visit: Go) -> None:
    one = visit()
    for values, ends in (
        ([0.2, 0.9], [0.2, 0.9]),
        ([0.7], [0.65, 0.75]),
        ([0.7, 0.7004], [0.65, 0.7504]),
        ([1.0], [0.95, 1.0]),
        ([0.0], [0.0, 0.05]),
        ([1.2], [1.15, 1.2]),  # clipped when it is learned, and shown as it is
    ):
        found = one.page.evaluate(_SERIES, ["reach", {"range": [0, 1]}, values])
        assert found == pytest.approx(ends), values


def test_every_figure_is_drawn_and_stands_as_a_table_too(visit: Go) -> None:
    one = visit()
    places = ["#objectives figure:nth-child(1)", "#objectives figure:nth-child(2)"]
    places += ["figure:has(#shares)", "figure:has(#traffic)", "figure:has(#map)"]
    for place in places:
        figure = one.page.locator(place)
        figure.locator(".chart[role=img]").wait_for()  # it is drawn after the words
        assert figure.locator(
            "svg .mark-line path, svg .mark-area path, svg .mark-rect path"
        ).count()
        assert len(figure.locator(".chart").get_attribute("aria-label")) > 30
        figure.locator("summary").click()
        figure.locator("tbody tr").first.wait_for()
    # All decisions are in the table of traffic.
    counts = one.page.locator("#traffic-table td:nth-child(2)").all_inner_texts()
    assert sum(int(text.replace(",", "")) for text in counts) >= 600


_REDRAWN = """async (values) => {
  const { draw, objectiveSpec } = await import("/dashboard/charts.js");
  const place = document.querySelector("main").appendChild(document.createElement("div"));
  place.className = "chart";
  for (const ends of [[0, 1], values]) {
    const rows = ends.map((value, n) => ({ t: 1e6 * n, value, run: 0 }));
    const reach = ends.toSorted((one, other) => one - other);
    const spec = objectiveSpec([0, 1e6], reach, "red", false, false);
    await draw(place, "same", spec, { rows }, "lines");
  }
  const left = (node) => node.getBoundingClientRect().left;
  const labels = [...place.querySelectorAll(".role-axis-label text")];
  return [left(place), Math.min(...labels.map(left)), labels.map((node) => node.textContent)];
}"""


@pytest.mark.parametrize("values", [[0.951, 0.954], [-12000.001, -12000.003]])
def test_labels_that_become_longer_are_not_cut_off(visit: Go, values: list[float]) -> None:
    edge, leftmost, labels = visit().page.evaluate(_REDRAWN, values)
    assert max(map(len, labels)) > 4
    assert leftmost >= edge


def test_one_objective_is_enough(visit: Go, service: Watched) -> None:
    context = {"member": True, "taste": [0.2, 0.9], "age": 30}
    for n in range(12):
        decided = service.wait_for(service.engine.decide("single", {**context, "age": 20 + n}))
        service.wait_for(service.engine.reward("single", decided.id, {"clicks": n % 2}))
    one = visit("/#single")
    assert "too early to compare" in one.text("#headline")
    one.page.wait_for_selector("#map svg")


def test_the_map_of_what_is_not_known_is_undecided(visit: Go) -> None:
    one = visit("/#silent")
    one.page.wait_for_selector("#map svg")
    text = "undecided, 100\xa0% of the map: several arms are equally likely"
    assert one.text("#map-key") == text
    assert one.page.locator("#map svg text", has_text="undecided").count() == 1


def test_there_is_something_to_read_before_there_is_anything_to_show(visit: Go) -> None:
    one = visit("/#empty")
    assert one.text("#headline") == "No decisions yet."
    assert "curl" in one.text("#empty")
    assert '"tokens":0' in one.text("#empty")
    assert "Authorization" not in one.text("#empty")  # nobody needs a key here
    assert not one.page.is_visible("#figures")
    one.page.get_by_role("link", name="silent").click()
    one.page.get_by_text("no rewards yet: there is nothing to learn from").wait_for()
    assert "/rewards" in one.text("#empty")
    assert one.text("#objectives figure >> nth=0").count("No rewards yet.") == 1


def test_arms_may_have_names_that_objects_have(visit: Go, service: Watched) -> None:
    contexts: list[dict[str, Any]] = [
        {"member": n % 2 == 0, "taste": [0.5, 0.5], "age": 40} for n in range(200)
    ]
    rows = [DecisionRequest(context) for context in contexts]
    made = service.wait_for(service.engine.decide_many("odd", rows))
    told = [(one.id, {"clicks": float(n % 2)}) for n, one in enumerate(made)]
    service.wait_for(service.engine.reward_many("odd", told))
    one = visit("/#odd")
    one.until("h1", lambda text: text == "odd")
    one.page.wait_for_selector("#shares svg")
    one.page.wait_for_selector("#map svg")
    assert one.page.locator("#recent tr").count() == 50
    shown = one.text("#key")
    assert shown.count("%") == 7  # the six most chosen, and the others
    for series in ("hour", "whole"):
        one.page.locator("#series").select_option(series)
        one.goes_on()
    one.page.locator("#shares-table").evaluate("(node) => { node.closest('details').open = true; }")
    one.page.locator("#against").evaluate("(node) => { node.open = true; }")
    one.page.locator("#recent button", has_text="__proto__").first.click()
    one.page.wait_for_selector("#why-table table")
    colours: dict[str, str] = {}
    for place, selector in _ARMS_IN.items():
        found = one.page.evaluate(_SWATCHES, selector)
        assert found, place
        for name, colour in found:
            if name in ODD:
                assert colours.setdefault(name, colour) == colour, (place, name)
    assert set(colours) == set(ODD)
    assert len(set(colours.values())) == len(ODD)
    # The intervals of the dialog are drawn in them, too.
    drawn = one.page.evaluate(
        "[...document.querySelectorAll('#why-charts .mark-symbol path')]"
        ".map((node) => getComputedStyle(node).fill)"
    )
    assert set(drawn) <= set(colours.values())
    assert len(drawn) == len(ODD)


# Where arms stand beside their colours.
_ARMS_IN = {
    "key": "#key li",
    "comparison": "#against-table .arm",
    "shares": "#shares-table .arm",
    "recent": "#recent th",
    "why": "#why-table .arm",
}
_SWATCHES = """(selector) => [...document.querySelectorAll(selector)].map((node) => [
    node.textContent.replace(/ [0-9.]+\\u00a0%$/, ""),
    getComputedStyle(node.querySelector(".swatch")).backgroundColor])"""
