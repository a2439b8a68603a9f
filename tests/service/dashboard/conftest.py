"""What the tests of the dashboard share: one service that is looked at, and one browser."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from service.dashboard.visits import Visit
from service.watched import Watched, watched

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("watched")) as one:
        one.traffic(600)
        one.traffic(20, "silent", rewarded=False)
        one.warm()
        yield one


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="there is no Playwright here")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


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
