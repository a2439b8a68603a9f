"""From a path to an operation."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from lexbandit.service.http.operations import Operation
from lexbandit.service.http.problems import MALFORMED, Problem

Methods = Mapping[str, Operation]


class Found(NamedTuple):
    """The operations of a path by method, and what the path names; `known`: the point is."""

    methods: Methods
    point: str
    named: Mapping[str, str]
    known: bool = True


class Router:
    """Finds the operations of a path.

    Paths that name nothing but a point are looked up as they are. The others are taken apart before
    they are decoded, so that an arm's name may have a slash in it.
    """

    def __init__(self, operations: Iterable[Operation], points: Iterable[str]) -> None:
        self._points = frozenset(points)
        self._patterns: dict[tuple[str, ...], dict[str, Operation]] = {}
        for operation in operations:
            parts = tuple(operation.path.split("/"))
            self._patterns.setdefault(parts, {})[operation.method] = operation
        self._exact: dict[bytes, Found] = {}
        for parts, methods in self._patterns.items():
            holes = [part for part in parts if part.startswith("{")]
            if not holes:
                self._exact["/".join(parts).encode()] = Found(methods, "", {})
            elif holes == ["{point}"]:
                for point in self._points:
                    path = "/".join(parts).replace("{point}", point)
                    self._exact[path.encode()] = Found(methods, point, {})

    def find(self, path: bytes) -> Found | None:
        """Return what is at a path; None if nothing is."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        given = path.split(b"/")
        for parts, methods in self._patterns.items():
            if len(parts) == len(given):
                named = _named(parts, given)
                if named is not None:
                    point = named.pop("point", "")
                    return Found(methods, point, named, point in self._points)
        return None


def _named(parts: tuple[str, ...], given: list[bytes]) -> dict[str, str] | None:
    named = {}
    for part, value in zip(parts, given, strict=True):
        if part.startswith("{") and value:
            named[part[1:-1]] = _text(value)
        elif part.encode() != value:
            return None
    return named


def _text(value: bytes) -> str:
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise Problem(MALFORMED, "the path is not UTF-8.") from None
