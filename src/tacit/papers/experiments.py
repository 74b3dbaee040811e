"""The papers' data (yes/no, the class last, split 80/20), and one repeat of their tree experiments.

A repeat disguises the records, grows a tree both ways and tests it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from tacit import Design, Schema, disguise
from tacit.core.arrays import Array, Codes
from tacit.datasets import adult_binary, wisconsin_binary
from tacit.evaluate import accuracy
from tacit.mine import DecisionTree
from tacit.papers.report import matching
from tacit.papers.runner import MORE, Rows, Setting, Tell, Value, moments
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.tables import project
from tacit.records import PatternTable, count

#: "We used first 10,000 instances" (Du & Zhan, section 5).
FIRST = 10_000
#: The share of training records (Zhan & Matwin, section 5).
SHARE = 0.8
#: The attribute to predict.
TARGETS = {"adult": "income", "wisconsin": "class"}


@cache
def binary(name: str) -> tuple[Codes, Schema]:
    """Codes and schema of a data set."""
    return adult_binary() if name == "adult" else wisconsin_binary()


def first_records() -> tuple[Codes, Schema]:
    """The first 10,000 records of Adult."""
    codes, schema = binary("adult")
    return codes[:FIRST], schema


def divided() -> tuple[Codes, Codes]:
    """The first 8,000 records of Adult for training, and the next 2,000 for tests.

    Du & Zhan divide the records once, before anything is repeated, and do not say how.
    """
    codes, _ = first_records()
    size = round(SHARE * len(codes))
    return codes[:size], codes[size:]


def commonest() -> tuple[str, float]:
    """The share of the commoner class, with its name for charts."""
    share = float(first_records()[0][:, -1].mean())
    return "commonest class", max(share, 1 - share)


TARGET = TARGETS["adult"]
#: Standard errors by which a split must stand out; 0 is the papers' procedure.
PROCEDURES = {"literal": 0.0, "noise-aware": 2.0}
#: Repeats if those of the paper leave too much to chance.
MANY = 400
#: Repeats of Du & Zhan, and of what was measured before.
USUAL = 50
#: Tolerance between the literal procedure and what was measured before.
NEAR = 0.02


class Trial(NamedTuple):
    """Accuracy on true test records, and as estimated from disguised ones with its error."""

    accuracy: float
    estimated: float
    stderr: float


def trials(
    design: Design, rng: np.random.Generator, criteria: tuple[str, ...]
) -> tuple[dict[tuple[str, str], Trial], PatternTable]:
    """A trial by criterion and procedure, and the reports that were learnt from."""
    train, test = divided()
    reported = count(disguise(train, design, rng), design.reported)
    tested = count(disguise(test, design, rng), design.reported)
    by_procedure = {}
    for criterion in criteria:
        for name, caution in PROCEDURES.items():
            model = DecisionTree(design, TARGET, criterion, caution).fit(reported)
            by_procedure[criterion, name] = trial_of(model, design, test, tested)
    return by_procedure, reported


def repeated_trials(
    design: Design, setting: Setting, tell: Tell, criteria: tuple[str, ...]
) -> Iterator[tuple[dict[tuple[str, str], Trial], PatternTable]]:
    """What `trials` returns, for each repeat."""
    for repeat in range(setting.repeats):
        if repeat == 0 or setting["theta"] != 1:  # without a disguise all repeats are the same
            result = trials(design, setting.rng(repeat), criteria)
        yield result
        tell(repeat + 1)


def trial_of(model: DecisionTree, design: Design, test: Codes, tested: PatternTable) -> Trial:
    """A tree on the test records, true and as counted reports."""
    # A black box is faster to test than a large tree that is followed.
    black_box = SimpleNamespace(predict=model.predict)
    estimate = accuracy(black_box, tested, design, TARGET)
    return Trial(_right(model, design, test), float(estimate.value), float(estimate.stderr))


def tree_rows(
    design: Design, setting: Setting, tell: Tell, columns: Mapping[str, dict[str, Any]]
) -> tuple[Rows, list[PatternTable]]:
    """A row per criterion, with these columns, and procedure; and the reports of each repeat.

    Moments of the accuracy; the mean of the estimates and of their standard errors. A setting with
    more repeats grows the literal ID3 only and tests it on true records only.
    """
    common = {"repeats": setting.repeats}
    if "more" in dict(setting.values):
        scores = list(_more_scores(design, setting, tell))
        unknown = {"estimated": None, "estimated_stderr": None}
        return [
            {**columns["entropy"], "procedure": MORE, **common, **moments(scores), **unknown}
        ], []
    repeats = list(repeated_trials(design, setting, tell, tuple(columns)))
    rows: Rows = []
    for (criterion, shown), name in product(columns.items(), PROCEDURES):
        done = [by_procedure[criterion, name] for by_procedure, _ in repeats]
        right, estimated, stderr = zip(*done, strict=True)
        means = {"estimated": float(np.mean(estimated)), "estimated_stderr": float(np.mean(stderr))}
        rows.append({**shown, "procedure": name, **common, **moments(right), **means})
    return rows, [reported for _, reported in repeats]


def _more_scores(design: Design, setting: Setting, tell: Tell) -> Iterator[float]:
    train, test = divided()
    for repeat in range(setting.repeats):
        reported = count(disguise(train, design, setting.rng(repeat)), design.reported)
        model = DecisionTree(design, TARGET, "entropy", caution=0.0).fit(reported)
        yield _right(model, design, test)
        tell(repeat + 1)


def most_repeated(rows: Rows, **values: Value) -> dict[str, Any]:
    """The row of the literal procedure with the most repeats."""
    literal = [row for row in matching(rows, **values) if row["procedure"] in ("literal", MORE)]
    return max(literal, key=lambda row: row["repeats"])


def _right(model: DecisionTree, design: Design, test: Codes) -> float:
    """The share of true test records that a tree classifies correctly."""
    classes = np.array(design.schema[TARGET].categories)
    return float(np.mean(model.predict(test[:, :-1]) == classes[test[:, -1]]))


def largest_gain(reconstruction: Reconstruction, target: str) -> float:
    """Information gain in bits of the best split of all records.

        Gain(A) = H(C) - sum_a P(a) H(C | a) = H(C) + H(A) - H(C, A)

    from reconstructed tables, projected on the simplex (Du & Zhan 2003, section 4.1).
    """
    names = [name for name in reconstruction.design.schema.names if name != target]
    tables = [project(reconstruction.table([target, name]).value) for name in names]
    return max(_bits(t.sum(axis=1)) + _bits(t.sum(axis=0)) - _bits(t) for t in tables)


def _bits(distribution: Array) -> float:
    positive = distribution[distribution > 0]
    return float(-(positive * np.log2(positive)).sum())


def doubt(row: dict[str, Any]) -> str:
    """The uncertainty of our number, if it matters compared with the tolerance."""
    error, variance = row["stderr"], row["variance"]
    if error is None or variance is None or error < NEAR / 8:
        return ""
    usual = np.sqrt(variance / USUAL)
    return (
        f" Ours has a standard error of {error:.4f} over {row['repeats']} repeats; a mean "
        f"of {USUAL}, as the reference is, has one of {usual:.4f}."
    )
