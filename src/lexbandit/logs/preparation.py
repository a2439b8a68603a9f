"""The paper's preparation of R6A (Section VII-C): principal components, then [0, 1].

Everything is worked out from sums, so the rows can pass by in blocks: a covariance first, then the
range of the projections, then the contexts.
"""

from dataclasses import dataclass

import numpy as np

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput

COMPONENTS = 2


class Moments:
    """Count, mean and covariance of rows that arrive in blocks.

    Sums are taken about the first block's mean, so that nothing is lost to cancellation.
    """

    def __init__(self) -> None:
        self.count = 0
        self._about: Floats = np.empty(0)

    def add(self, rows: Floats) -> None:
        """Count the rows[n, k] in."""
        if not len(rows):
            return
        if not self.count:
            self._about = rows.mean(axis=0)
            self._sum = np.zeros(rows.shape[1])
            self._products = np.zeros((rows.shape[1], rows.shape[1]))
        centred = rows - self._about
        self.count += len(rows)
        self._sum += centred.sum(axis=0)
        self._products += centred.T @ centred

    @property
    def mean(self) -> Floats:
        """The mean of all rows."""
        if not self.count:
            raise InvalidInput("no rows were counted, so there is no mean.")
        return np.asarray(self._about + self._sum / self.count)

    @property
    def covariance(self) -> Floats:
        """The covariance, with 1/n: principal axes do not depend on the factor."""
        offset = self.mean - self._about
        return np.asarray(self._products / self.count - np.outer(offset, offset))


def principal_axes(moments: Moments) -> Floats:
    """Return axes[k, 2]: the two directions of most variance.

    An axis and its opposite serve as well; the one whose largest entry is positive is taken (the
    first of them if entries are equally large), so that the same rows always give the same axes.
    """
    _, vectors = np.linalg.eigh(moments.covariance)
    axes = vectors[:, ::-1][:, :COMPONENTS]
    # Rounding must not decide between entries that are equal in truth.
    largest = np.argmax(np.round(np.abs(axes), 9), axis=0)
    signs = np.where(axes[largest, np.arange(COMPONENTS)] < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(axes * signs)


@dataclass
class Scaler:
    """Principal components of rows, brought to [0, 1] by their least and greatest values.

    `widen` must have seen the rows that `contexts` is asked for. A component that never varies
    becomes ½.
    """

    centre: Floats
    axes: Floats
    least: Floats
    greatest: Floats

    @classmethod
    def of(cls, moments: Moments) -> "Scaler":
        """Return the scaler of the counted rows, its range still to be widened."""
        axes = principal_axes(moments)
        infinite = np.full(COMPONENTS, np.inf)
        return cls(moments.mean, axes, infinite, -infinite)

    def _components(self, rows: Floats) -> Floats:
        """Return components[2, n]: one contiguous row each, ten times as fast as columns."""
        components = np.empty((COMPONENTS, len(rows)))
        for j, axis in enumerate(self.axes.T):
            np.matmul(rows, np.ascontiguousarray(axis), out=components[j])
            components[j] -= self.centre @ axis
        return components

    def widen(self, rows: Floats) -> None:
        """Take the rows[n, k] into the range."""
        if len(rows):
            components = self._components(rows)
            self.least = np.minimum(self.least, components.min(axis=1))
            self.greatest = np.maximum(self.greatest, components.max(axis=1))

    def contexts(self, rows: Floats) -> Floats:
        """Return the contexts[n, 2] of rows[n, k]."""
        contexts = np.empty((len(rows), COMPONENTS))
        for j, component in enumerate(self._components(rows)):
            span = self.greatest[j] - self.least[j]
            if span > 1e-9:  # features have six digits: less is rounding
                # A row may project a rounding error beyond the range found in other blocks.
                np.clip((component - self.least[j]) / span, 0.0, 1.0, out=contexts[:, j])
            else:
                contexts[:, j] = 0.5
        return contexts


def scaler_of_unique(rows: Floats) -> Scaler:
    """Return the scaler of the different rows among `rows`, each counted once."""
    unique = np.unique(rows, axis=0)
    moments = Moments()
    moments.add(unique)
    scaler = Scaler.of(moments)
    scaler.widen(unique)
    return scaler
