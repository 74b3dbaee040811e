"""Learning from disguised records against scikit-learn on the same records undisguised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks.measure import MB, Row, best, peak_memory
from tacit import Attribute, Design, Group, Schema, disguise, related, unrelated
from tacit.mine import NaiveBayes

RECORDS, MANY = 10**6, 10**7
SIZES = (2,) * 15
KINDS = (*range(3, 15), 16, 2)
LIMIT = 2048


def rows() -> Iterator[Row]:
    """Fit, predict, many records, many attributes, many categories."""
    yield from _against_scikit_learn()
    names = schema_of((2,) * 100).names
    thirds = [Group(names[i::3], related(0.8)) for i in range(3)]
    yield _memory("10^6 x 100 yes/no, three related groups", (2,) * 100, thirds)
    kinds = schema_of(KINDS)
    alike = {a.name: [f"1/{a.size}"] * a.size for a in kinds}
    group = Group(kinds.names, unrelated(0.5, alike))
    yield _memory("10^6 x 14 of 2 to 16 categories, one unrelated group", KINDS, [group])


def _against_scikit_learn() -> Iterator[Row]:
    design, reported, features, classes = problem()
    ours, peer = NaiveBayes(design, design.schema.names[-1]), CategoricalNB()
    fit = best(lambda: ours.fit(reported), 9)
    fit_peer = best(lambda: peer.fit(features, classes), 9)
    what = "naive Bayes, 10^6 x 15 yes/no, one related group"
    yield ratio(f"{what}: fit against CategoricalNB", fit_peer, fit, 8)
    predict, predict_peer = (best(lambda m=m: m.predict(features)) for m in (ours, peer))
    yield ratio(f"{what}: predict against CategoricalNB", predict_peer, predict, 1)
    agree = np.mean((ours.predict(features) == "c1") == peer.predict(features))
    assert agree > 0.99, f"both must learn the same model, they agree on {agree:.3f}"
    many = disguise(records_of(SIZES, MANY), design, np.random.default_rng(13))
    growth = best(lambda: ours.fit(many), 3) / fit
    detail = "once counted, learning does not depend on the number of records"
    yield Row(f"{what}: fit of 10^7 against 10^6", growth, 12, "times", detail, at_most=True)


def problem() -> tuple[Design, np.ndarray, np.ndarray, np.ndarray]:
    """A design with one related group, reported records, and the true features and classes."""
    schema = schema_of(SIZES)
    design = Design(schema, [Group(schema.names, related(0.7))])
    true = records_of(SIZES, RECORDS)
    reported = disguise(true, design, np.random.default_rng(12))
    features, classes = np.ascontiguousarray(true[:, :-1]), true[:, -1].copy()
    return design, reported, features, classes


def ratio(claim: str, peer: float, ours: float, target: float, note: str = "") -> Row:
    """How many times faster than a peer."""
    detail = f"{ours:.3f} s of CPU against {peer:.3f} s" + (f"; {note}" if note else "")
    return Row(claim, peer / ours, target, "times faster", detail)


def _memory(what: str, sizes: Sequence[int], groups: Sequence[Group]) -> Row:
    schema = schema_of(sizes)
    design = Design(schema, groups)
    true = records_of(sizes, RECORDS)
    reported = disguise(true, design, np.random.default_rng(14))
    model = NaiveBayes(design, schema.names[-1])
    start = time.process_time()
    with peak_memory() as peak:
        model.fit(reported)
    seconds = time.process_time() - start
    labels = np.array(schema[schema.names[-1]].categories)
    right = np.mean(model.predict(true[:, :-1]) == labels[true[:, -1]])
    ended = model.parameters_.convergence
    detail = f"{seconds:.1f} s of CPU, {ended.iterations} iterations, {right:.3f} right"
    claim = f"naive Bayes, {what}: fit, extra memory"
    return Row(claim, peak.extra / MB, LIMIT, "MB", detail, at_most=True)


def schema_of(sizes: Sequence[int]) -> Schema:
    """Attributes of these sizes."""
    return Schema([Attribute(f"a{i}", [f"c{j}" for j in range(k)]) for i, k in enumerate(sizes)])


def records_of(sizes: Sequence[int], n: int) -> np.ndarray:
    """True records whose answers depend on the class, the last attribute."""
    rng = np.random.default_rng(11)
    classes = rng.choice(sizes[-1], n).astype(np.uint8)
    draw: Callable[[int], np.ndarray] = partial(_answers, classes, rng)
    return np.stack([*(draw(k) for k in sizes[:-1]), classes]).T


def _answers(classes: np.ndarray, rng: np.random.Generator, k: int) -> np.ndarray:
    """Answers of k categories, distributed by class."""
    result = np.empty(len(classes), np.uint8)
    for c in range(int(classes.max()) + 1):
        own = classes == c
        result[own] = rng.choice(k, int(own.sum()), p=rng.dirichlet(np.full(k, 3.0)))
    return result
