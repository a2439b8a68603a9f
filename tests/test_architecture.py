"""docs/architecture.md is true: its walks, its rooms and its links; and names are unique."""

import ast
import importlib.util
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "lexbandit"


def _load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("tool", ROOT / "docs/tools/architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _load_tool()
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
LIMITS = {"replay": 7, "choose": 10, "request": 22, "restart": 50, "study": 40}
"""The most files that a reader opens for a walk; a restart's contain those of a request."""

# Only the pass with the JIT walks: without it the same subprocesses would run twice.
pytestmark = pytest.mark.compiled


def listed(walk: str) -> list[str]:
    found = tool.lists(PAGE)
    return [*found["request"], *found["restart"]] if walk == "restart" else found[walk]


@pytest.mark.parametrize("walk", [walk for walk in LIMITS if walk != "request"])
def test_a_walk_enters_no_file_that_its_list_does_not_name(walk: str) -> None:
    entered = tool.trace(walk)
    assert entered
    assert not set(entered) - set(listed(walk)), "run: python docs/tools/architecture.py"
    if walk == "restart":  # a request comes first, then the start, from the command line on
        request = entered[: entered.index("cli/main.py")]
        assert "service/http/server.py" in request
        assert not set(request) - set(listed("request"))


@pytest.mark.parametrize(("walk", "most"), LIMITS.items())
def test_a_walk_is_short(walk: str, most: int) -> None:
    assert len(listed(walk)) <= most


def test_the_lists_say_what_the_files_say() -> None:
    for match in tool.LIST.finditer(PAGE):
        files = tool.lists(PAGE)[match[2]]
        assert match[3] == tool.rows(files), "run: python docs/tools/architecture.py"


def test_every_room_has_a_sentence() -> None:
    rooms = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")}
    for room in rooms - {"."}:
        assert f"`{room}/`" in PAGE, f"docs/architecture.md says nothing of {room}/"


def test_links_of_the_page_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_no_two_classes_have_the_same_name() -> None:
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert not twice


# Words that say what happens to a thing in a story; the field has a word for what it is.
PRIVATE = {"doors", "turns", "unheld", "texts", "places", "holder", "site", "wording", "making"}
PRIVATE |= {"marking", "tallying", "conducting", "room", "rooms", "kept", "told"}
# Here they are the field's own, or part of an interface: Hölder's bound, the header Sec-Fetch-Site,
# `kept` in the answers of the service, and `room`, an argument of the client's outbox.
USUAL = {"bounds/holder.py", "service/dashboard/pages.py"}
USUAL |= {"service/engine/point.py", "client/wire.py", "client/clients.py", "client/outbox.py"}


def names_in(tree: ast.AST) -> set[str]:
    """Return the names of variables, attributes, arguments, functions and classes."""
    kinds = {"Name": "id", "Attribute": "attr", "arg": "arg", "keyword": "arg"}
    kinds |= dict.fromkeys(("FunctionDef", "AsyncFunctionDef", "ClassDef"), "name")
    found = (
        getattr(node, kinds[kind])
        for node in ast.walk(tree)
        if (kind := type(node).__name__) in kinds
    )
    return {name for name in found if name}


def test_names_are_the_field_s_words() -> None:
    wrong: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        file = path.relative_to(SOURCE).as_posix()
        names = {path.stem, *names_in(ast.parse(path.read_text("utf-8")))}
        private = {name for name in names if set(name.lower().split("_")) & PRIVATE}
        if private and file not in USUAL:
            wrong[file] = private
    assert not wrong
