"""The layer that speaks the user's language: named arms, objectives and features in their units."""

from lexbandit.chooser.chooser import Choice, Chooser

__all__ = ["Choice", "Chooser"]
