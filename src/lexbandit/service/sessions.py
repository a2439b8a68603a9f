"""Signing in to the dashboard: an API key with the role read becomes a cookie for some hours.

The cookie holds the key's name and when it ends, signed. It cannot be read by scripts, is not sent
along from other sites, and lets its holder read, whatever else the key may do.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from urllib.parse import parse_qs

from lexbandit.service.auth import Key, Keys

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
    """Makes and reads session cookies. Replicas that share `secret` take each other's."""

    def __init__(
        self, keys: Keys, secret: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = keys
        self._secret = secret.encode() if secret else secrets.token_bytes(32)
        self._clock = clock
        self._ended: dict[str, float] = {}

    def begin(self, key: Key) -> str:
        """Return the value of a new cookie."""
        ends = int(self._clock()) + HOURS * 3600
        told = f"{ends}.{secrets.token_hex(8)}.{key.name}".encode()
        return f"{told.hex()}.{self._signature(told)}"

    def end(self, cookie: str) -> None:
        """Take a cookie no more."""
        now = self._clock()
        self._ended = {value: ends for value, ends in self._ended.items() if ends > now}
        if self.find(cookie) is not None:
            self._ended[cookie] = now + HOURS * 3600

    def find(self, cookie: str) -> Key | None:
        """Return who signed in, with the role read only; None if the cookie is not good."""
        encoded, _, signature = cookie.rpartition(".")
        try:
            told = bytes.fromhex(encoded)
            ends, _, name = told.decode().split(".", 2)
        except ValueError:
            return None
        if not hmac.compare_digest(self._signature(told).encode(), signature.encode()):
            return None
        key = self._keys.by_name.get(name)
        if key is None or not key.may("read") or int(ends) <= self._clock():
            return None
        return None if cookie in self._ended else Key(key.name, frozenset({"read"}), b"", key.rate)

    def _signature(self, told: bytes) -> str:
        return hmac.new(self._secret, told, hashlib.sha256).hexdigest()


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
