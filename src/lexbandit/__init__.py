"""lexbandit: contextual bandits for metrics that have priorities.

chooser = lexbandit.Chooser(objectives=[...], arms=[...], context=[...])
decision = chooser.choose({"prompt_tokens": 900})
chooser.reward(decision, quality=0.93)

Underneath, policies on arrays: lexbandit.make_policy("moc-mab", arms=4, dimension=2, ...).
"""

from typing import TYPE_CHECKING, Any

from lexbandit.decisions import PolicyDecision, PolicyExplanation
from lexbandit.errors import (
    Contradiction,
    InvalidInput,
    ServiceError,
    UnknownDecision,
    UnknownName,
)
from lexbandit.rounds import Rounds

if TYPE_CHECKING:
    from lexbandit.chooser import Chooser, Decision, Decisions, Explanation, Summary
    from lexbandit.client import AsyncClient as AsyncClient
    from lexbandit.client import Client as Client
    from lexbandit.client import Undelivered as Undelivered
    from lexbandit.contexts import Category, Cycle, Flag, Number, Vector
    from lexbandit.environments import make_environment
    from lexbandit.logs.evaluate import evaluate as evaluate
    from lexbandit.logs.evaluation import Evaluation as Evaluation
    from lexbandit.logs.log import Log as Log
    from lexbandit.objectives import Objective
    from lexbandit.policies import make_policy

__version__ = "0.1.0"

__all__ = [
    "Category",
    "Chooser",
    "Contradiction",
    "Cycle",
    "Decision",
    "Decisions",
    "Explanation",
    "Flag",
    "InvalidInput",
    "Number",
    "Objective",
    "PolicyDecision",
    "PolicyExplanation",
    "Rounds",
    "ServiceError",
    "Summary",
    "UnknownDecision",
    "UnknownName",
    "Vector",
    "make_environment",
    "make_policy",
]

# Not in `__all__`: they need an extra, and `from lexbandit import *` must not.
_EXTRA = ["AsyncClient", "Client", "Evaluation", "Log", "Undelivered", "evaluate"]

# The compiled parts are imported when first asked for: `import lexbandit` stays quick.
_LATER = {
    "AsyncClient": "lexbandit.client",
    "Category": "lexbandit.contexts",
    "Chooser": "lexbandit.chooser",
    "Client": "lexbandit.client",
    "Cycle": "lexbandit.contexts",
    "Decision": "lexbandit.chooser",
    "Decisions": "lexbandit.chooser",
    "Evaluation": "lexbandit.logs.evaluation",
    "Explanation": "lexbandit.chooser",
    "Flag": "lexbandit.contexts",
    "Log": "lexbandit.logs.log",
    "Number": "lexbandit.contexts",
    "Objective": "lexbandit.objectives",
    "Summary": "lexbandit.chooser",
    "Undelivered": "lexbandit.client",
    "Vector": "lexbandit.contexts",
    "evaluate": "lexbandit.logs.evaluate",
    "make_environment": "lexbandit.environments",
    "make_policy": "lexbandit.policies",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib  # noqa: PLC0415

        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'lexbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_EXTRA, "__version__"])
