"""What every environment must do: walks the registry, so a new one is checked by existing."""

import numpy as np
import pytest

import lexbandit
from lexbandit.environments import REGISTRY
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.rounds import Rounds
from naive import front, optimal_arms

every_environment = pytest.mark.parametrize("name", REGISTRY.names())


@every_environment
def test_has_a_line_of_description(name: str) -> None:
    assert REGISTRY.describe(name).endswith(".")
    assert name in repr(lexbandit.make_environment(name))


@every_environment
def test_rounds_have_the_shapes_it_says(name: str) -> None:
    environment = lexbandit.make_environment(name)
    rounds = environment.rounds(50, seed=0)
    assert isinstance(rounds, Rounds)
    assert rounds.contexts.shape == (50, environment.dimension)
    assert rounds.outcomes.shape == (50, environment.arms, environment.objectives)
    assert rounds.means is not None
    np.testing.assert_array_equal(rounds.means, environment.means(rounds.contexts))


@every_environment
@pytest.mark.parametrize("block", [1, 7, 64, 100, 1000])
def test_a_stream_does_not_depend_on_its_blocks(name: str, block: int) -> None:
    environment = lexbandit.make_environment(name)
    whole = environment.rounds(100, seed=[3, 1])
    parts = list(environment.stream(100, seed=[3, 1], block=block))
    assert all(len(part) <= block for part in parts)
    for array in ("contexts", "outcomes", "means"):
        together = np.concatenate([getattr(part, array) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, array))


@every_environment
def test_seeds_decide_the_stream(name: str) -> None:
    environment = lexbandit.make_environment(name)
    first, again, other = (environment.rounds(20, seed=s).contexts for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    if environment.rows is None:
        assert (first != other).any(axis=1).all()  # each round; a clock's feature is the same
    else:  # a recording is what it is
        np.testing.assert_array_equal(first, other)


@every_environment
@pytest.mark.compiled
def test_rewards_have_the_means_it_says(name: str) -> None:
    """Every arm and objective, over 400,000 rounds, within 5 standard errors."""
    rounds = lexbandit.make_environment(name).rounds(400_000, seed=8)
    assert rounds.means is not None
    noise = rounds.outcomes - rounds.means
    error = noise.std(0) / np.sqrt(len(rounds)) + 1e-12
    assert (np.abs(noise.mean(0)) <= 5 * error).all()


@every_environment
def test_truth_agrees_with_the_definitions(name: str) -> None:
    environment = lexbandit.make_environment(name)
    means = environment.means(np.random.default_rng(2).random((200, environment.dimension)))
    optimal, fronts = environment.optimal_arms(means), environment.pareto_front(means)
    for t in range(200):
        table = [tuple(row) for row in means[t].tolist()]
        assert np.flatnonzero(optimal[t]).tolist() == optimal_arms(table)
        assert np.flatnonzero(fronts[t]).tolist() == front(table)
    assert (fronts | ~optimal).all()  # Remark 1: an optimal arm lies in the Pareto front


@every_environment
def test_corners_of_the_context_space_are_fine(name: str) -> None:
    environment = lexbandit.make_environment(name)
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * environment.dimension)).T
    means = environment.means(corners.reshape(-1, environment.dimension))
    assert np.isfinite(means).all()


@every_environment
def test_bad_input_is_refused(name: str) -> None:
    environment = lexbandit.make_environment(name)
    with pytest.raises(InvalidInput, match="n must be a whole number of at least 1, got 0"):
        environment.rounds(0, seed=0)
    with pytest.raises(InvalidInput, match="seed must be"):
        environment.rounds(5, seed=-1)
    with pytest.raises(InvalidInput, match="block must be"):
        environment.stream(5, seed=0, block=0)
    with pytest.raises(InvalidInput, match="contexts must have shape"):
        environment.means(np.zeros((3, environment.dimension + 1)))
    with pytest.raises(InvalidInput, match=r"contexts\[0, 0\] is .*2\.0"):
        environment.means(np.full((3, environment.dimension), 2.0))
    with pytest.raises(UnknownName, match="unknown parameter of"):
        lexbandit.make_environment(name, sped=3)


def test_an_unknown_environment_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'synthetic'\?"):
        lexbandit.make_environment("sinthetic")
