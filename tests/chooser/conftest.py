"""A chooser for tests, and a clock that tests can move."""

from collections.abc import Callable
from typing import Any

import pytest

import lexbandit as lb
from lexbandit.chooser import RecordingChooser


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


CONTEXT = {"tokens": 900, "task": "code", "hour": 14.5}


def router(kind: type[lb.Chooser] = RecordingChooser, **settings: Any) -> Any:
    """The router of the quick start."""
    given: dict[str, Any] = {
        "objectives": [
            lb.Objective("quality", range=(0, 1), tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        "arms": ["small", "medium", "large"],
        "context": [
            lb.Number("tokens", 0, 8000),
            lb.Category("task", ["code", "maths", "chat"]),
            lb.Cycle("hour", 24),
        ],
        "seed": 0,
        **settings,
    }
    return kind(**given)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make() -> Callable[..., RecordingChooser]:
    return router
