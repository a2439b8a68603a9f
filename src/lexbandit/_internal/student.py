"""The 97.5 % quantile of Student's t distribution, for 95 % intervals of a mean."""

NORMAL = 1.959964
"""The same quantile of the normal distribution: the limit for many degrees of freedom."""

# For 1, 2, … degrees of freedom; beyond these the expansion below is right to 1 in 10⁴.
_TABLE = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
    2.20099, 2.17881,
)  # fmt: skip


def student_quantile(freedom: int) -> float:
    """Return the quantile for so many degrees of freedom, at least 1.

    Beyond the table by its expansion (Abramowitz and Stegun, 1964, 26.7.5).
    """
    if freedom <= len(_TABLE):
        return _TABLE[freedom - 1]
    z = NORMAL
    first = (z**3 + z) / (4.0 * freedom)
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * freedom**3)
    return z + first + second + third
