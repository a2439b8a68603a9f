"""Check the names of arms: a path must hold them, and people must tell them apart."""

import re

from lexbandit.errors import InvalidInput

LONGEST_ARM = 200

# Control and format characters, and ends of lines: a name that has any is not what it looks like.
_HIDDEN = (
    "\\x00-\\x1f\\x7f-\\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f"
)
# Persian and many pictures need these two, between others.
_JOINING = "\u200c\u200d"
ARM_PATTERN = rf"^[^\s{_HIDDEN}{_JOINING}]([^{_HIDDEN}]*[^\s{_HIDDEN}{_JOINING}])?$"
# In a path these are steps, and clients take them.
NO_ARMS = (".", "..")
_ARM = re.compile(ARM_PATTERN)


def _spaces(arm: str) -> str:
    """Say that spaces at the ends are what is wrong, if there are any."""
    bare = arm.strip()
    if not bare or arm == bare:
        return ""
    return f" It has a space at an end: nobody could tell it from {bare!r}, so leave the space out."


def arm_name(arm: str) -> str:
    """Return the name of a new arm, if a path can hold it and people can tell it from others."""
    if len(arm) > LONGEST_ARM or arm in NO_ARMS or not _ARM.fullmatch(arm):
        raise InvalidInput(
            f"an arm's name has 1 to {LONGEST_ARM} characters, no spaces at its ends and no "
            f"control characters or others that cannot be seen, and is not '.' or '..', got "
            f"{arm!r}.{_spaces(arm)}"
        )
    return arm
