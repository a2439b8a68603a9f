"""The arms of a chooser by name, and which of them can be chosen."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans
from lexbandit.chooser.doors import arms_of
from lexbandit.errors import InvalidInput, unknown_name


class Arms:
    """Names in the order of the policy's arms; a retired one keeps its place."""

    def __init__(self, given: Any) -> None:
        self.names = arms_of(given)
        self.places = {name: n for n, name in enumerate(self.names)}
        self.standing: Booleans | None
        """Which arms can be chosen, as the policy reads it: None for all."""
        self.active = np.ones(len(self.names), np.bool_)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def active(self) -> Booleans:
        """Which arms can be chosen; replaced, never changed in place."""
        return self._active

    @active.setter
    def active(self, active: Booleans) -> None:
        self._active = active
        self.standing = None if active.all() else active

    def place(self, arm: Any) -> int:
        """Return the number of an arm; an unknown one is an error."""
        try:
            return self.places[arm]
        except (KeyError, TypeError):
            raise unknown_name("arm", arm, self.names) from None

    def mask(self, allowed: Any, *, retired: bool = False) -> Booleans | None:
        """Return which arms a list allows; None for None. Retired arms are refused, unless said."""
        if allowed is None:
            return None
        mask = np.zeros(len(self.names), np.bool_)
        listed = checks.listed(allowed)
        if listed is None:
            raise InvalidInput(f"allowed must be a list of arms, got {allowed!r}.")
        for arm in listed:
            place = self.place(arm)
            if not (self._active[place] or retired):
                raise InvalidInput(f"arm {arm!r} is retired; it cannot be allowed.")
            mask[place] = True
        if not mask.any():
            raise InvalidInput("allowed is empty; at least one arm is needed.")
        return mask

    def chosen_from(self, arm: int, mask: Booleans | None) -> Booleans | None:
        """Return the mask to keep with a decision for `arm`, as wide as there are arms now.

        None was "all that can be chosen": these are told by what can be chosen now, and by the arm
        itself, which may have been retired since.
        """
        if mask is None:
            standing = self.standing
            if standing is None or standing[arm]:
                return standing
            standing = standing.copy()
            standing[arm] = True
            return standing
        added = len(self.names) - len(mask)
        if added:
            mask = np.append(mask, np.zeros(added, np.bool_))
        if not mask[arm]:
            allowed = ", ".join(self.names[n] for n in np.flatnonzero(mask))
            raise InvalidInput(f"arm {self.names[arm]!r} is not among the allowed ones: {allowed}.")
        return mask

    def add(self, name: str) -> None:
        """Add an arm after all others."""
        self.places[name] = len(self.names)
        self.names.append(name)
        self.active = np.append(self._active, True)

    def set_active(self, place: int, active: bool) -> None:
        """Let an arm be chosen, or not."""
        changed = self._active.copy()
        changed[place] = active
        self.active = changed
