"""The public sample of docs/evaluate-logs.md prints what the page says."""

import contextlib
import io
import os
import re
import shutil
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("LEXBANDIT_DATA", ROOT.parent / "shared" / "data"))
SAMPLE = DATA / "open_bandit_random_men.csv"
PAGE = ROOT / "docs" / "evaluate-logs.md"


@pytest.mark.compiled
@pytest.mark.skipif(not SAMPLE.exists(), reason="the Open Bandit sample is not here")
def test_the_block_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = PAGE.read_text("utf-8").partition("## On a public sample")[2].partition("\n## ")[0]
    block = re.search(r"(?:^    .*\n|^\n)+?(?=^\S)", section[section.index("    import") :], re.M)
    wanted = re.search(r"<!-- sample -->\n(.*?)<!-- end -->", section, re.S)
    assert block is not None
    assert wanted is not None
    shutil.copy(SAMPLE, tmp_path / "men.csv")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(textwrap.dedent(block[0]), "<page>", "exec"), {})
    assert printed.getvalue().strip() == wanted[1].strip()
