"""What the dashboard says and draws, in a real browser."""

import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from service.dashboard.visits import Go, Visit
from service.watched import Watched, watched

pytestmark = pytest.mark.compiled


def test_it_says_in_words_what_was_gained_and_given_up(visit: Go) -> None:
    one = visit()
    assert one.text("h1") == "router"
    headline = one.text("#headline")
    assert headline.startswith("Compared with always taking the arm best for quality, cost is 0.0")
    assert "lower" in headline
    assert "quality gives up" in headline
    assert "within its tolerance of 0.020" in headline
    assert "Decisions" in one.text("#tiles")


def test_the_baseline_lies_where_it_should(visit: Go, service: Watched) -> None:
    one = visit()
    gained = service.engine.summary("router").gained["cost"].value
    assert gained is not None
    now = float(one.text("#objectives figure:nth-child(2) b"))
    label = one.page.get_attribute("#objectives figure:nth-child(2) .chart", "aria-label")
    found = re.search(r"best for quality would give about (0\.\d+)\.$", label)
    assert found is not None
    assert float(found[1]) == pytest.approx(now + gained, abs=2e-5)  # less is better
    share = re.search(r"lower \((\d+)\s%\)", one.text("#headline"))
    assert share is not None
    assert int(share[1]) == pytest.approx(100 * gained / float(found[1]), abs=0.6)


_HEADLINE = """async ([gained, received]) => {
  const { headline } = await import("/dashboard/words.js");
  const { baseline } = await import("/dashboard/series.js");
  const facts = { goal: "max", range: [0, 1], tolerance: 0.02 };
  const objectives = ["quality", "cost"].map((name) => ({ name, ...facts }));
  const both = (one) => ({ quality: one, cost: one });
  const summary = { gained: both(gained), received: both(received) };
  const told = { objectives, summary, totals: { decisions: 23, rewards: 46 } };
  const bases = objectives.map((one) => baseline(one, summary, { value: 0.9 }));
  const words = headline(told, { quality: bases[0], cost: bases[1] });
  return [words.map((part) => part.strong ?? part).join(""), bases[0]];
}"""


@pytest.mark.parametrize(
    ("low", "high", "rewards", "early", "base"),
    [
        (None, None, 900, True, None),  # no bounds: nothing is known
        (-0.3, -0.1, 29, True, None),
        (-0.3, -0.1, 30, False, 1.0),  # rewards lie in 0 to 1, whatever the estimates
    ],
)
def test_nothing_is_claimed_while_nothing_is_known(
    visit: Go, low: float | None, high: float | None, rewards: int, early: bool, base: float | None
) -> None:
    gained = {"value": -0.209, "low": low, "high": high, "count": 9}
    text, found = visit().page.evaluate(_HEADLINE, [gained, {"count": rewards}])
    assert text.startswith("It is too early to tell") == early
    assert ("gives up 0.209" in text) != early
    assert found == base


_COMPARED = "Compared with always taking the arm best for quality, "
_SURE = (0.012, 0.011, 0.013)


@pytest.mark.parametrize(
    ("quality", "cost", "words", "line", "losses"),
    [
        (
            (-0.066, -0.2, 0.07),
            (-0.00018, -0.002, 0.0016),
            "it cannot be told yet whether cost and quality are better or worse.",
            "; by estimate 0.066 lower, not certain yet",
            0,
        ),
        (
            (-0.015, -0.03, 0.001),  # it may be more than the tolerance
            _SURE,
            "cost is 0.01200 lower; it cannot be told yet whether quality is better or worse.",
            "; by estimate 0.015 lower, not certain yet",
            0,
        ),
        (
            (-0.009, -0.019, 0.001),
            _SURE,
            "cost is 0.01200 lower; quality is as good, within its tolerance of 0.020.",
            "; as good as the baseline, within its tolerance of 0.020",
            0,
        ),
        (
            (-0.013, -0.019, -0.007),
            _SURE,
            "cost is 0.01200 lower; quality gives up 0.013, within its tolerance of 0.020.",
            "; gave up: 0.013 lower, within its tolerance of 0.020",
            0,
        ),
        (
            (-0.05, -0.08, -0.02),
            _SURE,
            "cost is 0.01200 lower; quality gives up 0.050.",
            "; gave up: 0.050 lower",
            1,
        ),
        (
            (0.0, 0.0, 0.0),
            (-0.0002, -0.0003, -0.0001),
            "cost is 0.00020 higher; quality is as good.",
            "; as good as the baseline",
            1,
        ),
    ],
)
def test_only_what_is_certain_is_claimed(
    visit: Go,
    service: Watched,
    quality: tuple[float, ...],
    cost: tuple[float, ...],
    words: str,
    line: str,
    losses: int,
) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    for name, gained in (("quality", quality), ("cost", cost)):
        told["summary"]["gained"][name] |= zip(("value", "low", "high"), gained, strict=True)
    one = visit()
    one.shows(told)
    found = one.text("#headline"), one.text("#objectives .figure-line >> nth=0")
    headline, first = (re.sub(r" \(\d\S*\s%\)", "", text) for text in found)
    assert headline == _COMPARED + words
    assert first.endswith(f"){line}")
    assert one.page.locator(".figure-line .loss").count() == losses


def test_nothing_is_compared_while_one_objective_has_few_rewards(
    visit: Go, service: Watched
) -> None:
    told = httpx.get(f"{service.url}/v1/router/history").json()
    told["summary"]["received"]["quality"]["count"] = 29
    one = visit()
    one.shows(told)
    assert one.text("#headline").startswith("It is too early to tell")
    lines = one.page.locator("#objectives .figure-line").all_inner_texts()
    assert [line.endswith(")") and "gained" not in line for line in lines] == [True, True]
    assert one.page.locator("#objectives .dash").count() == 0


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


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.2, 0.9], [0.2, 0.9]),
        ([0.7], [0.65, 0.75]),
        ([0.7, 0.7004], [0.65, 0.7504]),
        ([1.0], [0.95, 1.0]),
        ([0.0], [0.0, 0.05]),
        ([1.2], [1.15, 1.2]),  # clipped when it is learned, and shown as it is
    ],
)
def test_an_axis_has_room_for_one_value(visit: Go, values: list[float], ends: list[float]) -> None:
    found = visit().page.evaluate(_SERIES, ["reach", {"range": [0, 1]}, values])
    assert found == pytest.approx(ends)


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
    assert "One objective, clicks" in one.text("#headline") or "too early" in one.text("#headline")
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
