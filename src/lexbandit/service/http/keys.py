"""API keys and their roles. Of a key only its hash is stored.

A key is 256 random bits, so one round of SHA-256 is enough: there is nothing to guess.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lexbandit import checks
from lexbandit._internal.toml_file import TomlFile
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.events import point_name

Role = Literal["decide", "reward", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

# LEXBANDIT_KEY_WEB = "decide,reward:<sha256>", or "decide,reward@router,pricing:<sha256>"
VARIABLE = "LEXBANDIT_KEY_"
_FIELDS = ("name", "roles", "sha256", "rate", "points")


@dataclass(frozen=True)
class ApiKey:
    """An API key: who has it, what for, and its hash. `rate`: its own limit of requests a second.

    The role admin includes the others. `points` are the decision points it is for; None: all.
    """

    name: str
    roles: frozenset[Role]
    digest: bytes
    rate: float | None = None
    points: frozenset[str] | None = None

    def may(self, role: Role) -> bool:
        """Tell whether the key has a role."""
        return role in self.roles or "admin" in self.roles

    def reaches(self, point: str | None) -> bool:
        """Tell whether the key is for a decision point; None: for what concerns all of them."""
        return self.points is None or point in self.points


class Keys:
    """All keys there are."""

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self.replace(keys)

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Take other keys from now on; sessions of keys that are gone or changed end with them."""
        by_name: dict[str, ApiKey] = {}
        for key in keys:
            if key.name in by_name:
                raise InvalidInput(f"two API keys are called {key.name!r}: give each its own name.")
            by_name[key.name] = key
        self.by_name = by_name
        self._all = tuple(by_name.values())

    def __len__(self) -> int:
        return len(self._all)

    def find(self, secret: bytes) -> ApiKey | None:
        """Return the key of a secret; how long that takes says nothing about the keys there are."""
        digest = hashlib.sha256(secret).digest()
        found = None
        for key in self._all:
            if hmac.compare_digest(digest, key.digest):
                found = key
        return found


def new_secret() -> str:
    """Return a new key, to be shown once; its user stores it."""
    return f"lxb_{secrets.token_urlsafe(32)}"


def hash_of(secret: str) -> str:
    """Return the hash of a key, which is all that is stored of it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def roles_of(given: Any) -> frozenset[Role]:
    """Return roles, one or more."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"roles must be a list of {', '.join(ROLES)}, got {given!r}.")
    roles = list(given)
    for role in roles:
        if role not in ROLES:
            raise unknown_name("role", role, ROLES)
    if not roles:
        raise InvalidInput(f"a key needs one role at least: {', '.join(ROLES)}.")
    return frozenset(roles)


def points_of(given: Any) -> frozenset[str]:
    """Return the names of decision points, one or more."""
    if not isinstance(given, list) or not given:
        raise InvalidInput(f"points must be a list of decision points, got {given!r}.")
    return frozenset(point_name(point) for point in given)


def check_points(keys: Iterable[ApiKey], known: Iterable[str]) -> None:
    """Refuse a key for a decision point that there is not."""
    known = list(known)
    for key in keys:
        for point in sorted(key.points or ()):
            if point not in known:
                raise unknown_name(f"decision point of the key {key.name!r}:", point, known)


def _digest(given: Any) -> bytes:
    try:
        digest = bytes.fromhex(given)
    except (TypeError, ValueError):
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        # The value is not repeated: it may be the key itself, by mistake.
        raise InvalidInput(
            "sha256 must be the 64 hexadecimal digits that `lexbandit key` prints, not the key."
        )
    return digest


def keys_in_file(path: Path) -> list[ApiKey]:
    """Read the keys of a file: [[keys]] with name, roles, sha256; optional are rate and points."""
    file = TomlFile(path)
    file.only((), file.table, ("keys",))
    found = []
    for n, entry in enumerate(file.tables(("keys",), file.table.get("keys", []))):
        file.only(("keys", n), entry, _FIELDS)
        with file.at("keys", n):
            for field in ("name", "roles", "sha256"):
                if field not in entry:
                    raise InvalidInput(f"the field {field!r} is missing.")
            name = entry["name"]
            if not isinstance(name, str) or not name.isprintable() or not name:
                raise InvalidInput(f"the name of a key is a text, got {name!r}.")
            rate = checks.positive("rate", entry["rate"]) if "rate" in entry else None
            points = points_of(entry["points"]) if "points" in entry else None
            key = ApiKey(name, roles_of(entry["roles"]), _digest(entry["sha256"]), rate, points)
        found.append(key)
    return found


def keys_in_environment(environment: Mapping[str, str]) -> list[ApiKey]:
    """Return the keys of the environment: LEXBANDIT_KEY_<NAME> = "role,role:sha256".

    A key for some decision points only is written "role,role@point,point:sha256".
    """
    found = []
    for variable in sorted(environment):
        if variable.startswith(VARIABLE) and len(variable) > len(VARIABLE):
            given, _, digest = environment[variable].rpartition(":")
            roles, some, points = given.partition("@")
            name = variable.removeprefix(VARIABLE).lower()
            try:
                wanted = points_of(_parts(points)) if some else None
                hashed = _digest(digest.strip())
                found.append(ApiKey(name, roles_of(_parts(roles)), hashed, points=wanted))
            except InvalidInput as error:
                raise InvalidInput(
                    f"{variable}: {error} It is written ROLE,ROLE:SHA256 or, for some decision "
                    "points only, ROLE,ROLE@POINT,POINT:SHA256."
                ) from None
    return found


def _parts(text: str) -> list[str]:
    """Return what stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
