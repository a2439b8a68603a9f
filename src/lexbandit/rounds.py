"""`Rounds`: a block of consecutive rounds as arrays."""

from dataclasses import dataclass

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """A block of n consecutive rounds with K arms, D objectives and d context features.

    contexts  float[n, d]      what is known before deciding, each feature in [0, 1]
    outcomes  float[n, K, D]   the reward every arm would give; NaN means "not observed"
    means     float[n, K, D]   the expected rewards where they are known, else None
    allowed   bool[n, K]       which arms may be played in each round, or None for all

    The arrays are checked once, here, and trusted from then on. They are not copied: do not edit
    them afterwards.
    """

    contexts: Floats
    outcomes: Floats
    means: Floats | None = None
    allowed: Booleans | None = None

    def __post_init__(self) -> None:
        contexts = checks.floats("contexts", self.contexts, (None, None))
        checks.in_unit_cube("contexts", contexts)
        outcomes = checks.floats("outcomes", self.outcomes, (len(contexts), None, None))
        if 0 in outcomes.shape[1:]:
            raise InvalidInput(
                f"outcomes need at least one arm and one objective, got {outcomes.shape}."
            )
        too_large = np.abs(outcomes) > checks.LARGEST_REWARD
        checks.refuse_first("outcomes", outcomes, too_large, checks.REWARDS_ALLOWED)
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "outcomes", outcomes)
        if self.means is not None:
            means = checks.floats("means", self.means, outcomes.shape)
            checks.refuse_first("means", means, ~np.isfinite(means), "means must be finite")
            object.__setattr__(self, "means", means)
        if self.allowed is not None:
            allowed = checks.allowed_arms(self.allowed, outcomes.shape[:2])
            object.__setattr__(self, "allowed", allowed)

    def __len__(self) -> int:
        return len(self.contexts)

    def __getitem__(self, part: slice) -> "Rounds":
        """Return the rounds of a slice, as views of the same arrays."""
        if not isinstance(part, slice):
            raise InvalidInput(f"rounds are cut by slices such as rounds[:100], got {part!r}.")
        return Rounds(
            self.contexts[part],
            self.outcomes[part],
            None if self.means is None else self.means[part],
            None if self.allowed is None else self.allowed[part],
        )

    @property
    def dimension(self) -> int:
        """The number of context features d."""
        return int(self.contexts.shape[1])

    @property
    def arms(self) -> int:
        """The number of arms K."""
        return int(self.outcomes.shape[1])

    @property
    def objectives(self) -> int:
        """The number of objectives D."""
        return int(self.outcomes.shape[2])
