"""How long a text in a context may be: an unknown category is taken, and kept as it was sent."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexbandit.contexts import Category, Feature
from lexbandit.errors import InvalidInput

LONGEST_TEXT = 1000


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
