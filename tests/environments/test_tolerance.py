import numpy as np
import pytest

import lexbandit
from lexbandit.environments.tolerance import KINDS, Tolerance
from lexbandit.errors import InvalidInput, UnknownName

every_kind = pytest.mark.parametrize("kind", list(KINDS))


def make(kind: str, world: int = 0) -> Tolerance:
    environment = lexbandit.make_environment("tolerance", kind=kind, world=world)
    assert isinstance(environment, Tolerance)
    return environment


@every_kind
def test_rewards_have_the_means_it_says(kind: str) -> None:
    """Every arm and objective of four worlds, over 50,000 rounds, within 5 standard errors."""
    for world in range(4):
        rounds = make(kind, world).rounds(50_000, seed=world)
        assert rounds.means is not None
        noise = rounds.outcomes - rounds.means
        error = noise.std(axis=0) / np.sqrt(len(rounds)) + 1e-12
        assert (np.abs(noise.mean(axis=0)) <= 5 * error).all()


@every_kind
def test_worlds_are_as_practitioners_meet_them(kind: str) -> None:
    """100 worlds: shapes, means inside the range, tolerances, contexts as the layout says."""
    for world in range(100):
        environment = make(kind, world)
        rounds = environment.rounds(200, seed=world)
        assert rounds.means is not None
        assert ((rounds.means > 0) & (rounds.means < 1)).all()
        assert environment.tolerances is not None
        assert len(environment.tolerances) == environment.objectives
        assert environment.tolerances[-1] == 0 < min(environment.tolerances[:-1])
        at = 0
        for name, size in environment.layout:
            coordinates = rounds.contexts[:, at : at + size]
            if (name, size) == ("category", 1):  # no context, as a chooser without features has it
                assert len(environment.layout) == 1
                assert (coordinates == 0).all()
            elif name == "category":
                assert set(np.unique(coordinates)) <= {0.0, 1.0}
                assert (coordinates.sum(axis=1) == 1).all()
            else:
                assert (name, size) == ("number", 1)
                assert len(np.unique(coordinates)) == 200
            at += size
        assert environment.dimension == at


@every_kind
@pytest.mark.parametrize("block", [1, 7, 64])
def test_a_stream_does_not_depend_on_its_blocks(kind: str, block: int) -> None:
    environment = make(kind, 3)
    whole = environment.rounds(100, seed=[3, 1])
    parts = list(environment.stream(100, seed=[3, 1], block=block))
    for array in ("contexts", "outcomes", "means"):
        together = np.concatenate([getattr(part, array) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, array))


@every_kind
def test_a_world_is_the_same_again_and_differs_from_the_others(kind: str) -> None:
    first, again = (make(kind, 5).rounds(20, seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.means, again.means)
    np.testing.assert_array_equal(first.outcomes, again.outcomes)
    tolerances = {make(kind, world).tolerances for world in range(50)}
    assert len(tolerances) == 50


def test_numbers_of_a_world_are_what_they_were() -> None:
    """Recorded numbers: results of studies hang on them."""
    environment = make("categories", 1000)
    means = environment.rounds(1, seed=0).means
    assert means is not None
    assert environment.arms == 5
    np.testing.assert_allclose(means[0, 0], [0.8001805812, 0.9855102943], atol=1e-9)


@every_kind
def test_every_arm_count_and_spread_is_in_its_range(kind: str) -> None:
    fewest, most = {"many-arms": (15, 30), "clicks": (4, 8)}.get(kind, (3, 8))
    worlds = [make(kind, world) for world in range(60)]
    arms = [environment.arms for environment in worlds]
    assert fewest <= min(arms) < max(arms) <= most
    assert {environment.objectives for environment in worlds} == {3 if kind == "three" else 2}


def test_rates_of_clicks() -> None:
    for world in range(50):
        environment = make("clicks", world)
        means = environment.rounds(500, seed=0).means
        assert means is not None
        assert environment.tolerances is not None
        best = means[..., 0].max()
        assert 0.01 <= best <= 0.05
        assert environment.tolerances[0] == pytest.approx(best / 10)


def test_arms_of_the_edge_lie_half_to_one_and_a_half_tolerances_behind() -> None:
    for world in range(50):
        environment = make("edge", world)
        means = environment.rounds(100, seed=0).means
        assert means is not None
        assert environment.tolerances is not None
        gaps = means[..., 0].max(axis=1, keepdims=True) - means[..., 0]
        gaps /= environment.tolerances[0]
        assert ((gaps == 0) | ((gaps > 0.49) & (gaps < 1.51))).all()


def test_quiet_worlds_have_nearly_no_noise_and_some_have_none() -> None:
    noise = []
    for world in range(60):
        rounds = make("quiet", world).rounds(200, seed=0)
        assert rounds.means is not None
        noise.append((rounds.outcomes - rounds.means).std())
    assert max(noise) <= 0.0011
    assert 10 <= noise.count(0.0) <= 30


def test_wide_worlds_use_a_tenth_of_the_range() -> None:
    for world in range(50):
        means = make("wide", world).rounds(500, seed=0).means
        assert means is not None
        assert (np.ptp(means, axis=(0, 1)) < 0.1).all()


def test_costs_with_heavy_tails_stay_inside_the_range() -> None:
    for world in range(30):
        outcomes = make("heavy-tails", world).rounds(2000, seed=0).outcomes
        assert ((outcomes[..., 1] > -1e-12) & (outcomes[..., 1] <= 1)).all()
        failed = (outcomes[..., 0] == 0).mean(axis=0)
        assert ((failed > 0.003) & (failed < 0.07)).all()


def test_five_of_eight_numbers_do_not_matter() -> None:
    environment = make("sparse", 2)
    point = np.full(8, 0.3)
    moved = np.tile(point, (8, 1)) + 0.4 * np.eye(8)
    change = np.abs(environment.means(moved) - environment.means([point])).max(axis=(1, 2))
    assert (change > 0).sum() == 3


def test_bad_parameters() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'smooth'\?"):
        make("smoth")
    with pytest.raises(InvalidInput, match="world must be"):
        make("smooth", -1)
