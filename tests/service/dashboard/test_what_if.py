"""What if, in a real browser: by a click, the log is evaluated for other policies."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from service.dashboard.visits import Visit
from service.watched import EVIL, watched

pytestmark = pytest.mark.compiled


def test_a_click_evaluates_the_log(tmp_path: Path, browser: Any) -> None:
    with watched(tmp_path, wait=None) as service:
        service.traffic(600)
        columns: dict[str, Any] = {"tokens": [1.0] * 40, "task": ["code"] * 40, "hour": [0.0] * 40}
        service.wait_for(service.engine.decide_columns("silent", columns, ["medium"]))
        service.warm()
        for path in ("history", "map?x=tokens&y=task"):  # compiles what the default policy needs
            httpx.get(f"{service.url}/v1/silent/{path}", timeout=240).raise_for_status()
        service.what_if("silent")
        one = Visit(browser, service.url)
        page, asked = one.page, "/v1/router/what-if"
        assert not any(url.endswith(asked) for url in one.asked)  # nothing is computed unasked
        page.get_by_role("button", name="Evaluate the log").click()
        page.wait_for_selector("#what-if-table tbody", timeout=120_000)
        told = httpx.get(service.url + asked).json()["report"]
        rows = page.locator("#what-if-table tbody tr")
        assert rows.count() == len(told["candidates"]) == 6
        for n, candidate in enumerate(told["candidates"]):
            cells = rows.nth(n).locator("th, td").all_inner_texts()
            assert cells[0] == candidate["candidate"].replace("always:", "always ")
            assert cells[1] == candidate["verdict"]
            assert cells[4] == f"{candidate['effective_rows']:,.0f}"
            assert cells[5] == candidate["sentence"]
        assert f"always {EVIL}" in one.text("#what-if-table")
        note = one.text("#what-if-note")
        assert "on 600 decisions, and kept for 60 s." in note
        assert "lexbandit evaluate" in one.text("#what-if-more")
        page.get_by_role("button", name="Compute again").click()
        one.until("#what-if-ask", lambda text: text == "Compute again")
        # Another point has a question of its own, and this one's log cannot answer it.
        page.get_by_role("link", name="silent").click()
        page.get_by_role("button", name="Evaluate the log").click()
        one.until("#what-if-note", lambda text: "every row played 'medium'" in text)
        assert page.is_hidden("#what-if-table")
        assert one.wrong == []
        one.context.close()
        phone = Visit(browser, service.url, viewport={"width": 390, "height": 844}, is_mobile=True)
        phone.page.get_by_role("button", name="Evaluate the log").click()
        phone.page.wait_for_selector("#what-if-table tbody", timeout=120_000)
        assert phone.page.evaluate("document.documentElement.scrollWidth") == 390
        phone.context.close()
