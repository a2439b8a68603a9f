"""Decide who may do what: API keys, sessions of the dashboard, and a rate limit for each key.

A key is 256 random bits, so one round of SHA-256 is enough: there is nothing to guess. Only its
hash is stored. Without keys, everybody who reaches the service by a loopback name may do all.
"""

import functools
import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qs

from lexbandit import checks
from lexbandit._internal.toml_file import TomlFile
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.events import point_name
from lexbandit.service.http.problems import (
    FORBIDDEN,
    MISDIRECTED,
    TOO_MANY,
    UNAUTHENTICATED,
    Problem,
)
from lexbandit.service.logging import audit_refusal

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
    """The API keys that are accepted."""

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
    """Refuse a key for an unknown decision point."""
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


Headers = Mapping[bytes, bytes]
NOBODY = "nobody"
"""The name of the caller where there are no keys."""
COOKIE = "lexbandit_session"
"""The name of the session's cookie."""
HOURS = 12
"""How long a session lasts."""
# So many sessions of a key may end before their time and be remembered.
_MOST_ENDED = 10_000
_CHALLENGE = {b"www-authenticate": b'Bearer realm="lexbandit"'}


class RateLimits:
    """A token bucket for each key: it holds one second's requests, and refills steadily."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, rate: float) -> None:
        """Count a request of a key; refuse it if the bucket is empty."""
        now = self._clock()
        full = max(rate, 1.0)
        tokens, since = self._buckets.get(name, (full, now))
        tokens = min(full, tokens + (now - since) * rate)
        if tokens < 1.0:
            self._buckets[name] = (tokens, now)
            seconds = max(1, round((1.0 - tokens) / rate + 0.5))
            raise Problem(
                TOO_MANY,
                f"the key {name!r} may send {rate:g} requests a second; try again in {seconds} s.",
                {b"retry-after": str(seconds).encode()},
            )
        self._buckets[name] = (tokens - 1.0, now)

    def spend(self, name: str, rows: int) -> None:
        """Count more rows of an accepted request; later requests wait until they are made up."""
        if name in self._buckets:  # the key may have its limit since the request came
            tokens, since = self._buckets[name]
            self._buckets[name] = (tokens - rows, since)


class Sessions:
    """Session cookies of the dashboard: an API key with the role read signs in for some hours.

    A cookie holds the key's name and the time of its end, signed together with the key's hash, so
    it ends with the key. Scripts cannot read it, other sites cannot send it, and it has the role
    read only, whatever the key may do. Replicas that share `secret` accept each other's cookies;
    a session that was ended is remembered by this process alone.
    """

    def __init__(
        self, keys: Keys, secret: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = keys
        self._secret = secret.encode() if secret else secrets.token_bytes(32)
        self._clock = clock
        self._ended: dict[str, dict[bytes, int]] = {}  # by key, cookies and when they end anyway
        self._end_until: dict[str, int] = {}  # by key, all that ends by then has ended

    def begin(self, key: ApiKey) -> str:
        """Return the value of a new cookie."""
        ends = int(self._clock()) + HOURS * 3600
        content = f"{ends}.{secrets.token_hex(8)}.{key.name}".encode()
        return f"{content.hex()}.{self._signature(content, key)}"

    def end(self, cookie: str) -> None:
        """Accept a cookie no more.

        If too many of one key end before their time, all others of this key that began by now end
        with them: who signs in and out all the time fills no memory.
        """
        key = self.find(cookie)
        if key is None:
            return
        now, ended = self._clock(), self._ended.setdefault(key.name, {})
        content = _content(cookie)
        ended[content] = int(content.partition(b".")[0])
        if len(ended) > _MOST_ENDED:
            for one in [one for one, ends in ended.items() if ends <= now]:
                del ended[one]
            if len(ended) > _MOST_ENDED / 2:
                ended.clear()
                self._end_until[key.name] = int(now) + HOURS * 3600

    def find(self, cookie: str) -> ApiKey | None:
        """Return who signed in, with the role read only; None if the cookie is not valid."""
        try:
            content = _content(cookie)
            ends, _, name = content.decode().split(".", 2)
        except ValueError:
            return None
        key = self._keys.by_name.get(name)
        signature = cookie.rpartition(".")[2].encode()
        if not hmac.compare_digest(self._signature(content, key).encode(), signature):
            return None
        over = int(ends) <= max(self._clock(), self._end_until.get(name, 0))
        over = over or content in self._ended.get(name, ())
        if key is None or not key.may("read") or over:
            return None
        return ApiKey(key.name, frozenset({"read"}), b"", key.rate, key.points)

    def _signature(self, content: bytes, key: ApiKey | None) -> str:
        digest = b"" if key is None else key.digest
        return hmac.new(self._secret, digest + content, hashlib.sha256).hexdigest()


@dataclass
class Access:
    """Decides whether a request may do what it asks for, by its API key or session.

    Without keys, requests to a loopback name are let in, and no others. `rate` is the limit of keys
    that have none of their own, in requests a second.
    """

    keys: Keys | None
    sessions: Sessions | None = None
    rate: float | None = None
    rates: RateLimits = field(default_factory=lambda: RateLimits(time.monotonic))

    def authorize(self, headers: Headers, role: Role, point: str | None = None) -> str:
        """Return the name of the caller's key if it has the role at a point.

        Args:
            headers: of the request.
            role: which it needs.
            point: the decision point; None if the request concerns all points.

        Raises:
            Problem: there is no such key, it may not do this, or its rate limit is reached; or,
                where there are no keys, the request came by another name than a loopback one.
        """
        if self.keys is None:
            self.check_host(headers)
            return NOBODY
        key = self.caller(headers)
        if key is None:
            audit_refusal(_unknown(headers), role=role, point=point)
            raise Problem(UNAUTHENTICATED, _unknown(headers), _CHALLENGE)
        if not key.may(role):
            roles = ", ".join(sorted(key.roles))
            audit_refusal("the key does not have the role", who=key.name, role=role, point=point)
            raise Problem(FORBIDDEN, f"this needs the role {role}; {key.name!r} has: {roles}.")
        if not key.reaches(point):
            audit_refusal("the key is for other points", who=key.name, role=role, point=point)
            points = ", ".join(sorted(key.points or ()))
            why = "this concerns all decision points" if point is None else f"not for {point!r}"
            raise Problem(FORBIDDEN, f"{why}; the key {key.name!r} is for: {points}.")
        rate = key.rate or self.rate
        if rate is not None:
            self.rates.take(key.name, rate)
        return key.name

    def count_rows(self, name: str, rows: int) -> None:
        """Count the rows of a key's batch against its rate limit; one was counted before."""
        if rows > 1 and self.keys is not None:
            key = self.keys.by_name.get(name)
            if key is not None and (key.rate or self.rate) is not None:
                self.rates.spend(name, rows - 1)

    def reads(self, headers: Headers) -> bool:
        """Tell whether a request has the role read for all points, without counting it."""
        key = None if self.keys is None else self.caller(headers)
        return self.keys is None or (key is not None and key.may("read") and key.reaches(None))

    def caller(self, headers: Headers) -> ApiKey | None:
        """Return the key that a request was sent with."""
        given = headers.get(b"authorization")
        if given is not None and self.keys is not None:
            scheme, _, secret = given.partition(b" ")
            return self.keys.find(secret.strip()) if scheme.lower() == b"bearer" else None
        cookie = headers.get(b"cookie")
        if cookie is not None and self.sessions is not None:
            return self.sessions.find(cookie_in(cookie.decode("latin-1")))
        return None

    def check_host(self, headers: Headers) -> None:
        """Refuse a request for another name than a loopback one, where there are no keys.

        A page of another site can lead a browser here under a name of its own (DNS rebinding), but
        then the browser sends that name in the header Host.
        """
        if self.keys is not None:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if not is_loopback(name.lower()):
            raise Problem(
                MISDIRECTED,
                f"without API keys this service answers to localhost only, not to {name!r}.",
            )


def _unknown(headers: Headers) -> str:
    """Return what to do about a request without a known key; nothing of a key is repeated."""
    given = headers.get(b"authorization")
    if given is None:
        return "there is no key: send the header Authorization: Bearer KEY."
    if given.partition(b" ")[0].lower() != b"bearer":
        return "there is no key: the header is written Authorization: Bearer KEY."
    return "this key is not known: it was removed, or added since the service was started."


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, seen from itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_in_form(body: bytes) -> bytes:
    """Return the key that was typed into the form to sign in; empty if there is none."""
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=4)
    except ValueError:
        return b""
    return fields.get("key", [""])[0].strip().encode()


def _content(cookie: str) -> bytes:
    """Return the signed content of a cookie, which may be written in capital digits as well."""
    return bytes.fromhex(cookie.rpartition(".")[0])


def cookie_in(header: str) -> str:
    """Return the session's cookie in a header; empty if there is none."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def set_cookie(value: str, *, secure: bool) -> bytes:
    """Return the header that sets the cookie; an empty value removes it."""
    age = HOURS * 3600 if value else 0
    end = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{end}".encode()
