"""What SIGHUP does: keys and the certificate are read again, without a request being lost."""

import logging
import ssl
from collections.abc import Callable
from dataclasses import fields

from lexbandit.errors import InvalidInput
from lexbandit.service import audit
from lexbandit.service.config.file import Config
from lexbandit.service.http.keys import ApiKey, Keys

log = logging.getLogger("lexbandit.service")

# These are taken from a configuration that is read again; all others need a start.
_TAKEN = ("keys", "tls_cert", "tls_key")


class Reloading:
    """Takes keys and certificates of a configuration that is read again.

    `keys` and `tls` are those in use, None if there are none; `read` reads the configuration. What
    cannot be read is refused as a whole, and all goes on as before.
    """

    def __init__(
        self,
        config: Config,
        read: Callable[[], Config],
        keys: Keys | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._config, self._read, self._keys, self._tls = config, read, keys, tls

    def __call__(self) -> None:
        """Read all again, and say what changed."""
        try:
            found = self._read()
            self._take(found)
        except (InvalidInput, OSError) as error:
            log.error("the configuration is not taken, all goes on as before: %s", error)
            audit.note("reload refused", "SIGHUP", why=str(error))
            return
        others = [
            field.name
            for field in fields(Config)
            if field.name not in _TAKEN
            and getattr(found, field.name) != getattr(self._config, field.name)
        ]
        if others:
            log.warning("changed, and taken at the next start only: %s", ", ".join(others))

    def _take(self, found: Config) -> None:
        if self._keys is not None and not found.keys:
            raise InvalidInput("there are no API keys any more.")
        if self._tls is not None:
            if found.tls_cert is None:
                raise InvalidInput("there is no certificate any more.")
            load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), found)  # tried first
            load_certificate(self._tls, found)
            audit.note("certificate read", "SIGHUP", file=str(found.tls_cert))
        if self._keys is not None:
            before = self._keys.by_name
            self._keys.replace(found.keys)
            audit.note("keys read", "SIGHUP", **changes(before, self._keys.by_name))
        log.info("keys and certificates are read again")


def changes(before: dict[str, ApiKey], after: dict[str, ApiKey]) -> dict[str, list[str]]:
    """Return the names of the keys that were added, removed and changed."""
    return {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": sorted(name for name in after if before.get(name, after[name]) != after[name]),
    }


def load_certificate(context: ssl.SSLContext, config: Config) -> None:
    """Let a context use the certificate of a configuration, from the next handshake on."""
    try:
        context.load_cert_chain(str(config.tls_cert), config.tls_key, password=lambda: "")
    except OSError as error:
        raise InvalidInput(
            f"tls_cert {str(config.tls_cert)!r} and tls_key {str(config.tls_key)!r} cannot be "
            f"used: {error}. They are PEM files, the key without a password."
        ) from None
