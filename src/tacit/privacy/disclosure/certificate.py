"""A certificate from below: what a guesser achieves, estimated without bias from the reports.

A guesser is fitted to one half of the reports and judged on the other. Its guess of an attribute
from the whole report y = (y_g, z) is G(y_g, z). Were x_g known, it would be right with probability

    H(x_g, z) = sum_y' M_g[y', x_g] [G(y', z) = x_a]

and W_g^T H, at the own report, is unbiased for it: only the own group's channel is inverted, and
no model is believed. An adversary is at least as good as this guesser.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.privacy.disclosure.layout import CodedReports, UnitLayout
from tacit.privacy.scopes import JointGroups, joint_of_attribute


def certificate(
    reports: CodedReports, halves: tuple[Array, Array], part: JointGroups, name: str
) -> float:
    """The mean accuracy of the guessers of both halves, less two standard errors.

    The part holds the tables fitted to the first half and to the second. `halves` are the weights
    of the patterns in the halves, each judged by the other's guesser.
    """
    layout = reports.layout
    guesses = joint_of_attribute(part, name).argmax(axis=0)
    total = squares = people = 0.0
    for weights, which in ((halves[1], 0), (halves[0], 1)):
        weighed = _weights(layout, guesses[..., which], name)[reports.places()]
        total += float(weights @ weighed)
        squares += float(weights @ weighed**2)
        people += float(weights.sum())
    mean = total / people
    return mean - 2 * math.sqrt(max(squares / people - mean**2, 0.0) / people)


def _weights(layout: UnitLayout, guesses: Index, name: str) -> Array:
    """W_g^T H over all reports, one axis per group."""
    place = next(i for i, g in enumerate(layout.groups) if name in g.factor.names)
    group = layout.groups[place]
    own = group.factor
    ahead = np.moveaxis(guesses, place, 0)
    flat = ahead.reshape(ahead.shape[0], -1)
    shape = own.channel.true_shape
    categories = np.indices(shape)[own.names.index(name)].ravel()
    right: Array = np.zeros((math.prod(shape), flat.shape[1]))
    for category in range(int(categories.max()) + 1):
        found = own.channel.forward.T @ (flat == category).astype(np.float64)
        right[categories == category] = found[categories == category]
    back = group.inverse.T @ right
    return np.moveaxis(back.reshape(ahead.shape), 0, place)
