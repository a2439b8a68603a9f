"""The types of arrays that kernels take."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Keys = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
