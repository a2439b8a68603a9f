"""The context in its own units: named features, and the point of [0,1]^d they become.

A policy on features is given a *smooth* point: categories as one coordinate each (1 or 0), cycles
as a place on a circle. A policy on cells is given one coordinate a feature: on a grid the values of
a category lie in cells of their own. lex-tree begins with one cube for all of them and tells them
apart as it splits, after a few contexts of each.
"""

from lexbandit.contexts.categories import Category, Flag
from lexbandit.contexts.encoding import Contexts
from lexbandit.contexts.feature import Feature, Notes, no_value
from lexbandit.contexts.numbers import Cycle, Number, Vector
from lexbandit.contexts.periods import time_feature

__all__ = [
    "Category",
    "Contexts",
    "Cycle",
    "Feature",
    "Flag",
    "Notes",
    "Number",
    "Vector",
    "no_value",
    "time_feature",
]
