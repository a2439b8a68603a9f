"""Pages and index rows for policies that have no hand-written page: made from their docstrings.

A new policy is one file of `lexbandit.policies`. If nobody writes docs/policies/NAME.md, the site
gets a page with what the file says of it, its parameters, and a row in the index.
"""

import inspect
import sys
from pathlib import Path

from lexbandit.policies import REGISTRY, Policy
from lexbandit.policies.registry import parameters_of, wraps

# What `make_policy` documents for all policies.
COMMON = ("arms", "dimension", "objectives", "seed")


def without_page(docs: Path) -> list[str]:
    """Return the policies of this package that have no page in docs/policies."""
    ours = [name for name in REGISTRY.names() if REGISTRY.origin(name) is None]
    return [name for name in ours if not (docs / "policies" / f"{name}.md").is_file()]


def index_section(names: list[str]) -> str:
    """Return the section of the index for these policies, with a row for each; "" for none."""
    if not names:
        return ""
    rows = "\n".join(f"| [`{name}`]({name}.md) | {REGISTRY.describe(name)} |" for name in names)
    return f"\n### More\n\n| name | what it is |\n|---|---|\n{rows}\n"


def page(name: str) -> str:
    """Return the page of a policy: its description, its rule, its parameters and a call."""
    builder = REGISTRY.builder(name)
    module = sys.modules[builder.__module__]
    rules = [
        inspect.getdoc(one) or ""
        for one in vars(module).values()
        if inspect.isclass(one) and issubclass(one, Policy) and one.__module__ == module.__name__
    ]
    parts = [f"# {name}", inspect.getdoc(builder) or "", inspect.getdoc(module) or ""]
    parts += ["## The rule", *rules] if rules else []
    parts += ["## Parameters", _parameters(name), "## Use", _call(name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _parameters(name: str) -> str:
    rows = [
        f"| `{key}` | {'needed' if one.default is one.empty else f'`{one.default!r}`'} |"
        for key, one in parameters_of(name).items()
        if key not in COMMON
    ]
    if not rows:
        return "Those of every policy: arms, dimension, objectives and seed."
    lead = "Beyond arms, dimension, objectives and seed:"
    return "\n".join([lead, "", "| parameter | default |", "|---|---|", *rows])


def _call(name: str) -> str:
    given = ["arms=4", "dimension=2"]
    given += ['policy="moc-mab"'] if wraps(name) else []
    given += ["horizon=10_000"] if wraps(name) or "horizon" in parameters_of(name) else []
    call = f'policy = make_policy("{name}", {", ".join(given)})'
    return f"```python\nfrom lexbandit import make_policy\n\n{call}\n```"
