"""A fabricated results folder and its report, made once for all tests that only read them."""

from pathlib import Path
from typing import Any

import pytest

from lexbandit.report import write_report
from report.fabricate import fabricate_all


@pytest.fixture(scope="session")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the summary's entries by study, the folder under "directory"."""
    directory = tmp_path_factory.mktemp("fabricated")
    return {"directory": directory, **fabricate_all(directory)}


@pytest.fixture(scope="session")
def reported(entries: dict[str, Any]) -> Path:
    """Return the folder with its report written."""
    directory: Path = entries["directory"]
    assert write_report(directory) == directory / "report.html"
    return directory
