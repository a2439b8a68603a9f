"""Remove passwords of URLs from text that is shown or logged."""

import re
from urllib.parse import unquote_plus

# Up to the last @, since a password that was not encoded may have any character; but not a port.
_PASSWORD = re.compile(r"(\w+://[^:@/\s]*):(?!\d+[/?#])\S+@")
_PARAMETER = re.compile(r"([?&]([^=&\s]+)=)[^&\s]+")


def without_password(text: str) -> str:
    """Return a text in which the passwords of URLs cannot be read."""
    return _PARAMETER.sub(_hidden, _PASSWORD.sub(r"\1:***@", text))


def _hidden(parameter: re.Match[str]) -> str:
    """Return a parameter of a URL's query: a driver takes passwords from there as well."""
    start, name = parameter.groups()
    return f"{start}***" if "password" in unquote_plus(name).lower() else parameter[0]
