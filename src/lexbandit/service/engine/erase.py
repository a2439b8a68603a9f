"""Remove or replace the contexts of decisions for good: in the log, in memory and in snapshots.

What the policy learned are sums over many decisions; they stay. So a state that is made of the log
anew, as after a changed definition, differs by what the erased decisions taught.
"""

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

from lexbandit.contexts import Contexts
from lexbandit.errors import InvalidInput
from lexbandit.service.engine.engine import Engine
from lexbandit.service.events import Event, body_of, read_body, rows_of

_PAGE = 200

Match = Callable[[Mapping[str, Any]], bool]


def of_ids(ids: Collection[str]) -> Match:
    """Match decisions by their ids."""
    wanted = set(ids)
    return lambda row: row["id"] in wanted


def of_unit(feature: str, value: str) -> Match:
    """Match decisions in whose context a feature has a value: a text, or as JSON has it.

    How a number is written makes no difference: 4711, 4711.0 and 4.711e3 are one number.
    """
    try:
        plain = json.loads(value)
    except ValueError:
        plain = value

    def matches(row: Mapping[str, Any]) -> bool:
        found = (row["context"] or {}).get(feature)
        if found is None or isinstance(found, str):
            return found is not None and found == value
        alike = isinstance(found, bool) == isinstance(plain, bool)  # true is not 1
        return (alike and found == plain) or str(found) == value

    return matches


async def erase(
    engine: Engine, point: str, match: Match, replacing: Mapping[str, Any] | None = None
) -> int:
    """Erase the contexts of the decisions that match; returns how many there are.

    `replacing` has new values of features; then the others stay. Values that do not fit the
    definition are refused: a start from the log could not take them. Decisions that are made
    meanwhile are not among those that match.

    Whoever asks a second time, such as after a kill, does what is left to do: the snapshots go
    first, so that as long as something else is left a decision matches, and the space is cleared
    whether or not any does.
    """
    contexts = engine.point(point).chooser.contexts
    ids: list[str] = []
    async for _, rows in _matching(engine, point, match):
        for row in rows:
            _check(contexts, row, replacing or {})
            ids.append(row["id"])
    if ids:
        known = set(ids)
        await engine.append(point, "erase", {"ids": list(dict.fromkeys(ids))})
        seq = engine.seq
        await engine.snapshots.take()
        await engine.storage.remove_snapshots(point, seq)
        # Of others no replica was told to forget the context.
        ours = _matching(engine, point, lambda row: row["id"] in known and match(row))
        async for event, rows in ours:
            await engine.storage.rewrite([_without(event, {row["id"] for row in rows}, replacing)])
    await engine.storage.shrink()
    return len(ids)


async def _matching(
    engine: Engine, point: str, match: Match
) -> AsyncIterator[tuple[Event, list[dict[str, Any]]]]:
    """Yield events of decisions that match, and these."""
    async for event in engine.storage.events(0, _PAGE, point):
        if event.kind == "decisions":
            rows = [row for row in rows_of(read_body(event)) if row["context"] and match(row)]
            if rows:
                yield event, rows


def _check(contexts: Contexts, row: Mapping[str, Any], replacing: Mapping[str, Any]) -> None:
    """Refuse new values that a context has no place for; one of an older definition has its own."""
    for name in replacing:
        if name not in row["context"] and name not in {one.name for one in contexts.features}:
            raise InvalidInput(
                f"decision {row['id']!r} has no feature {name!r} to replace, it has: "
                f"{', '.join(row['context'])}. Nothing was changed."
            )
    try:
        contexts.encode(row["context"])
    except InvalidInput:
        return
    try:
        contexts.encode({**row["context"], **replacing})
    except InvalidInput as error:
        raise InvalidInput(
            f"decision {row['id']!r} with its values replaced would not fit the definition: "
            f"{error} Nothing was changed."
        ) from None


def _without(event: Event, ids: set[str], replacing: Mapping[str, Any] | None) -> Event:
    """Return an event of decisions without the contexts of some of them."""
    body = read_body(event)
    rows = [_erased(row, replacing) if row["id"] in ids else row for row in rows_of(body)]
    head: dict[str, Any] = {key: body[key] for key in ("by", "version", "seen") if key in body}
    return event._replace(body=body_of({**head, "rows": rows}))


def _erased(row: dict[str, Any], replacing: Mapping[str, Any] | None) -> dict[str, Any]:
    left = {key: value for key, value in row.items() if key != "key"}
    if replacing is None:
        return {**left, "context": None}
    return {**left, "context": {**row["context"], **replacing}}
