"""The memory of a policy on cells: arrays that grow with the cells visited, not with m^d."""

from collections.abc import Callable

import numpy as np

from lexbandit.checks import Floats, Integers
from lexbandit.kernels import cells as kernel
from lexbandit.kernels.statistics import (
    COUNT,
    PLAIN_FIELDS,
    SPREAD,
    SUM,
    Cells,
    derive,
    empty_cells,
)

_FIRST_SLOTS = 64

RowsFor = Callable[[Integers], Floats]


class CellMemory:
    """Plays and statistics by slot, and the table that finds a cell's slot.

    The arrays are those of `kernels.statistics` and `kernels.cells`; slot 0 stands for every cell
    that was never visited, slots 1 to `used`−1 for the visited ones in order of first visit.
    `rows_for` tells the rows of `bounds` for cells by their keys; one row, if all cells are alike.
    priors[arm] is (weight, means…) of what an arm began with in every cell, visited or not: it is
    part of the statistics as if it had been observed, and is kept to be told apart from that.
    """

    def __init__(self, *, arms: int, channels: int, fields: int, rows_for: RowsFor) -> None:
        self._rows_for = rows_for
        self.used = 1
        self.keys: Integers = np.full(_FIRST_SLOTS, -1, np.int64)
        self.table: Integers = np.zeros((2 * _FIRST_SLOTS, 2), np.int64)
        self.priors: Floats = np.zeros((arms, 1 + channels))
        self.cells = empty_cells(_FIRST_SLOTS, arms, channels, fields, rows_for(self.keys))

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.cells.plays.shape[1])

    @property
    def channels(self) -> int:
        """The number of channels."""
        return int(self.cells.indices.shape[1])

    def slot(self, key: int) -> int:
        """Return the slot of a cell, 0 if it was never visited."""
        return int(kernel.slot_of(self.table, key))

    def visit(self, keys: Integers) -> Integers:
        """Return the slots of a block of cells; new cells get the next slots."""
        slots = np.empty(len(keys), np.int64)
        known = self.used
        start = 0
        while start < len(keys):
            self.used, done = kernel.visit(
                self.table, self.keys, self.used, keys[start:], slots[start:]
            )
            start += done
            if start < len(keys):
                self._grow()
        bounds = self.cells.bounds
        if len(bounds) > 1 and self.used > known:
            bounds[known : self.used] = self._rows_for(self.keys[known : self.used])
        return slots

    def _grow(self) -> None:
        """Double the room for cells."""
        old = len(self.keys)
        new = 2 * old
        keys = np.full(new, -1, np.int64)
        keys[:old] = self.keys
        table = np.zeros((2 * new, 2), np.int64)
        kernel.insert(table, keys, 1, self.used)
        self.keys, self.table = keys, table
        self.cells = Cells(
            *(
                array if name == "bounds" and len(array) == 1 else _with_copies(array, old)
                for name, array in self.cells._asdict().items()
            )
        )

    def add_arm(self, weight: int, means: Floats) -> None:
        """Make room for one more arm, never played anywhere; `rows_for` knows of it already.

        In every cell it begins as if `weight` rewards of these means had come.
        """
        prior = np.zeros(1 + self.channels)
        prior[0] = weight
        prior[1 : 1 + len(means)] = means
        self.priors = np.vstack([self.priors, prior])
        old, slots, fields = self.cells, len(self.keys), self.cells.stats.shape[3]
        rows = self._rows_for(self.keys)
        self.cells = empty_cells(slots, self.arms + 1, self.channels, fields, rows)
        self.cells.plays[:, :-1] = old.plays
        self.cells.stats[:, :-1] = old.stats
        for field, value in self._prior_sums(self.priors[-1:]).items():
            self.cells.stats[:, -1, :, field] = value[0]
        derive(self.cells, 0, slots)

    def _prior_sums(self, priors: Floats) -> dict[int, Floats]:
        """Return by field what priors[n, 1 + channels] add to statistics, as (n, channels)."""
        weights, means = priors[:, :1], priors[:, 1:]
        sums = {COUNT: np.broadcast_to(weights, means.shape), SUM: weights * means}
        if self.cells.stats.shape[3] > PLAIN_FIELDS:
            sums[SPREAD] = weights * np.maximum(means * (1.0 - means), 0.0)
        return sums

    def merge(self, contents: dict[str, np.ndarray]) -> None:
        """Add checked contents of other rounds; priors are counted once."""
        slots = self.visit(contents["cells"])
        self.cells.plays[slots] += contents["plays"]
        names = {COUNT: "counts", SUM: "sums", SPREAD: "spreads"}
        for field, value in self._prior_sums(self.priors).items():
            self.cells.stats[slots, :, :, field] += contents[names[field]] - value
        derive(self.cells, 1, self.used)

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of what is known, visited cells only: axes are (cell, arm, channel)."""
        visited = slice(1, self.used)
        stats = self.cells.stats[visited]
        contents = {
            "cells": self.keys[visited].copy(),
            "plays": self.cells.plays[visited].astype(np.int64),
            "counts": stats[..., COUNT].astype(np.int64),
            "sums": stats[..., SUM].copy(),
        }
        if self.cells.stats.shape[3] > PLAIN_FIELDS:
            contents["spreads"] = stats[..., SPREAD].copy()
        contents["priors"] = self.priors.copy()
        return contents

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        fresh = CellMemory(
            arms=self.arms,
            channels=self.channels,
            fields=self.cells.stats.shape[3],
            rows_for=self._rows_for,
        )
        fresh.priors = contents["priors"]
        for field, value in fresh._prior_sums(fresh.priors).items():
            fresh.cells.stats[..., field] = value
        derive(fresh.cells, 0, len(fresh.keys))
        fresh.visit(contents["cells"])
        visited = slice(1, fresh.used)
        fresh.cells.plays[visited] = contents["plays"]
        stats = fresh.cells.stats[visited]
        stats[..., COUNT] = contents["counts"]
        stats[..., SUM] = contents["sums"]
        if "spreads" in contents:
            stats[..., SPREAD] = contents["spreads"]
        derive(fresh.cells, 1, fresh.used)
        self.__dict__.update(fresh.__dict__)


def _with_copies(array: Floats, more: int) -> Floats:
    """Return the array with `more` rows, copies of its first: cells that nobody visited."""
    return np.concatenate([array, np.repeat(array[:1], more, axis=0)])
