"""Before the first request: a point is used once, however long compiling takes."""

import gc

import pytest
from numba.core.dispatcher import Dispatcher

from lexbandit.service.definition import Definition
from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.point import Point
from lexbandit.service.engine.start import warm_up, warm_up_replay
from service.test_restart_times import events_of
from service.world import CONTEXT, definition

pytestmark = pytest.mark.compiled


def test_compiling_may_take_longer_than_rewards_are_waited_for() -> None:
    warm_up(definition(wait=0.001))


def compiled() -> dict[str, int]:
    """Return how many versions of each compiled function there are."""
    found = [one for one in gc.get_objects() if issubclass(type(one), Dispatcher)]
    return {f"{one.py_func.__module__}.{one.py_func.__name__}": len(one.overloads) for one in found}


def ask_everything(point: Definition) -> None:
    """Use a point in all the ways in which requests do."""
    chooser = point.chooser(point.arms, lambda: 0.0)
    columns = {name: [value] * 3 for name, value in CONTEXT.items()}
    for allowed in (None, list(point.arms)[:2]):
        chooser.record("a", chooser.propose(CONTEXT, allowed))
        chooser.reward("a", {one.name: one.range[0] for one in point.objectives})
        chooser.forget(["a"])
        chooser.record_many(list("abc"), chooser.propose_many(columns, allowed))
        chooser.reward_many(list("abc"), {point.objectives[0].name: [0.5] * 3})
        chooser.forget("abc")
        chooser.explain(CONTEXT, allowed)
        chooser.propensities(CONTEXT, allowed)
    chooser.summary()


@pytest.mark.parametrize("policy", [None, "linucb", "lex-linucb", "moc-mab"])
def test_after_it_no_request_has_to_wait_for_the_compiler(policy: str | None) -> None:
    point = definition(policy=policy, horizon=1000)
    warm_up(point)
    before = compiled()
    ask_everything(point)
    after = compiled()
    assert {name: n for name, n in after.items() if n != before.get(name, 0)} == {}


def test_after_it_no_replica_has_to_wait_for_the_compiler() -> None:
    point = definition()
    warm_up(point)
    warm_up_replay(point)
    before = compiled()
    fold_many(Point(point), events_of(point, 100))
    after = compiled()
    assert {name: n for name, n in after.items() if n != before.get(name, 0)} == {}
