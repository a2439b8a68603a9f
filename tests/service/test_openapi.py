"""The OpenAPI document, and the service held against it by schemathesis."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from lexbandit.service.http.access import hash_of
from lexbandit.service.http.operations import OPERATIONS
from service.http import CONTEXT, served
from service.test_server import SECRET, running

# The columns of a batch must be of one length, which a JSON schema cannot say.
TOML = """
[[operations]]
include-path = "/v1/{point}/decisions:batch"
checks.positive_data_acceptance.enabled = false
"""


def document(folder: Path, **settings: Any) -> Any:
    """Return the document of a service."""

    async def run() -> Any:
        async with served(folder, **settings) as s:
            return (await s.http.get("/openapi.json")).json()

    return asyncio.run(run())


def test_it_has_every_operation_and_nothing_else(tmp_path: Path) -> None:
    told = document(tmp_path)
    assert told["openapi"] == "3.1.0"
    listed = {(m.upper(), path) for path, methods in told["paths"].items() for m in methods}
    own = {("GET", "/metrics"), ("GET", "/openapi.json")}
    assert listed == {(one.method, one.path) for one in OPERATIONS} | own
    ids = [one["operationId"] for methods in told["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))
    for methods in told["paths"].values():
        for one in methods.values():
            assert one["summary"].endswith(".")
            for status, reply in one["responses"].items():
                problem = "application/problem+json" in reply["content"]
                assert problem == (int(status) >= 400)


def test_its_schemas_know_the_points(tmp_path: Path) -> None:
    told = document(tmp_path)
    path = told["paths"]["/v1/{point}/decisions"]["post"]
    assert path["parameters"][0]["schema"] == {"type": "string", "enum": ["router"]}
    schemas = {"components": told["components"]}

    def fits(name: str, value: Any) -> bool:
        schema = {"$ref": f"#/components/schemas/{name}", **schemas}
        return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(value))

    good = {"context": CONTEXT, "allowed": ["small"], "id": "a"}
    assert fits("DecisionRequest", good)
    wrong: list[dict[str, Any]] = [
        {"context": {**CONTEXT, "hours": 1}},
        {"context": {"tokens": 1}},
        {"allowed": ["tiny"]},
        {"allowed": []},
        {"id": "a b"},
        {"other": 1},
    ]
    for change in wrong:
        assert not fits("DecisionRequest", {**good, **change}), change
    assert fits("Rewards", {"quality": 1, "cost": 0.5})
    assert fits("Rewards", {"quality": True})
    assert not fits("Rewards", {"quality": "yes"})
    assert not fits("Rewards", {"qualty": 1})
    assert not fits("Rewards", {})
    assert fits("ArmRequest", {"prior": {"quality": 1, "cost": 0}, "weight": 3})
    assert not fits("ArmRequest", {"prior": {"quality": True, "cost": 0}, "weight": 3})
    assert not fits("ArmRequest", {"weight": 3})


def test_intervals_say_what_they_are(tmp_path: Path) -> None:
    schemas = document(tmp_path)["components"]["schemas"]
    parts = schemas["SummaryReply"]["properties"]

    def told(field: dict[str, Any]) -> str:
        while "$ref" not in field:
            field = field["additionalProperties"]
        return " ".join(str(schemas[field["$ref"].rpartition("/")[2]]["description"]).split())

    assert "with a 95 % interval" in told(parts["received"])
    assert "covers the truth with the probability `level`" in told(parts["against"])


def held_against(folder: Path, *arguments: str, seconds: int) -> str:
    """Run schemathesis on a service of its own; returns what it says if it found nothing."""
    key = {"LEXBANDIT_KEY_ALL": f"admin:{hash_of(SECRET)}"}
    config = folder / "schemathesis.toml"
    config.write_text(TOML)
    with running(folder, "--log-level", "error", **key) as process:
        tool = str(Path(sys.executable).with_name("schemathesis"))
        done = subprocess.run(
            [tool, "--config-file", str(config), "run", f"{process.url()}/openapi.json",
             "-H", f"Authorization: Bearer {SECRET}", "--seed", "1", *arguments],
            capture_output=True, text=True, timeout=seconds, check=False, cwd=folder,
        )  # fmt: skip
        said = done.stdout[-6000:] + done.stderr[-1000:]
        assert done.returncode == 0, said
        assert process.process.poll() is None
        assert "Traceback" not in process.said
        assert process.end() == 0
    return done.stdout


def test_the_service_does_what_the_document_says(tmp_path: Path) -> None:
    # One after the other, in the document's order: arms are retired after they were asked for.
    said = held_against(tmp_path, "--phases", "fuzzing", "-n", "6", "-w", "1", seconds=300)
    assert f"{len(OPERATIONS) + 1} passed" in said, said  # all but the document itself


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        # Retired arms are refused, and the document that was read at the start still names them.
        ("--phases", "coverage,fuzzing", "--exclude-method", "DELETE"),
        ("--phases", "stateful", "--exclude-checks", "positive_data_acceptance"),
    ],
    ids=["each by itself", "one after the other"],
)
def test_ten_minutes_of_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    said = held_against(tmp_path, *arguments, "--max-time", "300", "-w", "2", seconds=600)
    assert "failed" not in said, said
