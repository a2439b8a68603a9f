"""Speed, as ratios against a baseline measured in the same run: `make bench`."""

import sys
from pathlib import Path

from lexbandit.kernels.jit import PATIENCE

# The baselines are the plain twins, which live with the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

# What is measured is compiled from its first call on.
PATIENCE.left = 0.0
