"""Zhan & Matwin: naive Bayes from unrelated questions, on Adult and Wisconsin breast cancer.

Privacy-Preserving Data Mining in Electronic Surveys, section 5 and Figure 7; thetas 0 (unrelated)
and 1/2 (related) are listed there, but no estimate exists.

The literal classifier only uses how often the class, each attribute and both are yes in a reported
data set. These counts are drawn directly, with the distribution that disguising record by record
gives them: a pattern that n people have is reported truthfully by Binomial(n, theta) of them. The
classifier is computed for all repeats at once, in two ways, because the paper does not say what to
do with negative shares: `printed` multiplies them unchanged, `cut` cuts them at zero like
`tacit.mine.literal`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import Design, Group, disguise
from tacit.core.arrays import TINY, Array, Mask
from tacit.mine import DecisionTree, NaiveBayes
from tacit.output.table import Table
from tacit.papers import report
from tacit.papers.experiments import SHARE, TARGETS, binary, most_repeated
from tacit.papers.runner import MORE, Plan, Results, Rows, Setting, Tell, moments
from tacit.privacy import prior_of, pse_curve
from tacit.privacy.comparison import related_scheme, unrelated_scheme
from tacit.privacy.published_model import after_mining
from tacit.privacy.scopes import Limits, measure
from tacit.records import count

Counts = npt.NDArray[np.int64]
#: How many training and test records have each pattern.
Division = tuple[Counts, Counts]

#: Records added to every cell, as `NaiveBayes` does.
ALPHA = 1.0
#: Consecutive repeats with the same division of the records; all thetas share the divisions.
ALIKE = 2
#: Repeats computed together.
BLOCK = 100


@dataclass(frozen=True, eq=False)
class Population:
    """Distinct true records, the class last, and how many people have each."""

    patterns: Array
    counts: Counts

    @property
    def n_train(self) -> int:
        """The number of training records."""
        return round(SHARE * int(self.counts.sum()))

    def split(self, rng: np.random.Generator) -> Division:
        """A random division of the people."""
        train: Counts = rng.multivariate_hypergeometric(
            self.counts, self.n_train, method="marginals"
        )
        return train, self.counts - train


def pair_counts(population: Population, weights: Counts) -> Array:
    """Count tables [attribute, class, category] of people with these patterns."""
    x, c = population.patterns[:, :-1], population.patterns[:, -1]
    total, classes = weights.sum(), weights @ c
    ones, both = weights @ x, (weights * c) @ x
    tables = [[total - classes - ones + both, ones - both], [classes - both, both]]
    return np.moveaxis(np.array(tables), 2, 0)


def opposite(
    population: Population, truthful: Counts, rest: Counts, rng: np.random.Generator
) -> Array:
    """Related questions: the rest report the opposite of everything (Du & Zhan, section 3)."""
    return np.asarray(
        pair_counts(population, truthful) + pair_counts(population, rest)[:, ::-1, ::-1]
    )


def personal(
    population: Population, truthful: Counts, rest: Counts, rng: np.random.Generator
) -> Array:
    """Unrelated questions: the rest report a fair coin per attribute (Zhan & Matwin, 5.1)."""
    yes = rng.binomial(int(rest.sum()), 0.5)
    classes = np.array([int(rest.sum()) - yes, yes])
    ones = rng.binomial(classes, 0.5, (population.patterns.shape[1] - 1, 2))
    return pair_counts(population, truthful) + np.stack([classes - ones, ones], axis=2)


def from_opposite(tables: Array, theta: float) -> Array:
    """P(E) = (theta P*(E) - (1 - theta) P*(not E)) / (2 theta - 1) (Du & Zhan, eq. 3)."""
    mirrored = tables[..., ::-1, ::-1]
    return np.asarray((theta * tables - (1 - theta) * mirrored) / (2 * theta - 1))


def from_personal(tables: Array, theta: float) -> Array:
    """P(E) = (P*(E) - (1 - theta) P(Y in E)) / theta; a pair has P(Y in E) = 1/4 (eq. 1)."""
    return np.asarray((tables - (1 - theta) / 4) / theta)


def cut(tables: Array, n_records: int, people: Array) -> Mask:
    """Which patterns are classified yes, with negative shares cut at zero.

    tables: true pair shares [repeat, attribute, class, category]; ALPHA records are added to
    every cell, as `tacit.mine.literal` does.
    """
    share = ALPHA / n_records
    prior = np.maximum(tables[:, 0].sum(axis=-1), share)
    raised = np.maximum(tables, 0) + share
    logs = np.log(raised / raised.sum(axis=-1, keepdims=True))
    sums = np.log(prior)[..., None] + _along(logs, people)
    return np.asarray(sums[:, 1] > sums[:, 0])


def printed(tables: Array, n_records: int, people: Array) -> Mask:
    """Which patterns are classified yes by P(c) prod P(a, c) / P(c), negative shares as they are.

    Products are compared by sign and size; a share of exactly zero counts as almost zero.
    """
    prior = tables[:, 0].sum(axis=-1)
    shares = tables / prior[:, None, :, None]
    negative = (prior < 0)[..., None] + _along((shares < 0).astype(np.float64), people)
    sign = 1 - 2 * (np.rint(negative) % 2)
    size = np.log(np.maximum(np.abs(prior), TINY))[..., None]
    size = size + _along(np.log(np.maximum(np.abs(shares), TINY)), people)
    larger = np.where(sign[:, 1] > 0, size[:, 1] > size[:, 0], size[:, 1] < size[:, 0])
    return np.asarray(np.where(sign[:, 1] == sign[:, 0], larger, sign[:, 1] > 0))


def _along(values: Array, people: Array) -> Array:
    """Values of the categories of each pattern, summed: [repeat, class, pattern]."""
    x = people[:, :-1].T
    by_class = np.moveaxis(values, 1, 2)
    start = by_class[..., 0].sum(axis=-1)
    return np.asarray(start[..., None] + (by_class[..., 1] - by_class[..., 0]) @ x)


#: The two ways to treat negative shares.
WAYS = {"literal": printed, "cut at zero": cut}
#: By scheme: how the reported counts are drawn, and the true shares from them.
SCHEMES = {
    "unrelated": (personal, from_personal),
    "related": (opposite, from_opposite),
}
COINS = {"unrelated": unrelated_scheme, "related": related_scheme}


@cache
def population(data: str) -> Population:
    """The patterns of a data set."""
    table = count(*binary(data))
    return Population(table.patterns.astype(np.float64), np.asarray(table.counts))


def design_of(data: str, scheme: str, theta: float) -> Design:
    """One group of all attributes; personal answers are yes with probability 1/2."""
    _, schema = binary(data)
    return Design(schema, [Group(schema.names, COINS[scheme](Fraction(str(theta)), schema))])


def divided(
    setting: Setting, start: int, stop: int
) -> Iterator[tuple[Division, np.random.Generator]]:
    """The division of each repeat, and its generator; `start` begins a division."""
    people = population(setting["data"])
    for first in range(start, stop, ALIKE):
        division = people.split(setting.rng(first // ALIKE, of=f"{setting['data']}-divisions"))
        for repeat in range(first, min(first + ALIKE, stop)):
            yield division, setting.rng(repeat)


def literal_scores(setting: Setting, tell: Tell) -> dict[str, list[float]]:
    """Accuracy of the paper's procedure on true test records, both ways, a score per repeat."""
    scores: dict[str, list[float]] = {name: [] for name in WAYS}
    people, theta = population(setting["data"]), setting["theta"]
    draw, restore = SCHEMES[setting["scheme"]]
    yes = people.patterns[:, -1] > 0
    for start in range(0, setting.repeats, BLOCK):
        stop = min(start + BLOCK, setting.repeats)
        tables, tested = [], []
        for (train, test), rng in divided(setting, start, stop):
            truthful = rng.binomial(train, theta)
            tables.append(draw(people, truthful, train - truthful, rng))
            tested.append(test)
        restored = restore(np.array(tables) / people.n_train, theta)
        weights = np.array(tested) / np.sum(tested, axis=1, keepdims=True)
        for name, way in WAYS.items():
            right = way(restored, people.n_train, people.patterns) == yes
            scores[name] += (weights * right).sum(axis=1).tolist()
        tell(stop)
    return scores


def aware_scores(setting: Setting, tell: Tell) -> list[float]:
    """Accuracy of tacit's own naive Bayes, learnt from reported records."""
    people, target = population(setting["data"]), TARGETS[setting["data"]]
    design = design_of(setting["data"], setting["scheme"], setting["theta"])
    patterns = people.patterns.astype(np.uint8)
    classes = np.array(design.schema[target].categories)[patterns[:, -1]]
    scores = []
    for (train, test), rng in divided(setting, 0, setting.repeats):
        reported = disguise(np.repeat(patterns, train, axis=0), design, rng)
        model = NaiveBayes(design, target).fit(reported)
        right = model.predict(patterns[:, :-1]) == classes
        scores.append(float(test @ right) / float(test.sum()))
        tell(len(scores))
    return scores


NAME = "zhan-matwin"
THETAS = {
    "unrelated": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.51, 0.6, 0.7, 0.8, 0.9, 1.0),
    "related": (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0),
}
#: The theta at which a scheme carries no information.
NOTHING = {"unrelated": 0.0, "related": 0.5}
REPEATS, QUICK = 1000, 26
#: Approximate time of a repeat.
SECONDS = {"literal": 0.001, "noise-aware": 0.05}
#: Repeats of the literal procedure for one of the noise-aware one, which takes some fifty times as
#: long; its mean varies far less. Both divide the records alike.
FEWER = 10
#: A setting whose mean over 1,000 repeats has a standard error of .003, and more repeats for it.
UNSURE, MANY = ("adult", "related", 0.51), 10_000
#: The rules whose publication is measured: a tree of this depth on these attributes.
ASKED = ("age", "education", "marital-status", "sex", "hours-per-week", "income")
DEPTH = 2
RULE_THETAS = (0.5, 0.7, 0.9)
PROCEDURES = ("literal", "cut at zero", "noise-aware")
DATA = {"adult": "Adult", "wisconsin": "Wisconsin breast cancer"}
#: Figure 7: means by scheme and theta.
PUBLISHED = {
    "unrelated": {0.5: 0.81, 0.51: 0.81, 0.6: 0.82, 0.7: 0.82, 0.8: 0.82, 0.9: 0.82},
    "related": {0.51: 0.66, 0.6: 0.81, 0.7: 0.82, 0.8: 0.82, 0.9: 0.82},
}
#: Figure 7: variances.
VARIANCES = {
    "unrelated": {0.5: 0.0001, 0.51: 0.0001, 0.6: 0.0001, 0.7: 0.0001, 0.8: 0.0, 0.9: 0.0},
    "related": {0.51: 0.0054, 0.6: 0.0002, 0.7: 0.0001, 0.8: 0.0, 0.9: 0.0},
}
ROUNDED = "The paper prints two digits and does not say how it cut the attributes to yes/no."
RAW = (
    "Here reconstruction gives negative shares in most repeats, and the paper does not say what to "
    "do with them: multiplied as they are, they spoil the class; cut at zero they do not. Ours is "
    "over {repeats:,} repeats, with a standard error of {error:.4f}."
)
#: Tolerance for a printed mean: a unit of its last digit.
NEAR = 0.01
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)


def settings(plan: Plan) -> list[Setting]:
    """A setting per data set, scheme, theta and procedure; and one for the published rules."""
    repeats = plan.count(REPEATS, QUICK)
    fewer = min(repeats, ALIKE * -(-repeats // (ALIKE * FEWER)))
    mined = [
        plan.setting(
            NAME, f"{data}-{scheme}-{theta}-{procedure}", times, SECONDS[procedure],
            data=data, scheme=scheme, theta=theta, procedure=procedure,
        )
        for procedure, times in (("literal", repeats), ("noise-aware", fewer))
        for data in TARGETS
        for scheme, thetas in THETAS.items()
        for theta in thetas
    ]  # fmt: skip
    if not plan.small:
        data, scheme, theta = UNSURE
        mined.append(
            plan.setting(
                NAME, f"{data}-{scheme}-{theta}-more", MANY, SECONDS["literal"],
                data=data, scheme=scheme, theta=theta, procedure="literal", more=1,
            )
        )  # fmt: skip
    return [*mined, plan.setting(NAME, "rules", len(RULE_THETAS))]


def run(setting: Setting, tell: Tell) -> Rows:
    """Mean and variance of the accuracy; None if no estimate exists."""
    if setting.name == "rules":
        return _rules(setting, tell)
    columns = {name: setting[name] for name in ("data", "scheme", "theta")}
    literal = setting["procedure"] == "literal"
    if setting["theta"] == NOTHING[setting["scheme"]]:
        nothing = {"repeats": 0, "mean": None, "variance": None, "stderr": None}
        names = tuple(WAYS) if literal else (setting["procedure"],)
        return [{**columns, "procedure": name, **nothing} for name in names]
    if literal:
        by_procedure = literal_scores(setting, tell)
    else:
        by_procedure = {setting["procedure"]: aware_scores(setting, tell)}
    if "more" in dict(setting.values):
        by_procedure = {MORE: by_procedure["literal"]}
    return [
        {**columns, "procedure": name, "repeats": setting.repeats, **moments(scores, ALIKE)}
        for name, scores in by_procedure.items()
    ]


def _rules(setting: Setting, tell: Tell) -> Rows:
    """PSE of income before and after the rules of a tree are published (section 4.2)."""
    codes, whole = binary("adult")
    schema = whole.subset(ASKED)
    true = np.ascontiguousarray(codes[:, [whole.index(name) for name in ASKED]])
    table = count(true, schema).marginal(ASKED) / len(true)
    target = TARGETS["adult"]
    rows: Rows = []
    for repeat, theta in enumerate(RULE_THETAS):
        design = Design(schema, [Group(ASKED, unrelated_scheme(Fraction(str(theta)), schema))])
        prior = prior_of({ASKED: table}, design)
        reported = disguise(true, design, setting.rng(repeat))
        rules = DecisionTree(design, target, caution=2, max_depth=DEPTH).fit(reported).rules().known
        scopes = measure(design, prior, Limits())
        mined = after_mining([list(rules)], design, prior, scopes.attributes, Limits())[target]
        figures = {name: value for name, value in vars(mined).items() if name != "attribute"}
        rows.append({"theta": theta, "rules": len(rules), **figures})
        tell(repeat + 1)
    return rows


def section(results: Results) -> report.Section:
    """Figures of both data sets, their Figure 7, PSE curves and rules."""
    rows = [row for name in results if name != "rules" for row in results[name]]
    tables = {
        "zhan-matwin-figure-7": _figure_7(rows),
        "zhan-matwin": report.table_of("Mean and variance of the accuracy", rows),
        "zhan-matwin-rules": report.table_of(
            "PSE of income before and after a tree's rules are published", results["rules"]
        ),
    }
    literal, aware = (report.matching(rows, procedure=name) for name in ("literal", "noise-aware"))
    return report.section_of(
        NAME,
        _checks(rows),
        (*_charts(rows), _pse()),
        tables,
        related=report.by_theta(literal, "mean", data="adult", scheme="related"),
        unrelated=report.by_theta(literal, "mean", data="adult", scheme="unrelated"),
        wisconsin=report.by_theta(literal, "mean", data="wisconsin", scheme="related"),
        aware=report.by_theta(aware, "mean", data="adult", scheme="related"),
        literal_repeats=max(row["repeats"] for row in literal),
        aware_repeats=max(row["repeats"] for row in aware),
        after=_after(results["rules"]),
    )


def _after(rules: Rows) -> str:
    """What PSE after mining shows, and what it does not."""
    left = max(row[key] for row in rules for key in ("pse_known", "pse_unknown"))
    same = all(row["accuracy_with_model"] == row["accuracy_before"] for row in rules)
    said = (
        "Here nothing is left: at every theta REC, a sum over rules, is larger than PSE, so that "
        "PSE after mining is 0 whatever the disguise; the figure does not tell designs apart."
        if left == 0
        else f"At most {left:.4f} of PSE is left."
    )
    more = (
        " An adversary who has the whole reported record, the design and the shares of the answers "
        "is right as often with the rules as without: the last columns show how often."
    )
    return said + (more if same else " The last columns show what an adversary gains by them.")


def _checks(rows: Rows) -> list[report.Check]:
    literal = report.matching(rows, procedure="literal")
    means = {(row["data"], row["scheme"], row["theta"]): row["mean"] for row in literal}
    original, benign = means["adult", "related", 1.0], means["wisconsin", "related", 1.0]
    why = "The paper draws this curve and prints no number."
    checks = [
        report.Check("Adult, undisguised", original, 0.82, 0.8205, 0.004, ROUNDED),
        report.Check("Wisconsin, undisguised", benign, None, 0.960, 0.003, why),
    ]
    for scheme, published in PUBLISHED.items():
        for theta, mean in published.items():
            if (scheme, theta) != UNSURE[1:]:
                what = f"Adult, {scheme}, theta {theta:g}, literal"
                ours = means["adult", scheme, theta]
                checks.append(report.Check(what, ours, mean, within=NEAR, why=ROUNDED))
    return [*checks, *_unsure(rows)]


def _unsure(rows: Rows) -> Iterator[report.Check]:
    """Mean and variance of the setting with negative shares, from the most repeats."""
    data, scheme, theta = UNSURE
    row = most_repeated(rows, data=data, scheme=scheme, theta=theta)
    what = f"Adult, {scheme}, theta {theta:g}, literal"
    why = RAW.format(repeats=row["repeats"], error=row["stderr"] or 0.0)
    yield report.Check(what, row["mean"], PUBLISHED[scheme][theta], within=0.03, why=why)
    yield report.Check(f"{what}, variance", row["variance"], VARIANCES[scheme][theta], why=why)


def _figure_7(rows: Rows) -> Table:
    adult, keys = report.matching(rows, data="adult"), ("mean", "variance")
    heads = ["scheme", "theta"]
    for key in keys:
        heads += [f"published {key}", *(f"{procedure}, {key}" for procedure in PROCEDURES)]
    body: list[Any] = []
    for scheme, published in PUBLISHED.items():
        for theta, mean in published.items():
            chosen = report.matching(adult, scheme=scheme, theta=theta)
            by_procedure = {row["procedure"]: row for row in chosen}
            means, variances = ([by_procedure[name][key] for name in PROCEDURES] for key in keys)
            body.append((scheme, theta, mean, *means, VARIANCES[scheme][theta], *variances))
    body.append(("related", NOTHING["related"], *(None,) * (len(heads) - 2)))
    return Table(heads, body, "Their Figure 7 beside ours")


def _charts(rows: Rows) -> Iterator[report.Chart]:
    figures = (
        ("mean", "mean accuracy", PUBLISHED),
        ("variance", "variance of the accuracy", VARIANCES),
    )
    for data, scheme, (key, said, published) in product(DATA, PUBLISHED, figures):
        chosen = report.matching(rows, data=data, scheme=scheme)
        shown = [row for row in chosen if row["mean"] is None or row[key] is not None]
        curves = []
        for colour, name in enumerate(PROCEDURES):
            points = report.points(shown, key, procedure=name)
            curves.append(report.Curve(name, points, colour, dashed=name == "cut at zero"))
        if data == "adult":
            printed = list(published[scheme].items())
            curves.append(report.Curve("published", printed, len(PROCEDURES), dashed=True))
        title = f"Naive Bayes, {DATA[data]}, {scheme} questions: {said}"
        yield report.Chart(f"{NAME}-{data}-{scheme}-{key}", title, "theta", said, curves)


def _pse() -> report.Chart:
    thetas = np.linspace(0, 1, 51).tolist()
    curves = []
    for colour, share in enumerate(SHARES):
        points = list(zip(thetas, pse_curve(thetas, share).tolist(), strict=True))
        curves.append(report.Curve(f"Wa = {share:g}", points, colour, marks=False))
    return report.Chart(f"{NAME}-pse", "PSE before mining, Wy = 1/2", "theta", "PSE", curves)
