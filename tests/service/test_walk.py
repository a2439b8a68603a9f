"""docs/operating.md is walked through, command by command, in the order of the page.

Every block of the page is run, a new one by being there. A comment right before a block says
otherwise:

    <!-- file -->                  it is a file, not commands
    <!-- not run: REASON -->       it cannot be run in a test
    <!-- stopped -->               the service is stopped first, as the page says
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from lexbandit.cli.serve import sample
from lexbandit.service.http.access import hash_of
from service.process import COMMAND, free_port
from service.real_postgres import Postgres

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
MARK = re.compile(r"<!-- (file|stopped|not run: \S.*) -->")
SECRET = "walking"
CUSTOMER = """
[[points.router.context]]
kind = "number"
name = "customer"
high = 10000
"""


class Block(NamedTuple):
    """A block of the page: where it stands, its mark, and its text."""

    line: int
    mark: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Yield the indented blocks of a page; in a list they are indented by four spaces more."""
    deep, mark, found, begun = 4, "", list[str](), 0
    for n, line in enumerate([*page.splitlines(), "end"], 1):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < deep and found:
            yield Block(begun, mark, textwrap.dedent("\n".join(found)).strip())
            found, mark = [], ""
        if not line.strip():
            found += [""] if found else []
        elif indent >= deep:
            begun = begun if found else n
            found.append(line)
        elif marked := MARK.fullmatch(line.strip()):
            mark = marked[1]
        elif indent == 0:
            deep = 8 if re.match(r"(\d+\.|-) ", line) else 4
            mark = ""


def commands(block: Block) -> list[str]:
    """Return the commands of a block: a line each, or several that end in a backslash."""
    return re.sub(r"\\\n\s*", "", block.text).splitlines()


def test_blocks_are_found_with_their_marks() -> None:
    page = "a\n\n    one\n    two \\\n      three\n\n- list\n\n    prose\n\n        four\n\nb\n"
    page += "\n<!-- file -->\n\n    [x]\n\n    y\n\nc\n"
    found = list(blocks(page))
    assert [(one.line, one.mark) for one in found] == [(3, ""), (11, ""), (17, "file")]
    assert commands(found[0]) == ["one", "two three"]
    assert found[2].text == "[x]\n\ny"


def test_every_block_is_run_or_says_why_not() -> None:
    found = list(blocks(PAGE.read_text()))
    assert len(found) > 8
    for block in found:
        if block.mark != "file":
            program = block.text.split()[0]
            known = program in ("lexbandit", "python", "pg_dump", "nginx") or shutil.which(program)
            assert known, f"line {block.line}: mark it, if these are no commands: {block.text[:60]}"
    assert sum(not block.mark for block in found) >= 4


class Walk:
    """Somebody who follows the page, in a folder of its own."""

    def __init__(self, folder: Path, postgres: Postgres) -> None:
        self.folder = folder
        self.port = free_port()
        programs = folder / "bin"
        programs.mkdir()
        for name, command in (("lexbandit", COMMAND), ("python", (sys.executable,))):
            line = " ".join(f"'{part}'" for part in command)
            (programs / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}:{postgres.programs}:{os.environ['PATH']}"
        key = {"LEXBANDIT_KEY_WALK": f"admin:{hash_of(SECRET)}"}
        self.environment = {**os.environ, "PATH": path, **key}
        self.given = {
            "postgresql://USER:PASSWORD@HOST/lexbandit": f"'{postgres.new_database()}'",
            "postgresql://USER@HOST/lexbandit": f"'{postgres.new_database()}'",
            "127.0.0.1:8080": f"127.0.0.1:{self.port}",
        }
        text = sample().read_text().replace("router.db", "decisions.db")
        text = re.sub(r"^port = .*$", "", text, flags=re.MULTILINE)
        text = text.replace("[service]", f"[service]\nport = {self.port}", 1)
        (folder / "service.toml").write_text(text + CUSTOMER)
        self.process: subprocess.Popen[bytes] | None = None
        self.said = folder / "said.txt"

    def do(self, command: str) -> None:
        """Run a command; a service is started, and goes on until the next one."""
        for words, real in self.given.items():
            command = command.replace(words, real)
        if re.match(r"lexbandit serve (?!.*--check)", command):
            self.serve(command)
            return
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def serve(self, command: str) -> None:
        """Start a service in place of the one before, and wait until it is ready."""
        self.stop()
        with self.said.open("ab") as output:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=output,
            )
        scheme = "https" if "--tls-cert" in command else "http"
        url = f"{scheme}://127.0.0.1:{self.port}"
        with httpx.Client(verify=False, base_url=url) as http:
            end = time.monotonic() + 300
            while time.monotonic() < end:
                assert self.process.poll() is None, self.said.read_text()
                try:
                    if http.get("/ready").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
            self.traffic(http)

    def traffic(self, http: httpx.Client) -> None:
        """Make the decisions that the page speaks of, and others."""
        context = {"prompt_tokens": 900, "task": "code", "customer": 4711}
        for id in ("0b6e2d64", "5d0ad2f5", *(f"order-{n}" for n in range(20))):
            reply = http.post(
                "/v1/router/decisions",
                content=json.dumps({"context": context, "id": id}),
                headers={"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"},
            )
            # A context that was erased is another request by the same id.
            assert reply.status_code in (200, 409), reply.text

    def stop(self) -> None:
        """End the service as an operator does."""
        if self.process is not None:
            self.process.terminate()
            assert self.process.wait(60) == 0, self.said.read_text()
            self.process = None


def test_the_page_is_walked_through(tmp_path: Path, postgres: Postgres) -> None:
    walk = Walk(tmp_path, postgres)
    walked = 0
    try:
        for block in blocks(PAGE.read_text()):
            if block.mark == "file" or block.mark.startswith("not run"):
                continue
            if block.mark == "stopped":
                walk.stop()
            for command in commands(block):
                if shutil.which(command.split()[0], path=walk.environment["PATH"]) is None:
                    pytest.skip(f"there is no {command.split()[0]} here")
                walk.do(command)
                walked += 1
    finally:
        if walk.process is not None:
            walk.process.kill()
            walk.process.wait(30)
    assert walked >= 8
