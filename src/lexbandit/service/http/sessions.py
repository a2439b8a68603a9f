"""Signing in to the dashboard: an API key with the role read becomes a cookie for some hours.

The cookie holds the key's name and when it ends, signed together with the key's hash: it is good no
more when the key is taken away or replaced. It cannot be read by scripts, is not sent along from
other sites, and lets its holder read, whatever else the key may do.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from urllib.parse import parse_qs

from lexbandit.service.http.keys import Key, Keys

COOKIE = "lexbandit_session"
HOURS = 12


def key_in_form(body: bytes) -> bytes:
    """Return the key that was typed in; empty if there is none."""
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=4)
    except ValueError:
        return b""
    return fields.get("key", [""])[0].strip().encode()


class Sessions:
    """Makes and reads session cookies. Replicas that share `secret` take each other's.

    Which ones were ended is known to this process only, until it ends itself.
    """

    def __init__(
        self, keys: Keys, secret: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = keys
        self._secret = secret.encode() if secret else secrets.token_bytes(32)
        self._clock = clock
        self._ended: dict[bytes, float] = {}

    def begin(self, key: Key) -> str:
        """Return the value of a new cookie."""
        ends = int(self._clock()) + HOURS * 3600
        told = f"{ends}.{secrets.token_hex(8)}.{key.name}".encode()
        return f"{told.hex()}.{self._signature(told, key)}"

    def end(self, cookie: str) -> None:
        """Take a cookie no more."""
        now = self._clock()
        self._ended = {told: ends for told, ends in self._ended.items() if ends > now}
        if self.find(cookie) is not None:
            self._ended[_told(cookie)] = now + HOURS * 3600

    def find(self, cookie: str) -> Key | None:
        """Return who signed in, with the role read only; None if the cookie is not good."""
        try:
            told = _told(cookie)
            ends, _, name = told.decode().split(".", 2)
        except ValueError:
            return None
        key = self._keys.by_name.get(name)
        signature = cookie.rpartition(".")[2].encode()
        if not hmac.compare_digest(self._signature(told, key).encode(), signature):
            return None
        if key is None or not key.may("read") or int(ends) <= self._clock() or told in self._ended:
            return None
        return Key(key.name, frozenset({"read"}), b"", key.rate, key.points)

    def _signature(self, told: bytes, key: Key | None) -> str:
        digest = b"" if key is None else key.digest
        return hmac.new(self._secret, digest + told, hashlib.sha256).hexdigest()


def _told(cookie: str) -> bytes:
    """Return what a cookie says: one can write the same in several ways, as digits in capitals."""
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
