"""The dashboard large and small, light and dark, and for those who listen to it."""

import itertools

import pytest

from service.dashboard.visits import Go

pytestmark = pytest.mark.compiled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


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


@pytest.mark.parametrize("place", ["/", "/#odd"])
def test_the_controls_fit_a_phone_in_one_row(visit: Go, place: str) -> None:
    page = visit(place, **PHONE).page
    # As for somebody who signed in.
    page.evaluate("document.querySelector('.tools form').className = ''")
    boxes = page.evaluate(
        "[...document.querySelectorAll('.tools select, .tools button')]"
        ".map((node) => node.getBoundingClientRect()).map(({x, y, right}) => [x, y, right])"
    )
    assert len(boxes) == 4
    assert {y for _, y, _ in boxes} == {boxes[0][1]}
    assert all(x >= 0 and right <= 390 for x, _, right in boxes)


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
