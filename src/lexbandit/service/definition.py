"""What a decision point is: objectives, arms, context and how it decides."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.policy import DEFAULT
from lexbandit.chooser.saving import feature_of, objective_of
from lexbandit.contexts import Feature
from lexbandit.errors import unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies.registry import renamed
from lexbandit.service.events import point_name

# How decisions are answered while the storage is down: by the first arm that is allowed, or by the
# arm that the policy most likely chooses by what is known.
WHEN_DOWN = ("default-arm", "best-known")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A decision point: the arguments of its `Chooser`, under a name.

    `arms` are those it begins with; later ones come and go by events. `when_down` says how
    decisions are answered while the storage is down; None: they are not.
    """

    name: str
    objectives: Sequence[Objective]
    arms: Sequence[str]
    context: Sequence[Feature] = ()
    policy: str | None = None
    explore: float = 0.0
    wait: float | None = None
    keep: int = 100_000
    horizon: int | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    when_down: str | None = None

    def __post_init__(self) -> None:
        point_name(self.name)
        if self.when_down is not None and self.when_down not in WHEN_DOWN:
            raise unknown_name("when_down", self.when_down, WHEN_DOWN)

    def chooser(self, arms: Sequence[str], clock: Callable[[], float]) -> RecordingChooser:
        """Return a chooser that knows nothing yet."""
        return RecordingChooser(
            objectives=self.objectives,
            arms=arms,
            context=self.context,
            policy=self.policy,
            explore=self.explore,
            wait=self.wait,
            keep=self.keep,
            horizon=self.horizon,
            seed=self.seed,
            clock=clock,
            **self.settings,
        )

    def plain(self) -> dict[str, Any]:
        """Return what the point learns by as plain values: all but arms and `when_down`."""
        return {
            "objectives": [asdict(objective) for objective in self.objectives],
            "context": [{"kind": feature.kind, **asdict(feature)} for feature in self.context],
            "policy": self.policy,
            "explore": self.explore,
            "wait": self.wait,
            "keep": self.keep,
            "horizon": self.horizon,
            "seed": self.seed,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_plain(cls, name: str, arms: Sequence[str], plain: Mapping[str, Any]) -> "Definition":
        """Return the definition that `plain` returned the values of."""
        return cls(
            name=name,
            arms=arms,
            **{
                **plain,
                "settings": renamed(plain["policy"] or DEFAULT, plain["settings"]),
                "objectives": [objective_of(one) for one in plain["objectives"]],
                "context": [feature_of(one) for one in plain["context"]],
            },
        )

    @property
    def fingerprint(self) -> str:
        """A short text that differs where definitions learn differently from the same events.

        Arms come and go by events, and tolerances matter for choices only: both may change without
        the log being read anew.
        """
        plain = self.plain()
        for objective in plain["objectives"]:
            del objective["tolerance"]
        text = json.dumps(plain, sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
