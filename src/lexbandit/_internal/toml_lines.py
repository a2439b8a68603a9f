"""What a TOML file says, and which line a key stands on: tomllib does not tell the line."""

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from lexbandit.errors import InvalidInput

Place = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]#]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\-\"' ]+?)\s*=")


def table_of(text: str, path: Path) -> dict[str, Any]:
    """Return what the text of a file says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path}: not valid TOML: {error}.") from None
    except ValueError:  # the one thing else that Python will not read
        most = sys.get_int_max_str_digits()
        raise InvalidInput(f"{path}: a number in it has more than {most:,} digits.") from None
    except RecursionError:
        raise InvalidInput(f"{path}: brackets in it are nested too deeply.") from None


def line_of(text: str, place: Place) -> int | None:
    """Return the line of a key such as ("policies", 2, "beta"), or of the nearest table above it.

    Only lines that begin with a key or a [table] are looked at: a key in an inline table is given
    the line of that table.
    """
    found: dict[Place, int] = {}
    count: Counter[Place] = Counter()
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            name = _parts(header.group(2))
            table = _inside_latest(name, count)
            if header.group(1) == "[[":
                table = (*table, count[table])
                count[table[:-1]] += 1
            found.setdefault(table, number)
            found.setdefault(name, number)
        elif key:
            found.setdefault((*table, *_parts(key.group(1))), number)
    for end in range(len(place), 0, -1):
        if place[:end] in found:
            return found[place[:end]]
    return None


def _parts(dotted: str) -> Place:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _inside_latest(name: Place, count: Counter[Place]) -> Place:
    """Return the place of a header: [policies.grid] belongs to the latest of [[policies]]."""
    place: Place = ()
    for n, part in enumerate(name):
        place = (*place, part)
        if n < len(name) - 1 and count[place]:
            place = (*place, count[place] - 1)
    return place
