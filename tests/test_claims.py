"""Sentences of the pages that call something lower, and the runs that they rest on.

A claim is a comment in its sentence:

    <!-- claim STUDY: A, B < 0.5 * C, D in OBJECTIVE, OBJECTIVE -->

every policy on the left has less regret than so many times that of every policy on the right, in
each of the objectives. `~` in place of `<` says that they cannot be told apart. docs/assets/
evidence.json has the regrets of every run; runs of a study share their streams, so differences are
paired. Something is lower if the mean difference is below 0 by more than `NOTABLE` standard errors,
over at least 20 runs: Student's t at 19 degrees of freedom with 5 % shared by 125 comparisons.
"""

import importlib.util
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "beyond.md").read_text("utf-8")
PAGES = "\n".join(page.read_text("utf-8") for page in sorted((ROOT / "docs").rglob("*.md")))
FIGURES: dict[str, Any] = json.loads((ROOT / "docs/assets/evidence.json").read_text("utf-8"))
NOTABLE = 4.3
LEAST_RUNS, MOST_CLAIMS = 20, 125

MARK = re.compile(r"<!-- claim ([\w-]+): (.+?) ([<~]) (?:([\d.]+) \* )?(.+?) in (.+?) -->")
COMPARES = re.compile(
    r"\b(less|lower|lowest|least|below|fewer|ahead|behind|more than|higher|twice|half|halves|"
    r"third|quarter|times|told apart|no better)\b"
)


@dataclass(frozen=True)
class Claim:
    """One policy against another in one objective of a study."""

    study: str
    left: str
    relation: str
    factor: float
    right: str
    objective: str


@cache
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "docs/tools/evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(text: str) -> list[str]:
    """Split at commas that are not in brackets: "moc-mab (kl), linucb (legendre, 1/10)"."""
    return [part.strip() for part in re.split(r",\s*(?![^()]*\))", text)]


def claims() -> list[Claim]:
    return [
        Claim(study, left, relation, float(factor or 1.0), right, objective)
        for study, lefts, relation, factor, rights, objectives in sorted(set(MARK.findall(PAGES)))
        for left in listed(lefts)
        for right in listed(rights)
        for objective in listed(objectives)
    ]


def judged(claim: Claim, figures: dict[str, Any]) -> tuple[float, float]:
    """Return the mean paired difference and its standard error."""
    study = figures[claim.study]
    i = study["objectives"].index(claim.objective)
    ours, theirs = study["regret"][claim.left], study["regret"][claim.right]
    difference = tool().difference(ours, theirs, i, claim.factor)
    mean, error = tool().mean_and_error(difference)
    return float(mean), float(error)


@pytest.mark.parametrize("claim", claims(), ids=lambda c: f"{c.left} {c.relation} {c.right}")
def test_a_claim_of_the_page_is_what_its_runs_show(claim: Claim) -> None:
    study = FIGURES[claim.study]
    assert study["runs"] >= LEAST_RUNS
    assert len(study["regret"][claim.left]) == len(study["regret"][claim.right]) == study["runs"]
    mean, error = judged(claim, FIGURES)
    if claim.relation == "<":
        assert mean < -NOTABLE * error, f"{mean:.0f} ± {error:.0f}"
    else:
        assert abs(mean) <= NOTABLE * error, f"{mean:.0f} ± {error:.0f}"


def test_marks_are_read_and_few_enough_for_the_level() -> None:
    assert PAGES.count("<!-- claim ") == len(MARK.findall(PAGES))
    assert 20 <= len(claims()) == len(set(claims())) <= MOST_CLAIMS


def test_a_wrong_claim_is_found() -> None:
    runs = [[10.0, 1.0], [11.0, 5.0], [10.0, 2.0]]
    more = [[30.0, 2.0], [31.0, 4.0], [30.0, 2.0]]
    figures = {"s": {"objectives": ["a", "b"], "regret": {"x": runs, "y": more}}}
    mean, error = judged(Claim("s", "x", "<", 0.5, "y", "a"), figures)
    assert (mean, error) == pytest.approx((-4.8333, 0.1667), abs=1e-3)
    mean, error = judged(Claim("s", "x", "<", 1.0, "y", "b"), figures)
    assert not mean < -NOTABLE * error


def test_every_sentence_that_compares_has_its_claim() -> None:
    """In what a study is said to show; figures that are only described stand elsewhere."""
    shown = re.findall(r"^\*\*What it shows\.\*\*.*?(?=\n\n|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert len(shown) >= 3
    for paragraph in shown:
        for sentence in re.split(r"(?<=[.:;])\s+(?=[A-Z`*(])", paragraph):
            words = re.sub(r"<!--.*?-->", "", sentence)
            assert not COMPARES.search(words) or "<!-- claim " in sentence, words


def test_pages_of_policies_compare_regrets_by_claims() -> None:
    compares = re.compile(
        r"\b(less|lower|more|fewer)( dominant)? regret\b|\b(times|half|tenth)\b[^.;]*\bregret\b"
    )
    code = re.compile(r"^```.*?^```$|^\*\*Guarantee\.\*\*.*?$", re.DOTALL | re.MULTILINE)
    for page in sorted((ROOT / "docs" / "policies").glob("*.md")):
        for sentence in re.split(r"(?<=[.:;])\s", code.sub("", page.read_text("utf-8"))):
            words = re.sub(r"<!--.*?-->", "", sentence)
            assert not compares.search(words) or "<!-- claim " in sentence, (page.name, words)


@pytest.mark.parametrize(
    "name", sorted(n for n, study in FIGURES.items() if not study.get("series"))
)
def test_a_table_is_that_of_its_runs(name: str) -> None:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert found is not None
    assert found[1] == tool().tables({name: FIGURES[name]}, {})[name]


def test_the_page_names_the_level_that_is_tested() -> None:
    assert f"{NOTABLE:g} standard errors" in PAGE
    assert f"{LEAST_RUNS} runs" in PAGE
