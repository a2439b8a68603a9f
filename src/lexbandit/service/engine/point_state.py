"""What is known of a decision point after the events so far, and what requests meet of it."""

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from lexbandit.chooser import Chooser
from lexbandit.errors import Contradiction, InvalidInput, unknown_name
from lexbandit.service.definition import Definition
from lexbandit.service.engine.history import History
from lexbandit.service.engine.rows import Decided, Found, Rewarded


class Key(NamedTuple):
    """What a caller's own id stands for: the request, and the version that answered it."""

    request: str
    version: int


class Past(NamedTuple):
    """A decision whose time is over, and what was told of it: in time, and too late."""

    arm: str
    propensity: float
    since: float
    told: dict[str, float]
    late: dict[str, float]


class Prior(NamedTuple):
    """What an arm began with: means, and how many rewards they stand for."""

    means: Mapping[str, float]
    weight: int


class PointState:
    """What a `Point` knows; nothing here changes it.

    seq        the last event that was taken
    version    the last event that changed what the policy knows
    counts     how often what happened
    keys       the callers' own ids, as long as their decisions are kept
    past       the decisions whose time was over, the last `keep` of them
    priors     of the arms that began with one
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.name = definition.name
        self.time = 0.0  # a chooser looks at its clock when it is made
        self.chooser: Chooser = definition.chooser(definition.arms, self.clock)
        self._objectives = {one.name: one for one in self.chooser.objectives}
        self.begun = False
        self.seq = self.version = 0
        self.counts: Counter[str] = Counter()
        self.keys: OrderedDict[str, Key] = OrderedDict()
        self.past: OrderedDict[str, Past] = OrderedDict()
        self.priors: dict[str, Prior] = {}
        self.history = History()
        self.last_untaken: int | None = None
        """The last event of which something could not be taken."""
        self.unfit = 0
        """How many rows this process read that the definition cannot take."""
        self.first_unfit = ""
        """Why the first of them could not be taken."""

    def clock(self) -> float:
        """Return the time of the event that is taken: the chooser's clock."""
        return self.time

    def digest(self) -> str:
        """Return a short text that is the same for states that are the same bit for bit."""
        told = [
            self.chooser.digest(),
            self.version,
            self.time,
            sorted(self.counts.items()),
            self.priors,
            list(self.keys.items()),
            list(self.past.items()),
            self.history.plain(),
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def answered(self, id: str, *requests: str | None) -> Decided | None:
        """Return the answer that an id had before, if it had one; only callers' own come again.

        `requests` are the texts by which the request may be known.
        """
        if id not in self.chooser:
            return None
        key = self.keys.get(id)
        if key is None or key.request not in requests:
            raise Contradiction(
                f"decision {id!r} was asked for before, with another context or other allowed arms."
            )
        kept = self.chooser.decision(id)
        return Decided(id, kept.arm, kept.propensity, key.version)

    def check_prior(self, arm: str, means: Mapping[str, float] | None, weight: int | None) -> None:
        """Refuse a prior for an arm that is there and began with another one, or with none."""
        if means is None or weight is None or arm not in self.chooser.arms:
            return
        before = self.priors.get(arm)
        if before != (means, weight):
            began = (
                "without a prior" if before is None else f"with {before.means!r}, {before.weight}"
            )
            raise Contradiction(
                f"arm {arm!r} is there and began {began}; it cannot begin again with {means!r}, "
                f"{weight}. Add it under another name."
            )

    def found(self, id: str) -> Found:
        """Return a decision that is kept, or was until its time was over."""
        past = self.past.get(id)
        if past is not None:
            return Found(id, past.arm, past.propensity, past.since, False, past.told, past.late)
        kept = self.chooser.decision(id)
        return Found(id, kept.arm, kept.propensity, kept.since, True, kept.rewards, {})

    def knows(self, id: str) -> bool:
        """Tell whether a decision is kept, or was until its time was over."""
        return id in self.chooser or id in self.past

    def rewarded(self, id: str, values: Mapping[str, Any]) -> Rewarded | None:
        """Return the answer to rewards that were told before; None if there is something new.

        Values that cannot be taken, or contradict earlier ones, are refused.
        """
        if not values:
            raise InvalidInput(f"there is no reward for decision {id!r}: name one or more.")
        past = self.past.get(id)
        if past is None:
            told: Mapping[str, float] = self.chooser.decision(id).rewards
        else:
            told = {**past.told, **past.late}
        new = [name for name, value in values.items() if self._is_new(id, name, value, told)]
        if new:
            return None
        late = past is not None and any(name in past.late for name in values)
        return Rewarded(id, learned=not late, late=late)

    def _is_new(self, id: str, name: str, value: Any, told: Mapping[str, float]) -> bool:
        objective = self._objectives.get(name)
        if objective is None:
            raise unknown_name("objective", name, self._objectives)
        number = objective.checked(value)
        before = told.get(name)
        if before is not None and before != number:
            raise Contradiction(
                f"{name} of decision {id!r} was told as {before!r} before, now as {number!r}."
            )
        return before is None
