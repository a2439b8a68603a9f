"""IPS and DR of every objective by Open Bandit Pipeline: processor seconds for one pass.

    PYTHON benchmarks/by_obp.py ROWS ARMS OBJECTIVES

PYTHON is an interpreter that has obp, such as one of a virtual environment of its own;
`python -m benchmarks.logs --obp PYTHON` runs this and compares. It prints the least of five passes.
"""

import sys
import time

import numpy as np
from obp.ope import DoublyRobust, InverseProbabilityWeighting

rows, arms, objectives = map(int, sys.argv[1:])
random = np.random.default_rng(0)
chances = random.dirichlet(np.ones(arms), rows)
action = (chances.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
candidate = random.dirichlet(np.ones(arms), rows)
given = {
    "action": action,
    "pscore": chances[np.arange(rows), action],
    "action_dist": candidate[:, :, np.newaxis],
    "position": np.zeros(rows, np.int64),
}
rewards = random.random((objectives, rows))
predicted = random.random((objectives, rows, arms, 1))
ips, dr = InverseProbabilityWeighting(), DoublyRobust()
least = float("inf")
for _ in range(5):
    start = time.thread_time()
    for reward, model in zip(rewards, predicted, strict=True):
        ips.estimate_policy_value(reward=reward, **given)
        dr.estimate_policy_value(reward=reward, estimated_rewards_by_reg_model=model, **given)
    least = min(least, time.thread_time() - start)
print(least)
