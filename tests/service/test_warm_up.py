"""Before the first request: a point is used once, however long compiling takes."""

import pytest

from lexbandit.service.engine.start import warm_up
from service.world import definition

pytestmark = pytest.mark.compiled


def test_compiling_may_take_longer_than_rewards_are_waited_for() -> None:
    warm_up(definition(wait=1e-9))
