"""`make_environment`: an environment by its name."""

from typing import Any

from lexbandit.environments.base import Environment
from lexbandit.errors import unknown_name
from lexbandit.registry import Registry

REGISTRY: Registry[Environment] = Registry("environment", "lexbandit.environments")


def make_environment(name: str, **parameters: Any) -> Environment:
    """Build the environment called `name`, e.g. `make_environment("synthetic")`."""
    taken = REGISTRY.parameters(name)
    for given in parameters:
        if given not in taken:
            raise unknown_name(f"parameter of {name}", given, taken)
    environment = REGISTRY.builder(name)(**parameters)
    environment.name = name
    return environment
