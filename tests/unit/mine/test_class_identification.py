"""How many latent classes can be identified: published cases."""

from __future__ import annotations

import pytest

from tacit.mine.latent_class import is_identified, most_classes


@pytest.mark.parametrize(
    ("sizes", "n_classes", "identified"),
    [
        ((2,), 1, True),
        ((2, 2), 2, False),  # 5 parameters, 3 cells
        ((2, 2, 2), 2, True),  # as many parameters as cells
        ((2, 2, 2, 2), 2, True),
        ((2, 2, 2, 2), 3, False),  # Goodman (1974): 14 parameters, 15 cells, rank 13
        ((3, 3), 2, False),  # a product of matrices can be rotated
        ((3, 3, 3), 3, True),
        ((2,) * 15, 10, True),
    ],
)
def test_known_cases(sizes: tuple[int, ...], n_classes: int, identified: bool) -> None:
    assert is_identified(sizes, n_classes) is identified


def test_the_most_classes_are_limited() -> None:
    assert most_classes((2, 2, 2, 2), 10) == 2
    assert most_classes((2,) * 15, 4) == 4
