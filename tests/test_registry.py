"""Registries find a builder by its file, and all builders when asked for their names."""

import subprocess
import sys

LOADED = """
import sys, lexbandit
lexbandit.make_policy({name!r}, arms=2, dimension=1{more})
print(sorted(name for name in sys.modules if name.startswith("lexbandit.policies.related.")))
"""


def related_modules(name: str, more: str = "") -> str:
    code = LOADED.format(name=name, more=more)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_default_does_not_import_the_literature() -> None:
    assert related_modules("lex-thompson") == "[]"


def test_a_policy_is_found_where_it_is_declared() -> None:
    assert "lexbandit.policies.related.cs_ts" in related_modules("cs-ts")
    # ucb1 has no file of its own name, so all files are looked at.
    assert "lexbandit.policies.related.cs_ts" in related_modules("ucb1")
