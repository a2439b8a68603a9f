import math
import numpy as np
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import INDEX, MEAN, WIDTH
from lexbandit.kernels.ties import best_arm, ONLY_ROW, share_among_best, top_of, value_of

@inlined
def choose(stats, slot, ceilings, row, threshold, allowances, blur, lam, random):
    top = best_arm(stats, slot, 0, -math.inf, ceilings, row, random)
    if stats.shape[1] == 1 or stats[slot, 0, WIDTH, top] > threshold:
        return top
    floor = stats[slot, 0, MEAN, top] - stats[slot, 0, WIDTH, top] - allowances[0]
    return best_arm(stats, slot, 1, floor, ceilings, row, random)

@kernel
def shares(stats, slot, ceilings, threshold, allowances, blur, lam):
    arms = ceilings.shape[1]
    out = np.zeros(arms)
    highest, ties, _ = top_of(stats, slot, 0, -math.inf, ceilings, ONLY_ROW)
    for top in range(arms):
        if value_of(stats, slot, 0, top, -math.inf, ceilings, ONLY_ROW) != highest:
            continue
        if stats.shape[1] == 1 or stats[slot, 0, WIDTH, top] > threshold:
            out[top] += 1.0 / ties
            continue
        floor = stats[slot, 0, MEAN, top] - stats[slot, 0, WIDTH, top] - allowances[0]
        share_among_best(stats, slot, 1, floor, ceilings, ONLY_ROW, 1.0/ties, out)
    return out
