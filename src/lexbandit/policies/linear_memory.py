"""The memory of a linear policy: ridge regressions as arrays, one model a row."""

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput

# How far A⁻¹A may be from the identity, in units of the condition number: rounding, not damage.
_RESIDUE = 1e-8
_MOST_PLAYS = 2**53


class LinearMemory:
    """Gram matrices, their inverses, moments, weights and counts, as `kernels.linear` reads them.

    `rows` models of `size` features. One Gram matrix a row serves all objectives until `split`.
    """

    def __init__(self, *, rows: int, objectives: int, size: int, ridge: float) -> None:
        self.ridge = ridge
        self.grams: Floats = np.tile(ridge * np.eye(size), (rows, 1, 1, 1))
        self.inverses: Floats = np.tile(np.eye(size) / ridge, (rows, 1, 1, 1))
        self.moments: Floats = np.zeros((rows, objectives, size))
        self.weights: Floats = np.zeros((rows, objectives, size))
        self.counts: Floats = np.zeros((rows, objectives))

    def split(self) -> None:
        """Give every objective a Gram matrix of its own; so far they are equal."""
        objectives = self.counts.shape[1]
        self.grams = np.repeat(self.grams, objectives, axis=1)
        self.inverses = np.repeat(self.inverses, objectives, axis=1)

    def add_rows(self, rows: int) -> None:
        """Add models that have seen nothing."""
        fresh = LinearMemory(
            rows=rows,
            objectives=self.counts.shape[1],
            size=self.weights.shape[2],
            ridge=self.ridge,
        )
        if self.grams.shape[1] > 1:
            fresh.split()
        for name in ("grams", "inverses", "moments", "weights", "counts"):
            both = np.concatenate([getattr(self, name), getattr(fresh, name)])
            setattr(self, name, np.ascontiguousarray(both))

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of everything."""
        return {
            "counts": self.counts.astype(np.int64),
            "grams": self.grams.copy(),
            "inverses": self.inverses.copy(),
            "moments": self.moments.copy(),
            "weights": self.weights.copy(),
        }

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        self.counts = contents["counts"].astype(np.float64)
        self.grams = contents["grams"]
        self.inverses = contents["inverses"]
        self.moments = contents["moments"]
        self.weights = contents["weights"]

    def check(self, contents: dict[str, np.ndarray]) -> None:
        """Refuse contents that no stream of rewards can lead to."""
        for name in ("grams", "inverses", "moments", "weights"):
            array = contents[name]
            checks.refuse_first(f"state[{name!r}]", array, ~np.isfinite(array), "all are finite")
        for name in ("grams", "inverses"):
            array = contents[name]
            checks.refuse_first(
                f"state[{name!r}]", array, array != array.swapaxes(2, 3), "each is symmetric"
            )
        counts = contents["counts"]
        wrong = (counts < 0) | (counts > _MOST_PLAYS)
        checks.refuse_first("state['counts']", counts, wrong, "counts are at least 0, at most 2^53")
        if contents["grams"].shape[1] == 1 and (counts != counts[:, :1]).any():
            raise InvalidInput(
                "state['counts'] differ between objectives, and one Gram matrix serves them all."
            )
        for name in ("moments", "weights"):
            wrong = (counts[:, :, np.newaxis] == 0) & (contents[name] != 0)
            checks.refuse_first(f"state[{name!r}]", contents[name], wrong, "0 without counts")
        self._check_grams(contents["grams"], contents["inverses"], counts)
        self._check_weights(contents["grams"], contents["moments"], contents["weights"])

    def _check_weights(self, grams: Floats, moments: Floats, weights: Floats) -> None:
        """Refuse weights that do not solve Aθ = b."""
        grams = np.broadcast_to(grams, (*weights.shape[:2], *grams.shape[2:]))
        solved = np.einsum("rgjk,rgk->rgj", grams, weights)
        size = np.linalg.norm(grams, axis=(2, 3)) * np.linalg.norm(weights, axis=2)
        residue = np.abs(solved - moments).max(axis=2)
        checks.refuse_first(
            "state['grams'] times state['weights'], less state['moments'],",
            residue,
            residue > _RESIDUE * (size + np.linalg.norm(moments, axis=2)),
            "the weights must solve Aθ = b",
        )

    def _check_grams(self, grams: Floats, inverses: Floats, counts: np.ndarray) -> None:
        """Refuse Gram matrices that are not ridge·I + Σφφᵀ, and inverses that are not theirs."""
        size = grams.shape[2]
        unseen = np.broadcast_to((counts[:, : grams.shape[1]] == 0)[:, :, None, None], grams.shape)
        checks.refuse_first(
            "state['grams']",
            grams,
            unseen & (grams != self.ridge * np.eye(size)),
            f"a model without counts has the ridge {self.ridge:g} and nothing else",
        )
        values = np.linalg.eigvalsh(grams)
        lowest, highest = values[..., 0], values[..., -1]
        wrong = lowest < self.ridge * (1 - 1e-6) - 1e-12 * size * highest
        checks.refuse_first(
            "the least eigenvalue of state['grams']",
            lowest,
            wrong,
            f"each matrix is positive definite, with the ridge {self.ridge:g} or more",
        )
        residue = np.abs(inverses @ grams - np.eye(size)).max(axis=(2, 3))
        condition = np.linalg.norm(inverses, axis=(2, 3)) * highest
        checks.refuse_first(
            "state['inverses'] times state['grams'], less the identity,",
            residue,
            residue > _RESIDUE * condition,
            "each must be the inverse of its Gram matrix",
        )
