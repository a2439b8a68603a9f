"""docs/service.md: its requests are sent and answered as it says; its tables are complete."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from lexbandit.service.config.file import SETTINGS
from lexbandit.service.http.access import ROLES
from lexbandit.service.http.operations import OPERATIONS
from lexbandit.service.http.problems import KINDS
from service.test_server import running

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
# What differs from one start to the next: the clock, and ids that the service makes.
VARYING = {"time", "ids"}


def blocks() -> list[str]:
    """Return the indented blocks of the page."""
    found = re.findall(r"(?:^ {4}.*\n)+", PAGE, re.MULTILINE)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip() for block in found]


def told(value: Any, key: str = "") -> Any:
    """Return an answer as the page tells it: four digits of a number, types of what varies."""
    if isinstance(value, dict):
        return {key: told(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [told(one, key) for one in value]
    if key in VARYING:
        return type(value).__name__
    return float(f"{value:.4g}") if isinstance(value, float) else value


def test_every_request_is_answered_as_the_page_says(tmp_path: Path) -> None:
    asked = 0
    with running(tmp_path, "--no-auth") as process:
        url = process.url()
        listed = blocks()
        for block, answer in zip(listed, [*listed[1:], ""], strict=True):
            if block.startswith("curl"):
                line = block.replace("http://127.0.0.1:8080", url)
                done = subprocess.run(
                    ["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True
                )
                assert told(json.loads(done.stdout)) == told(json.loads(answer)), block
                asked += 1
        assert process.end() == 0
    assert asked == PAGE.count("\n    curl ") > 8


def test_the_tables_are_complete() -> None:
    for one in OPERATIONS:
        path = re.sub(r"{(\w+)}", lambda found: found[1].upper(), one.path)
        row = f"| `{one.method} {path}` | {one.role or ''} |".replace("|  |", "| |")
        assert row in PAGE, row
    for name in SETTINGS:
        assert f"`{name}`" in PAGE
    for role in ROLES:
        assert f"| `{role}` |" in PAGE
    table = PAGE[PAGE.index("| status | when |") :]
    for status in KINDS:
        assert re.search(rf"^\| [\d, ]*{status}", table, re.MULTILINE), status
