"""What is logged: plain lines to standard error, and no secrets in them."""

import logging
import re
import sys
from urllib.parse import unquote_plus

_PASSWORD = re.compile(r"(\w+://[^:@/\s]*):[^/?#\s]+@")
_PARAMETER = re.compile(r"([?&]([^=&\s]+)=)[^&\s]+")


def without_password(text: str) -> str:
    """Return a text in which the passwords of URLs cannot be read."""
    return _PARAMETER.sub(_hidden, _PASSWORD.sub(r"\1:***@", text))


def _hidden(parameter: re.Match[str]) -> str:
    """Return a parameter of a URL's query: a driver takes passwords from there as well."""
    start, name = parameter.groups()
    return f"{start}***" if "password" in unquote_plus(name).lower() else parameter[0]


class _NoSecrets(logging.Formatter):
    """One line an event; passwords in URLs are not shown, whoever logs them."""

    def format(self, record: logging.LogRecord) -> str:
        return without_password(super().format(record))


def set_up_logging(level: str) -> None:
    """Log to standard error, a line each: time, level, who, and what."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_NoSecrets("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("lexbandit").setLevel(level.upper())
