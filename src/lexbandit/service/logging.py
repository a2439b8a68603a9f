"""What the service logs: a line an event, plain or as JSON, without secrets; and the audit log.

The audit log says who was refused, and who changed arms, keys and the configuration: a line each
in the logger `lexbandit.audit`, which goes where the other logs go and, if `audit_log` names a
file, to that file as well. Keys appear by their names, never by their secrets.
"""

import json
import logging
import logging.handlers
import os
import sys
import time
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

from lexbandit.errors import InvalidInput, without_password

FORMATS = ("plain", "json")
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being answered; empty outside of one."""

_audit_log = logging.getLogger("lexbandit.audit")

# How many refusals a second are logged one by one; further ones are counted, so that whoever tries
# keys cannot fill the disk.
_MOST_REFUSALS = 10


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
    ours = logging.getLogger("lexbandit")
    ours.setLevel(level.upper())
    # Its file has all of it, whatever the level is; standard error has what the level allows.
    handler.addFilter(lambda one: one.name != _audit_log.name or one.levelno >= ours.level)
    _audit_log.setLevel(logging.NOTSET if audit_log is None else logging.INFO)
    for before in _audit_log.handlers:
        before.close()
    _audit_log.handlers[:] = [] if audit_log is None else [_to_file(audit_log, format)]


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


class _Refusals:
    """How many refusals there were in this second."""

    def __init__(self) -> None:
        self.second, self.count = 0, 0

    def one_more(self) -> bool:
        """Count a refusal; tells whether it is to be written."""
        second = int(time.monotonic())
        if second != self.second:
            if self.count > _MOST_REFUSALS:
                audit("refused", "", why="more in one second", count=self.count - _MOST_REFUSALS)
            self.second, self.count = second, 0
        self.count += 1
        return self.count <= _MOST_REFUSALS


_refusals = _Refusals()


def audit(event: str, who: str, **facts: object) -> None:
    """Write what happened, by whom, and what else is known; None is left out."""
    entry = {"event": event, "who": who, **facts}
    known = {name: value for name, value in entry.items() if value not in (None, "")}
    text = " ".join(f"{name}={json.dumps(value, default=list)}" for name, value in known.items())
    _audit_log.info("%s", text, extra={"facts": known})


def audit_refusal(why: str, *, who: str = "", **facts: object) -> None:
    """Write that a request was refused because of its key; many at once are counted."""
    if _refusals.one_more():
        audit("refused", who, why=why, **facts)
