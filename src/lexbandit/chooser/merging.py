"""Two choosers that learned on separate traffic, into one."""

from typing import TYPE_CHECKING

import numpy as np

from lexbandit.chooser.storing import definition, triples
from lexbandit.errors import InvalidInput

if TYPE_CHECKING:
    from lexbandit.chooser.chooser import Chooser

# What must be equal: seeds, waiting times and the share that explores may differ.
_MEANING = ("objectives", "arms", "context", "policy", "settings", "horizon")


def merge(chooser: "Chooser", other: "Chooser") -> None:
    """Add what `other` learned, and its waiting decisions; refuses one of another definition."""
    mine, theirs = definition(chooser), definition(other)
    for key in _MEANING:
        if mine[key] != theirs[key]:
            raise InvalidInput(
                f"choosers of different definitions cannot be merged: {key} is {theirs[key]!r} "
                f"there and {mine[key]!r} here."
            )
    if chooser._past & other._past:
        raise InvalidInput(
            "these choosers share a past (one was loaded from a file of the other, both from one "
            "file, or they were merged before), so what they learned in common would count twice."
        )
    chooser.policy.merge(other.policy.state())
    chooser._past |= other._past
    chooser._made += other._made
    chooser._received = triples(np.add(chooser._received, other._received))
    for name, count in other.outside.items():
        chooser.outside[name] += count
    for name, counts in other.contexts.counts.items():
        for note, count in counts.items():
            chooser.contexts.add_count(name, note, count)
    chooser._room.take(other._room)
