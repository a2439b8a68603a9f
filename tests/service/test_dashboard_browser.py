"""The dashboard in a real browser: what it shows, by mouse and keyboard, large and small."""

import hashlib
import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexbandit.service.auth import Key
from lexbandit.service.dashboard.bundle import NAME
from lexbandit.service.dashboard.pages import FILES
from lexbandit.service.engine import Engine
from service.watched import EVIL, LONG, Watched, watched

playwright = pytest.importorskip("playwright.sync_api", reason="there is no Playwright here")

pytestmark = pytest.mark.compiled

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

Go = Callable[..., "Visit"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("watched")) as one:
        one.traffic(600)
        one.traffic(20, "silent", rewarded=False)
        # The charts' script is made now, and not while a test waits for it.
        assert b"vegaEmbed" in httpx.get(f"{one.url}{FILES}{NAME}", timeout=60).content
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


class Visit:
    """A page, and everything that went wrong on it."""

    def __init__(self, browser: Any, url: str, place: str = "/", **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.url = url
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url + place)
        self.page.wait_for_selector("body[data-turns]")

    def _heard(self, message: Any) -> None:
        # A violation of the page's policy is an error of the console.
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def settle(self) -> None:
        """Wait for the next two answers."""
        turns = int(self.page.get_attribute("body", "data-turns"))
        for turn in (turns + 1, turns + 2):
            self.page.wait_for_selector(f"body[data-turns='{turn}']", state="attached")

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))


@pytest.fixture
def visit(browser: Any, service: Watched) -> Iterator[Any]:
    made: list[Visit] = []

    def go(place: str = "/", **settings: Any) -> Visit:
        made.append(Visit(browser, service.url, place, **settings))
        return made[-1]

    yield go
    for one in made:
        one.context.close()
        assert one.wrong == []
        assert all(url.startswith(f"{service.url}/") for url in one.asked)


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


def test_the_last_minute_goes_on_while_nothing_happens(visit: Go, service: Watched) -> None:
    one = visit("/#silent")
    service.traffic(30, "silent", rewarded=False)
    one.settle()
    assert one.text("#tiles dt >> nth=1") == "Last minute"
    assert float(one.text("#tiles dd >> nth=1").split()[0]) > 0
    one.page.evaluate("const now = Date.now; Date.now = () => now() + 9 * 60000; 0")
    one.settle()
    assert one.text("#tiles dd >> nth=1") == "0 per min"
    told = {"since": 0, "stretches": [[900, 930, 60], [930, 960, 120]]}
    pace = [one.page.evaluate(_SERIES, ["pace", told, now]) for now in (960, 975, 1020)]
    assert pace == [3.0, 2.5, 0.0]
    young = {"since": 955, "stretches": [[955, 960, 10]]}
    assert one.page.evaluate(_SERIES, ["pace", young, 960]) == 2.0


def test_every_figure_is_drawn_and_stands_as_a_table_too(visit: Go) -> None:
    one = visit()
    places = ["#objectives figure:nth-child(1)", "#objectives figure:nth-child(2)"]
    places += ["figure:has(#shares)", "figure:has(#traffic)", "figure:has(#map)"]
    for place in places:
        figure = one.page.locator(place)
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
    await draw(place, "same", objectiveSpec("%H:%M", "red", false, false), { rows }, "lines");
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


def test_names_are_shown_as_they_are_and_do_nothing(visit: Go) -> None:
    one = visit()
    assert EVIL in one.text("#key")
    assert LONG in one.text("#key")
    one.page.locator("#recent button", has_text="<img").first.click()
    assert one.text("#why-title") == f"Why {EVIL}?"
    one.page.wait_for_selector("#why-table tbody")
    assert EVIL in one.text("#why-table")
    assert one.page.locator("img").count() == 0
    assert one.page.title() == "router – lexbandit"


def test_by_keyboard_alone(visit: Go) -> None:
    one = visit()
    page = one.page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skip to the figures
    focused = "document.activeElement"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}.className") == "why":
            break
    asked = page.evaluate(f"{focused}.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] svg")
    assert one.text("#why-title") == f"Why {asked}?"
    assert page.locator("#why-table tbody tr").count() == 3
    assert page.evaluate(f"{focused}.id") == "close"
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate(f"{focused}.className") == "why"


def test_a_decision_that_has_left_the_ring_is_explained(visit: Go, service: Watched) -> None:
    one = visit()
    one.page.get_by_role("button", name="Pause").click()
    id = one.page.get_attribute("#recent tr >> nth=0", "data-id")
    service.traffic(60)
    kept = service.engine.points["router"].history.recent()
    assert id not in {decision.row["id"] for decision in kept}
    one.page.locator("#recent button").first.click()
    one.page.wait_for_selector("dialog[open] #why-table tbody")
    assert f"Decision {id}, with tokens" in one.text("#why-facts")
    one.page.keyboard.press("Escape")
    # What goes wrong is told where one looks.
    one.page.route("**/explain", lambda route: route.abort())
    one.page.locator("#recent button").first.click()
    one.page.get_by_text("It cannot be explained now: The service does not answer.").wait_for()
    assert one.page.is_visible("dialog[open] #why-reason")
    one.wrong = [text for text in one.wrong if "net::ERR_FAILED" not in text]


def test_it_is_live_and_stands_still_when_asked(visit: Go, service: Watched) -> None:
    one = visit("/#silent")
    before = one.text("#tiles dd >> nth=0")
    service.traffic(5, "silent", rewarded=False)
    one.settle()
    assert int(one.text("#tiles dd >> nth=0")) == int(before) + 5
    one.page.get_by_role("button", name="Pause").click()
    assert one.text("[role=status]") == "Updates are paused."
    _is_still(one)
    one.page.get_by_role("button", name="Go on").click()
    one.settle()
    # Nobody looks: nothing is asked.
    one.page.evaluate(
        "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    one.page.wait_for_timeout(300)
    _is_still(one)
    one.page.evaluate(
        "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))"
    )
    one.settle()


def _is_still(one: "Visit") -> None:
    asked = len(one.asked)
    one.page.wait_for_timeout(2500)
    assert len(one.asked) == asked


def test_the_list_stands_still_while_somebody_is_in_it(visit: Go, service: Watched) -> None:
    one = visit("/#silent")
    first = "#recent tr >> nth=0"
    one.page.locator("#recent button").first.focus()
    before = one.page.get_attribute(first, "data-id")
    service.traffic(3, "silent", rewarded=False)
    one.settle()
    assert one.page.get_attribute(first, "data-id") == before
    one.page.get_by_role("button", name="Pause").focus()
    one.settle()
    assert one.page.get_attribute(first, "data-id") != before


def test_the_viewer_chooses_the_map(visit: Go) -> None:
    one = visit()
    page = one.page
    page.get_by_label("Across").select_option("task")
    page.get_by_label("Upwards").select_option("")
    page.get_by_label("tokens at").fill("4000")
    page.get_by_label("tokens at").press("Tab")
    page.get_by_label("hour at").fill("6")
    with page.expect_response(lambda answer: "/map?" in answer.url and "4000" in answer.url) as got:
        page.get_by_label("hour at").press("Tab")
    drawn = got.value.json()
    assert drawn["at"] == {"tokens": 4000, "hour": 6}
    page.get_by_text("With tokens = 4,000 and hour = 6.").wait_for()
    page.get_by_text("The map in words").click()
    arms = {"undecided" if arm is None else drawn["arms"][arm] for arm, _ in drawn["cells"]}
    assert all(arm in one.text("#map-table") for arm in arms)


def test_the_map_of_what_is_not_known_is_undecided(visit: Go) -> None:
    one = visit("/#silent")
    one.page.wait_for_selector("#map svg")
    text = "undecided, 100\xa0% of the map: several arms are equally likely"
    assert one.text("#map-key") == text
    assert one.page.locator("#map svg text", has_text="undecided").count() == 1


@pytest.mark.parametrize("place", ["/", "/#empty"])
def test_it_fits_a_phone(visit: Go, place: str) -> None:
    one = visit(place, **PHONE)
    assert one.page.evaluate("document.documentElement.scrollWidth") == 390
    if place == "/":
        one.page.locator("#recent button", has_text="<img").first.tap()
        one.page.wait_for_selector("dialog[open] svg")
        # The table is read downwards, nothing of it lies beyond the edge.
        table = "document.getElementById('why-table')"
        assert one.page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
        box = one.page.locator("dialog").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    small = one.page.evaluate(
        "[...document.querySelectorAll('.top button, .top select, .top a')]"
        ".filter((node) => node.offsetHeight && node.offsetHeight < 32).length"
    )
    assert small == 0


def test_it_is_built_for_screen_readers(visit: Go) -> None:
    page = visit().page
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1, landmark
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].filter((node) => node.offsetHeight)"
        ".map((node) => Number(node.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, select, input, a, [role=img], [role=region]')]"
        ".filter((node) => !(node.ariaLabel || node.textContent.trim() || node.labels?.length))"
        ".map((node) => node.outerHTML)"
    )
    assert unnamed == []
    # Only what a listener must hear at once is announced.
    assert page.locator("[aria-live], [role=status], [role=alert]").count() == 2
    assert page.locator("[role=status]").inner_text() == ""


def test_colours_follow_the_system_and_the_viewer(visit: Go) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = visit(color_scheme="light").page.evaluate(paper)
    one = visit(color_scheme="dark", reduced_motion="reduce")
    dark = one.page.evaluate(paper)
    assert light != dark
    assert one.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    one.page.get_by_label("Colours").select_option("light")
    assert one.page.evaluate(paper) == light
    one.page.reload()
    assert one.page.evaluate(paper) == light
    one.page.get_by_label("Colours").select_option("system")
    assert one.page.evaluate(paper) == dark


def test_text_stands_out_from_its_ground(visit: Go) -> None:
    for scheme in ("light", "dark"):
        page = visit(color_scheme=scheme).page
        for ink in ("ink", "soft", "link", "good", "bad"):
            for ground in ("paper", "card", "tint"):
                pair = [page.evaluate(_COLOUR, name) for name in (ink, ground)]
                assert _contrast(*pair) >= 4.5, (scheme, ink, ground)


_COLOUR = (
    "(name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()"
)


def _contrast(one: str, other: str) -> float:
    """Return the ratio of WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_there_is_something_to_read_before_there_is_anything_to_show(visit: Go) -> None:
    one = visit("/#empty")
    assert one.text("#headline") == "No decisions yet."
    assert "curl" in one.text("#empty")
    assert '"tokens":0' in one.text("#empty")
    assert not one.page.is_visible("#figures")
    one.page.get_by_role("link", name="silent").click()
    one.page.get_by_text("no rewards yet: there is nothing to learn from").wait_for()
    assert "/rewards" in one.text("#empty")
    assert one.text("#objectives figure >> nth=0").count("No rewards yet.") == 1


def test_trouble_is_told(visit: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "trouble", property(lambda _: "the disk is full."))
    one = visit()
    alert = one.page.get_by_role("alert").inner_text()
    assert alert == "Nothing is being recorded: the disk is full."


def test_a_service_that_is_gone_is_noticed_and_found_again(visit: Go) -> None:
    one = visit()
    one.page.route("**/history*", lambda route: route.abort())
    one.page.get_by_text("What you see may be out of date").wait_for()
    one.page.unroute("**/history*")
    one.page.get_by_text("Connected again.").wait_for()
    one.wrong = [text for text in one.wrong if "net::ERR_FAILED" not in text]


def test_one_objective_is_enough(visit: Go, service: Watched) -> None:
    context = {"member": True, "taste": [0.2, 0.9], "age": 30}
    for n in range(12):
        decided = service.wait_for(service.engine.decide("single", {**context, "age": 20 + n}))
        service.wait_for(service.engine.reward("single", decided.id, {"clicks": n % 2}))
    one = visit("/#single")
    assert "One objective, clicks" in one.text("#headline") or "too early" in one.text("#headline")
    one.page.wait_for_selector("#map svg")


_SECRET = {"viewer": "r" * 32, "web": "d" * 32}


def _key(name: str, role: Any) -> Key:
    return Key(name, frozenset({role}), hashlib.sha256(_SECRET[name].encode()).digest())


def test_nobody_sees_it_without_signing_in(tmp_path: Path, browser: Any) -> None:
    with watched(tmp_path, keys=(_key("viewer", "read"), _key("web", "decide"))) as one:
        for path in ("history", "map?x=tokens", "recent"):
            assert httpx.get(f"{one.url}/v1/router/{path}").status_code == 401
            bearer = {"Authorization": f"Bearer {_SECRET['web']}"}
            assert httpx.get(f"{one.url}/v1/router/{path}", headers=bearer).status_code == 403
        assert httpx.get(one.url).headers["location"] == "/login"
        context = browser.new_context()
        page = context.new_page()
        page.goto(one.url)
        page.get_by_label("API key").fill(_SECRET["web"])
        page.get_by_role("button", name="Sign in").click()
        assert "not known" in page.get_by_role("alert").inner_text()
        page.get_by_label("API key").fill(_SECRET["viewer"])
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-turns]")
        assert page.inner_text("#headline") == "No decisions yet."
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login")
        page.goto(one.url)
        assert page.url.endswith("/login")
        context.close()
