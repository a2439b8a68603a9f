"""A prepared recording: a Parquet file of contexts x1 … x4 and clicks, read in blocks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs.tables import pl, read_blocks, read_metadata, row_count

CONTEXT = ["x1", "x2", "x3", "x4"]
PREPARED = pl.Schema([*((name, pl.Float32) for name in CONTEXT), ("click", pl.Int8)])


def prepared_table(contexts: Floats, clicks: NDArray[Any]) -> pl.DataFrame:
    """Return the table of contexts[n, 4] and clicks[n], as it is stored: in single precision."""
    columns = {name: contexts[:, j].astype(np.float32) for j, name in enumerate(CONTEXT)}
    return pl.DataFrame(columns | {"click": clicks.astype(np.int8)})


@dataclass(frozen=True)
class Recording:
    """A prepared file: how many rows it has, and what was noted when it was made."""

    path: Path
    rows: int
    facts: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> "Recording":
        """Return the recording in a prepared file, or say what is wrong with it."""
        path = Path(path)
        metadata = read_metadata(path)
        schema = pl.read_parquet_schema(path)
        missing = [name for name in PREPARED if name not in schema]
        if missing:
            raise InvalidInput(
                f"{path} has no column {', '.join(missing)}; expected a file made by "
                "lexbandit.logs.r6a.prepare, with x1, x2, x3, x4 and click."
            )
        return cls(path, row_count(path), json.loads(metadata.get("lexbandit", "{}")))

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield contexts[n, 4] and clicks[n], in order, some hundred thousand rows at a time."""
        for table in read_blocks(self.path, list(PREPARED)):
            contexts = np.empty((table.height, len(CONTEXT)))
            for j, name in enumerate(CONTEXT):
                contexts[:, j] = table[name].to_numpy()
            yield contexts, table["click"].cast(pl.Float64).to_numpy()
