"""The likelihood of naive Bayes through a design, against listing every true record.

Derivatives are taken by the complex step: f'(x) = Im f(x + ih) / h, exact to rounding.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.models import naive_bayes as conditional_model
from tacit.models.naive_bayes import ConditionalModel, Tables
from tacit.records import PatternTable, count
from tests.support.families import CASES, Case
from tests.support.grids import pairwise
from tests.support.tables import cells_of, reported_table

CLOSE: dict[str, Any] = dict(rtol=1e-10, atol=1e-12)  # sums of some hundred rounded terms
STEP = 1e-30
RECORDS = 500


@dataclass(frozen=True)
class Setting:
    """A case's coin in a design with a class, and where the class is."""

    case: Case
    where: str

    def __str__(self) -> str:
        return f"{self.case}, class {self.where}"

    @property
    def properties(self) -> tuple[Hashable, ...]:
        return self.case.family, tuple(a.size for a in self.case.attributes), self.where

    @property
    def target(self) -> str:
        return "class" if self.where == "truthful" else self.case.attributes[-1].name

    @property
    def design(self) -> Design:
        own = Group([a.name for a in self.case.attributes], self.case.coin)
        other = Attribute("class" if self.where == "truthful" else "other", ["no", "yes", "none"])
        coin: Coin = truthful() if self.where == "truthful" else related(0.6)
        return Design(Schema([other, *self.case.attributes]), [own, Group([other.name], coin)])


SETTINGS = [
    Setting(case, where)
    for case in CASES
    for where in ("truthful", "alone" if len(case.attributes) == 1 else "with others")
]
CHOSEN = pairwise(SETTINGS, lambda setting: setting.properties)
ALPHAS = (0.01, 1.0, 20.0)
every_setting = pytest.mark.parametrize("setting", CHOSEN)


def test_the_settings_hold_joint_and_tall_matrices_and_joint_tables() -> None:
    chosen = [choice.values[0] for choice in CHOSEN if not choice.marks]
    families = {(s.case.family, len(s.case.attributes) > 1, s.where) for s in chosen}
    for family in ("matrix, joint", "matrix, m > n", "unrelated, joint", "related"):
        assert (family, True, "with others") in families
        assert (family, True, "truthful") in families


class BruteForce:
    """P(report) by summing over every true record."""

    def __init__(self, design: Design, target: str) -> None:
        self.design, self.place = design, design.schema.index(target)
        true = cells_of(design.schema.attributes)
        units = np.eye(len(true)).reshape(-1, *design.schema.sizes)
        self.channel = np.stack([reported_table(design, unit).ravel() for unit in units], axis=1)
        self.cells = np.array(true)

    def reports(self, prior: Any, tables: list[Any]) -> Any:
        classes = self.cells[:, self.place]
        law = prior[classes]
        for a, table in enumerate(tables):
            if a != self.place:
                law = law * table[classes, self.cells[:, a]]
        return self.channel @ law


def softmax(logits: Any) -> Any:
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Example:
    """A design with random counts of reports and random parameters."""

    model: ConditionalModel
    brute: BruteForce
    counts: Array
    possible: Any
    logits: list[Array]

    @classmethod
    def of(cls, setting: Setting, seed: int = 7) -> Example:
        rng = np.random.default_rng(seed)
        design, target = setting.design, setting.target
        brute = BruteForce(design, target)
        sizes, n_classes = design.schema.sizes, design.schema[target].size
        shapes = [(n_classes,), *((n_classes, k) for k in sizes)]
        logits = [rng.normal(0, 0.7, shape) for shape in shapes]
        possible = brute.channel.sum(axis=1) > 0
        counts = np.where(possible, rng.integers(1, RECORDS, len(possible)), 0)
        patterns = np.array(cells_of(design.reported.attributes), dtype=np.uint8)
        table = PatternTable(design.reported, np.asfortranarray(patterns), counts)
        return cls(ConditionalModel(table, design, target), brute, counts, possible, logits)

    @property
    def parameters(self) -> tuple[Array, Tables]:
        prior, *tables = (softmax(part) for part in self.logits)
        tables[self.model.target] = np.eye(len(prior))
        return prior, tables

    def log_likelihoods(self, logits: list[Any]) -> Any:
        prior, *tables = (softmax(part) for part in logits)
        return np.log(self.brute.reports(prior, tables)[self.possible])

    def scores(self) -> Array:
        """Derivatives of log P(report) by every logit, parameters x possible reports."""
        rows = []
        for place, part in enumerate(self.logits):
            if place == self.model.target + 1:
                continue
            for cell in np.ndindex(part.shape):
                moved: list[Any] = [p.astype(complex) for p in self.logits]
                moved[place][cell] += 1j * STEP
                rows.append(self.log_likelihoods(moved).imag / STEP)
        return np.array(rows)

    def gradient_by_step(self, alpha: float) -> Array:
        """What one step says of the gradient: expected counts less those that would be."""
        model, (prior, tables) = self.model, self.parameters
        after = model.step(model.join(prior, tables), alpha).after
        new_prior, new_tables = model.split(after)
        moves = [
            (new_prior + alpha * t.shape[1] / model.n_records)[:, None] * (new - t)
            for new, t in zip(new_tables, tables, strict=True)
        ]
        return model.join(new_prior - prior, moves)


@every_setting
def test_the_probabilities_of_all_reports_are_those_of_every_true_record_summed(
    setting: Setting,
) -> None:
    example = Example.of(setting)
    prior, tables = example.parameters
    chunks = [chunk.log_likelihood for chunk in example.model.posterior(prior, tables, 7)]
    found = np.exp(np.concatenate(chunks))
    assert found.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(found, example.brute.reports(prior, tables), **CLOSE)


@every_setting
def test_a_step_points_along_the_gradient_of_the_likelihood(setting: Setting) -> None:
    example = Example.of(setting)
    shares = example.counts[example.possible] / example.counts.sum()
    np.testing.assert_allclose(example.gradient_by_step(0), example.scores() @ shares, **CLOSE)


@pytest.mark.parametrize("setting", SETTINGS[::5], ids=str)
def test_with_alpha_a_step_points_along_the_gradient_of_the_penalised_likelihood(
    setting: Setting,
) -> None:
    example, alpha = Example.of(setting), 3.0
    shares = example.counts[example.possible] / example.counts.sum()
    model, (prior, tables) = example.model, example.parameters
    pull = [alpha / model.n_records * (1 - t.shape[1] * t) for t in tables]
    expected = example.scores() @ shares + model.join(np.zeros_like(prior), pull)
    np.testing.assert_allclose(example.gradient_by_step(alpha), expected, **CLOSE)


@every_setting
def test_the_information_is_the_mean_square_of_the_scores(setting: Setting) -> None:
    example = Example.of(setting)
    scores = example.scores()
    expected = (scores * example.counts[example.possible]) @ scores.T
    found = example.model.information(*example.parameters)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@every_setting
def test_blocks_chunks_and_scales_change_neither_step_nor_information(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = Example.of(setting)
    place = once.model.join(*once.parameters)
    step, information = once.model.step(place, 1), once.model.information(*once.parameters)
    monkeypatch.setattr(conditional_model, "CELLS", 1)
    monkeypatch.setattr(conditional_model, "CHUNK", 5)
    monkeypatch.setattr(conditional_model, "_SCORED", 3)
    monkeypatch.setattr(conditional_model, "_VANISHING", 2.0)
    parted = Example.of(setting).model
    found = parted.step(place, 1)
    np.testing.assert_allclose(found.after, step.after, **CLOSE)
    assert found.log_likelihood == pytest.approx(step.log_likelihood, rel=1e-13)
    scale = np.abs(information).max()
    again = parted.information(*once.parameters)
    np.testing.assert_allclose(again, information, rtol=1e-9, atol=1e-12 * scale)


def test_a_grid_of_two_blocks_gives_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema([Attribute(f"a{i}", ["c0", "c1", "c2"][: 2 + i % 2]) for i in range(6)])
    design = Design(schema, [Group(schema.names, related(0.7))])
    codes = np.stack(
        [np.random.default_rng(i).integers(0, k, 2000) for i, k in enumerate(schema.sizes)]
    )
    patterns = count(codes.T.astype(np.uint8), schema)
    monkeypatch.setattr(conditional_model, "CELLS", 20)
    steps = []
    for sparsest in (100, 0):  # 0: no grid is dense enough
        monkeypatch.setattr(conditional_model, "_SPARSEST", sparsest)
        model = ConditionalModel(patterns, design, "a0")
        assert (model._grid is None) == (sparsest == 0)
        start = model.join(np.array([0.3, 0.7]), [np.full((2, k), 1 / k) for k in schema.sizes])
        once = model.step(start, 1.0)
        steps.append(model.step(once.after, 1.0))
    np.testing.assert_allclose(steps[0].after, steps[1].after, **CLOSE)
    assert steps[0].log_likelihood == pytest.approx(steps[1].log_likelihood, rel=1e-13)


@pytest.mark.slow
def test_products_of_a_thousand_small_probabilities_do_not_vanish() -> None:
    names = ["class", *(f"a{i}" for i in range(1200))]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    design = Design(schema, [Group(names, related(0.7))])
    patterns = np.asfortranarray(np.random.default_rng(3).integers(0, 2, (4, 1201), np.uint8))
    model = ConditionalModel(PatternTable(schema, patterns, np.ones(4, np.int64)), design, "class")
    even = model.join(np.full(2, 0.5), [np.full((2, 2), 0.5)] * 1201)
    assert model.step(even, 1).log_likelihood == pytest.approx(
        -1201 * np.log(2) - 1 / 4 * 1200 * 4 * np.log(2), rel=1e-12
    )


@pytest.mark.parametrize(
    "penalised",
    pairwise(
        product(SETTINGS, ALPHAS),
        lambda pair: (*pair[0].properties, pair[1]),
        lambda pair: f"{pair[0]}, alpha {pair[1]}",
    ),
)
def test_a_step_never_lowers_the_penalised_likelihood(penalised: tuple[Setting, float]) -> None:
    setting, alpha = penalised
    example = Example.of(setting, seed=int(alpha * 100))
    place, heights = example.model.join(*example.parameters), []
    for _ in range(12):
        step = example.model.step(place, alpha)
        heights.append(step.log_likelihood)
        place = step.after
    rounding = 1e-14 * abs(heights[-1])
    assert (np.diff(heights) >= -rounding).all(), heights


def test_parameters_split_and_joined_are_the_same() -> None:
    example = Example.of(SETTINGS[-1])
    joined = example.model.join(*example.parameters)
    prior, tables = example.model.split(joined)
    np.testing.assert_array_equal(example.model.join(prior, tables), joined)
    np.testing.assert_array_equal(tables[example.model.target], np.eye(prior.size))


def test_repair_makes_every_distribution_sum_to_one() -> None:
    example = Example.of(SETTINGS[0])
    prior, tables = example.model.split(
        example.model.repair(3 * example.model.join(*example.parameters))
    )
    for distribution in (prior, *tables):
        np.testing.assert_allclose(distribution.sum(axis=-1), 1, rtol=1e-14)
