"""Fourier transforms and the factorizations that take a number of steps known beforehand.

On CPU and GPU the factorizations are calls into libraries, which XLA does not count. These are the textbook's figures,
leading terms only, and XLA's own where it has an operation (`cholesky`).
"""

from __future__ import annotations

import math
from typing import Any

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.sizes import elements, moved, nbytes
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES"]


def _fft(eqn: Any, context: Context) -> Cost:
    """8 flops for each element of the operand and each halving of each transformed dimension (rounded down).

    With several dimensions XLA multiplies their numbers of halvings, where a transform needs their sum. It does not
    matter as JAX lowers a transform of several dimensions as one operation, and this counts as XLA does.
    """
    halvings = math.prod(size.bit_length() - 1 for size in eqn.params["fft_lengths"])
    return Cost(8 * halvings * elements(eqn.invars[0].aval), moved(eqn))


def _cholesky(eqn: Any, context: Context) -> Cost:
    """n³/3 flops a matrix; half of it is read and half of the result written."""
    matrix = eqn.invars[0].aval
    return Cost(elements(matrix) * matrix.shape[-1] // 3, nbytes(matrix))


def _triangular_solve(eqn: Any, context: Context) -> Cost:
    """n² flops for each right-hand side; half of the matrix is read.

    XLA says mn²/2 multiplications with their additions and then counts twice as many: this counts what it says.
    """
    matrix, right = (v.aval for v in eqn.invars)
    return Cost(elements(right) * matrix.shape[-1], nbytes(matrix) // 2 + nbytes(right) + nbytes(eqn.outvars[0].aval))


def _elimination(eqn: Any, sixths: int) -> int:
    """Flops of eliminating column after column of a matrix, by `sixths` / 6 for each element that is still there."""
    matrix = eqn.invars[0].aval
    rows, columns = matrix.shape[-2:]
    steps = min(rows, columns)
    if steps == 0:
        return 0
    left = 6 * rows * columns * steps - 3 * (rows + columns) * steps**2 + 2 * steps**3
    return elements(matrix) // (rows * columns) * (sixths * left // 36)


def _lu(eqn: Any, context: Context) -> Cost:
    """2n³/3 flops a square matrix of n rows; mn² - n³/3 for m rows and n columns, m ≥ n. Pivoting is not counted."""
    return Cost(_elimination(eqn, 12), moved(eqn))


def _householder(eqn: Any, context: Context) -> Cost:
    """4n³/3 flops a square matrix of n rows; 2mn² - 2n³/3 for m rows and n columns, m ≥ n."""
    return Cost(_elimination(eqn, 24), moved(eqn))


def _qr(eqn: Any, context: Context) -> Cost:
    """The reflections of the factorization, and as much again to make them into a matrix."""
    return Cost(2 * _elimination(eqn, 24), moved(eqn))


def _hessenberg(eqn: Any, context: Context) -> Cost:
    """10n³/3 flops a matrix."""
    matrix = eqn.invars[0].aval
    return Cost(10 * elements(matrix) * matrix.shape[-1] // 3, moved(eqn))


def _tridiagonal(eqn: Any, context: Context) -> Cost:
    """4n³/3 flops a matrix."""
    matrix = eqn.invars[0].aval
    return Cost(4 * elements(matrix) * matrix.shape[-1] // 3, moved(eqn))


def _swaps(eqn: Any, context: Context) -> Cost:
    """No flops: rows change their places."""
    return Cost(0, moved(eqn))


RULES: dict[str, Rule] = {
    "cholesky": _cholesky,
    "fft": _fft,
    "geqp3": _householder,
    "geqrf": _householder,
    "hessenberg": _hessenberg,
    "householder_product": _householder,
    "lu": _lu,
    "lu_pivots_to_permutation": _swaps,
    "qr": _qr,
    "triangular_solve": _triangular_solve,
    "tridiagonal": _tridiagonal,
}
