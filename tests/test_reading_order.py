"""The docs can be read in the order of their navigation: what a page needs comes before it."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+\.md)")

# What a page builds on. It links there, and comes later in the navigation.
NEEDS = {
    "how-it-decides.md": ["quick-start.md"],
    "choosing-tolerance.md": ["quick-start.md", "how-it-decides.md"],
    "faq.md": ["quick-start.md"],
    "delayed-rewards.md": ["quick-start.md"],
    "saving.md": ["quick-start.md", "delayed-rewards.md"],
    "ecosystem.md": ["quick-start.md"],
    "choosing-a-policy.md": ["how-it-decides.md"],
    "service.md": ["quick-start.md"],
    "operating.md": ["service.md"],
    "dashboard.md": ["service.md"],
    "client.md": ["service.md"],
    "threat-model.md": ["service.md"],
    "evaluate-logs.md": ["quick-start.md"],
    "log-estimators.md": ["evaluate-logs.md"],
    "problem.md": ["quick-start.md", "how-it-decides.md"],
    "experiments.md": ["problem.md"],
    "reproduction.md": ["experiments.md"],
    "studies.md": ["policies/index.md"],
    "beyond.md": ["policies/index.md"],
}


def navigation() -> list[str]:
    """Return the entries of the navigation that are pages, in their order."""

    def pages(entry: Any) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry
        return [page for value in values for page in pages(value)]

    return pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])


def links_of(page: Path) -> set[Path]:
    """Return the pages that a page links."""
    found = LINK.findall(page.read_text("utf-8"))
    return {(page.parent / link).resolve() for link in found if not link.startswith("http")}


def listed(page: str) -> int:
    """Return the place of a page in the navigation, where patterns stand for several."""
    return next(n for n, entry in enumerate(navigation()) if Path(page).match(entry))


@pytest.mark.parametrize("page", NEEDS)
def test_a_page_links_what_it_needs_and_comes_after_it(page: str) -> None:
    for needed in NEEDS[page]:
        assert (DOCS / needed).resolve() in links_of(DOCS / page), needed
        assert listed(needed) < listed(page), needed


def test_every_page_is_reached_from_the_home_page() -> None:
    """By links alone, so that readers of the repository find all of them."""
    reached, ahead = set(), {(DOCS / "index.md").resolve()}
    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead |= {link for link in links_of(page) if link.exists()} - reached
    pages = {page.resolve() for page in DOCS.rglob("*.md")}
    missing = {page.relative_to(ROOT).as_posix() for page in pages - reached}
    assert {name for name in missing if not name.startswith("docs/decisions/")} == set()
