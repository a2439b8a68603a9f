"""Experiment 2 of the paper: which channel to send on, and at what rate."""

from collections.abc import Sequence

import numpy as np

from lexbandit.checks import Floats, one_of, positive
from lexbandit.environments.base import Environment
from lexbandit.environments.registry import REGISTRY
from lexbandit.errors import InvalidInput


@REGISTRY.register("multichannel")
class Multichannel(Environment):
    """Experiment 2: a channel and a rate for each message; throughput, then reliability.

    An arm sends at a rate R on a channel Q (Sections III-C, VII-B). The context is each channel's
    SNR over its maximum, uniform. A channel's gain h² is exponential with the mean of `gains`,
    drawn anew each round; sending fails (outage) if log2(1 + h² · SNR) < R. The rewards are
    (R/R_max, 1) on success and (0, 0) on outage. All rates of a channel meet the same gain in a
    round. Arm q + Q·r is rate r on channel q.

    The paper's "exponential with parameter 0.25" is read as the mean: with rate 0.25, a mean of 4,
    its +13.66 % in the second objective would be impossible. Two further readings are here to be
    tried: `exponential` = "amplitude", where h is exponential and not h²; `snr` = "decibel", where
    10 log10(SNR) is uniform on [0, largest_snr].
    """

    objectives = 2

    def __init__(
        self,
        *,
        gains: Sequence[float] = (0.25, 0.25),
        rates: Sequence[float] = (1.0, 0.5, 0.25, 0.1),
        largest_snr: float = 5.0,
        exponential: str = "power",
        snr: str = "linear",
    ) -> None:
        self.gains = _positives("gains", gains)
        self.rates = _positives("rates", rates)
        self.largest_snr = positive("largest_snr", largest_snr)
        one_of("exponential", exponential, ("power", "amplitude"))
        one_of("snr", snr, ("linear", "decibel"))
        self.exponential = exponential
        self.snr = snr
        self.dimension = len(self.gains)
        self.arms = len(self.gains) * len(self.rates)
        # h² · SNR must reach this for rate r to get through.
        self._needed = np.exp2(self.rates) - 1.0
        self._throughput = self.rates / self.rates.max()

    @property
    def arm_names(self) -> list[str]:
        """What each arm is."""
        channels = range(1, self.dimension + 1)
        return [f"rate {rate:g} on channel {q}" for rate in self.rates for q in channels]

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        return random.random((n, self.dimension))

    def _means(self, contexts: Floats) -> Floats:
        if self.exponential == "amplitude":  # P(h² · SNR ≥ needed) = exp(−√(needed/SNR)/mean)
            with np.errstate(divide="ignore"):
                inverse = 1.0 / self._ratios(contexts)
            needed = inverse[:, np.newaxis, :] * self._needed[:, np.newaxis]
            return self._rewards(np.exp(-np.sqrt(needed) / self.gains))
        with np.errstate(divide="ignore"):  # an SNR of 0 needs an infinite gain: success 0
            inverse = -1.0 / self._ratios(contexts, self.gains)
        success = np.exp(inverse[:, np.newaxis, :] * self._needed[:, np.newaxis])
        return self._rewards(success)

    def _ratios(self, contexts: Floats, factor: Floats | float = 1.0) -> Floats:
        """Return the SNR of each channel times `factor`."""
        if self.snr == "decibel":
            return np.asarray(10.0 ** (contexts * self.largest_snr / 10.0) * factor)
        return np.asarray(contexts * (self.largest_snr * factor))

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        gains = self.gains * random.standard_exponential(contexts.shape)
        if self.exponential == "amplitude":
            gains = gains**2
        received = gains * contexts * self.largest_snr
        if self.snr == "decibel":
            received = gains * self._ratios(contexts)
        success = received[:, np.newaxis, :] >= self._needed[:, np.newaxis]
        return self._rewards(np.asarray(success, np.float64))

    def _rewards(self, success: Floats) -> Floats:
        """Return [n, K, 2] from success[n, R, Q]."""
        rewards = np.empty((*success.shape, 2))
        rewards[..., 0] = success * self._throughput[:, np.newaxis]
        rewards[..., 1] = success
        return rewards.reshape(len(success), self.arms, 2)


def _positives(name: str, values: Sequence[float]) -> Floats:
    if np.ndim(values) != 1 or len(values) == 0:
        raise InvalidInput(f"{name} must be a list of at least one number, got {values!r}.")
    return np.array([positive(f"{name}[{j}]", value) for j, value in enumerate(values)])
