"""lexbandit: contextual bandits for metrics that have priorities.

policy = lexbandit.make_policy("moc-mab", arms=4, dimension=2, horizon=100_000)
decision = policy.select(context)
policy.update(context, decision.arm, rewards)
"""

from typing import TYPE_CHECKING, Any

from lexbandit.decisions import Decision, Explanation
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.rounds import Rounds

if TYPE_CHECKING:
    from lexbandit.environments import make_environment
    from lexbandit.policies import make_policy

__version__ = "0.1.0"

__all__ = [
    "Decision",
    "Explanation",
    "InvalidInput",
    "Rounds",
    "UnknownName",
    "make_environment",
    "make_policy",
]

# The compiled parts are imported when first asked for: `import lexbandit` stays quick.
_LATER = {"make_environment": "lexbandit.environments", "make_policy": "lexbandit.policies"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib  # noqa: PLC0415

        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'lexbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
