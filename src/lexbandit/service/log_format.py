"""What is logged: a line an event to standard error, plain or as JSON, and no secrets in it."""

import json
import logging
import logging.handlers
import os
import sys
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

from lexbandit._internal.redaction import without_password
from lexbandit.errors import InvalidInput

FORMATS = ("plain", "json")
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being answered; empty outside of one."""


class _Plain(logging.Formatter):
    """One line an event; passwords in URLs are not shown, whoever logs them."""

    def format(self, record: logging.LogRecord) -> str:
        return without_password(super().format(record))


class _Json(logging.Formatter):
    """One JSON object an event: time with its zone, level, logger, message, request id, facts."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created).astimezone()
        fields: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := REQUEST_ID.get():
            fields["request_id"] = request
        fields |= getattr(record, "facts", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return without_password(json.dumps(fields, default=str))


def formatter(format: str) -> logging.Formatter:
    """Return what makes lines of a format."""
    if format == "json":
        return _Json()
    return _Plain("%(asctime)s %(levelname)s %(name)s %(message)s")


def set_up_logging(level: str, format: str = "plain", audit_log: Path | None = None) -> None:
    """Log to standard error, a line each; the audit log goes to a file of its own as well."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(format))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    ours, audit = logging.getLogger("lexbandit"), logging.getLogger("lexbandit.audit")
    ours.setLevel(level.upper())
    # Its file has all of it, whatever the level is; standard error has what the level allows.
    handler.addFilter(lambda one: one.name != audit.name or one.levelno >= ours.level)
    audit.setLevel(logging.NOTSET if audit_log is None else logging.INFO)
    for before in audit.handlers:
        before.close()
    audit.handlers[:] = [] if audit_log is None else [_to_file(audit_log, format)]


def _to_file(path: Path, format: str) -> logging.Handler:
    """Return what appends to a file that only its owner can read; it may be moved away."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        handler = logging.handlers.WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"audit_log {str(path)!r} cannot be written: {error.strerror}."
        ) from None
    handler.setFormatter(formatter(format))
    return handler
