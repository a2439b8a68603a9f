"""Who is let in: by an API key, by a session, or by nobody else being near."""

import functools
import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from lexbandit.service import audit
from lexbandit.service.http.keys import Key, Keys, Role
from lexbandit.service.http.problems import FORBIDDEN, MISDIRECTED, UNAUTHENTICATED, Problem
from lexbandit.service.http.rate_limits import RateLimits
from lexbandit.service.http.sessions import Sessions, cookie_in

Headers = Mapping[bytes, bytes]
# Who asks where there are no keys.
NOBODY = "nobody"
_CHALLENGE = {b"www-authenticate": b'Bearer realm="lexbandit"'}


@dataclass
class Door:
    """Lets requests in. Without keys everybody is let in, who came by a loopback name."""

    keys: Keys | None
    sessions: Sessions | None = None
    rate: float | None = None
    rates: RateLimits = field(default_factory=lambda: RateLimits(time.monotonic))

    def admit(self, headers: Headers, role: Role, point: str | None = None) -> str:
        """Let a request in that may do what `role` may at a point; else it is refused.

        None is what concerns all points. Returns who was let in: the name of the key.
        """
        if self.keys is None:
            return NOBODY
        key = self.caller(headers)
        if key is None:
            audit.refused(_unknown(headers), role=role, point=point)
            raise Problem(UNAUTHENTICATED, _unknown(headers), _CHALLENGE)
        if not key.may(role):
            roles = ", ".join(sorted(key.roles))
            audit.refused("the key does not have the role", who=key.name, role=role, point=point)
            raise Problem(FORBIDDEN, f"this needs the role {role}; {key.name!r} has: {roles}.")
        if not key.reaches(point):
            audit.refused("the key is for other points", who=key.name, role=role, point=point)
            named = ", ".join(sorted(key.points or ()))
            told = "this concerns all decision points" if point is None else f"not for {point!r}"
            raise Problem(FORBIDDEN, f"{told}; the key {key.name!r} is for: {named}.")
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

    def caller(self, headers: Headers) -> Key | None:
        """Return whose request this is."""
        given = headers.get(b"authorization")
        if given is not None and self.keys is not None:
            scheme, _, secret = given.partition(b" ")
            return self.keys.find(secret.strip()) if scheme.lower() == b"bearer" else None
        cookie = headers.get(b"cookie")
        if cookie is not None and self.sessions is not None:
            return self.sessions.find(cookie_in(cookie.decode("latin-1")))
        return None

    def check_host(self, headers: Headers) -> None:
        """Refuse a request that came by another name than a loopback one, where there are no keys.

        A page of another site can lead a browser here under a name of its own; it cannot make the
        browser say ours.
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
    """Say what to do about a request of nobody known; nothing of a key is repeated."""
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
