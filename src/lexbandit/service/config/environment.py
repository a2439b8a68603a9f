"""Variables of the environment that begin with LEXBANDIT_: one that nobody reads is a slip."""

import difflib
import re
from collections.abc import Iterable, Mapping

from lexbandit.errors import InvalidInput
from lexbandit.service.http.keys import VARIABLE

PREFIX = "LEXBANDIT_"
# Not for a file: whoever reads it, or guesses it, can make sessions.
SECRET = "LEXBANDIT_SESSION_SECRET"

# An example reads it: where data are.
_DATA = "LEXBANDIT_DATA"
# What Kubernetes sets in every pod for a service called lexbandit or lexbandit-something.
_LINK = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_LINK_URL = re.compile(r"(tcp|udp|sctp)://")


def check_environment(environment: Mapping[str, str], settings: Iterable[str]) -> None:
    """Refuse a variable that is none of the settings': else a slip would count for nothing."""
    known = {PREFIX + name.upper() for name in settings} | {SECRET}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in known | {_DATA}:
            continue
        if variable.startswith(VARIABLE) and variable != VARIABLE:
            continue
        if _LINK.fullmatch(variable) or _LINK_URL.match(environment[variable]):
            continue
        near = difflib.get_close_matches(variable, known, 1, 0.75)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise InvalidInput(
            f"unknown environment variable {variable}{hint} Known: {', '.join(sorted(known))} and "
            f"{VARIABLE}NAME for a key called NAME. Unset it, or give it its right name."
        )
