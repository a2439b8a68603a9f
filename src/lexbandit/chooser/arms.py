"""The arms of a chooser by name, and which of them can be chosen."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective, named

log = logging.getLogger("lexbandit")


class Arms:
    """Names in the order of the policy's arms; a retired one keeps its number."""

    def __init__(self, given: Any) -> None:
        self.names = arms_of(given)
        self.numbers = {name: n for n, name in enumerate(self.names)}
        self.usual: Booleans | None
        """Which arms can be chosen, as the policy reads it: None if all can."""
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
        self.usual = None if active.all() else active

    def number(self, arm: Any) -> int:
        """Return the number of an arm; an unknown one is an error."""
        try:
            return self.numbers[arm]
        except (KeyError, TypeError):
            raise unknown_name("arm", arm, self.names) from None

    def mask(self, allowed: Any, *, retired: bool = False) -> Booleans | None:
        """Return which arms a list allows as bool[K]; None for None.

        A retired arm is refused, unless `retired` is True.
        """
        if allowed is None:
            return None
        mask = np.zeros(len(self.names), np.bool_)
        listed = checks.listed(allowed)
        if listed is None:
            raise InvalidInput(f"allowed must be a list of arms, got {allowed!r}.")
        for arm in listed:
            number = self.number(arm)
            if not (self._active[number] or retired):
                raise InvalidInput(f"arm {arm!r} is retired; it cannot be allowed.")
            mask[number] = True
        if not mask.any():
            raise InvalidInput("allowed is empty; at least one arm is needed.")
        return mask

    def chosen_from(self, arm: int, mask: Booleans | None) -> Booleans | None:
        """Return the mask to store with a decision for `arm`, an entry for each present arm.

        None means all arms that can be chosen now, and the arm itself, which may have been retired
        since.
        """
        if mask is None:
            usual = self.usual
            if usual is None or usual[arm]:
                return usual
            usual = usual.copy()
            usual[arm] = True
            return usual
        added = len(self.names) - len(mask)
        if added:
            mask = np.append(mask, np.zeros(added, np.bool_))
        if not mask[arm]:
            allowed = ", ".join(self.names[n] for n in np.flatnonzero(mask))
            raise InvalidInput(f"arm {self.names[arm]!r} is not among the allowed ones: {allowed}.")
        return mask

    def add(self, name: str) -> None:
        """Add an arm after all others."""
        self.numbers[name] = len(self.names)
        self.names.append(name)
        self.active = np.append(self._active, True)

    def set_active(self, number: int, active: bool) -> None:
        """Set whether an arm can be chosen."""
        changed = self._active.copy()
        changed[number] = active
        self.active = changed


def arms_of(given: Any) -> list[str]:
    """Check the names of arms, which must differ, and return them."""
    listed = checks.listed(given)
    if listed is None:
        raise InvalidInput(f"arms must be a list of names, got {given!r}.")
    arms = [named("arm", arm) for arm in listed]
    if not arms:
        raise InvalidInput("arms is empty; at least one arm is needed.")
    for arm in arms:
        if arms.count(arm) > 1:
            raise InvalidInput(f"two arms are called {arm!r}.")
    return arms


def prior_of(
    arm: str, prior: Any, weight: int | None, objectives: Sequence[Objective]
) -> tuple[tuple[float, ...], int] | None:
    """Return a prior as the policy reads it: shares, and how many rewards they stand for."""
    if prior is None and weight is None:
        return None
    names = [objective.name for objective in objectives]
    if not isinstance(prior, Mapping) or weight is None:
        raise InvalidInput(
            f"the prior of arm {arm!r} is a mean for each objective and a weight, as "
            f"prior={{{', '.join(f'{n!r}: ...' for n in names)}}}, weight=20, "
            f"got prior={prior!r}, weight={weight!r}."
        )
    for name in prior:
        if name not in names:
            raise unknown_name("objective", name, names)
    for name in names:
        if name not in prior:
            raise InvalidInput(f"the prior of arm {arm!r} has no mean of {name!r}.")
    means = [objective.checked(prior[objective.name]) for objective in objectives]
    stands_for = checks.whole(f"the weight of arm {arm!r}", weight, least=1)
    for objective, mean in zip(objectives, means, strict=True):
        if objective.is_outside(mean):
            log.warning(
                "the prior mean of %s of arm %r lies outside its range from %g to %g and is taken "
                "as the nearest end.",
                objective.name,
                arm,
                *objective.range,
            )
    shares = tuple(o.share(mean) for o, mean in zip(objectives, means, strict=True))
    return shares, stands_for
