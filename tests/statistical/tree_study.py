"""Accuracy of the default tree and the forest beside what else could be done with the same reports.

    python -m tests.statistical.tree_study --repeats 10 --out study.csv --table docs/trees.md

Data sets by designs; in every run true records are drawn and disguised anew, and the trees predict
other true records. Baselines: `literal`, the papers' procedure; `as if true`, scikit-learn's tree
learnt from the reported records as they are; `majority`, the commonest class; `unbiased`, the
former default. Runs that the CSV file already has are not repeated. A further method is a row in
`METHODS`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tacit import Design, Group, disguise, related, uniform_perturbation
from tacit.core.arrays import Array, Codes
from tacit.mine import DecisionTree, Forest
from tests.support.tree_data import LOADERS, tree_data

#: Family, theta and number of groups; every g-th attribute belongs to a group.
DESIGNS = (
    ("related", 0.55, 1),
    ("related", 0.6, 2),
    ("related", 0.7, 4),
    ("related", 0.9, 5),
    ("unrelated", 0.55, 1),
    ("unrelated", 0.7, 3),
    ("unrelated", 0.9, 2),
)
FAMILIES = {"related": related, "unrelated": uniform_perturbation}
HEAD = ("data", "family", "theta", "groups", "repeat", "method", "accuracy")

Method = Callable[[Design, Codes, Codes], float]
Cell = tuple[str, str, str, str]


def _by_tree(caution: float | None) -> Method:
    def accuracy(design: Design, reported: Codes, test: Codes) -> float:
        model = DecisionTree(design, design.schema.names[-1], caution=caution).fit(reported)
        found = model.tree_.label[model.apply(test[:, :-1])]
        return float(np.mean(found == test[:, -1]))

    return accuracy


def _by_forest(design: Design, reported: Codes, test: Codes) -> float:
    model = Forest(design, design.schema.names[-1]).fit(reported)
    return float(np.mean(model.predict_proba(test[:, :-1]).argmax(axis=1) == test[:, -1]))


def _as_if_true(design: Design, reported: Codes, test: Codes) -> float:
    sizes = design.schema.sizes[:-1]
    encoder = OneHotEncoder(categories=[np.arange(k) for k in sizes]).fit(reported[:, :-1])
    model = DecisionTreeClassifier(random_state=0)
    model.fit(encoder.transform(reported[:, :-1]), reported[:, -1])
    return float(np.mean(model.predict(encoder.transform(test[:, :-1])) == test[:, -1]))


def _majority(design: Design, reported: Codes, test: Codes) -> float:
    return float(np.bincount(test[:, -1]).max() / len(test))


DEFAULT, FOREST = "default", "forest"
METHODS: dict[str, Method] = {
    DEFAULT: _by_tree(None),
    FOREST: _by_forest,
    "unbiased": _by_tree(2.0),
    "literal": _by_tree(0.0),
    "as if true": _as_if_true,
    "majority": _majority,
}


def run(data: str, family: str, theta: float, groups: int, repeat: int) -> dict[str, float]:
    """The accuracy of every method in one survey."""
    number = [*LOADERS].index(data)
    rng = np.random.default_rng([number, DESIGNS.index((family, theta, groups)), repeat])
    schema = tree_data(data).schema
    true, test = tree_data(data).survey(rng)
    parts = [schema.names[i::groups] for i in range(min(groups, len(schema)))]
    design = Design(schema, [Group(part, FAMILIES[family](theta)) for part in parts])
    reported = disguise(true, design, rng)
    return {name: method(design, reported, test) for name, method in METHODS.items()}


def read(file: Path) -> dict[Cell, dict[str, dict[int, float]]]:
    """Accuracies by cell, method and repeat."""
    found: dict[Cell, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    if file.exists():
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                cell = (row["data"], row["family"], row["theta"], row["groups"])
                found[cell][row["method"]][int(row["repeat"])] = float(row["accuracy"])
    return found


def difference(own: Array, other: Array) -> tuple[float, float]:
    """The mean paired difference and its standard error."""
    gap = own - other
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))


def table(found: dict[Cell, dict[str, dict[int, float]]]) -> str:
    """The means as Markdown, then the default minus the best baseline, and the forest minus it."""
    names = [*METHODS]
    heads = "default - best (std. error) | forest - default (std. error)"
    lines = [
        f"| data | family | theta | groups | {' | '.join(names)} | {heads} |",
        "|---|---|---:|---:|" + "---:|" * (len(names) + 2),
    ]
    behind, gaps, added, rest = 0, [], [], defaultdict(list)
    for cell, by_method in sorted(found.items()):
        scores = {name: np.array(list(by_method[name].values())) for name in names}
        baselines = [name for name in names if name not in (DEFAULT, FOREST)]
        best = max(baselines, key=lambda name: scores[name].mean())
        gap, error = difference(scores[DEFAULT], scores[best])
        behind += gap < -2 * error
        gaps.append(gap)
        more, more_error = difference(scores[FOREST], scores[DEFAULT])
        added.append(more)
        for name in names:
            rest[name].append(scores[name].mean())
        means = " | ".join(f"{scores[name].mean():.3f}" for name in names)
        ends = f"{gap:+.3f} ({error:.3f}) | {more:+.3f} ({more_error:.3f})"
        lines.append(f"| {' | '.join(cell)} | {means} | {ends} |")
    means = " | ".join(f"{np.mean(rest[name]):.3f}" for name in names)
    lines.append(f"| mean | | | | {means} | {np.mean(gaps):+.3f} | {np.mean(added):+.3f} |")
    lines.append("")
    lines.append(
        f"The default is more than two standard errors behind the best baseline in {behind} of "
        f"{len(gaps)} cells."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("tree_study.csv"))
    parser.add_argument("--table", type=Path, help="Markdown file to write")
    chosen = parser.parse_args()
    if not chosen.out.exists():
        chosen.out.write_text(",".join(HEAD) + "\n")
    known = read(chosen.out)
    for repeat, data, design in product(range(chosen.repeats), LOADERS, DESIGNS):
        cell = (data, design[0], str(design[1]), str(design[2]))
        if repeat in known[cell][DEFAULT]:
            continue
        with chosen.out.open("a", newline="") as file:
            for name, accuracy in run(data, *design, repeat).items():
                csv.writer(file).writerow([*cell, repeat, name, f"{accuracy:.4f}"])
    content = table(read(chosen.out))
    sys.stdout.write(content + "\n")
    if chosen.table is not None:
        chosen.table.write_text(f"# Accuracy of trees\n\n{content}\n")


if __name__ == "__main__":
    main()
