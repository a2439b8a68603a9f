"""The page and the pictures, as files: whole, self-contained, and saying what the data say."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import jsonschema  # type: ignore[import-untyped]
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.report import write_report
from lexbandit.report.page import claims_table
from lexbandit.report.results import Results
from lexbandit.report.style import number_text
from report.fabricate import CLAIMS, fabricate


class _Reader(HTMLParser):
    """Gathers tags, tables' rows and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.raw:
            self.raw[self._open[-1]].append(data)
        elif {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def page(reported: Path) -> _Reader:
    return _Reader((reported / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def specs(page: _Reader) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(page.raw["script"][0])
    return found


def test_every_kind_of_figure_fits_the_schema(specs: list[dict[str, Any]]) -> None:
    """The page says so of none itself, as that takes longer than to draw them."""
    kinds = {json.dumps([layer["mark"] for layer in spec.get("layer", [])]): spec for spec in specs}
    assert len(kinds) >= 3
    for spec in kinds.values():
        alt.Chart.from_dict(spec | {"datasets": {}})
        with pytest.raises(jsonschema.ValidationError):
            alt.Chart.from_dict(spec | {"datasets": {}, "hight": 100})


def test_the_page_fetches_nothing(page: _Reader, specs: list[dict[str, Any]]) -> None:
    fetching = {"link", "img", "iframe", "object", "embed", "source", "video", "audio", "base"}
    assert not fetching & {tag for tag, _ in page.tags}
    assert all("src" not in attributes for _, attributes in page.tags)
    addresses = [attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"]
    assert all(address.startswith(("#", "figures/")) for address in addresses)
    style = "".join(page.raw["style"])
    assert "@import" not in style
    assert "url(" not in style
    # A spec could ask Vega to load data: all of it is inline.
    assert all('"url"' not in json.dumps(spec) for spec in specs)
    assert "window.vegaEmbed" in page.raw["script"][1]


def test_every_link_leads_somewhere(page: _Reader, reported: Path) -> None:
    places = {attributes.get("id") for _, attributes in page.tags}
    for tag, attributes in page.tags:
        address = attributes.get("href") or ""
        if tag == "a":
            known = address[1:] in places if address[0] == "#" else (reported / address).exists()
            assert known, address


def test_every_claim_is_in_the_table_with_its_verdict(page: _Reader) -> None:
    rows = {row[1]: row for row in page.rows if len(row) == 5}
    for claim in CLAIMS:
        _, _, paper, ours, verdict = rows[str(claim["claim"])]
        assert ours == f"{claim['ours']:+.2f}\xa0%".replace("-", "−")
        assert paper == ("–" if claim["paper"] is None else f"{claim['paper']:+.2f}\xa0%")
        assert verdict == ("✓ holds" if claim["holds"] else "✗ does not hold")


def test_a_claim_that_does_not_fit_in_size_has_no_tick() -> None:
    claim = {"experiment": 1, "claim": "slightly higher", "ours": 29.6, "holds": True}
    shown = {
        agreement: claims_table(Results(Path(), [], [{**claim, "agreement": agreement}]))
        for agreement in ("size", "word", "sign")
    }
    assert "<td>holds by sign, not in size</td>" in shown["size"]
    assert "<td class=yes>✓ holds as worded</td>" in shown["word"]
    assert "<td class=yes>✓ holds by sign</td>" in shown["sign"]


def test_the_tables_hold_the_summary_s_numbers(page: _Reader, entries: dict[str, Any]) -> None:
    points = entries["experiment-1"]["policies"]
    rows = [row for row in page.rows if row[0] == "MOC-MAB"]
    expected = points["moc-mab"]["1/15"]
    half = 3.1824 * expected["standard_error"]["regret"][0]
    assert rows[0][1] == "1/15"
    assert rows[0][2] == f"{number_text(expected['regret'][0])} ± {number_text(half)}"
    assert rows[0][4].startswith(f"{number_text(expected['pareto_regret'])} ±")
    assert rows[0][5].startswith(number_text(expected["reward"][0]))
    # Experiment 3 has no known means: no columns of regret, and one run has no interval.
    third = entries["experiment-3"]["policies"]["moc-mab"]["1/15"]["reward"]
    assert rows[2][2:4] == [number_text(third[0]), number_text(third[1])]


def test_the_figures_hold_the_data_s_numbers(
    specs: list[dict[str, Any]], entries: dict[str, Any]
) -> None:
    rows = [row for data in specs[0]["datasets"].values() for row in data if "low" in row]
    last = {row["name"]: row for row in rows if row["x"] == 10_000}
    assert len(last) == 6
    for policy, points in entries["experiment-1"]["policies"].items():
        row = last[f"{policy.upper()} · 1/15"]
        mean, error = points["1/15"]["regret"][0], points["1/15"]["standard_error"]["regret"][0]
        assert row["y"] == pytest.approx(mean, rel=1e-4)
        assert row["high"] - row["y"] == pytest.approx(3.1824 * error, rel=0.01, abs=0.1)


def test_every_figure_has_words_for_who_cannot_see_it(
    page: _Reader, specs: list[dict[str, Any]]
) -> None:
    charts = [attributes for _, attributes in page.tags if "data-chart" in attributes]
    assert len(charts) == len(specs)
    assert all(len(chart["aria-label"] or "") > 20 for chart in charts)
    figures = [tag for tag, _ in page.tags].count("figure")
    assert figures == [tag for tag, _ in page.tags].count("figcaption")


def test_the_page_is_modest(reported: Path) -> None:
    assert (reported / "report.html").stat().st_size < 2_000_000


def test_pictures_are_there_and_whole(reported: Path) -> None:
    kinds = ("over-time", "growth", "bounds", "sensitivity", "trade-off", "maps")
    expected = {f"experiment-{n}-{kind}" for n in (1, 2) for kind in kinds}
    expected |= {f"experiment-3-{kind}" for kind in ("over-time", "sensitivity", "trade-off")}
    expected |= {f"my-own-{kind}" for kind in ("over-time", "growth", "trade-off")}
    pictures = reported / "figures"
    assert {path.stem for path in pictures.glob("*.svg")} == expected
    for name in expected:
        root = ElementTree.parse(pictures / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        text = "".join(root.itertext())
        assert "NaN" not in text
        assert "undefined" not in text
        png = (pictures / f"{name}.png").read_bytes()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(png[16:20], "big") >= 900


def test_dashes_tell_the_lines_apart_without_colour(reported: Path) -> None:
    svg = (reported / "figures" / "experiment-1-over-time.svg").read_text()
    dashes = {part.split('"')[0] for part in svg.split('stroke-dasharray="')[1:]}
    assert len(dashes) >= 6


def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    fabricate(tmp_path, runs=1, scales=(1.0,), horizon=1000)
    first = write_report(tmp_path).read_text()
    assert write_report(tmp_path).read_text() == first
    assert "claims hold" not in first  # no summary, no claims


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    evil = "</script><b>x"
    fabricate(tmp_path, study="own", runs=1, horizon=1000, policies={evil: (0.1, 0.1, 0.9)})
    reader = _Reader(write_report(tmp_path).read_text())
    assert "b" not in {tag for tag, _ in reader.tags}
    assert any(
        evil in json.dumps(spec, ensure_ascii=False) for spec in json.loads(reader.raw["script"][0])
    )


def test_an_empty_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no finished run"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    fabricate(tmp_path, runs=1, horizon=1000)
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(InvalidInput, match="cannot write the report"):
        write_report(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
def test_a_browser_draws_every_panel(reported: Path, specs: list[dict[str, Any]]) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    options += ["--virtual-time-budget=20000", "--window-size=390,800", "--dump-dom"]
    address = (reported / "report.html").as_uri()
    done = subprocess.run(
        ["chromium", *options, address], capture_output=True, text=True, timeout=180, check=True
    )
    assert done.stdout.count('class="marks"') == len(specs)
    assert "could not be drawn:" not in done.stdout.split("<script")[0]
