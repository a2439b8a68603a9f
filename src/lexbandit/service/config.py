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

import dataclasses
import difflib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexbandit import checks
from lexbandit.chooser.definition import FEATURES
from lexbandit.chooser.policy_for import DEFAULT
from lexbandit.contexts import Feature
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies.making import REGISTRY, parameters_of
from lexbandit.service.auth import VARIABLE, Key, Keys, keys_in_environment, keys_in_file
from lexbandit.service.definition import Definition
from lexbandit.service.events import point_name
from lexbandit.service.rows import LARGEST_BODY
from lexbandit.service.schemas import arm_name
from lexbandit.service.storage import make_storage
from lexbandit.service.toml_file import TomlFile

PREFIX = "LEXBANDIT_"
# Not for a file: whoever reads it, or guesses it, can make sessions.
SECRET = "LEXBANDIT_SESSION_SECRET"
_SHORTEST_SECRET = 32

# How like a setting's name another one must be to be a slip.
_NEAR = 0.7

LEVELS = ("debug", "info", "warning", "error")
_POINT = tuple(field.name for field in dataclasses.fields(Definition) if field.name != "name")
# Parameters of a policy that it gets from the features and the objectives.
_DERIVED = ("dimension", "tolerance")
_OBJECTIVE = tuple(field.name for field in dataclasses.fields(Objective))


@dataclass(frozen=True)
class Config:
    """A checked configuration. `rate` is in requests a second for each key; None is no limit."""

    points: Mapping[str, Definition]
    storage: str
    host: str
    port: int
    keys: tuple[Key, ...]
    tls_cert: Path | None
    tls_key: Path | None
    behind_tls: bool
    rate: float | None
    max_body_bytes: int
    snapshot_every: int
    poll: float
    log_level: str
    session_secret: str | None = dataclasses.field(repr=False)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} must be a text, got {value!r}.")
    return value


def _flag(name: str, value: Any) -> bool:
    told = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if not isinstance(told, bool):
        raise InvalidInput(f"{name} must be true or false, got {value!r}.")
    return told


def _level(name: str, value: Any) -> str:
    if value not in LEVELS:
        raise unknown_name(name, value, LEVELS)
    return str(value)


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


# Each setting: its default, and what it may be.
SETTINGS: dict[str, tuple[Any, Callable[[str, Any], Any]]] = {
    "storage": ("sqlite:decisions.db", _text),
    "host": ("127.0.0.1", _text),
    "port": (8080, _whole(0, 65535)),
    "keys": (None, _text),
    "tls_cert": (None, _text),
    "tls_key": (None, _text),
    "behind_tls": (False, _flag),
    "rate": (None, _positive),
    "max_body_bytes": (LARGEST_BODY, _whole(1024)),
    "snapshot_every": (50_000, _whole(100)),
    "poll": (0.2, _positive),
    "log_level": ("info", _level),
}


def read_config(
    path: Path,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Read and check a configuration; an error names the file, the line and the key."""
    return _Reader(TomlFile(path), environment, flags or {}).config()


class _Reader:
    """Puts a configuration together."""

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
        self._check_environment()
        values = {name: self._setting(name) for name in SETTINGS}
        keys = tuple(keys_in_environment(self.environment))
        if values["keys"] is not None:
            keys = (*keys_in_file(values["keys"]), *keys)
        Keys(keys)  # refuses two of one name, also one in the file and one in the environment
        if (values["tls_cert"] is None) != (values["tls_key"] is None):
            raise InvalidInput("TLS needs both tls_cert and tls_key, or neither of them.")
        return Config(self._points(), **{**values, "keys": keys}, session_secret=self._secret())

    def _secret(self) -> str | None:
        secret = self.environment.get(SECRET) or None
        if secret is not None and len(secret) < _SHORTEST_SECRET:
            raise InvalidInput(  # the value is not repeated
                f"{SECRET} must be a random text of {_SHORTEST_SECRET} characters at least, it has "
                f"{len(secret)}: make one with `openssl rand -hex 32`."
            )
        return secret

    def _check_environment(self) -> None:
        """Refuse a variable that is nearly a setting's. Others may be anybody's: leave them."""
        for variable in self.environment:
            name = variable.removeprefix(PREFIX).lower()
            own = name in SETTINGS or variable == SECRET or variable.startswith(VARIABLE)
            if variable.startswith(PREFIX) and not own:
                near = difflib.get_close_matches(name, SETTINGS, 1, _NEAR)
                if near:
                    raise InvalidInput(
                        f"unknown environment variable {variable}; did you mean "
                        f"{PREFIX}{near[0].upper()}?"
                    )

    def _setting(self, name: str) -> Any:
        """Return a setting: of the command line, the environment, the file, or the default."""
        default, read = SETTINGS[name]
        variable = PREFIX + name.upper()
        if self.flags.get(name) is not None:
            return self._placed(name, read(f"--{name.replace('_', '-')}", self.flags[name]))
        if self.environment.get(variable):
            return self._placed(name, read(variable, self.environment[variable]))
        with self.file.at("service", name):
            table = self.file.table.get("service", {})
            value = read(name, table[name]) if name in table else default
            return self._placed(name, value, self.file.folder)

    def _placed(self, name: str, value: Any, folder: Path | None = None) -> Any:
        """Return a place: in the file it counts from the file's folder, else from where one is."""
        folder = folder or Path()
        if name == "storage":
            make_storage(value)
            scheme, _, rest = value.partition(":")
            place = rest.removeprefix("//")
            return value if scheme != "sqlite" else f"sqlite:{folder / place}"
        if name in ("keys", "tls_cert", "tls_key") and value is not None:
            place = folder / value
            if not place.is_file():
                raise InvalidInput(f"there is no file {place} ({name}).")
            return place
        return value

    def _points(self) -> dict[str, Definition]:
        points = self.file.table.get("points", {})
        if not isinstance(points, dict) or not points:
            raise InvalidInput(f"{self.file.path}: there is no decision point: add [points.NAME].")
        return {name: self._point(name, table) for name, table in points.items()}

    def _point(self, name: str, table: Any) -> Definition:
        file, place = self.file, ("points", name)
        self._settings_in_their_place(place, table)
        file.only(place, table, _POINT)
        with file.at(*place):
            point_name(name)
            for key in ("arms", "objectives"):
                if key not in table:
                    raise InvalidInput(f"the key {key!r} is missing.")
            if "settings" in table and not isinstance(table["settings"], dict):
                raise InvalidInput(f"settings must be a table, got {table['settings']!r}.")
        objectives = [
            self._objective((*place, "objectives", n), one)
            for n, one in enumerate(file.tables((*place, "objectives"), table["objectives"]))
        ]
        context = [
            self._feature((*place, "context", n), one)
            for n, one in enumerate(file.tables((*place, "context"), table.get("context", [])))
        ]
        with file.at(*place):
            made = {**table, "name": name, "objectives": objectives, "context": context}
            definition = Definition(**made)
            chooser = definition.chooser(definition.arms, time.time)
            for arm in chooser.arms:
                arm_name(arm)
        return definition

    def _settings_in_their_place(self, place: tuple[str | int, ...], table: Any) -> None:
        """Refuse a parameter of the policy that stands among the keys of a point."""
        policy = (table.get("policy") or DEFAULT) if isinstance(table, dict) else None
        if policy not in REGISTRY.names():
            return
        for key in table:
            if key not in _POINT and key not in _DERIVED and key in parameters_of(policy):
                with self.file.at(*place, key):
                    raise InvalidInput(
                        f"{key!r} is a setting of the policy {policy!r}: write "
                        f"settings = {{ {key} = {json.dumps(table[key], default=str)} }}."
                    )

    def _objective(self, place: tuple[str | int, ...], table: Any) -> Objective:
        self.file.only(place, table, _OBJECTIVE)
        with self.file.at(*place):
            if "name" not in table:
                raise InvalidInput("the key 'name' is missing.")
            return Objective(**table)

    def _feature(self, place: tuple[str | int, ...], table: Any) -> Feature:
        with self.file.at(*place):
            for key in ("kind", "name"):
                if key not in table:
                    raise InvalidInput(f"the key {key!r} is missing.")
            if table["kind"] not in FEATURES:
                raise unknown_name("kind of feature", table["kind"], FEATURES)
        kind = FEATURES[table["kind"]]
        self.file.only(place, table, ("kind", *(field.name for field in dataclasses.fields(kind))))
        with self.file.at(*place):
            return kind(**{key: value for key, value in table.items() if key != "kind"})
