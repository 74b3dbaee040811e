"""Testing classifiers on disguised records."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from sklearn.tree import DecisionTreeClassifier

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.channel import frapp, matrix, related, truthful, uniform_perturbation, unrelated
from tacit.core.channel.weights import KeepOrDifferWeights
from tacit.core.label_codes import decode
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError
from tacit.evaluate import accuracy, confusion, personal_accuracy, recall
from tacit.evaluate.accuracy import (
    FEW_COPIES,
    MAX_COPIES,
    SignedRecords,
    generator,
    outcome_weights,
    signed_records,
)
from tacit.reconstruction import reconstruct
from tacit.reconstruction.estimate import linear_estimate
from tacit.records import count
from tests.support.families import attributes_of, designs, seeds

#: Rounding of sums of signed weights; designs in the tests have condition numbers of at most 20.
ROUNDING = 1e-9
#: A mean of independent draws strays further than this many standard errors once in a million.
STRAY = 4.9


class Hashing:
    """A classifier that answers in codes, any but not at random."""

    def __init__(self, k: int) -> None:
        self.k = k

    def predict(self, codes: Any) -> Any:
        mixed = codes.astype(np.int64) @ np.arange(3, 3 + 2 * codes.shape[1], 2)
        return (mixed * 7 + 1) // 3 % self.k


def binary(d: int, groups: int = 1, theta: float | str = 0.8) -> Design:
    names = [f"a{i}" for i in range(d)]
    parts = np.array_split(names, groups)
    return Design(
        Schema(attributes_of((2,) * d)), [Group(list(map(str, p)), related(theta)) for p in parts]
    )


def records_of(schema: Schema, n: int, seed: int = 5) -> Any:
    """Records whose attributes depend on each other."""
    rng = np.random.default_rng(seed)
    trait = rng.random(n)
    draws = [np.clip((trait + rng.normal(0, 0.3, n)) * k, 0, k - 1) for k in schema.sizes]
    return np.stack(draws, axis=1).astype(np.uint8)


def by_force(model: Any, design: Design, target: str, codes: Any) -> tuple[float, float]:
    """Accuracy and its standard error with h and W over all cells of the design."""
    schema = design.schema
    cells = np.indices(schema.sizes).reshape(len(schema), -1).T.astype(np.uint8)
    place = schema.index(target)
    right = model.predict(np.delete(cells, place, axis=1)) == cells[:, place]
    h = right.reshape(schema.sizes).astype(float)
    found = reconstruct(codes, design).expectation(h, schema.names)
    return float(found.value), float(found.stderr)


@given(designs(max_attributes=3, largest=3), seeds())
def test_accuracy_equals_the_whole_inverse_applied_to_right_or_wrong(
    design: Design, seed: int
) -> None:
    assume(len(design.schema) > 1)
    reported = disguise(records_of(design.schema, 50, seed), design, np.random.default_rng(seed))
    target = design.schema.attributes[-1]
    model = Hashing(target.size)
    found = accuracy(model, reported, design, target.name)
    value, stderr = by_force(model, design, target.name, reported)
    assert abs(found.value - value) < ROUNDING
    assert abs(found.stderr**2 - stderr**2) < ROUNDING
    assert (found.name, found.n_records) == ("accuracy", 50)


def test_without_disguise_accuracy_is_the_plain_one() -> None:
    design = Design(Schema(attributes_of((3, 4, 2))), [Group(["a0", "a1", "a2"], truthful())])
    codes = records_of(design.schema, 300)
    predicted = Hashing(4).predict(codes[:, [0, 2]])
    found = accuracy(Hashing(4), codes, design, "a1")
    plain = np.mean(predicted == codes[:, 1])
    assert abs(found.value - plain) < ROUNDING
    assert abs(found.stderr - math.sqrt(plain * (1 - plain) / 300)) < ROUNDING
    table = confusion(Hashing(4), codes, design, "a1").value * 300
    expected = np.zeros((4, 4))
    np.add.at(expected, (codes[:, 1], predicted), 1)
    np.testing.assert_allclose(table, expected, atol=300 * ROUNDING)


def test_confusion_adds_up_to_accuracy_and_to_the_class_distribution() -> None:
    design = Design(
        Schema(attributes_of((3, 2, 2))),
        [Group(["a0", "a1"], related(0.7)), Group(["a2"], uniform_perturbation(0.6))],
    )
    reported = disguise(records_of(design.schema, 400), design, np.random.default_rng(1))
    table = confusion(Hashing(3), reported, design, "a0")
    total = accuracy(Hashing(3), reported, design, "a0")
    assert [a.name for a in table.attributes] == ["a0", "predicted"]
    assert abs(np.trace(table.value) - total.value) < ROUNDING
    diagonal = np.eye(3).ravel()
    assert abs(diagonal @ table.covariance @ diagonal - total.stderr**2) < ROUNDING
    margin = reconstruct(reported, design).table(["a0"])
    np.testing.assert_allclose(table.value.sum(axis=1), margin.value, atol=ROUNDING)
    np.testing.assert_allclose(table.covariance.diagonal(), table.stderr.ravel() ** 2)


def test_recall_is_the_ratio_of_the_confusion_table_with_its_derivatives() -> None:
    design = binary(4, 2)
    reported = disguise(records_of(design.schema, 2000), design, np.random.default_rng(2))
    found = recall(Hashing(2), reported, design, "a0")
    table = confusion(Hashing(2), reported, design, "a0")

    def ratios(cells: Any) -> Any:
        square = cells.reshape(2, 2)
        return square.diagonal() / square.sum(axis=1)

    np.testing.assert_allclose(found.value, ratios(table.value))
    step = 1e-6
    slopes = np.array([
        (ratios(table.value.ravel() + step * e) - ratios(table.value.ravel() - step * e))
        / (2 * step)
        for e in np.eye(4)
    ]).T  # fmt: skip
    expected = slopes @ table.covariance @ slopes.T
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6, atol=step**2)
    np.testing.assert_allclose(found.stderr**2, found.covariance.diagonal())


def test_recall_of_a_class_that_seems_not_to_occur_is_not_a_number() -> None:
    design = Design(Schema(attributes_of((2, 2))), [Group(["a0", "a1"], truthful())])
    codes = np.zeros((20, 2), np.uint8)
    found = recall(Hashing(2), codes, design, "a0")
    assert np.isfinite(found.value[0])
    assert np.isnan(found.value[1])
    assert np.isnan(found.stderr[1])


# Many categories: copies are drawn ----------------------------------------------------------

WIDE = Schema(attributes_of((4, 3, 5, 2)))
NAMES = list(WIDE.names)
WIDE_DESIGNS = {
    "unrelated": unrelated(0.6, {a.name: [1 - 0.1 * (a.size - 1)] + [0.1] * (a.size - 1)
                                 for a in WIDE}),
    "frapp": frapp(80),
    "joint": unrelated(0.6, np.full(WIDE.sizes[::-1], 1 / 120)),
    "related": related(0.8),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE_DESIGNS)
def test_drawn_copies_have_the_mean_of_the_whole_inverse(name: str) -> None:
    design = Design(WIDE, [Group(NAMES[::-1], WIDE_DESIGNS[name])])
    reported = disguise(records_of(WIDE, 30), design, np.random.default_rng(3))
    exact, _ = by_force(Hashing(4), design, "a0", reported)
    assert signed_records(design, count(reported, design.reported), 1).random
    rng = np.random.default_rng(4)
    means = [accuracy(Hashing(4), reported, design, "a0", rng, draws).value for draws in [200] * 30]
    spread = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(np.mean(means) - exact) < STRAY * spread
    assert spread < 0.02


def test_drawn_powers_of_a_related_group_are_those_of_its_inverse() -> None:
    """With the powers of another theta as the negative control."""
    design, n = Design(WIDE, [Group(NAMES, related(0.8))]), 200_000
    reported = np.repeat(np.array([[1, 0, 2, 1]], np.uint8), n, axis=0)
    copies = signed_records(design, count(reported, WIDE), 1)
    inverse = np.linalg.inv(design.channel(NAMES).matrix)
    expected = inverse[:, np.ravel_multi_index((1, 0, 2, 1), WIDE.sizes)]

    def drawn(ways: Any) -> Any:
        total = np.zeros(expected.size)
        for batch, weights in SignedRecords(design, (ways,), 1).of(
            reported, np.random.default_rng(6)
        ):
            cells = np.ravel_multi_index(batch.reshape(-1, 4).T, WIDE.sizes)
            total += np.bincount(cells, weights.ravel(), expected.size) / n
        return total

    even, odd = copies.groups[0]
    assert even.weights(reported) == pytest.approx(0.8 / 0.6)
    assert odd.weights(reported) == pytest.approx(-0.2 / 0.6)
    other = KeepOrDifferWeights(even.true, 0.75, WIDE.sizes)
    stray = STRAY * (0.8 / 0.6 + 0.2 / 0.6) * 0.5 / math.sqrt(n)
    assert np.abs(drawn((even, odd)) - expected).max() < stray
    assert np.abs(drawn(other.kernels(even.reported)) - expected).max() > stray


def test_short_lists_of_cells_are_listed_and_long_ones_drawn() -> None:
    short = Design(Schema(attributes_of((4, 4, 4))), [Group(["a0", "a1", "a2"], frapp(9))])
    one = count(np.zeros((1, 3), np.uint8), short.schema)
    copies = signed_records(short, one, 8)
    assert not copies.random
    assert len(copies.groups[0]) == 64 == FEW_COPIES
    wide = Design(WIDE, [Group(NAMES, frapp(9))])
    assert signed_records(wide, count(np.zeros((1, 4), np.uint8), WIDE), 8).random


def test_no_rng_means_the_same_draws_every_time() -> None:
    design = Design(WIDE, [Group(NAMES, frapp(80))])
    reported = disguise(records_of(WIDE, 50), design, np.random.default_rng(3))
    first, second = (accuracy(Hashing(4), reported, design, "a0") for _ in range(2))
    other = accuracy(Hashing(4), reported, design, "a0", np.random.default_rng(1))
    assert first.value == second.value != other.value


def test_blocks_of_records_do_not_change_the_answer() -> None:
    design = binary(5, 2)
    table = count(
        disguise(records_of(design.schema, 500), design, np.random.default_rng(1)), design.reported
    )
    copies = signed_records(design, table, 1)
    blocks = [b for b, _ in copies.blocks(table, 7)]
    assert max(map(len, blocks)) == 7
    np.testing.assert_array_equal(np.concatenate(blocks), table.patterns)
    wide = Design(WIDE, [Group(NAMES, frapp(9))])
    codes = records_of(WIDE, 200)
    drawn = signed_records(wide, count(codes, WIDE), 1)
    expanded = np.concatenate([b for b, _ in drawn.blocks(count(codes, WIDE), 64)])
    np.testing.assert_array_equal(expanded, codes[np.lexsort(codes.T[::-1])])


def test_any_function_of_a_record_has_a_mean() -> None:
    design = binary(3)
    table = count(records_of(design.schema, 100), design.reported)
    copies = signed_records(design, table, 1)
    blocks = outcome_weights(
        copies, table, lambda r: r.sum(axis=1).astype(np.intp), 4, generator(None)
    )
    found = linear_estimate(blocks, "sum", (Attribute("sum", [0, 1, 2, 3]),))
    expected = reconstruct(table, design).expectation(
        lambda *labels: labels.count("c1") == 2, ["a0", "a1", "a2"]
    )
    assert abs(found.value[2] - expected.value) < ROUNDING
    assert abs(found.covariance[2, 2] - expected.stderr**2) < ROUNDING
    assert abs(found.value.sum() - 1) < ROUNDING


# The papers' forms --------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.2, "2/3", 0.9, 1])
def test_the_complement_set_gives_the_general_estimate(theta: Any) -> None:
    """Du & Zhan (2003, section 4.3): the share of S and of its complements classified correctly."""
    design = binary(5, 1, theta)
    reported = disguise(records_of(design.schema, 300), design, np.random.default_rng(1))
    general = accuracy(Hashing(2), reported, design, "a2")
    others, keep = [0, 1, 3, 4], float(Fraction(theta))
    kept, flipped = (
        Hashing(2).predict(codes[:, others]) == codes[:, 2] for codes in (reported, 1 - reported)
    )
    printed = (keep * kept - (1 - keep) * flipped) / (2 * keep - 1)
    assert abs(general.value - printed.mean()) < ROUNDING
    assert abs(general.stderr - printed.std() / math.sqrt(300)) < ROUNDING


def test_the_known_personal_accuracy_gives_the_general_estimate() -> None:
    """Zhan & Matwin (section 3.4), P(Y cc) summed over all personal answers."""
    margins = {"a0": [0.3, 0.7], "a1": [0.2, 0.3, 0.5], "a2": [0.5, 0.5]}
    schema, theta = Schema(attributes_of((2, 3, 2))), 0.6
    design = Design(schema, [Group(["a1", "a2", "a0"], unrelated(theta, margins))])
    reported = disguise(records_of(design.schema, 300), design, np.random.default_rng(1))
    general = accuracy(Hashing(3), reported, design, "a1")
    cells = np.indices((2, 3, 2)).reshape(3, -1).T
    chances = np.einsum("i,j,k->ijk", *margins.values()).ravel()
    right, personal = (
        Hashing(3).predict(codes[:, [0, 2]]) == codes[:, 1] for codes in (reported, cells)
    )
    printed = (right - (1 - theta) * (chances @ personal)) / theta
    assert abs(general.value - printed.mean()) < ROUNDING
    assert abs(general.stderr - printed.std() / math.sqrt(300)) < ROUNDING


def test_reported_results_have_the_error_of_paired_differences() -> None:
    """Every respondent's result, so the mean and spread of (right - (1-theta) result) / theta."""
    rng = np.random.default_rng(8)
    schema, theta, n = Schema(attributes_of((2, 2, 2))), 0.6, 40_000
    design = Design(schema, [Group(["a0", "a1", "a2"], unrelated(theta, [0.4, 0.6]))])
    true = records_of(schema, n)
    personal = (rng.random((n, 3)) < 0.6).astype(np.uint8)
    reported = np.where(rng.random((n, 1)) < theta, true, personal)
    model = Hashing(2)
    results = model.predict(personal[:, 1:]) == personal[:, 0]
    right = model.predict(reported[:, 1:]) == reported[:, 0]
    each = (right - (1 - theta) * results) / theta
    found = personal_accuracy(model, reported, design, results, "a0")
    assert abs(found.value - each.mean()) < ROUNDING
    relative = STRAY / math.sqrt(n)  # of a standard deviation, for values of bounded spread
    assert abs(found.stderr / (each.std() / math.sqrt(n)) - 1) < relative
    part = personal_accuracy(model, reported, design, results[:1000], "a0")
    assert part.stderr > found.stderr


def test_results_of_respondents_need_one_group_that_replaces_answers() -> None:
    two = binary(4, 2)
    codes = records_of(two.schema, 10)
    for design in (two, binary(4)):
        with pytest.raises(DesignError, match=r"one group of unrelated"):
            personal_accuracy(Hashing(2), codes, design, [0, 1], "a0")
    lost = Design(two.schema, [Group(two.schema.names, unrelated(0, [0.5, 0.5]))])
    with pytest.raises(SingularChannelError, match=r"theta"):
        personal_accuracy(Hashing(2), codes, lost, [0, 1], "a0")


@pytest.mark.parametrize("results", [[], [0, 2], [[0, 1]], ["yes"], [0] * 11])
def test_results_must_be_zeros_and_ones_of_respondents(results: Any) -> None:
    schema = Schema(attributes_of((2, 2)))
    design = Design(schema, [Group(["a0", "a1"], unrelated(0.5, [0.5, 0.5]))])
    with pytest.raises(DataError, match=r"results must be a list of 0 and 1"):
        personal_accuracy(Hashing(2), records_of(schema, 10), design, results, "a0")


# Models -------------------------------------------------------------------------------------

LABELLED = Schema([
    Attribute("sex", ["f", "m"]),
    Attribute("income", ["low", "mid", "high"]),
    Attribute("vote", [1, 2, 0]),
])  # fmt: skip
VOTES = Design(LABELLED, [Group(["sex", "vote"], related(0.8)), Group(["income"], frapp(6))])


@pytest.mark.parametrize("target", ["income", "vote"])
def test_scikit_learn_models_may_speak_codes_or_labels(target: str) -> None:
    codes = records_of(LABELLED, 300)
    reported = disguise(codes, VOTES, np.random.default_rng(1))
    place = LABELLED.index(target)
    features, classes = np.delete(codes, place, axis=1), codes[:, place]
    frame = decode(codes, LABELLED, "pandas")
    others = frame.drop(columns=target)
    in_codes = DecisionTreeClassifier(random_state=0).fit(features, classes)

    class OfFrames:
        feature_names_in_ = np.array(list(others.columns)[::-1])
        classes_ = np.unique(frame[target])

        def predict(self, records: Any) -> Any:
            assert list(records.columns) == list(self.feature_names_in_)
            names = [n for n in LABELLED.names if n != target]
            coded = [[LABELLED[n].code(label) for label in records[n]] for n in names]
            predicted = in_codes.predict(np.array(coded).T)
            return np.array([LABELLED[target].categories[c] for c in predicted])

    expected = accuracy(in_codes, reported, VOTES, target).value
    assert accuracy(OfFrames(), reported, VOTES, target).value == pytest.approx(expected, abs=1e-12)
    if target == "income":  # text cannot be taken for a code
        named = DecisionTreeClassifier(random_state=0).fit(features, frame[target].to_numpy())
        assert accuracy(named, reported, VOTES, target).value == pytest.approx(expected, abs=0.05)


def test_a_model_fitted_on_a_frame_gets_a_frame() -> None:
    schema = Schema([Attribute("a", [0, 1]), Attribute("b", [0, 1, 2]), Attribute("c", [0, 1])])
    design = Design(schema, [Group(["a", "b", "c"], truthful())])
    codes = records_of(schema, 300)
    frame = decode(codes, schema, "pandas")
    model = DecisionTreeClassifier(random_state=0).fit(frame[["b", "a"]], frame["c"])
    plain = np.mean(model.predict(frame[["b", "a"]]) == frame["c"])
    assert accuracy(model, frame, design, "c").value == pytest.approx(plain, abs=ROUNDING)


def test_reported_records_may_be_a_frame_codes_a_table_or_a_file(tmp_path: Path) -> None:
    reported = disguise(records_of(LABELLED, 100), VOTES, np.random.default_rng(1))
    frame = decode(reported, LABELLED, "pandas")
    frame.to_parquet(tmp_path / "reported.parquet")
    forms = [reported, frame, count(reported, VOTES.reported), tmp_path / "reported.parquet"]
    assert isinstance(frame, pd.DataFrame)
    assert len({float(accuracy(Hashing(3), form, VOTES, "vote")) for form in forms}) == 1


class Says:
    """A model that predicts the same for everyone."""

    def __init__(self, answer: Any, target: str | None = None, **known: Any) -> None:
        self.answer = answer
        self.target = target
        vars(self).update(known)

    def predict(self, records: Any) -> Any:
        return np.full(len(records), self.answer)


def test_the_target_comes_from_the_model_or_the_caller() -> None:
    codes = records_of(LABELLED, 50)
    assert accuracy(Says(1, "vote"), codes, VOTES).value == pytest.approx(
        accuracy(Says(1), codes, VOTES, "vote").value
    )
    with pytest.raises(SchemaError, match=r"give target="):
        accuracy(Says(1), codes, VOTES)
    with pytest.raises(SchemaError, match=r"predicts 'vote', not target 'sex'"):
        accuracy(Says(1, "vote"), codes, VOTES, "sex")
    with pytest.raises(SchemaError, match=r"did you mean 'vote'"):
        accuracy(Says(1), codes, VOTES, "votes")


def test_a_model_that_does_not_fit_the_design_is_an_error() -> None:
    codes = records_of(LABELLED, 50)
    other = Schema([Attribute("sex", ["m", "f"]), LABELLED["income"]])
    cases: list[tuple[Any, type[Exception], str]] = [
        (object(), DataError, r"must have a predict method"),
        (Says("lots"), DataError, r"unknown category 'lots' predicted for attribute 'vote'"),
        (Says(7), DataError, r"unknown category 7 predicted"),
        (Says(1, classes_=[0, 2]), DataError, r"predicted for attribute 'vote'"),
        (Says([1, 2, 3]), DataError, r"one class for each of"),
        (Says(1, features_=other), SchemaError, r"other categories of 'sex'"),
        (Says(1, feature_names_in_=["sex", "age"]), SchemaError, r"unknown attribute 'age'"),
        (Says(1, feature_names_in_=["sex", "vote"]), SchemaError, r"target 'vote' among"),
    ]
    for model, error, match in cases:
        if isinstance(model, Says) and isinstance(model.answer, list):
            model.predict = lambda records: np.zeros((len(records), 2))  # type: ignore[method-assign]
        with pytest.raises(error, match=match):
            accuracy(model, codes, VOTES, "vote")


# Designs that cannot be tested on -----------------------------------------------------------


def test_too_many_copies_are_an_error_that_says_what_to_do() -> None:
    design = binary(13, 13)
    with pytest.raises(DesignError, match=r"8,192 copies .* use fewer groups"):
        accuracy(Hashing(2), records_of(design.schema, 5), design, "a0")
    wide = Schema(attributes_of((5,) * 6))
    lying = Design(wide, [Group(wide.names, related(0.3))])
    with pytest.raises(DesignError, match=r"related\(theta=3/10\).*theta above 1/2"):
        accuracy(Hashing(5), records_of(wide, 5), lying, "a0")
    assert MAX_COPIES == 4096


def test_related_categories_with_theta_below_one_half_are_listed() -> None:
    schema = Schema(attributes_of((3, 3, 4, 4)))
    design = Design(schema, [Group(schema.names, related(0.1))])
    reported = disguise(records_of(schema, 40), design, np.random.default_rng(1))
    exact, _ = by_force(Hashing(3), design, "a0", reported)
    assert accuracy(Hashing(3), reported, design, "a0").value == pytest.approx(exact, abs=ROUNDING)


def test_a_design_that_tells_nothing_is_an_error_that_names_the_group() -> None:
    design = binary(2, 1, "1/2")
    with pytest.raises(SingularChannelError, match=r"group \[a0, a1\]"):
        accuracy(Hashing(2), records_of(design.schema, 5), design, "a0")


def test_a_design_with_nothing_but_the_target_is_an_error() -> None:
    schema = Schema(attributes_of((2,)))
    design = Design(schema, [Group(["a0"], related(0.7))])
    with pytest.raises(SchemaError, match=r"no attribute to predict 'a0' from"):
        accuracy(Hashing(2), records_of(schema, 5), design, "a0")


def test_a_confusion_table_of_too_many_classes_is_refused() -> None:
    schema = Schema(attributes_of((65, 2)))
    coin = matrix([[0.9, 0.1], [0.1, 0.9]])
    design = Design(schema, [Group(["a0"], truthful()), Group(["a1"], coin)])
    with pytest.raises(DataError, match=r"4,225 cells"):
        confusion(Hashing(65), records_of(schema, 5), design, "a0")


def test_the_predicted_axis_never_has_the_name_of_the_target() -> None:
    schema = Schema([Attribute("predicted", ["no", "yes"]), Attribute("b", ["no", "yes"])])
    design = Design(schema, [Group(["predicted", "b"], truthful())])
    found = confusion(Hashing(2), records_of(schema, 5), design, "predicted")
    assert [a.name for a in found.attributes] == ["predicted", "predicted_"]


@pytest.mark.parametrize(("rng", "draws"), [(7, 8), (None, 0), (None, 1.5), (None, True)])
def test_bad_rng_or_draws_are_errors(rng: Any, draws: Any) -> None:
    design = binary(2)
    with pytest.raises(DataError, match=r"rng must be|draws must be"):
        accuracy(Hashing(2), records_of(design.schema, 5), design, "a0", rng, draws)
