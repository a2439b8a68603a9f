"""Decide whether a request is sent again, and after how long."""

import random
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time

from lexbandit.client.wire import Answer, error_of
from lexbandit.errors import InvalidInput, ServiceError, counted, without_password

_FIRST = 0.1
_LONGEST = 5.0
# With these waits a service that is started again within 15 seconds is not missed.
RETRIES = 9
# A longer Retry-After is an error at once, instead of a wait.
_PATIENT = 30.0
# What OpenSSL calls an answer that is not TLS, by its version.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
# The errors of httpx for a connection that was closed or reset instead of an answer.
_CLOSED = ("ReadError", "RemoteProtocolError")


class Attempts:
    """The attempts at one request: at most `retries` after the first.

    The waits double from 0.1 s up to 5 s, each shortened by up to a quarter at random so that many
    clients do not come back at the same moment; a Retry-After is waited out in full.
    """

    def __init__(self, retries: int) -> None:
        self.left = retries
        self.tried = 0

    def after_silence(self, error: Exception, url: str) -> float:
        """Return how long to wait after no answer; raise if it was the last attempt."""
        if self.left == 0:
            reason = str(error) or type(error).__name__
            if any(name in reason for name in _NO_TLS):
                reason += ", as from a service without TLS, whose address begins with http://"
            elif url.startswith("http://") and type(error).__name__ in _CLOSED:
                reason += ", as from a service with TLS, whose address begins with https://"
            raise ServiceError(
                f"no answer from {without_password(url)} in "
                f"{counted(self.tried + 1, 'attempt')}, at last: {reason}. "
                "Whether the request arrived is not known; sending it again with the same id is "
                "safe."
            ) from error
        return self._next()

    def after(self, answer: Answer) -> float:
        """Return how long to wait after an answer that is not good; raise if that is no use."""
        error, asked = error_of(answer), _asked(answer.headers)
        passing = isinstance(error, ServiceError) and error.passing
        if not passing or self.left == 0 or asked > _PATIENT:
            raise error
        return max(self._next(), asked)

    def _next(self) -> float:
        wait = min(_FIRST * 2.0**self.tried, _LONGEST)
        self.left -= 1
        self.tried += 1
        return wait * random.uniform(0.75, 1.0)


def url_of(url: str) -> str:
    """Return the service's address, without a slash at its end."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        shown = without_password(url) if isinstance(url, str) else url
        raise InvalidInput(f"url must begin with http:// or https://, got {shown!r}.")
    return url.rstrip("/")


def key_of(key: str) -> str:
    """Return a checked API key; an error does not repeat it."""
    if not isinstance(key, str):
        raise InvalidInput(f"key must be a text, got {type(key).__name__}.")
    if not key or any(not "!" <= character <= "~" for character in key):
        wrong = "this one is empty; give None where the service runs without keys"
        if key:
            wrong = "this one has a character that is none of them"
        if key != key.strip():
            wrong = "this one has white space around it, such as a file's newline: use .strip()"
        raise InvalidInput(
            f"key must be the visible ASCII characters that `lexbandit key` printed; {wrong}."
        )
    return key


def _asked(headers: Mapping[str, str]) -> float:
    """Return the seconds that a Retry-After asks for."""
    header = headers.get("retry-after", "")
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(header).timestamp() - time(), 0.0)
    except (TypeError, ValueError):
        return 0.0
