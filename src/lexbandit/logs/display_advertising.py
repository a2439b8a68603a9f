"""Experiment 3 of the paper: to display an ad and pay for it, or not."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lexbandit.checks import Floats, whole
from lexbandit.environments.recorded import Recorded
from lexbandit.logs.r6a import cache_folder
from lexbandit.logs.r6a_synthetic import interest, prepare_synthetic
from lexbandit.logs.recording import Recording

PAPER_ROWS = 4_500_000


class DisplayAdvertising(Recorded):
    """A click, then the payment saved, when an ad may be displayed to a visitor (Section VII-C).

    Arm 0 displays the ad: the rewards are (1, 0) if the visitor clicks and (0, 0) if not. Arm 1
    does not: (0, 1). The context is the visitor's two features, then the ad's, in [0,1]^4. Both
    arms' rewards are known for every row of the recording, so replaying it needs no estimator.

    With a `path`, the recording is that prepared file (see `lexbandit.logs.r6a.prepare`). Without
    one it is a synthetic day (see `lexbandit.logs.r6a_synthetic`), made when it is first needed and
    stored in `cache`. Only the synthetic means are known.
    """

    arms = 2
    objectives = 2
    dimension = 4
    arm_names = ("display the ad", "do not display it")
    objective_names = ("click", "payment saved")

    def __init__(
        self, *, path: Path | None, rows: int | None, data_seed: int, cache: Path | None
    ) -> None:
        self._wanted = None if rows is None else whole("rows", rows, least=1)
        self._data_seed = whole("data_seed", data_seed, least=0)
        self._cache = cache_folder() if cache is None else Path(cache)
        self._lock = threading.Lock()
        self._recording: Recording | None = None
        if path is None:
            self.rows = self._wanted or PAPER_ROWS
        else:
            self._recording = Recording.open(Path(path))
            self.rows = min(self._recording.rows, self._wanted or self._recording.rows)

    @property
    def synthetic(self) -> bool:
        """Whether the data are made up."""
        return self._recording is None or self._recording.facts.get("source") == "synthetic"

    @property
    def source(self) -> str:
        """Where the data come from, for captions."""
        if self.synthetic:
            return "synthetic data in the format of Yahoo! R6A"
        assert self._recording is not None
        return ", ".join(self._recording.facts.get("files", [self._recording.path.name]))

    @property
    def recording(self) -> Recording:
        """The prepared file; the synthetic one is made now if it is not there yet."""
        with self._lock:  # threads share an environment; the file is made once
            if self._recording is None:
                path = prepare_synthetic(rows=self.rows, seed=self._data_seed, cache=self._cache)
                self._recording = Recording.open(path)
            return self._recording

    def _read(self) -> Iterator[tuple[Floats, Floats]]:
        for contexts, clicks in self.recording.blocks():
            outcomes = np.zeros((len(contexts), self.arms, self.objectives))
            outcomes[:, 0, 0] = clicks
            outcomes[:, 1, 1] = 1.0
            yield contexts, outcomes

    def _known_means(self, contexts: Floats) -> Floats | None:
        ceiling = self.recording.facts.get("ceiling")
        if ceiling is None:
            return None
        means = np.zeros((len(contexts), self.arms, self.objectives))
        means[:, 0, 0] = ceiling * interest(contexts)
        means[:, 1, 1] = 1.0
        return means


def display_advertising(
    *,
    path: str | Path | None = None,
    rows: int | None = None,
    data_seed: int = 0,
    cache: str | Path | None = None,
) -> DisplayAdvertising:
    """Experiment 3: display an ad or not; clicks, then payment saved (synthetic without a path).

    path        a file made by `lexbandit.logs.r6a.prepare`; None: a synthetic day
    rows        how many rows: of the file at most (by default all); of the synthetic day 4,500,000
    data_seed   which synthetic day
    cache       where the synthetic day is stored; by default lexbandit's folder in the user's cache
    """
    return DisplayAdvertising(
        path=None if path is None else Path(path),
        rows=rows,
        data_seed=data_seed,
        cache=None if cache is None else Path(cache),
    )
