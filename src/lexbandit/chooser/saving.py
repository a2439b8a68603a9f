"""Save and load choosers: a zip of a JSON document and plain arrays. Loading executes no code.

    chooser.json      {"format": "lexbandit.chooser", "version": 1, "definition": ..., ...}
    policy/NAME.npy   the arrays of policy.state()
    waiting/NAME.npy  the decisions that wait for rewards: arms, points, ...

Files are replaced atomically, so a crash leaves the old one or the new one. A file of a newer
version is refused. docs/saving.md describes the format.
"""

import contextlib
import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lexbandit import checks
from lexbandit._internal.files import placing, written_whole
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.ledger import Ledger, Pending, propensity_of
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.kernels import comparison as kernel
from lexbandit.objectives import Objective
from lexbandit.policies import Policy
from lexbandit.policies.registry import renamed

FORMAT = "lexbandit.chooser"
VERSION = 1

Arrays = dict[str, np.ndarray]

FEATURES: dict[str, type[Feature]] = {
    kind.kind: kind for kind in (Number, Category, Flag, Cycle, Vector)
}

# What reading a damaged zip, JSON or array file can raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    EOFError,
    RuntimeError,
    OverflowError,
    MemoryError,
    SyntaxError,
)

# So many rows are encoded at once.
_TOGETHER = 1_000
_T = TypeVar("_T")

# What may differ between choosers that learned the same decisions and rewards.
_OF_ITS_OWN = ("random", "policy/random")


# The definition: what a chooser was made with.


def plain_values(value: Any) -> Any:
    """Return numpy's numbers and arrays and tuples as Python's own numbers and lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain_values(each) for key, each in value.items()}
    return [plain_values(each) for each in value] if isinstance(value, list | tuple) else value


def objective_of(plain: Mapping[str, Any]) -> Objective:
    """Return an objective from its plain form."""
    return Objective(**{**plain, "range": tuple(plain["range"])})


def feature_of(plain: Mapping[str, Any]) -> Feature:
    """Return a context feature from its plain form."""
    values = dict(plain)
    kind = values.pop("kind", None)
    if kind not in FEATURES:
        raise unknown_name("kind of context feature", kind, FEATURES)
    return FEATURES[kind](**values)


def arguments_of(definition: Mapping[str, Any], policy: Policy | None) -> dict[str, Any]:
    """Return the arguments of `Chooser` for a definition."""
    name = definition["policy"]
    if name is None and policy is None:
        raise InvalidInput(
            "it was saved with a policy object; pass one of the same kind: load(path, policy=...)."
        )
    if name is not None and policy is not None:
        raise InvalidInput(
            f"it was saved with the policy {name!r}, so load makes one itself: leave policy out."
        )
    return {
        "objectives": [objective_of(objective) for objective in definition["objectives"]],
        "arms": definition["arms"],
        "context": [feature_of(feature) for feature in definition["context"]],
        "policy": policy if policy is not None else name,
        **{key: definition[key] for key in ("explore", "wait", "keep", "horizon", "seed")},
        **(definition["settings"] if name is None else renamed(name, definition["settings"])),
    }


# The contents: what a chooser learned, and the pending decisions.


class ChooserSnapshot(NamedTuple):
    """A chooser at one moment: what can change is copied, the rest is referenced.

    Taking a snapshot locks the chooser for a short time; `contents_of` takes longer.
    """

    document: dict[str, Any]
    dimension: int
    arrays: Arrays
    recent: list[tuple[Floats, Booleans | None]]
    pending: list[Pending]


class Contents(NamedTuple):
    """What goes into a file: a document of plain values, and arrays."""

    document: dict[str, Any]
    arrays: Arrays


def snapshot(
    definition: dict[str, Any], arms: Arms, ledger: Ledger, past: set[str], random: np.ndarray
) -> ChooserSnapshot:
    """Return a chooser's definition, what it learned, and its pending decisions."""
    document = {
        "definition": definition,
        "active": arms.active.tolist(),
        "past": sorted(past),
        "made": ledger.made,
        "outside": dict(ledger.outside),
        "counts": {name: dict(counts) for name, counts in ledger.contexts.counts.items()},
        "expired": ledger.expired,
        "dropped": ledger.dropped,
        "defaulted": ledger.defaulted,
        "plays": list(ledger.plays),
        "rows": ledger.rows,
    }
    arrays = {f"policy/{name}": array for name, array in ledger.policy.state().items()}
    arrays["random"] = random.copy()
    arrays["received"] = ledger.sums.received.copy()
    arrays["comparison"] = ledger.sums.compared.copy()
    return ChooserSnapshot(
        document,
        ledger.contexts.dimension,
        arrays,
        list(ledger.recent),
        list(ledger.pending.values()),
    )


def no_pause() -> None:
    """Go on at once."""


def contents_of(taken: ChooserSnapshot, pause: Callable[[], None] = no_pause) -> Contents:
    """Return a snapshot as a document and arrays; `pause` is called now and then."""
    definition = taken.document["definition"]
    arms = len(definition["arms"])
    recent = [point for point, _ in taken.recent], [mask for _, mask in taken.recent]
    parts = [
        _waiting(part, taken.dimension, arms, len(definition["objectives"]))
        for part in in_parts(taken.pending, pause)
    ]
    arrays = {
        **taken.arrays,
        **_points_and_masks("recent", *recent, taken.dimension, arms),
        **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
    }
    return Contents({**taken.document, "waiting": [one.id for one in taken.pending]}, arrays)


def in_parts(rows: Sequence[_T], pause: Callable[[], None]) -> Iterator[Sequence[_T]]:
    """Yield parts of a list, one at least: a call on all of it would hold up other threads."""
    for start in range(0, max(len(rows), 1), _TOGETHER):
        yield rows[start : start + _TOGETHER]
        pause()


def _waiting(pending: Sequence[Pending], dimension: int, arms: int, depth: int) -> Arrays:
    """Return decisions that wait for rewards as arrays."""
    points, masks = [one.point for one in pending], [one.mask for one in pending]
    return {
        **_points_and_masks("waiting", points, masks, dimension, arms),
        "waiting/arms": np.array([one.arm for one in pending], np.int64),
        "waiting/propensities": np.array([one.propensity for one in pending], np.float64),
        "waiting/since": np.array([one.since for one in pending], np.float64),
        "waiting/rewards": _table_of([one.rewards for one in pending], depth),
        "waiting/learned": np.array([one.learned for one in pending], np.bool_),
    }


def _points_and_masks(
    kind: str,
    points: Sequence[Floats],
    masks: Sequence[Booleans | None],
    dimension: int,
    arms: int,
) -> Arrays:
    """Return points and masks as arrays; `masked` says where there was a mask."""
    masked = np.array([mask is not None for mask in masks], np.bool_)
    every = np.ones((len(masks), arms), np.bool_)
    if masked.any():
        every[masked] = _rows([mask for mask in masks if mask is not None], arms, np.bool_)
    return {
        f"{kind}/points": _rows(points, dimension, np.float64),
        f"{kind}/masks": every,
        f"{kind}/masked": masked,
    }


def _rows(arrays: Sequence[Any], length: int, dtype: type) -> np.ndarray:
    """Return arrays of one length as rows of a table; joining their bytes is the fastest way."""
    return np.frombuffer(b"".join(arrays), dtype).reshape(-1, length)


def _table_of(rewards: Sequence[tuple[float | None, ...]], depth: int) -> Floats:
    """Return rewards as a table; None becomes NaN."""
    flat = np.fromiter(chain.from_iterable(rewards), object, len(rewards) * depth)
    return flat.astype(np.float64).reshape(-1, depth)


def digest(contents: Contents) -> str:
    """Return a hash of what was learned, without random states, the seed and id prefixes."""
    document = {key: value for key, value in contents.document.items() if key != "past"}
    definition = dict(document["definition"])
    del definition["seed"]
    document["definition"] = definition
    arrays = {name: a for name, a in contents.arrays.items() if name not in _OF_ITS_OWN}
    if definition["wait"] is None:
        del arrays["waiting/since"]  # without a wait, time has no effect
    hashed = hashlib.sha256(text_of(document, "hashed", sort=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


@contextlib.contextmanager
def refusing_damage(where: str) -> Iterator[None]:
    """Turn errors of reading damaged contents into `InvalidInput` that names the source."""
    try:
        yield
    except KeyError as error:
        raise InvalidInput(f"{where} is damaged: it has no {error}.") from error
    except (TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{where} is damaged: {type(error).__name__} {error}.") from error
    except ValueError as error:
        raise InvalidInput(f"{where} cannot be loaded: {error}") from error


def restore(document: Mapping[str, Any], arrays: Arrays, arms: Arms, ledger: Ledger) -> None:
    """Restore what was learned; the policy comes last, since a user's own may refuse its state."""
    arms.active = checks.allowed_arms(document["active"], (len(arms),))
    contexts = ledger.contexts
    contexts.counts.update({name: dict(document["counts"][name]) for name in contexts.counts})
    for name in ("made", "expired", "dropped", "defaulted", "rows"):
        setattr(ledger, name, checks.whole(name, document[name], least=0))
    plays = [checks.whole("plays", count, least=0) for count in document["plays"]]
    if len(plays) != len(arms):
        raise InvalidInput(f"there are plays of {len(plays)} arms, not of {len(arms)}.")
    outside = document["outside"]
    ledger.outside.update(
        {name: checks.whole("outside", outside[name], least=0) for name in ledger.outside}
    )
    ledger.sums.load(
        array_of(arrays, "received", "f", (len(ledger.objectives), kernel.RECEIVED)),
        array_of(arrays, "comparison", "f", ledger.sums.compared.shape),
    )
    ledger.recent.extend(_points_in(arms, ledger, "recent", arrays))
    for decision in _pending(arms, ledger, document["waiting"], arrays):
        ledger.pending[decision.id] = decision
    ledger.policy.load_state(
        {
            name.removeprefix("policy/"): array
            for name, array in arrays.items()
            if name.startswith("policy/")
        }
    )
    ledger.plays = plays


def array_of(arrays: Arrays, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a file after checking its kind and shape."""
    array = arrays[name]
    if array.dtype.kind != kind or array.shape != shape:
        raise InvalidInput(f"{name} has {array.dtype} values of shape {array.shape}, not {shape}.")
    return array


def _points_in(
    arms: Arms, ledger: Ledger, kind: str, arrays: Arrays
) -> list[tuple[Floats, Booleans | None]]:
    """Return (point, mask) of a file's decisions."""
    n = len(arrays[f"{kind}/points"])
    points = array_of(arrays, f"{kind}/points", "f", (n, ledger.contexts.dimension))
    checks.in_unit_cube(f"{kind}/points", points)
    masks = array_of(arrays, f"{kind}/masks", "b", (n, len(arms)))
    masked = array_of(arrays, f"{kind}/masked", "b", (n,)).tolist()
    return [(point, masks[k] if masked[k] else None) for k, point in enumerate(points)]


def _pending(arms: Arms, ledger: Ledger, ids: Sequence[str], arrays: Arrays) -> list[Pending]:
    """Return the pending decisions of a file."""
    n = len(ids)
    points = _points_in(arms, ledger, "waiting", arrays)
    played = checks.arms_of(arrays["waiting/arms"], rounds=n, arms_known=len(arms))
    rewards = array_of(arrays, "waiting/rewards", "f", (n, len(ledger.objectives)))
    outside = np.abs(rewards) > checks.LARGEST_REWARD
    checks.refuse_first("waiting/rewards", rewards, outside, checks.REWARDS_ALLOWED)
    propensities = array_of(arrays, "waiting/propensities", "f", (n,)).tolist()
    since = array_of(arrays, "waiting/since", "f", (n,))
    checks.refuse_first("waiting/since", since, ~np.isfinite(since), "times are finite")
    rows = zip(
        ids,
        points,
        played.tolist(),
        map(propensity_of, propensities),
        since.tolist(),
        rewards.tolist(),
        array_of(arrays, "waiting/learned", "b", (n,)).tolist(),
        strict=True,
    )
    return [
        Pending(
            id=str(id),
            arm=arm,
            point=point,
            mask=mask,
            propensity=propensity,
            since=since,
            rewards=_rewards_of(values, ledger),
            learned=learned,
        )
        for id, (point, mask), arm, propensity, since, values, learned in rows
    ]


def _rewards_of(values: Sequence[float], ledger: Ledger) -> tuple[float | None, ...]:
    """Return rewards with None in place of NaN."""
    rewards = tuple(None if value != value else value for value in values)  # noqa: PLR0124
    return ledger.no_rewards if rewards == ledger.no_rewards else rewards


# Bytes and files.


def path_of(path: Any) -> Path:
    """Return the path of a file."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InvalidInput(f"path must be a text or a Path, got {path!r}.") from None
    try:
        storable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        storable = False
    if not storable:
        raise InvalidInput(f"path must have characters that a file's name can have, got {path!r}.")
    return Path(text)


def pack(document: dict[str, Any], arrays: Arrays, pause: Callable[[], None] = no_pause) -> bytes:
    """Return the bytes of a file, not compressed: floats hardly get smaller."""
    head = {"format": FORMAT, "version": VERSION, **document}
    text = text_of(head, "saved", pause=pause)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("chooser.json", text)
        for key, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(f"{key}.npy", member.getbuffer())
    return buffer.getvalue()


def text_of(
    document: dict[str, Any],
    purpose: str,
    *,
    sort: bool = False,
    pause: Callable[[], None] = no_pause,
) -> str:
    """Return a document as JSON."""
    try:
        members = sorted(document.items()) if sort else document.items()
        encoded = [f"{json.dumps(key)}: {_json(value, sort, pause)}" for key, value in members]
        return f"{{{', '.join(encoded)}}}"
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"this chooser cannot be {purpose}: {error}; settings of the policy must be plain "
            "numbers, texts and lists."
        ) from error


def _json(value: Any, sort: bool, pause: Callable[[], None]) -> str:
    """Return a member of a document as JSON, a long list in parts."""
    if isinstance(value, list) and len(value) > _TOGETHER:
        parts = [_json(part, sort, pause)[1:-1] for part in in_parts(value, pause)]
        return f"[{', '.join(parts)}]"
    return json.dumps(value, allow_nan=False, sort_keys=sort)


def write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with placing(path):
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder; a chooser is saved to a file.")
        with written_whole(path) as beside:
            beside.write_bytes(data)


def read(path: Path) -> bytes:
    """Read a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def unpack(where: str, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays; refuse damaged, foreign and newer files."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "chooser.json" not in archive.namelist():
                raise InvalidInput(f"{where} is not a saved chooser: it has no chooser.json.")
            document = json.loads(archive.read("chooser.json"))
            _check(where, document)
            arrays = {
                name.removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except InvalidInput:
        raise
    except (OSError, *_DAMAGE) as error:
        raise InvalidInput(f"{where} is not a saved chooser, or is damaged: {error}.") from error
    return document, arrays


def _check(where: str, document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(f"{where} is not a saved chooser: its format is another.")
    version = document.get("version")
    if version.__class__ is not int or version < 1:
        raise InvalidInput(f"{where} is damaged: its version is {version!r}.")
    if version > VERSION:
        raise InvalidInput(
            f"{where} was saved in version {version!r} of the format; this lexbandit reads "
            f"versions up to {VERSION}: install a newer one."
        )
