"""Who may do what: API keys with roles. Of a key only its hash is kept.

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
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.toml_file import TomlFile

Role = Literal["decide", "reward", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

# LEXBANDIT_KEY_WEB = "decide,reward:<sha256>"
VARIABLE = "LEXBANDIT_KEY_"
_FIELDS = ("name", "roles", "sha256", "rate")


@dataclass(frozen=True)
class Key:
    """An API key: who has it, what for, and its hash. `rate`: its own limit of requests a second.

    The role admin includes the others.
    """

    name: str
    roles: frozenset[Role]
    digest: bytes
    rate: float | None = None

    def may(self, role: Role) -> bool:
        """Tell whether the key has a role."""
        return role in self.roles or "admin" in self.roles


class Keys:
    """All keys there are."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.by_name: dict[str, Key] = {}
        for key in keys:
            if key.name in self.by_name:
                raise InvalidInput(f"two API keys are called {key.name!r}: give each its own name.")
            self.by_name[key.name] = key
        self._all = tuple(self.by_name.values())

    def __len__(self) -> int:
        return len(self._all)

    def find(self, secret: bytes) -> Key | None:
        """Return the key of a secret; how long that takes says nothing about the keys there are."""
        digest = hashlib.sha256(secret).digest()
        found = None
        for key in self._all:
            if hmac.compare_digest(digest, key.digest):
                found = key
        return found


def new_secret() -> str:
    """Return a new key, to be shown once and kept by its user."""
    return f"lxb_{secrets.token_urlsafe(32)}"


def hash_of(secret: str) -> str:
    """Return what is kept of a key."""
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


def keys_in_file(path: Path) -> list[Key]:
    """Read the keys of a file: [[keys]] with name, roles, sha256 and, if wished, rate."""
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
            key = Key(name, roles_of(entry["roles"]), _digest(entry["sha256"]), rate)
        found.append(key)
    return found


def keys_in_environment(environment: Mapping[str, str]) -> list[Key]:
    """Return the keys of the environment: LEXBANDIT_KEY_<NAME> = "role,role:sha256"."""
    found = []
    for variable in sorted(environment):
        if variable.startswith(VARIABLE) and len(variable) > len(VARIABLE):
            roles, _, digest = environment[variable].rpartition(":")
            name = variable.removeprefix(VARIABLE).lower()
            try:
                wanted = [role.strip() for role in roles.split(",") if role.strip()]
                found.append(Key(name, roles_of(wanted), _digest(digest.strip())))
            except InvalidInput as error:
                raise InvalidInput(f"{variable}: {error} It is written ROLE,ROLE:SHA256.") from None
    return found
