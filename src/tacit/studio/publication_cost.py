"""What publishing a model costs the people whose disguised reports it was learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tacit.core.bounds import is_undisguised
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design
from tacit.privacy import Limits, Prior
from tacit.privacy.published_model import inferences


def publication_cost(
    design: Design, prior: Prior, told: Prior | None, names: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """Epsilon of the reports, which publishing does not change, and what others can infer.

    Attributes that are sent undisguised have no line: their reports tell everything.
    """
    disguised = [group for group in design.groups if not is_undisguised(group)]
    own = {name for group in disguised for name in group.attributes}
    epsilons = [design.channel(group.attributes).epsilon for group in disguised]
    asked = [name for name in names if name in own]
    return {
        "epsilon": sum_up(epsilons) if epsilons else None,
        "undisguised": [name for name in design.schema.names if name not in own],
        "measured": told is not None,
        "inferences": [asdict(one) for one in inferences(design, prior, told, asked, limits)],
    }
