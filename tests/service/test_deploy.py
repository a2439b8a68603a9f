"""deploy/: numbers that there are, alerts that the page explains, files that can be read."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lexbandit.service.metrics import Metrics
from service.homes import in_loop
from service.test_walk import blocks
from service.world import CONTEXT, engine_on

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "operating.md").read_text()
RULES: list[dict[str, Any]] = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0][
    "rules"
]
BOARD: dict[str, Any] = json.loads((DEPLOY / "grafana.json").read_text())
# Those that the process's own collectors and Prometheus itself have.
OTHERS = {"up", "process_max_fds", "process_resident_memory_bytes"}


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression names."""
    return set(re.findall(r"\b(?:lexbandit|process)_\w+|\bup\b", expression))


@in_loop
async def test_alerts_and_panels_name_numbers_that_there_are(tmp_path: Path) -> None:
    async with engine_on(tmp_path / "log.db") as engine:
        await engine.decide("router", {**CONTEXT, "tokens": 9999})  # too many: it is noted
        metrics = Metrics(engine)
        metrics.requests["POST", "/v1/{point}/decisions", 200] += 1
        metrics.seconds["/v1/{point}/decisions"].note(0.01)
        metrics.at_points["router"].note(0.01)
        await metrics.refresh()
        text = metrics.text().decode()
    told = set(re.findall(r"^(\w+)", text, re.MULTILINE)) | OTHERS
    assert OTHERS - {"up"} <= set(re.findall(r"^(\w+)", text, re.MULTILINE))
    panels = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    queries = [BOARD["templating"]["list"][1]["query"]["query"]]
    for expression in (*(rule["expr"] for rule in RULES), *panels, *queries):
        assert names_in(expression), expression
        assert names_in(expression) <= told, expression
    labels = set(re.findall(r"by \(([\w, ]+)\)", " ".join(panels)))
    known = {"status", "le", "point", "arm", "instance", "feature", "note", "objective"}
    assert {label for some in labels for label in some.split(", ")} <= known
    tables = {"lexbandit_log", "lexbandit_snapshots", "lexbandit_clock", "lexbandit_schema"}
    named = set(re.findall(r"\blexbandit_\w+", PAGE)) - tables
    assert all(any(one.startswith(name) for one in told) for name in named), named


def test_every_alert_has_a_row_that_says_what_to_do() -> None:
    table = PAGE[PAGE.index("| alert | why | at 3 a.m. |") :].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [row[0].strip("`") for row in rows] == [rule["alert"] for rule in RULES]
    for row, rule in zip(rows, RULES, strict=True):
        assert len(row) == 3
        assert len(row[2]) > 10
        assert row[1].replace("`", "") == rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_prometheus_takes_the_rules() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("there is no promtool here: Debian has it in the package prometheus")
    done = subprocess.run(
        ["promtool", "check", "rules", DEPLOY / "alerts.yml"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_takes_the_unit_of_the_page(tmp_path: Path) -> None:
    unit = (DEPLOY / "lexbandit.service").read_text()
    assert unit.strip() in [block.text for block in blocks(PAGE)]
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    place = tmp_path / "lexbandit.service"
    command = "/opt/lexbandit/bin/lexbandit serve /etc/lexbandit/service.toml"
    assert command in unit
    place.write_text(unit.replace(command, "/bin/true"))  # it is not installed there
    done = subprocess.run(
        ["systemd-analyze", "verify", place], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "lexbandit.service" not in done.stderr


def test_the_container_is_made_of_what_there_is() -> None:
    lines = (DEPLOY / "Containerfile").read_text()
    for copied in re.findall(r"^COPY (.*) \S+$", lines, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name
    extras = re.findall(r"\.\[([\w,]+)\]", lines)[0].split(",")
    project = (ROOT / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in project for extra in extras)
    assert "\nUSER lexbandit\n" in lines
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = compose["services"]["lexbandit"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    for name in service["environment"]:
        setting = name.removeprefix("LEXBANDIT_").lower()
        page = (ROOT / "docs" / "service.md").read_text()
        assert f"`{setting}`" in page or f"`{name}`" in page


def test_the_threat_model_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text()
    named = set(re.findall(r"`(test_\w+\.py)`", page))
    assert len(named) >= 6
    assert all((ROOT / "tests" / "service" / name).is_file() for name in named)
