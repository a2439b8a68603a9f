"""The errors of the package, and words of messages: value, place, what is allowed, no secrets."""

import difflib
import re
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import unquote_plus

A = TypeVar("A")
B = TypeVar("B")

# A longer message is shortened in its middle: its beginning says what is wrong, its end what to do.
# The result is short enough that a row number in front of it does not shorten it again.
_LONGEST, _BEGINNING, _END = 1200, 600, 300
# Names longer than this get no suggestion: comparing megabytes would take seconds.
_LONGEST_NAME = 200
# Up to the last @, since a password that was not encoded may have any character; but not a port.
_PASSWORD = re.compile(r"(\w+://[^:@/\s]*):(?!\d+[/?#])\S+@")
_PARAMETER = re.compile(r"([?&]([^=&\s]+)=)[^&\s]+")


class InvalidInput(ValueError):
    """A value was refused; nothing changed.

    A message with a long value in it is shortened in its middle.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_shortened(message))


class UnknownName(InvalidInput):
    """No such policy, environment, parameter or state array."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Return the error for a name that is not one of `known`, with the nearest one suggested."""
    names, hint = sorted(known), "; a text is needed."
    if isinstance(name, str):
        hint = nearest(name, names)
    else:  # 1 is not "1", so both are shown as they would be typed
        names = list(map(repr, names))
    return UnknownName(f"unknown {kind} {name!r}{hint} Known: {', '.join(names) or 'none'}.")


def nearest(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean 'that'?" if a known name is similar, else a full stop."""
    names = list(known)
    wanted = name.lower() if isinstance(name, str) and len(name) <= _LONGEST_NAME else ""
    close = difflib.get_close_matches(wanted, [n.lower() for n in names], n=1, cutoff=0.5)
    near = [known for known in names if known.lower() in close]
    return f"; did you mean {near[0]!r}?" if near else "."


def _shortened(message: str) -> str:
    if len(message) <= _LONGEST:
        return message
    left_out = len(message) - _BEGINNING - _END
    return f"{message[:_BEGINNING]} … ({left_out:,} characters left out) … {message[-_END:]}"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, such as "1 arm" or "2,000 arms"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def there_are(number: int, what: str) -> str:
    """Return "there is 1 arm" or "there are 2 arms"."""
    return f"there {'is' if number == 1 else 'are'} {counted(number, what)}"


def row_by_row(check: Callable[[A], B], values: Iterable[A]) -> list[B]:
    """Return check(value) of each value; an error says in which row, counted from 0."""
    checked: list[B] = []
    try:
        for value in values:
            checked.append(check(value))
    except InvalidInput as error:
        raise type(error)(f"row {len(checked)}: {error}") from None
    return checked


def without_password(text: str) -> str:
    """Return a text in which the passwords of URLs cannot be read."""
    return _PARAMETER.sub(_hidden, _PASSWORD.sub(r"\1:***@", text))


def _hidden(parameter: re.Match[str]) -> str:
    """Return a parameter of a URL's query: a driver takes passwords from there as well."""
    start, name = parameter.groups()
    return f"{start}***" if "password" in unquote_plus(name).lower() else parameter[0]


class UnknownDecision(InvalidInput):
    """No such decision waits for rewards: its id is wrong, or it is too old."""


class Contradiction(InvalidInput):
    """A reward was given before with another value, or a decision was recorded before."""


# The answers of a service, or of a proxy in front of it, that mean "try again later".
_PASSING = frozenset({429, 502, 503, 504})


class ServiceError(Exception):
    """The decision service did not answer, or not with what was asked for.

    `status` is that of its answer; None if there was none.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status is None or self.status in _PASSING
