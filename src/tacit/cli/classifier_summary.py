"""A summary of any classifier, as plain values for the screen and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.mine.miner import Miner


def classifier_summary(kind: str, model: Miner, level: float, **others: Any) -> dict[str, Any]:
    """What all classifiers have, with P(class) at a confidence level, and what this one adds."""
    (_, classes), *numbers = model.prior().columns(level).items()
    return {
        "tacit": kind,
        "version": 1,
        "design": model.fingerprint_,
        "target": model.target,
        "level": level,
        "prior": {"class": classes, **dict(numbers)},
        **others,
        "notes": model.notes(),
    }
