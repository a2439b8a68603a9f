"""The configuration: a TOML file, over it the environment, over that the command line.

[service]                          every setting here can be set by LEXBANDIT_<NAME> as well
storage = "sqlite:decisions.db"    or postgresql://USER:PASSWORD@HOST/DATABASE
host = "127.0.0.1"
port = 8080
keys = "keys.toml"                 API keys; made by `lexbandit key`

[points.router]                    a decision point, and its name
arms = ["small", "large"]
wait = 3600

[[points.router.objectives]]       in order of priority; the fields of `Objective`
name = "quality"

[[points.router.context]]          kind: number, category, flag, cycle, vector; and its fields
kind = "number"
name = "prompt_tokens"

docs/service.md explains all of it.
"""

import difflib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

from lexbandit import checks
from lexbandit._internal.toml_file import Place, TomlFile
from lexbandit.chooser.policy import DEFAULT
from lexbandit.chooser.saving import FEATURES
from lexbandit.contexts import Feature
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies.registry import REGISTRY, renamed, settings_known
from lexbandit.service.definition import Definition, arm_name
from lexbandit.service.engine.point import LARGEST_BODY
from lexbandit.service.events import point_name
from lexbandit.service.http.access import (
    VARIABLE,
    ApiKey,
    Keys,
    check_points,
    keys_in_environment,
    keys_in_file,
)
from lexbandit.service.logging import FORMATS
from lexbandit.service.storage import make_storage

PREFIX = "LEXBANDIT_"
# Not for a file: whoever reads it, or guesses it, can make sessions.
SECRET = "LEXBANDIT_SESSION_SECRET"

# An example reads it: where data are.
_DATA = "LEXBANDIT_DATA"
# What Kubernetes sets in every pod for a service called lexbandit or lexbandit-something.
_LINK = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_LINK_URL = re.compile(r"(tcp|udp|sctp)://")

_SHORTEST_SECRET = 32

LEVELS = ("debug", "info", "warning", "error")

log = logging.getLogger("lexbandit.service")

_POINT = tuple(one.name for one in fields(Definition) if one.name != "name")
_OBJECTIVE = tuple(one.name for one in fields(Objective))
# Parameters of a policy that it gets from the features and the objectives.
_DERIVED = ("dimension", "tolerance")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} must be a text, got {value!r}.")
    return value


def _flag(name: str, value: Any) -> bool:
    flag = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise InvalidInput(f"{name} must be true or false, got {value!r}.")
    return flag


def _one_of(known: Sequence[str]) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        checks.one_of(name, value, known)
        return str(value)

    return read


def _number(value: Any) -> Any:
    """Return a number that is written as text, as in the environment."""
    if isinstance(value, str):
        try:
            return int(value) if value.strip().lstrip("+-").isdigit() else float(value)
        except ValueError:
            return value
    return value


def _whole(least: int, most: int | None = None) -> Callable[[str, Any], int]:
    return lambda name, value: checks.whole(name, _number(value), least=least, most=most)


def _positive(name: str, value: Any) -> float:
    return checks.positive(name, _number(value))


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def duration(name: str, value: Any) -> float:
    """Return the seconds of a duration such as "90d": a number, and s, m, h or d."""
    number = value[:-1] if isinstance(value, str) else ""
    if not number.isdigit() or value[-1] not in _UNITS or not int(number):
        raise InvalidInput(f'{name} must be a duration such as "90d", "12h", "30m", got {value!r}.')
    return int(number) * _UNITS[value[-1]]


def _seconds(name: str, value: Any) -> float:
    return 0.0 if _number(value) == 0 else _positive(name, value)


@dataclass(frozen=True, kw_only=True)
class Config:
    """A checked configuration. `rate` is in requests a second for each key; None is no limit.

    A field that can be set is annotated with what reads it.
    """

    points: Mapping[str, Definition]
    storage: Annotated[str, _text] = "sqlite:decisions.db"
    host: Annotated[str, _text] = "127.0.0.1"
    port: Annotated[int, _whole(0, 65535)] = 8080
    keys: Annotated[tuple[ApiKey, ...], _text] = ()
    tls_cert: Annotated[Path | None, _text] = None
    tls_key: Annotated[Path | None, _text] = None
    behind_tls: Annotated[bool, _flag] = False
    rate: Annotated[float | None, _positive] = None
    max_body_bytes: Annotated[int, _whole(1024)] = LARGEST_BODY
    deadline: Annotated[float, _positive] = 5.0
    drain: Annotated[float, _seconds] = 5.0
    snapshot_every: Annotated[int, _whole(100)] = 50_000
    poll: Annotated[float, _positive] = 0.2
    log_level: Annotated[str, _one_of(LEVELS)] = "info"
    log_format: Annotated[str, _one_of(FORMATS)] = "plain"
    audit_log: Annotated[Path | None, _text] = None
    retain: Annotated[float | None, duration] = None
    archive: Annotated[Path | None, _text] = None
    otel: Annotated[bool, _flag] = False
    session_secret: str | None = field(default=None, repr=False)


SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    name: kind.__metadata__[0]
    for name, kind in get_type_hints(Config, include_extras=True).items()
    if get_origin(kind) is Annotated
}


def read_config(
    path: Path,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Read and check a configuration; an error names the file, the line and the key."""
    return _Reader(TomlFile(path), environment, flags or {}).config()


def read_points(path: Path) -> dict[str, Definition]:
    """Read the decision points of a configuration, and nothing of how they are served."""
    return _Reader(TomlFile(path), {}, {}).points()


class _Reader:
    """Reads a configuration from the file, the environment and the command line."""

    def __init__(
        self, file: TomlFile, environment: Mapping[str, str], flags: Mapping[str, Any]
    ) -> None:
        self.file = file
        self.environment = environment
        self.flags = flags

    def config(self) -> Config:
        file = self.file
        file.only((), file.table, ("service", "points"))
        file.only(("service",), file.table.get("service", {}), tuple(SETTINGS))
        check_environment(self.environment, SETTINGS)
        values = {name: self._setting(name) for name in SETTINGS}
        keys = tuple(keys_in_environment(self.environment))
        if values["keys"]:
            keys = (*keys_in_file(values["keys"]), *keys)
        Keys(keys)  # refuses two of one name, also one in the file and one in the environment
        if (values["tls_cert"] is None) != (values["tls_key"] is None):
            raise InvalidInput("TLS needs both tls_cert and tls_key, or neither of them.")
        points = self.points()
        check_points(keys, points)
        return Config(points=points, **{**values, "keys": keys}, session_secret=self._secret())

    def _secret(self) -> str | None:
        secret = self.environment.get(SECRET) or None
        if secret is not None and len(secret) < _SHORTEST_SECRET:
            raise InvalidInput(  # the value is not repeated
                f"{SECRET} must be a random text of {_SHORTEST_SECRET} characters at least, it has "
                f"{len(secret)}: make one with `openssl rand -hex 32`."
            )
        return secret

    def _setting(self, name: str) -> Any:
        """Return a setting: of the command line, the environment, the file, or the default."""
        read = SETTINGS[name]
        variable = PREFIX + name.upper()
        if self.flags.get(name) is not None:
            return self._placed(name, read(f"--{name.replace('_', '-')}", self.flags[name]))
        if self.environment.get(variable):
            return self._placed(name, read(variable, self.environment[variable]))
        with self.file.at("service", name):
            table = self.file.table.get("service", {})
            value = read(name, table[name]) if name in table else getattr(Config, name)
            return self._placed(name, value, self.file.folder)

    def _placed(self, name: str, value: Any, folder: Path | None = None) -> Any:
        """Return a place: in the file it counts from the file's folder, else from where one is."""
        folder = folder or Path()
        if name == "storage":
            make_storage(value)
            scheme, _, rest = value.partition(":")
            if scheme != "sqlite":
                return value
            file = folder / rest.removeprefix("//")
            _refuse_folder(name, file)
            return f"sqlite:{file}"
        if name in ("audit_log", "archive") and value is not None:
            return folder / value
        if name in ("keys", "tls_cert", "tls_key") and value:
            place = folder / value
            _refuse_folder(name, place)
            if not place.is_file():
                raise InvalidInput(f"there is no file {place} ({name}).")
            return place
        return value

    def points(self) -> dict[str, Definition]:
        points = self.file.table.get("points", {})
        if not isinstance(points, dict):
            with self.file.at("points"):
                raise InvalidInput(f"must be tables, as [points.NAME], got {points!r}.")
        if not points:
            raise InvalidInput(f"{self.file.path}: there is no decision point: add [points.NAME].")
        return {name: _read_point(self.file, name, table) for name, table in points.items()}


def _refuse_folder(name: str, place: Path) -> None:
    if place.is_dir():
        raise InvalidInput(f"{name} must name a file, and {place} is a folder.")


def check_environment(environment: Mapping[str, str], settings: Iterable[str]) -> None:
    """Refuse an unknown LEXBANDIT_ variable, since a misspelt one would be ignored silently."""
    known = {PREFIX + name.upper() for name in settings} | {SECRET}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in known | {_DATA}:
            continue
        if variable.startswith(VARIABLE) and variable != VARIABLE:
            continue
        if _LINK.fullmatch(variable) or _LINK_URL.match(environment[variable]):
            continue
        near = difflib.get_close_matches(variable, known, 1, 0.75)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise InvalidInput(
            f"unknown environment variable {variable}{hint} Known: {', '.join(sorted(known))} and "
            f"{VARIABLE}NAME for a key called NAME. Unset it, or give it its right name."
        )


def _read_point(file: TomlFile, name: str, table: Any) -> Definition:
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
    """Refuse unknown keys of a point, and unknown settings of its policy."""
    policy = (table.get("policy") or DEFAULT) if isinstance(table, dict) else None
    known = isinstance(policy, str) and policy in REGISTRY
    taken = settings_known(str(policy)) if known else set()
    for key in table if known else ():
        if key not in _POINT and key not in _DERIVED and key in taken:
            with file.at(*place, key):
                raise InvalidInput(
                    f"{key!r} is a setting of the policy {policy!r}: write "
                    f"settings = {{ {key} = {json.dumps(table[key], default=str)} }}."
                )
    file.only(place, table, _POINT)
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
            _check_setting(key, str(policy), taken.difference(_POINT, _DERIVED))


def _check_setting(key: str, policy: str, taken: set[str]) -> None:
    if key in _POINT:
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
    file.only(place, table, ("kind", *(one.name for one in fields(kind))))
    with file.at(*place, table=table):
        return kind(**{key: value for key, value in table.items() if key != "kind"})
