"""A TOML file whose errors name the file, the line and the key."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexbandit._internal.toml_lines import Place, line_of, table_of
from lexbandit.errors import InvalidInput, unknown_name


class TomlFile:
    """What a file says, and where it says it."""

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
        """Say the place with whatever is refused inside.

        If that begins with a key of the `table` that stands there, it is the key's place.
        """
        try:
            yield
        except InvalidInput as error:
            meant = _meant(place, table or {}, str(error))
            raise InvalidInput(f"{self._where(meant)}: {error}") from None

    def _where(self, place: Place) -> str:
        line = line_of(self.text, place)
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        return f"{self.path}{'' if line is None else f', line {line}'}, {key.removeprefix('.')}"

    def only(self, place: Place, table: Any, known: Sequence[str]) -> None:
        """Refuse what is no table, and a key that nobody knows, with the nearest one suggested."""
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


def _meant(place: Place, table: Mapping[str, Any], said: str) -> Place:
    """Return the place of the key whose name an error begins with, as in `wait must be ...`."""
    key = said.partition(" ")[0]
    if key in table:
        return (*place, key)
    for outer, inner in table.items():
        if isinstance(inner, dict) and key in inner:
            return (*place, outer, key)
    return place
