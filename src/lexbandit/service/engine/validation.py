"""Checks of what a request names, before anything is written: arms, and texts in contexts."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.arms import prior_of
from lexbandit.contexts import Category, Feature
from lexbandit.errors import InvalidInput, counted, unknown_name
from lexbandit.service.definition import arm_name

LONGEST_TEXT = 1000
"""A category that is not known is taken, and stored as it was sent, up to this length."""


def check_added(
    chooser: RecordingChooser, arm: str, prior: Mapping[str, float] | None, weight: int | None
) -> None:
    """Refuse a new arm's name or a prior that cannot be taken, or one for an arm that has learned.

    An arm that is there has its name, whatever the rule for names was when it came.
    """
    if arm not in chooser.arms and arm not in chooser.retired:
        arm_name(arm)
    known = prior_of(arm, prior, weight, chooser.objectives)
    if known is not None and arm in chooser.retired:
        raise InvalidInput(
            f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
        )


def check_retired(chooser: RecordingChooser, arm: str) -> None:
    """Refuse to retire an arm that there is not, or the last one."""
    if arm not in chooser.arms:
        raise unknown_name("arm", arm, chooser.arms)
    if len(chooser.arms) == 1:
        raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")


def arms_ever(chooser: RecordingChooser) -> int:
    """Return how many arms there are, retired ones too: a request that is repeated may name one."""
    return len(chooser.arms) + len(chooser.retired)


def check_allowed(allowed: Sequence[str] | None, most: int) -> None:
    """Refuse a list of allowed arms with more than `most` entries, or with one twice.

    It is checked before anything waits, so that a long list does not stay in memory.
    """
    if allowed is None:
        return
    if len(allowed) > most:
        raise InvalidInput(
            f"allowed has {len(allowed):,} entries, and there are {counted(most, 'arm')}: name "
            "each at most once."
        )
    if len(set(allowed)) < len(allowed):
        twice = next(arm for n, arm in enumerate(allowed) if arm in allowed[:n])
        raise InvalidInput(f"allowed has {twice!r} twice; name each arm at most once.")


def longest_text(feature: Category) -> int:
    """Return how many characters a value of a category may have; all that are known are taken."""
    return max(LONGEST_TEXT, *map(len, feature.values))


def check_context(features: Sequence[Feature], context: Mapping[str, Any]) -> None:
    """Refuse a context with a text that is too long.

    Only what a request brings is checked: a log may have longer ones, of earlier versions.
    """
    for feature in features:
        if isinstance(feature, Category):
            _check(feature, context.get(feature.name))


def check_columns(features: Sequence[Feature], columns: Mapping[str, Sequence[Any]]) -> None:
    """Refuse columns with a text that is too long; the error names its row."""
    for feature in features:
        if isinstance(feature, Category):
            for row, value in enumerate(columns.get(feature.name, ())):
                _check(feature, value, f"row {row}: ")


def _check(feature: Category, value: Any, place: str = "") -> None:
    most = longest_text(feature)
    if isinstance(value, str) and len(value) > most:
        raise InvalidInput(
            f"{place}context feature {feature.name!r} may have {most:,} characters, got "
            f"{len(value):,}, which begin with {value[:20]!r}. A category is a short name."
        )
