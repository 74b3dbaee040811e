"""TreeMiner: what a decision tree and a forest of trees have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import DataError, unknown
from tacit.mine.miner import Miner
from tacit.mine.tree.criteria import CRITERIA
from tacit.mine.tree.tree import check_max_depth
from tacit.records.keys import column_blocks

#: Most categories of an undisguised feature; more would not fit in memory.
MOST_CATEGORIES = 2048


class TreeMiner(Miner):
    """A miner that splits by a criterion, to a largest depth."""

    criterion: str
    max_depth: int | None

    #: The number of categories of each undisguised feature.
    sizes_: list[int]

    def check_arguments(self) -> None:
        if not isinstance(self.criterion, str) or self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, tuple(CRITERIA)))
        check_max_depth(self.max_depth)

    def feature_sizes(self) -> list[int]:
        return list(self.sizes_ if self.features_ is None else self.features_.sizes)

    def of_records(
        self, X: Any, find: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """What `find` finds for each true record, from the codes of its features."""
        codes, sizes = self.feature_codes(X), self.feature_sizes()
        if math.prod(sizes) > len(codes) or min(sizes) < 2:
            return find(codes)
        # Fewer possible records than records: find it for each possible one.
        found = find(np.indices(sizes, codes.dtype).reshape(len(sizes), -1).T)
        return np.concatenate([found[block] for block in column_blocks(list(codes.T), sizes)])

    def set_sizes(self, X: npt.NDArray[Any]) -> None:
        """Set the sizes of undisguised features; refuse codes that are not numbered from 0 on."""
        if X.max(initial=0) >= MOST_CATEGORIES:
            raise DataError(
                f"category {X.max()} is too large: number the categories of a feature from 0 on, "
                f"at most {MOST_CATEGORIES:,}"
            )
        self.sizes_ = [int(column.max()) + 1 for column in X.T]
