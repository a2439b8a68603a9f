"""The memory of a policy on cells: arrays that grow with the cells visited, not with m^d."""

from collections.abc import Callable

import numpy as np

from lexbandit.checks import Floats, Integers
from lexbandit.kernels import cells as kernel
from lexbandit.kernels.statistics import COUNT, PLAIN_FIELDS, SPREAD, SUM, derive

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
        self.plays: Floats = np.zeros((_FIRST_SLOTS, arms))
        self.stats: Floats = np.zeros((_FIRST_SLOTS, channels, fields, arms))
        self.priors: Floats = np.zeros((arms, 1 + channels))
        self.bounds: Floats = rows_for(self.keys)
        derive(self.stats, 0, _FIRST_SLOTS, self.bounds)

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.plays.shape[1])

    @property
    def channels(self) -> int:
        """The number of channels."""
        return int(self.stats.shape[1])

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
        if len(self.bounds) > 1 and self.used > known:
            self.bounds[known : self.used] = self._rows_for(self.keys[known : self.used])
        return slots

    def _grow(self) -> None:
        """Double the room for cells."""
        old = len(self.keys)
        new = 2 * old
        keys = np.full(new, -1, np.int64)
        keys[:old] = self.keys
        table = np.zeros((2 * new, 2), np.int64)
        kernel.insert(table, keys, 1, self.used)
        plays = np.zeros((new, *self.plays.shape[1:]))
        plays[:old] = self.plays
        stats = np.empty((new, *self.stats.shape[1:]))
        stats[:old] = self.stats
        stats[old:] = self.stats[0]
        if len(self.bounds) > 1:
            self.bounds = np.concatenate([self.bounds, np.tile(self.bounds[:1], (old, 1))])
        self.keys, self.table, self.plays, self.stats = keys, table, plays, stats

    def add_arm(self, weight: int, means: Floats) -> None:
        """Make room for one more arm, never played anywhere; `rows_for` knows of it already.

        In every cell it begins as if `weight` rewards of these means had come.
        """
        plays = np.zeros((len(self.keys), self.arms + 1))
        plays[:, :-1] = self.plays
        stats = np.zeros((*self.stats.shape[:3], self.arms + 1))
        stats[..., :-1] = self.stats
        prior = np.zeros(1 + self.channels)
        prior[0] = weight
        prior[1 : 1 + len(means)] = means
        self.plays, self.stats = plays, stats
        self.priors = np.vstack([self.priors, prior])
        self.bounds = self._rows_for(self.keys)
        for field, value in self._prior_sums(self.priors[-1:]).items():
            stats[:, :, field, -1] = value[0]
        derive(stats, 0, len(stats), self.bounds)

    def _prior_sums(self, priors: Floats) -> dict[int, Floats]:
        """Return by field what priors[n, 1 + channels] add to statistics, as (n, channels)."""
        weights, means = priors[:, :1], priors[:, 1:]
        sums = {COUNT: np.broadcast_to(weights, means.shape), SUM: weights * means}
        if self.stats.shape[2] > PLAIN_FIELDS:
            sums[SPREAD] = weights * np.maximum(means * (1.0 - means), 0.0)
        return sums

    def merge(self, contents: dict[str, np.ndarray]) -> None:
        """Add checked contents of other rounds; priors are counted once."""
        slots = self.visit(contents["cells"])
        self.plays[slots] += contents["plays"]
        names = {COUNT: "counts", SUM: "sums", SPREAD: "spreads"}
        for field, value in self._prior_sums(self.priors).items():
            more = contents[names[field]] - value
            self.stats[slots, :, field, :] += more.transpose(0, 2, 1)
        derive(self.stats, 1, self.used, self.bounds)

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of what is known, visited cells only: axes are (cell, arm, channel)."""
        visited = slice(1, self.used)
        contents = {
            "cells": self.keys[visited].copy(),
            "plays": self.plays[visited].astype(np.int64),
            "counts": self.stats[visited, :, COUNT, :].transpose(0, 2, 1).astype(np.int64),
            "sums": self.stats[visited, :, SUM, :].transpose(0, 2, 1).copy(),
        }
        if self.stats.shape[2] > PLAIN_FIELDS:
            contents["spreads"] = self.stats[visited, :, SPREAD, :].transpose(0, 2, 1).copy()
        contents["priors"] = self.priors.copy()
        return contents

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        fresh = CellMemory(
            arms=self.arms,
            channels=self.channels,
            fields=self.stats.shape[2],
            rows_for=self._rows_for,
        )
        fresh.priors = contents["priors"]
        for field, value in fresh._prior_sums(fresh.priors).items():
            fresh.stats[:, :, field, :] = value.T
        derive(fresh.stats, 0, len(fresh.stats), fresh.bounds)
        fresh.visit(contents["cells"])
        visited = slice(1, fresh.used)
        fresh.plays[visited] = contents["plays"]
        fresh.stats[visited, :, COUNT, :] = contents["counts"].transpose(0, 2, 1)
        fresh.stats[visited, :, SUM, :] = contents["sums"].transpose(0, 2, 1)
        if "spreads" in contents:
            fresh.stats[visited, :, SPREAD, :] = contents["spreads"].transpose(0, 2, 1)
        derive(fresh.stats, 1, fresh.used, fresh.bounds)
        self.__dict__.update(fresh.__dict__)
