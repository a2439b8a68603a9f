"""Before the first request: everything a request needs is compiled and loaded once."""

import logging
import time
from typing import Any

from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.errors import InvalidInput
from lexbandit.service.definition import Definition

log = logging.getLogger("lexbandit.service")


def example(feature: Feature) -> Any:
    """Return a value that a feature takes."""
    if isinstance(feature, Number):
        return feature.low
    if isinstance(feature, Category):
        return feature.values[0]
    if isinstance(feature, Flag):
        return False
    if isinstance(feature, Cycle):
        return 0.0
    if isinstance(feature, Vector):
        return [feature.low] * feature.length
    return None


def warm_up(definition: Definition) -> None:
    """Decide, learn and explain once with a chooser that is thrown away.

    A policy that cannot be used in a service is refused here, before anybody asks.
    """
    begun = time.perf_counter()
    log.info("preparing point=%s", definition.name)
    try:
        _use(definition)
    except InvalidInput as error:
        raise InvalidInput(f"points.{definition.name} cannot decide: {error}") from None
    log.info("point=%s is ready seconds=%.1f", definition.name, time.perf_counter() - begun)


def _use(definition: Definition) -> None:
    # The clock stands still: compiling may take longer than rewards are waited for.
    chooser = definition.chooser(definition.arms, lambda: 0.0)
    context = {feature.name: example(feature) for feature in definition.context}
    allowed = list(definition.arms)[:1]
    for arms in (None, allowed):
        decision = chooser.choose(context, arms)
        for objective in definition.objectives:
            chooser.reward(decision, {objective.name: objective.range[0]})
    columns = {name: [value, value] for name, value in context.items()}
    for arms in (None, allowed):
        chooser.choose_many(columns, arms)
    chooser.explain(context)
    chooser.propensities(context)
    chooser.summary()
