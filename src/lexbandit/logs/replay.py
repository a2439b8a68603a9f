"""Policies that learn from scratch while a log is replayed to them.

A policy that learns is shown the rows one by one. Before each it has the probabilities π of the
arms; the row is *accepted* with probability c·π(a)/p, where a was played with propensity p, and
only then learned. So what it learns from is distributed as if it had chosen itself. On a uniform
log this is the replay of Li, Chu, Langford and Wang (2011, WSDM), who accept a row if the policy
picks the arm that was played; for other logs it is rejection sampling, with c at most p/π for every
arm.

`replay` averages the rewards of accepted rows. A row is accepted with probability c whatever its
context, so this is the log of two arms, "accepted" with the propensity c and "rejected", asked
about always the first. `dr-replay` scores every row by π, as any other candidate, so that also
rejected rows tell what the policy would have had: the doubly robust estimate for policies that
learn (Dudík, Erhan, Langford and Li, 2012, UAI). It needs fewer rows.
"""

from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.chooser import Chooser
from lexbandit.errors import InvalidInput
from lexbandit.logs.candidates import Asked, Candidate, chooser_for, kind
from lexbandit.logs.learning import uniform
from lexbandit.logs.log import Log
from lexbandit.logs.rows import Rows
from lexbandit.policies import REGISTRY

_REPLAY, _DOUBLY_ROBUST = "replay:", "dr-replay:"
# The stream of random numbers by which rows are accepted.
_STREAM = 1


class _Learner(Candidate):
    """A policy that learns from the rows it accepts, scored by its probabilities in every row."""

    learns = True

    def __init__(self, chooser: Chooser, log: Log, name: str) -> None:
        self.name = name
        self.features = tuple(chooser.contexts.names)
        self._chooser = chooser
        self._objectives = log.objectives
        self._rate = _rate(log)
        self._accepted: Booleans = np.zeros(0, np.bool_)

    def probabilities(self, rows: Rows) -> Floats:
        """Return π before each row, while the policy learns from those that it accepts."""
        chooser = self._chooser
        points = rows.points(chooser.contexts)
        rewards = rows.shares(self._objectives)
        observed = np.asarray(~np.isnan(rewards).all(axis=1))
        draws = uniform(np.arange(rows.start, rows.start + len(rows)), _STREAM)
        shares = np.empty((len(rows), len(chooser._arms)))
        accepted = np.zeros(len(rows), np.bool_)
        for t, arm in enumerate(rows.arms.tolist()):
            mask = None if rows.allowed is None else rows.allowed[t]
            shares[t] = chooser._propensities(points[t], mask)
            accepted[t] = draws[t] * rows.propensities[t] < self._rate * shares[t, arm]
            if accepted[t] and observed[t]:
                chooser.policy._update_checked(points[t], arm, rewards[t], mask)
        self._accepted = accepted
        return shares


class _Replay(_Learner):
    """The same policy, by the rewards of accepted rows alone."""

    arms = ("rejected", "accepted")

    def rewritten(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the block as one of a log whose arms accept a row and reject it."""
        if arrays["baseline"] is not None:
            raise InvalidInput(
                f"{self.name} can be held against what was logged only; for other candidates there "
                f"is {self.name.replace(_REPLAY, _DOUBLY_ROBUST)}."
            )
        accepted = self._accepted
        always = np.zeros((len(accepted), 2))
        always[:, 1] = 1.0
        return {
            **arrays,
            "action": accepted.astype(np.int64),
            "propensity": np.where(accepted, self._rate, 1.0 - self._rate),
            "candidate": always,
            "predicted": None,
            "allowed": None,
        }


def _rate(log: Log) -> float:
    """Return the probability of a row to be accepted: as low as the least propensity of any arm."""
    promised = log.explore / len(log.arms)
    least = min(float(rows.propensities.min()) for rows in log.batches(features=()))
    if least == 1.0:
        raise InvalidInput(
            "column 'propensity': all propensities are 1, so no other policy can be replayed."
        )
    # What `explore` promises holds for arms that were not played too; the log may show otherwise.
    return promised if 0.0 < promised <= least * (1.0 + 1e-9) else least


@kind
def replayed(asked: Asked) -> Candidate | None:
    """Read "replay:POLICY" or "dr-replay:POLICY": a policy that learns as the log goes on."""
    for prefix, make in ((_REPLAY, _Replay), (_DOUBLY_ROBUST, _Learner)):
        name = asked.after(prefix)
        if name is not None:
            REGISTRY.builder(name)  # an unknown name is refused with the nearest one
            return make(chooser_for(asked.log, {"policy": name}), asked.log, asked.given)
    return None
