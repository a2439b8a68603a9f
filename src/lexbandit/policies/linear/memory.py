"""The memory of a linear policy: ridge regressions as arrays, one model a row."""

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.features import FeatureMap
from lexbandit.kernels import linear as kernel
from lexbandit.policies.state import check_counted

# How far A⁻¹A may be from the identity, in units of the condition number: rounding, not damage.
_RESIDUE = 1e-8


def _prior_sums(priors: Floats, features: FeatureMap) -> tuple[Floats, Floats]:
    """Return what priors add to Gram matrices[R, 1, F, F] and to moments[R, D, F].

    w E[φφᵀ] and w m E[φ], with contexts uniform on [0,1]^d.
    """
    weights, means = priors[:, :1, np.newaxis], priors[:, 1:, np.newaxis]
    if not weights.any():
        return np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1))
    first, second = features.expectations()
    return weights[..., np.newaxis] * second, weights * means * first


def _solved(grams: Floats, inverses: Floats, moments: Floats) -> Floats:
    """Return θ that solves Aθ = b, from A⁻¹ and with one step that corrects its rounding."""
    weights = np.matmul(inverses, moments[..., np.newaxis])
    error = moments[..., np.newaxis] - np.matmul(grams, weights)
    return np.ascontiguousarray((weights + np.matmul(inverses, error))[..., 0])


class LinearMemory:
    """Gram matrices, their inverses, moments, weights and counts, as `kernels.linear` reads them.

    `rows` models of `size` features. One Gram matrix a row serves all objectives until `split`.
    priors[row] is (weight, means…) of what a model was told before its first round: it is part of
    the other arrays as if it had been observed, and is kept to be told apart from that.
    """

    def __init__(self, *, rows: int, objectives: int, size: int, ridge: float) -> None:
        self.ridge = ridge
        self.grams: Floats = np.tile(ridge * np.eye(size), (rows, 1, 1, 1))
        self.inverses: Floats = np.tile(np.eye(size) / ridge, (rows, 1, 1, 1))
        self.moments: Floats = np.zeros((rows, objectives, size))
        self.weights: Floats = np.zeros((rows, objectives, size))
        self.counts: Floats = np.zeros((rows, objectives))
        self.priors: Floats = np.zeros((rows, 1 + objectives))

    def split(self) -> None:
        """Give every objective a Gram matrix of its own, if they share one; so far it is theirs."""
        objectives = self.counts.shape[1] // self.grams.shape[1]
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
        for name in ("grams", "inverses", "moments", "weights", "counts", "priors"):
            both = np.concatenate([getattr(self, name), getattr(fresh, name)])
            setattr(self, name, np.ascontiguousarray(both))

    def set_prior(self, row: int, weight: int, means: Floats, features: FeatureMap) -> None:
        """Let a model that saw nothing know as much as after `weight` rounds of these means."""
        self.priors[row] = [weight, *means]
        gram, moments = _prior_sums(self.priors[row : row + 1], features)
        self.counts[row] += weight
        self.grams[row] += gram[0]
        self.moments[row] += moments[0]
        kernel.invert_all(self.grams[row : row + 1], self.inverses[row : row + 1])
        self.weights[row] = _solved(self.grams[row], self.inverses[row], self.moments[row])

    def merge(self, contents: dict[str, np.ndarray], features: FeatureMap) -> None:
        """Add checked contents of other rounds; the ridge and the priors are counted once."""
        if contents["grams"].shape[1] > self.grams.shape[1]:
            self.split()
        gram, moments = _prior_sums(self.priors, features)
        ridge = self.ridge * np.eye(self.grams.shape[2])
        theirs = np.broadcast_to(contents["grams"], self.grams.shape)
        grams = self.grams + (theirs - ridge - gram)
        inverses = np.empty_like(grams)
        if not kernel.invert_all(grams, inverses):
            raise InvalidInput("state['grams'] cannot be added: the sum is singular.")
        self.grams, self.inverses = grams, inverses
        self.moments += contents["moments"] - moments
        self.counts += contents["counts"] - self.priors[:, :1]
        self.weights = _solved(grams, inverses, self.moments)

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of everything."""
        return {
            "counts": self.counts.astype(np.int64),
            "grams": self.grams.copy(),
            "inverses": self.inverses.copy(),
            "moments": self.moments.copy(),
            "weights": self.weights.copy(),
            "priors": self.priors.copy(),
        }

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        self.counts = contents["counts"].astype(np.float64)
        self.priors = contents["priors"]
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
        check_counted(contents, "counts")
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
