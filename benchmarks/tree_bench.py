"""Decision trees from disguised records against scikit-learn on the same records undisguised."""

from __future__ import annotations

from collections.abc import Iterator

import lightgbm
import numpy as np
from sklearn.ensemble import RandomForestClassifier
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
from tacit.mine import DecisionTree, Forest

DEFAULT = "default tree, 10^6 x 15 yes/no, one related group"
FOREST = "forest of 100 trees, 10^6 x 15 yes/no, one related group"
WHAT = "tree to full depth (caution 0), 10^6 x 15 yes/no, one related group"


def rows() -> Iterator[Row]:
    """Fit, predict, many records, many attributes, many categories."""
    yield from _against_scikit_learn()
    yield from _default_and_forest()
    yield from _wide()
    yield from _many_categories()


def _wide() -> Iterator[Row]:
    """Many attributes, against peers on the same records undisguised."""
    names = schema_of((2,) * 100).names
    design = Design(schema_of((2,) * 100), [Group(names[i::3], related(0.8)) for i in range(3)])
    what = "tree, 10^6 x 100 yes/no, three related groups, depth 8"
    true, ours, memory = _fitted(what, design, 8, 300)
    features, classes = np.ascontiguousarray(true[:, :-1]), true[:, -1].copy()
    peer = DecisionTreeClassifier(criterion="entropy", max_depth=8, random_state=0)
    fit_peer = best(lambda: peer.fit(features, classes), 1)
    yield ratio(f"{what}: fit against DecisionTreeClassifier", fit_peer, ours, 8)
    fit_peer = best(lambda: _boosted_once(features, classes), 2)
    yield ratio(f"{what}: fit against LightGBM with its data set", fit_peer, ours, 1)
    yield memory


def _boosted_once(features: np.ndarray, classes: np.ndarray) -> lightgbm.Booster:
    """One tree of LightGBM, without limits other than the depth."""
    settings = {
        "objective": "binary",
        "max_depth": 8,
        "num_leaves": 1 << 8,
        "num_threads": 1,
        "verbose": -1,
    }
    return lightgbm.train(settings, lightgbm.Dataset(features, classes), num_boost_round=1)


def _many_categories() -> Iterator[Row]:
    """Many categories, against scikit-learn on one column per category."""
    schema = schema_of(KINDS)
    design = Design(schema, [Group(schema.names, uniform_perturbation(0.5))])
    what = "tree, 10^6 x 14 of 2 to 16 categories, one unrelated group"
    true, ours, memory = _fitted(what, design, None, LIMIT)
    columns = [true[:, a] == v for a, k in enumerate(KINDS[:-1]) for v in range(k)]
    features = np.stack(columns, axis=1).astype(np.float32)
    peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
    fit_peer = best(lambda: peer.fit(features, true[:, -1]), 1)
    yield ratio(f"{what}: fit against DecisionTreeClassifier on one-hot records", fit_peer, ours, 8)
    yield memory


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


def _default_and_forest() -> Iterator[Row]:
    """The default tree and a forest, each against its peer on the same records undisguised."""
    design, reported, features, classes = problem()
    target = design.schema.names[-1]
    tree, forest = DecisionTree(design, target), Forest(design, target)
    peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
    peers = RandomForestClassifier(100, random_state=0, n_jobs=1)
    fit, fit_peer = (
        best(lambda: tree.fit(reported), 3),
        best(lambda: peer.fit(features, classes), 3),
    )
    detail = f"{tree.get_n_leaves():,} leaves, {_right(tree, features, classes):.3f} right"
    yield ratio(f"{DEFAULT}: fit against DecisionTreeClassifier", fit_peer, fit, 1, detail)
    with peak_memory() as peak:
        fit = best(lambda: forest.fit(reported), 1)
    fit_peer = best(lambda: peers.fit(features, classes), 1)
    detail = f"{_right(forest, features, classes):.3f} right"
    yield ratio(f"{FOREST}: fit against RandomForestClassifier", fit_peer, fit, 1, detail)
    detail = f"{forest.get_n_leaves():,} leaves"
    yield Row(f"{FOREST}: fit, extra memory", peak.extra / MB, LIMIT, "MB", detail, True)


def _right(model: DecisionTree | Forest, features: np.ndarray, classes: np.ndarray) -> float:
    """The share of true records that a model classifies correctly."""
    return float(np.mean(model.predict_proba(features).argmax(axis=1) == classes))


def _fitted(
    what: str, design: Design, depth: int | None, limit: float
) -> tuple[np.ndarray, float, Row]:
    """True records, CPU seconds to fit a tree to their reports, and the memory that it takes."""
    schema = design.schema
    true = records_of(schema.sizes, RECORDS)
    reported = disguise(true, design, np.random.default_rng(14))
    model = DecisionTree(design, schema.names[-1], caution=2, max_depth=depth)
    with peak_memory() as peak:
        model.fit(reported)
    seconds = best(lambda: model.fit(reported), 3)
    labels = np.array(schema[schema.names[-1]].categories)
    right = np.mean(model.predict(true[:, :-1]) == labels[true[:, -1]])
    detail = f"{model.get_n_leaves():,} leaves, {right:.3f} right"
    memory = Row(f"{what}: fit, extra memory", peak.extra / MB, limit, "MB", detail, True)
    return true, seconds, memory
