"""A decision point as a TOML file has it: [points.NAME], its objectives and its context."""

import dataclasses
import json
import logging
import time
from typing import Any

from lexbandit._internal.toml_file import Place, TomlFile
from lexbandit.chooser.policy import DEFAULT
from lexbandit.chooser.saving import FEATURES
from lexbandit.contexts import Feature
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies.registry import REGISTRY, renamed, settings_known
from lexbandit.service.definition import Definition, arm_name
from lexbandit.service.events import point_name

log = logging.getLogger("lexbandit.service")

_KEYS = tuple(field.name for field in dataclasses.fields(Definition) if field.name != "name")
_OBJECTIVE = tuple(field.name for field in dataclasses.fields(Objective))
# Parameters of a policy that it gets from the features and the objectives.
_DERIVED = ("dimension", "tolerance")


def read_point(file: TomlFile, name: str, table: Any) -> Definition:
    """Return the decision point of a table; what its chooser would refuse is refused here."""
    place = ("points", name)
    with file.at(*place):
        point_name(name)
    table = _with_todays_names(file, place, table)
    _check_keys(file, place, table)
    objectives = [
        _objective(file, (*place, "objectives", n), one)
        for n, one in enumerate(file.tables((*place, "objectives"), table["objectives"]))
    ]
    context = [
        _feature(file, (*place, "context", n), one)
        for n, one in enumerate(file.tables((*place, "context"), table.get("context", [])))
    ]
    with file.at(*place, table=table):
        made = {**table, "name": name, "objectives": objectives, "context": context}
        definition = Definition(**made)
        chooser = definition.chooser(definition.arms, time.time)
        for arm in chooser.arms:
            arm_name(arm)
    return definition


def _with_todays_names(file: TomlFile, place: Place, table: Any) -> Any:
    """Return the table with the settings of its policy under the names that they have today."""
    settings = table.get("settings") if isinstance(table, dict) else None
    policy = (table.get("policy") or DEFAULT) if settings else None
    if not isinstance(settings, dict) or policy not in REGISTRY:
        return table

    def tell(message: str) -> None:
        log.warning("%s: in [%s.settings]: %s", file.path, ".".join(map(str, place)), message)

    with file.at(*place, "settings"):
        return {**table, "settings": renamed(str(policy), settings, tell=tell)}


def _check_keys(file: TomlFile, place: Place, table: Any) -> None:
    """Refuse keys of a point, and settings of its policy, that there are not."""
    policy = (table.get("policy") or DEFAULT) if isinstance(table, dict) else None
    known = isinstance(policy, str) and policy in REGISTRY
    taken = settings_known(str(policy)) if known else set()
    for key in table if known else ():
        if key not in _KEYS and key not in _DERIVED and key in taken:
            with file.at(*place, key):
                raise InvalidInput(
                    f"{key!r} is a setting of the policy {policy!r}: write "
                    f"settings = {{ {key} = {json.dumps(table[key], default=str)} }}."
                )
    file.only(place, table, _KEYS)
    if not known:
        with file.at(*place, "policy"):
            raise unknown_name("policy", policy, REGISTRY.names())
    with file.at(*place):
        for key in ("arms", "objectives"):
            if key not in table:
                raise InvalidInput(f"the key {key!r} is missing.")
    settings = table.get("settings", {})
    if not isinstance(settings, dict):
        with file.at(*place, "settings"):
            raise InvalidInput(f"settings must be a table, got {settings!r}.")
    for key in settings:
        with file.at(*place, "settings", key):
            _check_setting(key, str(policy), taken.difference(_KEYS, _DERIVED))


def _check_setting(key: str, policy: str, taken: set[str]) -> None:
    if key in _KEYS:
        raise InvalidInput(
            f"{key!r} is a key of the point itself, no setting of its policy: write it beside "
            "'settings', not in it."
        )
    if key == "dimension":
        raise InvalidInput("'dimension' follows from the context of the point: leave it out.")
    if key == "tolerance":
        raise InvalidInput("'tolerance' is a key of each objective, in that objective's own units.")
    if key not in taken:
        raise unknown_name(f"setting of the policy {policy!r}:", key, taken)


def _objective(file: TomlFile, place: Place, table: Any) -> Objective:
    file.only(place, table, _OBJECTIVE)
    with file.at(*place, table=table):
        if "name" not in table:
            raise InvalidInput("the key 'name' is missing.")
        return Objective(**table)


def _feature(file: TomlFile, place: Place, table: Any) -> Feature:
    with file.at(*place):
        for key in ("kind", "name"):
            if key not in table:
                raise InvalidInput(f"the key {key!r} is missing.")
    if table["kind"] not in FEATURES:
        with file.at(*place, "kind"):
            raise unknown_name("kind of feature", table["kind"], FEATURES)
    kind = FEATURES[table["kind"]]
    file.only(place, table, ("kind", *(field.name for field in dataclasses.fields(kind))))
    with file.at(*place, table=table):
        return kind(**{key: value for key, value in table.items() if key != "kind"})
