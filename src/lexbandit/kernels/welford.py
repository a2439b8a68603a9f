"""Count, mean and sum of squared distances from the mean of numbers, one after the other."""

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel

COUNT, MEAN, SQUARES = 0, 1, 2


@kernel
def add_numbers(spread: Array, values: Array) -> None:
    """Add values to spread[COUNT, MEAN, SQUARES] (Welford 1962)."""
    count, mean, squares = spread[COUNT], spread[MEAN], spread[SQUARES]
    for n in range(values.shape[0]):
        count += 1.0
        apart = values[n] - mean
        mean += apart / count
        squares += apart * (values[n] - mean)
    spread[COUNT], spread[MEAN], spread[SQUARES] = count, mean, squares
