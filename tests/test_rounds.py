import math

import numpy as np
import pytest

from lexbandit import InvalidInput, Rounds

CONTEXTS = np.full((3, 2), 0.5)
OUTCOMES = np.ones((3, 4, 2))


def test_keeps_its_arrays() -> None:
    rounds = Rounds(CONTEXTS.tolist(), OUTCOMES, np.zeros((3, 4, 2)))  # type: ignore[arg-type]
    assert rounds.contexts.dtype == np.float64
    assert rounds.outcomes.shape == (3, 4, 2)
    assert rounds.means is not None
    assert (len(rounds), rounds.dimension, rounds.arms, rounds.objectives) == (3, 2, 4, 2)


def test_slices_are_views() -> None:
    rounds = Rounds(CONTEXTS, OUTCOMES, OUTCOMES, np.ones((3, 4), bool))
    part = rounds[1:]
    assert len(part) == 2
    assert np.shares_memory(part.outcomes, rounds.outcomes)
    assert len(rounds[3:]) == 0
    with pytest.raises(InvalidInput, match="cut by slices"):
        rounds[0]  # type: ignore[index]


def with_value(array: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((with_value(CONTEXTS, (1, 0), 1.5), OUTCOMES), r"contexts\[1, 0\] is .*1\.5.*\[0, 1\]"),
        ((with_value(CONTEXTS, (2, 1), math.nan), OUTCOMES), r"contexts\[2, 1\] is .*nan"),
        ((CONTEXTS[0], OUTCOMES), "contexts must have shape"),
        ((CONTEXTS, OUTCOMES[:2]), r"outcomes must have shape \(3, any, any\), got \(2, 4, 2\)"),
        ((CONTEXTS, with_value(OUTCOMES, (0, 3, 1), -math.inf)), r"outcomes\[0, 3, 1\] is .*inf"),
        ((CONTEXTS, np.ones((3, 0, 2))), "at least one arm"),
        ((CONTEXTS, "rewards"), "outcomes must be an array of numbers"),
        ((CONTEXTS, OUTCOMES, OUTCOMES[:, :3]), "means must have shape"),
        ((CONTEXTS, OUTCOMES, with_value(OUTCOMES, (1, 1, 1), math.nan)), r"means\[1, 1, 1\]"),
        ((CONTEXTS, OUTCOMES, None, np.ones((3, 4))), "allowed must hold True and False"),
        ((CONTEXTS, OUTCOMES, None, np.ones((3, 3), bool)), "allowed must have shape"),
        ((CONTEXTS, OUTCOMES, None, np.arange(12).reshape(3, 4) > 3), r"allowed\[0\] allows no"),
    ],
)
def test_refuses_at_the_door(arrays: tuple[np.ndarray, ...], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Rounds(*arrays)


def test_nan_rewards_are_unobserved_not_wrong() -> None:
    assert np.isnan(Rounds(CONTEXTS, OUTCOMES * math.nan).outcomes).all()
