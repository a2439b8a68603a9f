"""Two choosers that learned on separate traffic, into one."""

from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.definition import definition
from lexbandit.chooser.received import added
from lexbandit.errors import InvalidInput

# What must be equal: seeds, waiting times and the share that explores may differ.
_MEANING = ("objectives", "arms", "context", "policy", "settings", "horizon")


def merge(chooser: ChooserCore, other: ChooserCore) -> None:
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
    into, source = chooser._ledger, other._ledger
    into.made += source.made
    into.defaulted += source.defaulted
    into.plays = [mine + theirs for mine, theirs in zip(into.plays, source.plays, strict=True)]
    into.rows += source.rows
    into.received = [
        added(mine, theirs) for mine, theirs in zip(into.received, source.received, strict=True)
    ]
    into.comparison.add(source.comparison)
    for name, count in source.outside.items():
        into.outside[name] += count
    for name, counts in other.contexts.counts.items():
        chooser.contexts.count(tuple((name, note, count) for note, count in counts.items()))
    into.room.take(source.room)
