import math

import numpy as np
import pytest

import lexbandit
from lexbandit.environments.multichannel import Multichannel
from lexbandit.errors import InvalidInput


def test_means_are_success_probabilities() -> None:
    environment = lexbandit.make_environment("multichannel")
    assert isinstance(environment, Multichannel)
    x = (0.3, 0.9)
    means = environment.means([x])[0]
    assert environment.arms == 8
    for r, rate in enumerate((1.0, 0.5, 0.25, 0.1)):
        for q in range(2):
            success = math.exp(-(2**rate - 1) / (0.25 * 5 * x[q]))
            assert means[2 * r + q, 0] == pytest.approx(rate * success)
            assert means[2 * r + q, 1] == pytest.approx(success)
    assert environment.arm_names[3] == "rate 0.5 on channel 2"


def test_outcomes_follow_the_outage_rule() -> None:
    """A slower rate on the same channel gets through whenever a faster one does."""
    rounds = lexbandit.make_environment("multichannel").rounds(2000, seed=1)
    success = rounds.outcomes[:, :, 1].reshape(2000, 4, 2)
    assert (np.diff(success, axis=1) >= 0).all()
    throughput = rounds.outcomes[:, :, 0].reshape(2000, 4, 2)
    rates = np.array([1.0, 0.5, 0.25, 0.1])[:, np.newaxis]
    np.testing.assert_array_equal(throughput, success * rates)


def test_no_signal_never_gets_through() -> None:
    means = lexbandit.make_environment("multichannel").means([[0.0, 1.0]])[0]
    assert (means[0::2] == 0).all()
    assert (means[1::2] > 0).all()


def test_other_channels_gains_and_rates() -> None:
    environment = lexbandit.make_environment(
        "multichannel", gains=[0.1, 0.5, 2.0], rates=[3, 1], largest_snr=10
    )
    assert (environment.arms, environment.dimension) == (6, 3)
    means = environment.means([[0.5, 0.5, 0.5]])[0]
    assert means[2, 0] == pytest.approx(math.exp(-(2**3 - 1) / (2.0 * 5)))
    assert means[5, 0] == pytest.approx(math.exp(-1 / (2.0 * 5)) / 3)


def test_other_readings_of_the_gain_and_of_the_snr() -> None:
    """By hand: h of mean 0.25 with h² · SNR ≥ 2^R − 1; an SNR of 10^(5x/10)."""
    amplitude = lexbandit.make_environment("multichannel", exponential="amplitude")
    decibel = lexbandit.make_environment("multichannel", snr="decibel")
    x = (0.3, 0.9)
    for q in range(2):
        success = math.exp(-math.sqrt((2**0.5 - 1) / (5 * x[q])) / 0.25)
        assert amplitude.means([x])[0, 2 + q, 1] == pytest.approx(success)
        success = math.exp(-(2**0.5 - 1) / (0.25 * 10 ** (5 * x[q] / 10)))
        assert decibel.means([x])[0, 2 + q, 1] == pytest.approx(success)
    for environment in (amplitude, decibel):
        rounds = environment.rounds(40_000, seed=2)
        seen, expected = rounds.outcomes.mean(axis=0), rounds.means.mean(axis=0)  # type: ignore[union-attr]
        np.testing.assert_allclose(seen, expected, atol=0.01)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"gains": []}, "gains must be a list"),
        ({"gains": [0.2, 0.0]}, r"gains\[1\] must be a finite number above 0, got 0.0"),
        ({"rates": [math.nan]}, r"rates\[0\] must be .* got nan"),
        ({"rates": 2.0}, "rates must be a list"),
        ({"largest_snr": -1}, "largest_snr must be .* got -1"),
        ({"exponential": "gain"}, "unknown exponential 'gain'"),
        ({"snr": "decibels"}, "unknown snr 'decibels'; did you mean 'decibel'"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        lexbandit.make_environment("multichannel", **parameters)
