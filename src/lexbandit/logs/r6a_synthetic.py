"""A synthetic day in the format of R6A: made up, and labelled so wherever it appears.

What is planted, and why it looks as it does:

- *Visitors* and *articles* have five features that add up to 1, as the real ones do (they are
  memberships in five groups). A visitor's are in proportion to w_k U_k^8, with U_k uniform and
  w = (1, 0.8, 0.6, 0.5, 0.3): most belong chiefly to one or two groups, and powers by squaring give
  the same numbers on every machine. Articles are Dirichlet(0.8, …, 0.8). All have six digits.
- *The pool* holds 20 articles. Every 40 minutes the oldest leaves and a new one enters, so the day
  has 55. Each visitor is shown one of the present 20, drawn uniformly, as in R6A.
- *Clicks* depend on the context x = (u, a) in [0,1]^4 that the paper's preparation makes of the
  visitor's and the article's features. A visitor at u likes best what lies at
  taste(u) = (0.2 + 0.6 u_2, 0.8 − 0.6 u_1) on the articles' map, and interest fades smoothly to
  nothing at a distance of 0.6 from there:

      P(click | x) = c · max(0, 1 − ‖a − taste(u)‖² / 0.6²)²

  The constant c makes the mean over the day's rows 4.07 %, the paper's figure; the clicks drawn
  from it differ from that by chance only (less than 4 √(0.0407 / rows), 0.04 percentage points at
  4.5 million rows). Where the probability is 0, it is exactly 0: there both arms are equal in the
  dominant objective and not displaying is optimal. Since it is a smooth function of the context,
  the means are known for every context and Assumption 1 of the paper holds (with L = 1, α = 1).

The shape was fixed before any policy was run on it.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lexbandit._internal.files import written_whole
from lexbandit.checks import Booleans, Floats, Integers, whole
from lexbandit.logs.preparation import Moments, Scaler, scaler_of_unique
from lexbandit.logs.r6a_lines import features_of
from lexbandit.logs.r6a_reader import Progress
from lexbandit.logs.recording import PREPARED, prepared_table
from lexbandit.logs.tables import write_blocks

VERSION = 1
CLICK_RATE = 0.0407
POOL = 20
FILE_NAME = "synthetic-ydata-fp-td-clicks-v1_0.20090501"

_GROUPS = np.array([1.0, 0.8, 0.6, 0.5, 0.3])
_ARTICLES = (0.8, 0.8, 0.8, 0.8, 0.8)
_REACH = 0.6
_SLOTS = 288  # of five minutes, R6A's resolution
_SLOTS_PER_POOL = 8
_START = 86_400  # 1970: no real visit, so that a renamed file is still known as synthetic
_FIRST_ARTICLE = 900_001  # R6A's own are about 109,500
_BLOCK = 1 << 18


def interest(contexts: Floats) -> Floats:
    """Return max(0, 1 − ‖a − taste(u)‖² / 0.6²)² at contexts[n, 4]: the click model without c."""
    across = contexts[:, 2] - (0.2 + 0.6 * contexts[:, 1])
    along = contexts[:, 3] - (0.8 - 0.6 * contexts[:, 0])
    closeness = np.maximum(0.0, 1.0 - (across * across + along * along) / (_REACH * _REACH))
    return np.asarray(closeness * closeness)


@dataclass(frozen=True)
class Visits:
    """A block of visits before anything is clicked."""

    timestamps: Integers
    users: Floats  # [n, 5]
    shown: Integers  # which of the day's articles


class SyntheticDay:
    """The synthetic day of `rows` visits that `seed` determines, drawn block by block."""

    def __init__(self, *, rows: int, seed: int, progress: Progress | None = None) -> None:
        self.rows = whole("rows", rows, least=1)
        self.seed = whole("seed", seed, least=0)
        self._progress = progress
        random = np.random.default_rng([self.seed, VERSION, 0])
        articles = POOL + (_SLOTS - 1) // _SLOTS_PER_POOL
        self.articles: Floats = np.round(random.dirichlet(_ARTICLES, articles), 6)

    def visits(self, stage: str) -> Iterator[Visits]:
        """Yield the day's visits; each call draws the same ones again, so nothing is stored."""
        for block, start in enumerate(range(0, self.rows, _BLOCK)):
            n = min(_BLOCK, self.rows - start)
            random = np.random.default_rng([self.seed, VERSION, 1, block])
            users = random.random((n, len(_GROUPS)))
            for _ in range(3):
                users *= users
            users *= _GROUPS
            users /= (users @ np.ones(len(_GROUPS)))[:, np.newaxis]
            slots = np.arange(start, start + n) * _SLOTS // self.rows
            shown = slots // _SLOTS_PER_POOL + random.integers(POOL, size=n)
            yield Visits(_START + 300 * slots, np.round(users, 6), shown)
            if self._progress is not None:
                self._progress(f"synthetic data: {stage}", start + n, self.rows)

    @cached_property
    def scalers(self) -> tuple[Scaler, Scaler]:
        """The paper's preparation of this day: of the visitors, and of the displayed articles."""
        moments = Moments()
        seen = np.zeros(len(self.articles), np.bool_)
        for visits in self.visits("principal components"):
            moments.add(visits.users)
            seen[visits.shown] = True
        users = Scaler.of(moments)
        for visits in self.visits("ranges"):
            users.widen(visits.users)
        return users, scaler_of_unique(self.articles[seen])

    def contexts(self, visits: Visits) -> Floats:
        """Return contexts[n, 4], exactly as they are stored."""
        users, articles = self.scalers
        x = np.hstack(
            [users.contexts(visits.users), articles.contexts(self.articles)[visits.shown]]
        )
        return x.astype(np.float32).astype(np.float64)

    @cached_property
    def ceiling(self) -> float:
        """The constant c of the click model: the highest click probability."""
        total = sum(interest(self.contexts(v)).sum() for v in self.visits("click rate"))
        return float(min(1.0, CLICK_RATE * self.rows / total))

    def clicked(self) -> Iterator[tuple[Visits, Floats, Booleans]]:
        """Yield the visits with their contexts and clicks."""
        for block, visits in enumerate(self.visits("clicks")):
            random = np.random.default_rng([self.seed, VERSION, 2, block])
            contexts = self.contexts(visits)
            probability = self.ceiling * interest(contexts)
            yield visits, contexts, random.random(len(contexts)) < probability

    @property
    def facts(self) -> dict[str, object]:
        """What the files say of themselves."""
        return {
            "source": "synthetic",
            "note": "Made up by lexbandit; not Yahoo! data.",
            "rows": self.rows,
            "seed": self.seed,
            "generator_version": VERSION,
            "ceiling": self.ceiling,
        }


def prepare_synthetic(
    *, rows: int, seed: int, cache: Path, progress: Progress | None = None
) -> Path:
    """Return the synthetic day as a prepared Parquet file, without going through text; made once.

    The file is what `r6a.prepare` makes of the file `write_synthetic` writes, up to rounding; its
    metadata say that it is synthetic and hold the constant c of the click model.
    """
    day = SyntheticDay(rows=rows, seed=seed, progress=progress)
    name = f"synthetic-r6a-{day.rows}-rows-seed-{day.seed}-v{VERSION}.prepared.parquet"
    target = Path(cache) / name
    if not target.is_file():
        metadata = {"lexbandit": json.dumps(day.facts)}
        tables = (prepared_table(x, clicks) for _, x, clicks in day.clicked())
        write_blocks(tables, target, schema=PREPARED, metadata=metadata)
    return target


def write_synthetic(
    folder: Path,
    *,
    rows: int,
    seed: int,
    compressed: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the synthetic day as an R6A text file, plain or gzip, and return its path.

    The format has no field for remarks, so the label is in the file's name and in a note beside it.
    """
    day = SyntheticDay(rows=rows, seed=seed, progress=progress)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (FILE_NAME + (".gz" if compressed else ""))
    note = folder / f"{FILE_NAME}.about.json"
    note.write_text(json.dumps(day.facts, indent=2) + "\n")
    with written_whole(target) as unfinished, unfinished.open("wb") as raw:
        if compressed:
            with gzip.GzipFile(FILE_NAME, "wb", compresslevel=1, fileobj=raw, mtime=0) as packed:
                packed.writelines(_lines(day))
        else:
            raw.writelines(_lines(day))
    return target


def _lines(day: SyntheticDay) -> Iterator[bytes]:
    """Yield the lines of the day, some thousand at a time."""
    sections = [f" |{_FIRST_ARTICLE + j} {features_of(row)}" for j, row in enumerate(day.articles)]
    pools = ["".join(sections[k : k + POOL]) for k in range(len(sections) - POOL + 1)]
    for visits, _, clicks in day.clicked():
        oldest = (visits.timestamps - _START) // (300 * _SLOTS_PER_POOL)
        rows = zip(
            visits.timestamps.tolist(),
            (visits.shown + _FIRST_ARTICLE).tolist(),
            clicks.astype(int).tolist(),
            visits.users.tolist(),
            oldest.tolist(),
            strict=True,
        )
        held: list[str] = []
        for timestamp, article, click, user, pool in rows:
            held.append(f"{timestamp} {article} {click} |user {features_of(user)}{pools[pool]}\n")
            if len(held) == 4096:
                yield "".join(held).encode("ascii")
                held.clear()
        yield "".join(held).encode("ascii")
