"""The audit log: who was refused, and who changed arms, keys and the configuration.

A line each in the logger `lexbandit.audit`, which goes where the other logs go and, if `audit_log`
names a file, to that file as well. Keys appear by their names, never by their secrets.
"""

import json
import logging
import time

log = logging.getLogger("lexbandit.audit")

# How many refusals a second are logged one by one; further ones are counted, so that whoever tries
# keys cannot fill the disk.
_MOST = 10


class _Refusals:
    """How many refusals there were in this second."""

    def __init__(self) -> None:
        self.second, self.count = 0, 0

    def one_more(self) -> bool:
        """Count a refusal; tells whether it is to be written."""
        second = int(time.monotonic())
        if second != self.second:
            if self.count > _MOST:
                note("refused", "", why="more in one second", count=self.count - _MOST)
            self.second, self.count = second, 0
        self.count += 1
        return self.count <= _MOST


_refusals = _Refusals()


def note(event: str, who: str, **facts: object) -> None:
    """Write what happened, by whom, and what else is known; None is left out."""
    entry = {"event": event, "who": who, **facts}
    known = {name: value for name, value in entry.items() if value not in (None, "")}
    text = " ".join(f"{name}={json.dumps(value, default=list)}" for name, value in known.items())
    log.info("%s", text, extra={"facts": known})


def refused(why: str, *, who: str = "", **facts: object) -> None:
    """Write that a request was refused because of its key; many at once are counted."""
    if _refusals.one_more():
        note("refused", who, why=why, **facts)
