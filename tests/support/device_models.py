"""Random models of accuracy rounds: trees with binary and larger splits, and tables of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.survey import Survey, survey_from_dict


def device_question(name: str, size: int) -> dict[str, Any]:
    """A question with `size` answers."""
    categories = ["no", "yes"] if size == 2 else [f"{name}{i}" for i in range(size)]
    return {"name": name, "text": f"Which {name}?", "categories": categories}


def random_tree(rng: np.random.Generator, sizes: list[int], classes: list[str]) -> list[Any]:
    """Nodes of a random tree; at every other split one answer goes against all others."""
    nodes: list[Any] = []

    def grow(depth: int) -> int:
        place = len(nodes)
        nodes.append(None)
        if depth == 0 or (place and rng.random() < 0.15):
            nodes[place] = {"category": classes[rng.integers(len(classes))]}
            return place
        at = int(rng.integers(len(sizes)))
        if rng.random() < 0.5:
            to = [grow(depth - 1) for _ in range(sizes[at])]
        else:
            own, others = grow(depth - 1), grow(depth - 1)
            alone = rng.integers(sizes[at])
            to = [own if code == alone else others for code in range(sizes[at])]
        nodes[place] = {"question": f"q{at}", "to": to}
        return place

    grow(5)
    return nodes


def random_scores(rng: np.random.Generator, sizes: list[int], n_classes: int) -> dict[str, Any]:
    """Scores from few values, so that many sums are equal."""
    return {
        "prior": rng.integers(-2, 3, n_classes).tolist(),
        "tables": [rng.integers(-2, 3, (n_classes, k)).tolist() for k in sizes],
    }


def round_survey(seed: int, kind: str, **others: Any) -> Survey:
    """A survey with a random model; `kind` is tree, or scores."""
    rng = np.random.default_rng(seed)
    sizes = [int(k) for k in rng.integers(2, 6, 6)]
    target = device_question("target", int(rng.integers(2, 5)))
    made: dict[str, Any] = {
        "reports": "correct",
        "fingerprint": f"{seed:064x}",
        "target": target,
        "questions": [device_question(f"q{i}", k) for i, k in enumerate(sizes)],
    }
    if kind == "tree":
        made["tree"] = random_tree(rng, sizes, target["categories"])
    else:
        made["scores"] = random_scores(rng, sizes, len(target["categories"]))
    content = {
        "title": "Round",
        "questions": [{"name": "correct", "kind": "yes_no", "text": "Was the model right?"}],
        "groups": [{"questions": ["correct"], "family": "related", "theta": "3/4"}],
        "model": made,
    }
    return survey_from_dict(content | others, "round")
