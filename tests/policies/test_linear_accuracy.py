"""Inverses that are kept up to date stay accurate, however many rounds and however bad the stream.

The reference is the inverse in extended precision: Newton's X(2I − AX) from numpy's inverse.
"""

import numpy as np
import pytest

import lexbandit
from lexbandit.features import make_features
from lexbandit.kernels.linear import REFRESH, invert
from lexbandit.rounds import Rounds

pytestmark = pytest.mark.compiled

BLOCK = 250_000


def exact_inverse(matrix: np.ndarray) -> np.ndarray:
    a = matrix.astype(np.longdouble)
    x = np.linalg.inv(matrix.astype(np.float64)).astype(np.longdouble)
    for _ in range(4):
        x = x @ (2 * np.eye(len(a)) - a @ x)
    return x


def contexts_of(stream: str, n: int, seed: int) -> np.ndarray:
    """Uniform contexts, or ones crowded about a line: nearly collinear features."""
    random = np.random.default_rng(seed)
    if stream == "uniform":
        return random.random((n, 2))
    along = random.random((n, 1))
    return np.clip(0.2 + 0.6 * along + 1e-3 * random.standard_normal((n, 2)), 0, 1)


def drift(stream: str, rounds: int) -> tuple[float, float, float]:
    """The relative errors of A⁻¹ against A as kept and as summed exactly, and A's condition."""
    policy = lexbandit.make_policy("lex-linucb", arms=1, dimension=2, objectives=1)
    features = make_features("legendre", dimension=2)
    total = 0.1 * np.eye(15, dtype=np.longdouble)
    for block in range(rounds // BLOCK):
        contexts = contexts_of(stream, BLOCK, block)
        policy.replay(Rounds(contexts, contexts[:, :1, np.newaxis]))
        phi = features.apply_all(contexts)
        total += phi.T @ phi
    state = policy.state()
    kept, inverse = state["grams"][0, 0], state["inverses"][0, 0]
    errors = [
        float(np.linalg.norm((inverse - best).astype(float)) / np.linalg.norm(best.astype(float)))
        for best in (exact_inverse(kept), exact_inverse(total))
    ]
    return errors[0], errors[1], float(np.linalg.cond(kept))


@pytest.mark.parametrize("stream", ["uniform", "crowded"])
def test_a_million_rounds(stream: str) -> None:
    error, _, condition = drift(stream, 1_000_000)
    assert error < 1e-8
    assert (condition > 1e6) == (stream == "crowded")


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["uniform", "crowded"])
def test_ten_million_rounds(stream: str) -> None:
    error, overall, _ = drift(stream, 10_000_000)
    assert error < 1e-8
    assert overall < (1e-8 if stream == "uniform" else 1e-4)  # the sum A itself is rounded


def test_the_inverse_is_computed_anew_by_the_arms_own_count() -> None:
    """One round short of it the inverse is Sherman and Morrison's; then it is Cholesky's."""
    contexts = contexts_of("crowded", REFRESH, 0)
    policy = lexbandit.make_policy("lex-linucb", arms=1, dimension=2, objectives=1)
    policy.replay(Rounds(contexts, contexts[:, :1, np.newaxis]))
    state = policy.state()
    again = np.linalg.inv(state["grams"][0, 0])
    np.testing.assert_allclose(state["inverses"][0, 0], again, rtol=1e-9)
    np.testing.assert_array_equal(state["inverses"][0, 0], state["inverses"][0, 0].T)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_cholesky_inverts(size: int) -> None:
    root = np.random.default_rng(size).standard_normal((size, size + 3))
    grams = (0.1 * np.eye(size) + root @ root.T)[np.newaxis, np.newaxis]
    inverses = np.zeros_like(grams)
    assert invert(grams, inverses, 0, 0, np.empty((size, size)))
    np.testing.assert_allclose(inverses[0, 0] @ grams[0, 0], np.eye(size), atol=1e-9)
    np.testing.assert_array_equal(inverses[0, 0], inverses[0, 0].T)


def test_a_matrix_singular_to_working_precision_keeps_the_inverse_it_had() -> None:
    grams = np.ones((1, 1, 3, 3))
    inverses = np.full((1, 1, 3, 3), 7.0)
    assert not invert(grams, inverses, 0, 0, np.empty((3, 3)))
    assert (inverses == 7.0).all()


def test_a_constant_context_is_no_trouble() -> None:
    """One feature vector, half a million times: the worst a Gram matrix can be, ridge aside."""
    n = 500_000
    contexts = np.full((n, 2), 0.3)
    policy = lexbandit.make_policy("lex-linucb", arms=1, dimension=2, objectives=1, ridge=1e-3)
    policy.replay(Rounds(contexts, np.full((n, 1, 1), 0.7)))
    report = policy.explain([0.3, 0.3]).arms[0]
    assert report.mean[0] == pytest.approx(0.7, abs=1e-6)
    assert report.width[0] == pytest.approx(0.1 * np.sqrt(2 * np.log(n + 2)) / np.sqrt(n), rel=1e-4)
    restored = lexbandit.make_policy("lex-linucb", arms=1, dimension=2, objectives=1, ridge=1e-3)
    restored.load_state(policy.state())
