"""What a decision point is: objectives, arms, context and how it decides."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lexbandit import checks
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.policy import DEFAULT
from lexbandit.chooser.saving import feature_of, objective_of
from lexbandit.contexts import Feature
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective, named
from lexbandit.policies.registry import renamed
from lexbandit.service.events import point_name

# How decisions are answered while the storage is down: by the first arm that is allowed, or by the
# arm that the policy most likely chooses by what is known.
WHEN_DOWN = ("default-arm", "best-known")

LONGEST_ARM = 200
# In seconds. The times of the log are exact to some 2e-7: a shorter wait may end before it begins.
LEAST_WAIT = 0.001

# Control and format characters, and ends of lines: a name that has any is not what it looks like.
_HIDDEN = (
    "\\x00-\\x1f\\x7f-\\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f"
)
# Persian and many pictures need these two, between others.
_JOINING = "\u200c\u200d"
ARM_PATTERN = rf"^[^\s{_HIDDEN}{_JOINING}]([^{_HIDDEN}]*[^\s{_HIDDEN}{_JOINING}])?$"
# In a path these are steps, and clients take them.
NO_ARMS = (".", "..")
_ARM = re.compile(ARM_PATTERN)


def arm_name(arm: str) -> str:
    """Return the name of a new arm, if a path can hold it and people can tell it from others."""
    named("arm", arm)
    if len(arm) > LONGEST_ARM or arm in NO_ARMS or not _ARM.fullmatch(arm):
        raise InvalidInput(
            f"an arm's name has 1 to {LONGEST_ARM} characters, no control characters "
            f"or others that cannot be seen, and is not '.' or '..', got {arm!r}."
        )
    return arm


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
        if self.wait is not None and checks.positive("wait", self.wait) < LEAST_WAIT:
            raise InvalidInput(
                f"wait must be at least {LEAST_WAIT:g} seconds, or be left out to wait for as long "
                f"as a decision is kept, got {self.wait!r}."
            )

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
