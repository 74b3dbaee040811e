"""The array types that all modules share, the least number they divide by, products of rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Shares, probabilities, weights.
Array = npt.NDArray[np.float64]
#: True where something holds.
Mask = npt.NDArray[np.bool_]
#: Codes of records (records x attributes), of the smallest unsigned type that holds them.
Codes = npt.NDArray[np.unsignedinteger[Any]]
#: Positions in another array.
Index = npt.NDArray[np.intp]
#: Takes the place of a smaller number in a divisor or a logarithm; far below any probability.
TINY = 1e-300


def row_products(first: Array, second: Array) -> Array:
    """The Kronecker products of the rows of two matrices."""
    return np.asarray((first[:, :, None] * second[:, None]).reshape(len(first), -1))
