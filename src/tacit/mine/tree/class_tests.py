"""class_tests: likelihood-ratio tests of the class with each attribute, through the channel.

    2 n (max over P(c, a) of L - max over P(c) P(a) of L),    L = mean over reports of log (M p)_y

is chi-squared with (classes - 1)(categories - 1) degrees of freedom if both are independent; fewer
large values occur where shares are at zero. True records are a sample too: reports are independent
draws from M p. A Wald test from the unbiased table is too large by far if the class share is hardly
known, because P(c) P(a) is not linear. Both maxima are found by EM, many tables at once.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core.arrays import TINY, Array
from tacit.models.bayes_parameters import class_dependence
from tacit.reconstruction import Reconstruction

#: Tables of more reported cells have a Wald test instead: there are enough reports for them.
_MOST_CELLS = 256
_STEPS = 300
#: Share of the uniform table in the start, so that no cell is impossible.
_INSIDE = 0.05

#: Chi-squared statistic and degrees of freedom of each attribute.
ClassTests = dict[str, tuple[float, int]]


def class_tests(reconstruction: Reconstruction, target: str) -> ClassTests:
    """The test of every other attribute."""
    design = reconstruction.design
    classes = design.schema[target].size
    found: ClassTests = {}
    alike: dict[tuple[int, int], list[str]] = {}
    for name in design.schema.names:
        if name == target:
            continue
        names = design.closure([target, name])
        channel = design.channel([target, name]) if len(names) == 2 else None
        if channel is None or math.prod(channel.reported.sizes) > _MOST_CELLS:
            statistic, freedom = class_dependence(reconstruction.table([target, name]))[1:]
            found[name] = statistic, freedom
        else:
            shape = (design.schema[name].size, math.prod(channel.reported.sizes))
            alike.setdefault(shape, []).append(name)
    for (size, _), names_alike in alike.items():
        channels = [design.channel([target, name]) for name in names_alike]
        counts = [reconstruction.patterns.marginal(c.reported.names).ravel() for c in channels]
        ratios = likelihood_ratios(
            np.stack([c.matrix for c in channels]), np.stack(counts).astype(np.float64), classes
        )
        freedom = (classes - 1) * (size - 1)
        found |= {n: (float(r), freedom) for n, r in zip(names_alike, ratios, strict=True)}
    return {name: found[name] for name in design.schema.names if name != target}


def likelihood_ratios(matrices: Array, counts: Array, classes: int) -> Array:
    """The statistic of each table; channels are tables x reported x true cells, class first."""
    n = counts.sum(axis=1)
    seen = (counts / n[:, None])[..., None]
    inverted = np.maximum(np.linalg.pinv(matrices) @ seen, 0)
    inverted /= np.maximum(inverted.sum(axis=1, keepdims=True), TINY)
    start = (1 - _INSIDE) * inverted + _INSIDE / matrices.shape[2]
    apart = _likelihood(matrices, seen, _maximised(matrices, seen, start, classes))
    joint = _likelihood(matrices, seen, _maximised(matrices, seen, start, None))
    return np.asarray(np.maximum(2 * n * (joint - apart), 0))


def _maximised(matrices: Array, seen: Array, start: Array, classes: int | None) -> Array:
    """The tables of largest likelihood; with a number of classes, those of independence."""
    back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    tables = start if classes is None else _independent(start, classes)
    for _ in range(_STEPS):
        tables = tables * (back @ (seen / np.maximum(matrices @ tables, TINY)))
        if classes is not None:
            tables = _independent(tables, classes)
    return tables


def _independent(tables: Array, classes: int) -> Array:
    """P(c) P(a) of each table."""
    cubes = tables.reshape(len(tables), classes, -1)
    product = cubes.sum(axis=2, keepdims=True) * cubes.sum(axis=1, keepdims=True)
    return np.asarray(product.reshape(tables.shape))


def _likelihood(matrices: Array, seen: Array, tables: Array) -> Array:
    likely = np.log(np.maximum(matrices @ tables, TINY))
    return np.asarray((seen * likely).sum(axis=(1, 2)))
