"""The dashboard in use: by mouse and keyboard, live, and when something is wrong."""

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexbandit.service.engine.engine import Engine
from lexbandit.service.http.access import ApiKey
from service.dashboard.visits import Go, Visit
from service.watched import EVIL, LONG, Watched, watched

pytestmark = pytest.mark.compiled


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
    assert one.becomes_still()
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
    one.until("#tiles dd >> nth=0", lambda text: int(text) == int(before) + 5)
    one.page.get_by_role("button", name="Pause").click()
    assert one.text("[role=status]") == "Updates are paused."
    assert one.becomes_still()
    one.page.get_by_role("button", name="Go on").click()
    one.goes_on()
    # Nobody looks: nothing is asked.
    one.page.evaluate(
        "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    assert one.becomes_still()
    one.page.evaluate(
        "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))"
    )
    one.goes_on()


def test_the_list_stands_still_while_somebody_is_in_it(visit: Go, service: Watched) -> None:
    one = visit("/#silent")
    first = "#recent tr >> nth=0"
    one.page.locator("#recent button").first.focus()
    before = one.page.get_attribute(first, "data-id")
    decisions = int(one.text("#tiles dd >> nth=0"))
    service.traffic(3, "silent", rewarded=False)
    one.until("#tiles dd >> nth=0", lambda text: int(text) >= decisions + 3)
    one.goes_on()
    assert one.page.get_attribute(first, "data-id") == before
    one.page.get_by_role("button", name="Pause").focus()
    one.page.wait_for_selector(f"#recent tr:first-child:not([data-id='{before}'])")


def test_the_viewer_chooses_the_map(visit: Go) -> None:
    one = visit()
    page = one.page
    page.get_by_label("Across").select_option("task")
    page.get_by_label("Upwards").select_option("")
    page.get_by_label("tokens at").fill("4000")
    page.get_by_label("tokens at").press("Tab")
    page.get_by_label("hour at").fill("6")
    with page.expect_response(lambda answer: "4000" in answer.url and "hour" in answer.url) as got:
        page.get_by_label("hour at").press("Tab")
    drawn = got.value.json()
    assert drawn["at"] == {"tokens": 4000, "hour": 6}
    page.get_by_text("With tokens = 4,000 and hour = 6.").wait_for()
    page.get_by_text("The map in words").click()
    arms = {"undecided" if arm is None else drawn["arms"][arm] for arm, _ in drawn["cells"]}
    words = one.text("#map-table table")
    assert all(arm in words for arm in arms)


class Held(list[Any]):
    """Questions that are held back."""

    def nth(self, one: Visit, n: int) -> Any:
        """Return one of them when it is there: that it was asked may be heard before."""
        for _ in range(300):
            if len(self) > n:
                return self[n]
            one.page.wait_for_timeout(100)
        raise AssertionError("nothing was asked")


def _paused(visit: Go, late: str) -> tuple[Visit, Held]:
    """Visit, stop the updates, and hold back what is asked by an address with `late` in it."""
    one = visit()
    one.page.get_by_role("button", name="Pause").click()
    assert one.becomes_still()
    held = Held()
    # Playwright writes on the handler that it is given: a method of a list does not do.
    one.page.route(lambda url: late in url, lambda route: held.append(route))  # noqa: PLW0108
    return one, held


def test_a_map_that_is_answered_late_is_not_shown(visit: Go) -> None:
    one, held = _paused(visit, late="4000")
    page = one.page
    page.get_by_label("Upwards").select_option("")
    page.get_by_label("Across").select_option("task")
    with page.expect_request(lambda request: "4000" in request.url):
        page.get_by_label("tokens at").fill("4000")
        page.get_by_label("tokens at").press("Tab")
    page.get_by_label("tokens at").fill("10")
    page.get_by_label("tokens at").press("Tab")
    page.get_by_text("With tokens = 10 and hour = ").wait_for()
    with page.expect_response(lambda answer: "4000" in answer.url):
        held.nth(one, 0).continue_()
    assert one.becomes_still()
    assert "With tokens = 10 and hour = " in one.text("#map-note")


def test_figures_that_are_answered_late_are_not_shown(visit: Go) -> None:
    one, held = _paused(visit, late="series=hour")
    page = one.page
    before = one.text("#tiles dd >> nth=0")
    with page.expect_request("**/history?series=hour"):
        page.locator("#series").select_option("hour")
    with page.expect_response("**/history?series=whole"):
        page.locator("#series").select_option("whole")
    answer = held.nth(one, 0).fetch()
    told = answer.json()
    told["totals"]["decisions"] = 123456
    with page.expect_response("**/history?series=hour"):
        held.nth(one, 0).fulfill(response=answer, json=told)
    assert one.becomes_still()
    assert one.text("#tiles dd >> nth=0") == before


def test_what_is_as_before_says_nothing_of_another_point(visit: Go) -> None:
    one, held = _paused(visit, late="/v1/router/history")
    page = one.page
    with page.expect_request("**/v1/router/history*"):
        page.dispatch_event("#series", "change")
    with page.expect_response("**/v1/silent/recent"):
        page.evaluate("location.hash = '#silent'")
    with page.expect_request("**/v1/router/history*"):
        page.evaluate("location.hash = '#router'")
    before = len(one.asked)
    with page.expect_response("**/v1/router/history*"):
        held.nth(one, 0).fulfill(status=304)
    page.wait_for_timeout(1000)
    assert not any("/v1/" in url for url in one.asked[before:])
    with page.expect_response("**/v1/router/recent"):
        held.nth(one, 1).continue_()
    assert one.becomes_still()


def test_decisions_that_are_answered_late_are_not_shown(visit: Go) -> None:
    one, held = _paused(visit, late="/v1/silent/recent")
    page = one.page
    before = page.get_attribute("#recent tr >> nth=0", "data-id")
    page.locator("#recent button").first.focus()  # then the list stands still
    with page.expect_request("**/v1/silent/recent"):
        page.evaluate("location.hash = '#silent'")
    with page.expect_response("**/v1/router/history*"):
        page.evaluate("location.hash = '#router'")
    with page.expect_response("**/v1/silent/recent"):
        held.nth(one, 0).continue_()
    assert one.becomes_still()
    assert page.get_attribute("#recent tr >> nth=0", "data-id") == before


def test_trouble_is_told(visit: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "trouble", property(lambda _: "the disk is full."))
    one = visit()
    alert = one.page.get_by_role("alert").inner_text()
    assert alert == "Nothing is being recorded: the disk is full."


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LARGE = {"viewport": {"width": 1280, "height": 720}}


def _is_seen(one: Visit, told: str) -> None:
    """A sentence is the first thing on the page, from wherever one looks, and fits it."""
    alert = one.page.get_by_role("alert")
    alert.get_by_text(told).wait_for()
    assert alert.inner_text() == told
    width, height = one.page.evaluate("[innerWidth, innerHeight]")
    for place in ("0", "document.body.scrollHeight"):
        one.page.evaluate(f"scrollTo({{ top: {place}, behavior: 'instant' }})")
        box = alert.bounding_box()
        assert 0 <= box["y"] <= height / 2
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert one.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("size", [pytest.param(LARGE, marks=pytest.mark.slow), PHONE])
def test_a_service_that_is_gone_is_noticed_and_found_again(visit: Go, size: dict[str, Any]) -> None:
    one = visit(**size)
    assert one.page.get_by_role("alert").count() == 0
    one.page.route("**/history*", lambda route: route.abort())
    gone = "The service does not answer. What you see may be out of date; trying again."
    _is_seen(one, gone)
    one.page.unroute("**/history*")
    one.page.locator("#trouble").wait_for(state="hidden")
    assert one.text("[role=status]") == "Connected again."
    one.wrong = [text for text in one.wrong if "net::ERR_FAILED" not in text]


@pytest.mark.parametrize("size", [LARGE, pytest.param(PHONE, marks=pytest.mark.slow)])
def test_a_session_that_is_over_is_told(visit: Go, size: dict[str, Any]) -> None:
    one = visit(**size)
    one.page.route("**/history*", lambda route: route.fulfill(status=401, json={}))
    _is_seen(one, "Your session is over, and what you see is out of date. Sign in again.")
    link = one.page.get_by_role("alert").get_by_role("link", name="Sign in again")
    assert link.get_attribute("href") == "/login"
    one.page.unroute("**/history*")
    one.page.locator("#trouble").wait_for(state="hidden")
    one.wrong = [text for text in one.wrong if "status of 401" not in text]


def test_a_service_that_stands_still_is_noticed_soon(visit: Go) -> None:
    one = visit()
    # The page's patience is noted, and is a tenth of it here.
    one.page.evaluate(
        "window.patient = AbortSignal.timeout.bind(AbortSignal); window.noted = {}; let last = 0;"
        "AbortSignal.timeout = (time) => { last = time; return patient(time / 10); };"
        "const send = window.fetch.bind(window);"
        "window.fetch = (url, how) => { noted[url.split('?')[0]] = last; return send(url, how); };"
        "0"
    )
    held: list[Any] = []
    one.page.route("**/history*", lambda route: held.append(route))  # noqa: PLW0108
    _is_seen(one, "The service does not answer. What you see may be out of date; trying again.")
    assert one.page.evaluate("noted")["/v1/router/history"] == 5000
    one.page.evaluate("AbortSignal.timeout = patient; 0")
    one.page.unroute("**/history*")
    one.page.locator("#trouble").wait_for(state="hidden")


_SECRET = {"viewer": "r" * 32, "web": "d" * 32}


def _key(name: str, role: Any) -> ApiKey:
    return ApiKey(name, frozenset({role}), hashlib.sha256(_SECRET[name].encode()).digest())


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
        how = "lexbandit key NAME --role read --to keys.toml, and start the service again."
        assert how in page.inner_text("main")
        page.get_by_label("API key").fill(_SECRET["web"])
        page.get_by_role("button", name="Sign in").click()
        assert "not known" in page.get_by_role("alert").inner_text()
        page.get_by_label("API key").fill(_SECRET["viewer"])
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-turns]")
        assert page.inner_text("#headline") == "No decisions yet."
        assert "-H 'Authorization: Bearer KEY'" in page.inner_text("#empty")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login")
        page.goto(one.url)
        assert page.url.endswith("/login")
        context.close()
