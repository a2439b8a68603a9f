"""What is logged: plain lines to standard error, and no secrets in them."""

import logging
import sys

from lexbandit.passwords import without_password


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
