"""Many repeats at once do what one at a time does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.core.disguise import disguise
from tacit.datasets import wisconsin_binary
from tacit.mine import NaiveBayes, literal
from tacit.papers import zhan_matwin
from tacit.reconstruction import Reconstruction
from tacit.records import count

SETTINGS = [("unrelated", 0.3), ("unrelated", 1.0), ("related", 0.6), ("related", 0.2)]


def pair_tables(scheme: str, theta: float, seed: int) -> tuple[np.ndarray, Reconstruction]:
    """Pair tables of one disguised data set, as `bayes` restores them and as tacit does."""
    codes, schema = wisconsin_binary()
    design = zhan_matwin.design_of("wisconsin", scheme, theta)
    reported = count(disguise(codes, design, np.random.default_rng(seed)), schema)
    found = Reconstruction(reported, design)
    counts = np.array([reported.marginal(["class", name]) for name in schema.names[:-1]])
    restore = zhan_matwin.SCHEMES[scheme][1]
    return restore(counts / reported.n_records, theta), found


@pytest.mark.parametrize(("scheme", "theta"), SETTINGS)
def test_pair_tables_are_restored_as_by_reconstruct(scheme: str, theta: float) -> None:
    tables, found = pair_tables(scheme, theta, 5)
    for table, name in zip(tables, found.design.schema.names, strict=False):
        np.testing.assert_allclose(table, found.table(["class", name]).value, atol=1e-12)


@pytest.mark.parametrize(("scheme", "theta"), SETTINGS)
def test_cut_at_zero_predicts_as_the_literal_naive_bayes(scheme: str, theta: float) -> None:
    tables, found = pair_tables(scheme, theta, 6)
    people = zhan_matwin.population("wisconsin").patterns
    yes = zhan_matwin.cut(tables[None], found.n_records, people)[0]
    model = NaiveBayes(found.design, "class", method=literal).fit(found.patterns)
    predicted = model.predict(people[:, :-1].astype(np.uint8)) == "malignant"
    np.testing.assert_array_equal(yes, predicted)


@pytest.mark.parametrize(("scheme", "theta"), SETTINGS)
def test_printed_is_the_product_of_the_shares_as_they_are(scheme: str, theta: float) -> None:
    tables, found = pair_tables(scheme, theta, 7)
    people = zhan_matwin.population("wisconsin").patterns
    x = people[:, :-1].astype(int)
    prior = tables[0].sum(axis=1)
    products = [
        prior[c] * np.prod(tables[np.arange(x.shape[1]), c, x] / prior[c], axis=1) for c in (0, 1)
    ]
    yes = zhan_matwin.printed(tables[None], found.n_records, people)[0]
    np.testing.assert_array_equal(yes, products[1] > products[0])


def test_negative_shares_occur_where_the_two_ways_differ() -> None:
    tables, _ = pair_tables("related", 0.6, 7)
    assert (tables < 0).any()


@pytest.mark.parametrize("scheme", ["unrelated", "related"])
def test_drawn_counts_have_the_mean_of_disguised_records(scheme: str) -> None:
    """Each cell within 5.5 standard errors: a false alarm in a million, over 36 cells."""
    theta, repeats = 0.3, 400
    people = zhan_matwin.population("wisconsin")
    report = zhan_matwin.SCHEMES[scheme][0]
    drawn = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        kept = rng.binomial(people.counts, theta)
        drawn.append(report(people, kept, people.counts - kept, rng))
    design = zhan_matwin.design_of("wisconsin", scheme, theta)
    true = zhan_matwin.pair_counts(people, people.counts)
    names = design.schema.names
    expected = [
        design.channel([names[-1], name]).disguised(table)
        for name, table in zip(names, true, strict=False)
    ]
    errors = np.std(drawn, axis=0, ddof=1) / np.sqrt(repeats)
    assert (np.abs(np.mean(drawn, axis=0) - expected) <= 5.5 * errors).all()
    wrong = [table[::-1] for table in expected]
    assert (np.abs(np.mean(drawn, axis=0) - wrong) > 5.5 * errors).any()


def test_a_split_keeps_every_person_once() -> None:
    people = zhan_matwin.population("wisconsin")
    train, test = people.split(np.random.default_rng(1))
    assert train.sum() == people.n_train == 559
    np.testing.assert_array_equal(train + test, people.counts)


def test_the_design_is_that_of_the_paper() -> None:
    design = zhan_matwin.design_of("wisconsin", "unrelated", 0.3)
    channel = design.channel(["class"])
    np.testing.assert_allclose(channel.disguised(np.array([1.0, 0.0])), [0.65, 0.35])
    assert channel.ratio == Fraction(65, 35)
