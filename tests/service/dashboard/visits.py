"""A visit of the dashboard in a real browser."""

from collections.abc import Callable
from typing import Any

# The page waits two seconds between updates; here it waits half a second.
_HURRY = """const wait = window.setTimeout.bind(window);
window.setTimeout = (work, time, ...given) => wait(work, time / 4, ...given);"""


class Visit:
    """A page, and everything that went wrong on it."""

    def __init__(
        self, browser: Any, url: str, place: str = "/", told: Any = None, **settings: Any
    ) -> None:
        self.context = browser.new_context(**settings)
        self.context.add_init_script(_HURRY)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.url = url
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.answered = 0
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("requestfinished", self._answered)
        self.page.on("requestfailed", self._answered)
        if told is not None:  # a point that stands as is told here
            self.page.route("**/history*", lambda route: route.fulfill(json=told))
        self.page.goto(url + place)
        self.page.wait_for_selector("body[data-turns]")

    def _heard(self, message: Any) -> None:
        # A violation of the page's policy is an error of the console.
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _answered(self, _: Any) -> None:
        self.answered += 1

    def becomes_still(self) -> bool:
        """Tell whether the page stops asking: while it is live, it asks every half second."""
        for _ in range(10):
            asked = len(self.asked)
            self.page.wait_for_timeout(700)
            if asked == len(self.asked) == self.answered:
                return True
        return False

    def goes_on(self, updates: int = 2) -> None:
        """Wait for so many more updates."""
        end = self._turns() + updates
        for _ in range(300):
            if self._turns() >= end:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("the page does not go on")

    def _turns(self) -> int:
        return int(self.page.get_attribute("body", "data-turns"))

    def until(self, selector: str, right: Callable[[str], bool]) -> None:
        """Wait for a text that is right: the service keeps an answer for a while."""
        for _ in range(300):
            text = self.text(selector)
            if right(text):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{selector} still says {text!r}")

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))


Go = Callable[..., Visit]
