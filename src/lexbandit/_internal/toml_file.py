"""Read TOML files so that errors name the file, the line and the key."""

import contextlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexbandit.errors import InvalidInput, unknown_name

Place = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]#]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\-\"' ]+?)\s*=")


class TomlFile:
    """A TOML file: its content, and the line of every key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.resolve().parent
        try:
            self.text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(f"{path} is not a text file in UTF-8.") from None
        except OSError as error:
            raise InvalidInput(f"cannot read {path}: {error.strerror}.") from None
        self.table = table_of(self.text, path)

    @contextlib.contextmanager
    def at(self, *place: str | int, table: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Add the file, the line and the key of a place to errors that are raised inside.

        If the message begins with a key of the `table` at the place, it is that key's line.
        """
        try:
            yield
        except InvalidInput as error:
            raise self.refusal(_meant(place, table or {}, str(error)), error) from None

    def refusal(self, place: Place, error: object) -> InvalidInput:
        """Return an error that names the file, the line and the key at a place."""
        line = line_of(self.text, place)
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        where = f"{self.path}{'' if line is None else f', line {line}'}, {key.removeprefix('.')}"
        return InvalidInput(f"{where}: {error}")

    def only(self, place: Place, table: Any, known: Sequence[str]) -> None:
        """Refuse what is no table, and an unknown key, with the nearest known one suggested."""
        if not isinstance(table, dict):
            with self.at(*place):
                raise InvalidInput(f"must be a table, got {table!r}.")
        for key in table:
            if key not in known:
                with self.at(*place, key):
                    raise unknown_name("key", key, known)

    def tables(self, place: Place, given: Any) -> list[dict[str, Any]]:
        """Return a list of tables, as [[...]] makes one."""
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            with self.at(*place):
                raise InvalidInput(f"must be tables, as [[{'.'.join(map(str, place))}]].")
        return given


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


def _meant(place: Place, table: Mapping[str, Any], said: str) -> Place:
    """Return the place of the key whose name an error begins with, as in `wait must be ...`."""
    key = said.partition(" ")[0]
    if key in table:
        return (*place, key)
    for outer, inner in table.items():
        if isinstance(inner, dict) and key in inner:
            return (*place, outer, key)
    return place
