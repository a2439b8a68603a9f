"""The site builds without a broken link, its pages fetch nothing, and its pictures are current."""

import html
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lexbandit.policies import REGISTRY

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "docs" / "tools"
PICTURES = ROOT / "docs" / "pictures"
# Those drawn with docs/pictures/svg.py: script, and what it writes.
DRAWN = {
    "decides.py": ["early.svg", "tied.svg", "tolerance.svg"],
    "evidence.py": ["evidence.svg", "growth.svg"],
    "rooms.py": ["rooms.svg"],
    "tradeoff.py": ["tradeoff.svg"],
    "waiting.py": ["waiting.svg"],
}


def check_offline(site: Path) -> "subprocess.CompletedProcess[str]":
    script = TOOLS / "check_offline.py"
    return subprocess.run(
        [sys.executable, str(script), str(site)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.compiled  # no Python of ours runs in it: once is enough
@pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="the extra `docs` is not installed"
)
def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stderr
    for page in ("index", "quick-start", "how-it-decides", "api", "faq", "contributing"):
        assert (site / f"{page}.html").is_file(), page
    index = (site / "policies" / "index.html").read_text("utf-8")
    for name in REGISTRY.names():
        assert (site / "policies" / f"{name}.html").is_file(), name
        assert f'href="{name}.html"' in index, name
    assert "Chooses among named arms" in (site / "api.html").read_text("utf-8")
    checked = check_offline(site)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://example.org/a.js"></script>',
        "<img src=//example.org/a.png>",
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "<style>@font-face { src: url(https://example.org/a.woff2) }</style>",
    ],
)
def test_a_page_that_fetches_is_found(tmp_path: Path, page: str) -> None:
    (tmp_path / "page.html").write_text(page)
    checked = check_offline(tmp_path)
    assert checked.returncode == 1
    assert "would fetch" in checked.stdout
    assert "example.org/a." in checked.stdout


def test_links_may_lead_outside(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<a href="https://example.org/">there</a>')
    assert check_offline(tmp_path).returncode == 0


def test_no_pages_is_an_error(tmp_path: Path) -> None:
    checked = check_offline(tmp_path)
    assert checked.returncode == 1
    assert "make docs" in checked.stdout


@pytest.mark.parametrize("script", DRAWN)
def test_pictures_are_what_their_scripts_draw(script: str, tmp_path: Path) -> None:
    drawn = tmp_path / "pictures"
    drawn.mkdir()
    for source in PICTURES.glob("*.py"):
        shutil.copy(source, drawn)
    shutil.copy(ROOT / "docs" / "beyond.md", tmp_path)  # whose tables one of them draws
    subprocess.run([sys.executable, str(drawn / script)], check=True, timeout=120)
    for name in DRAWN[script]:
        assert (drawn / name).read_text("utf-8") == (PICTURES / name).read_text("utf-8"), name
        assert (drawn / name).stat().st_size < 20_000, name


def test_the_readme_fits_and_says_what_its_picture_shows() -> None:
    """`python -m docs.pictures.gain` writes both."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= 80
    found = re.search("<!-- gain -->(.+)<!-- end -->", readme)
    assert found
    assert found[0] in (ROOT / "docs" / "index.md").read_text("utf-8")
    drawn = (PICTURES / "gain.svg").read_text("utf-8")
    assert found[1] in html.unescape(drawn)


def test_the_api_in_short_has_the_names_and_signatures_of_the_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To refill it: python docs/tools/reference.py."""
    pytest.importorskip("griffe", reason="the extra `docs` is not installed")
    monkeypatch.syspath_prepend(str(TOOLS))
    reference = importlib.import_module("reference")
    code = re.compile(r"^(?:(?:### |- )`.+?`| {4}.+)", re.MULTILINE)
    written = code.findall((ROOT / "docs" / "reference.md").read_text("utf-8"))
    assert len(written) > 100
    assert written == code.findall(reference.page()), "run: python docs/tools/reference.py"


@pytest.mark.slow
@pytest.mark.compiled
def test_the_picture_of_the_readme_is_what_its_command_draws(tmp_path: Path) -> None:
    for folder in ("docs/pictures", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for page in ("README.md", "docs/index.md"):
        shutil.copy(ROOT / page, tmp_path / page)
    command = [sys.executable, "-m", "docs.pictures.gain"]
    subprocess.run(command, check=True, timeout=600, cwd=tmp_path)
    for made in ("README.md", "docs/index.md", "docs/pictures/gain.svg"):
        assert (tmp_path / made).read_text("utf-8") == (ROOT / made).read_text("utf-8"), made


@pytest.mark.compiled
def test_the_explanation_of_the_quick_start_is_the_one_it_prints(tmp_path: Path) -> None:
    drawn = tmp_path / "explained.svg"
    script = PICTURES / "explained.py"
    subprocess.run([sys.executable, str(script), str(drawn)], check=True, timeout=120)
    assert drawn.read_text("utf-8") == (PICTURES / "explained.svg").read_text("utf-8")
