"""Decision trees from disguised records against scikit-learn on the same records undisguised."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bayes_bench import (
    KINDS,
    LIMIT,
    MANY,
    RECORDS,
    SIZES,
    problem,
    ratio,
    records_of,
    schema_of,
)
from benchmarks.measure import MB, Row, best, peak_memory
from tacit import Design, Group, disguise, related, uniform_perturbation
from tacit.mine import DecisionTree

WHAT = "tree to full depth (caution 0), 10^6 x 15 yes/no, one related group"


def rows() -> Iterator[Row]:
    """Fit, predict, many records, many attributes, many categories."""
    yield from _against_scikit_learn()
    names = schema_of((2,) * 100).names
    thirds = [Group(names[i::3], related(0.8)) for i in range(3)]
    yield _memory("10^6 x 100 yes/no, three related groups, depth 8", (2,) * 100, thirds, 8)
    kinds = [Group(schema_of(KINDS).names, uniform_perturbation(0.5))]
    yield _memory("10^6 x 14 of 2 to 16 categories, one unrelated group", KINDS, kinds, None)


def _against_scikit_learn() -> Iterator[Row]:
    design, reported, features, classes = problem()
    ours = DecisionTree(design, design.schema.names[-1], caution=0)
    peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
    fit = best(lambda: ours.fit(reported), 9)
    fit_peer = best(lambda: peer.fit(features, classes), 3)
    claim = f"{WHAT}: fit against DecisionTreeClassifier"
    yield ratio(claim, fit_peer, fit, 20, f"{ours.get_n_leaves():,} leaves")
    predict, predict_peer = (best(lambda m=m: m.predict(features)) for m in (ours, peer))
    yield ratio(f"{WHAT}: predict against DecisionTreeClassifier", predict_peer, predict, 1)
    agree = np.mean((ours.predict(features) == "c1") == peer.predict(features))
    assert agree > 0.95, f"both must learn nearly the same, they agree on {agree:.3f}"
    many = records_of(SIZES, MANY)
    reports = disguise(many, design, np.random.default_rng(13))
    fit_many = best(lambda: ours.fit(reports), 3)
    features, classes = np.ascontiguousarray(many[:, :-1]), many[:, -1].copy()
    fit_peer = best(lambda: peer.fit(features, classes), 1)
    yield ratio(f"{WHAT}, 10^7: fit against DecisionTreeClassifier", fit_peer, fit_many, 60)
    detail = "once counted, growing does not depend on the number of records"
    yield Row(f"{WHAT}: fit of 10^7 against 10^6", fit_many / fit, 12, "times", detail, True)


def _memory(what: str, sizes: Sequence[int], groups: Sequence[Group], depth: int | None) -> Row:
    schema = schema_of(sizes)
    design = Design(schema, groups)
    true = records_of(sizes, RECORDS)
    reported = disguise(true, design, np.random.default_rng(14))
    model = DecisionTree(design, schema.names[-1], max_depth=depth)
    start = time.process_time()
    with peak_memory() as peak:
        model.fit(reported)
    seconds = time.process_time() - start
    labels = np.array(schema[schema.names[-1]].categories)
    right = np.mean(model.predict(true[:, :-1]) == labels[true[:, -1]])
    detail = f"{seconds:.1f} s of CPU, {model.get_n_leaves():,} leaves, {right:.3f} right"
    return Row(f"tree, {what}: fit, extra memory", peak.extra / MB, LIMIT, "MB", detail, True)
