"""Zhan & Matwin: naive Bayes from unrelated questions, on Adult and Wisconsin breast cancer.

Privacy-Preserving Data Mining in Electronic Surveys, section 5 and Figure 7; thetas 0 (unrelated)
and 1/2 (related) are listed there, but no estimate exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.random import Generator

from tacit.design import Design, Group
from tacit.mine import DecisionTree, NaiveBayes
from tacit.privacy import prior_of
from tacit.privacy.comparison import related_scheme, unrelated_scheme
from tacit.privacy.published_rules import after_mining
from tacit.privacy.scopes import Limits, measure
from tacit.record_disguise import disguise
from tacit.reproduce import bayes_repeats
from tacit.reproduce.paper_data import TARGETS, binary
from tacit.reproduce.study_settings import MORE, Plan, Rows, Setting, Tell, Value, moments, setting

NAME = "zhan-matwin"
THETAS = {
    "unrelated": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.51, 0.6, 0.7, 0.8, 0.9, 1.0),
    "related": (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0),
}
#: The theta at which a scheme carries no information.
NOTHING = {"unrelated": 0.0, "related": 0.5}
SCHEMES = {
    "unrelated": (bayes_repeats.personal, bayes_repeats.from_personal),
    "related": (bayes_repeats.opposite, bayes_repeats.from_opposite),
}
COINS = {"unrelated": unrelated_scheme, "related": related_scheme}
REPEATS, QUICK = 1000, 26
#: Approximate time of a repeat.
SECONDS = {"literal": 0.001, "noise-aware": 0.05}
#: Consecutive repeats with the same division of the records; all thetas share the divisions.
ALIKE = 2
#: Repeats of the literal procedure for one of the noise-aware one, which takes some fifty times as
#: long; its mean varies far less. Both divide the records alike.
FEWER = 10
#: A setting whose mean over 1,000 repeats has a standard error of .003, and more repeats for it.
UNSURE, MANY = ("adult", "related", 0.51), 10_000
#: The rules whose publication is measured: a tree of this depth on these attributes.
ASKED = ("age", "education", "marital-status", "sex", "hours-per-week", "income")
DEPTH = 2
RULE_THETAS = (0.5, 0.7, 0.9)


def settings(plan: Plan) -> list[Setting]:
    """A setting per data set, scheme, theta and procedure; and one for the published rules."""
    repeats = plan.count(REPEATS, QUICK)
    fewer = min(repeats, ALIKE * -(-repeats // (ALIKE * FEWER)))
    mined = [
        setting(
            NAME, f"{data}-{scheme}-{theta}-{procedure}", times, plan, SECONDS[procedure],
            data=data, scheme=scheme, theta=theta, procedure=procedure,
        )
        for procedure, times in (("literal", repeats), ("noise-aware", fewer))
        for data in TARGETS
        for scheme, thetas in THETAS.items()
        for theta in thetas
    ]  # fmt: skip
    if not plan.small:
        data, scheme, theta = UNSURE
        own: dict[str, Value] = {"data": data, "scheme": scheme, "theta": theta, "more": 1}
        name = f"{data}-{scheme}-{theta}-more"
        mined.append(
            setting(NAME, name, MANY, plan, SECONDS["literal"], procedure="literal", **own)
        )
    return [*mined, setting(NAME, "rules", len(RULE_THETAS), plan)]


def run(one: Setting, tell: Tell) -> Rows:
    """Mean and variance of the accuracy; None if no estimate exists."""
    if one.name == "rules":
        return _rules(one, tell)
    own = {name: one[name] for name in ("data", "scheme", "theta")}
    literal = one["procedure"] == "literal"
    if one["theta"] == NOTHING[one["scheme"]]:
        nothing: dict[str, Value] = {"repeats": 0, "mean": None, "variance": None, "stderr": None}
        names = tuple(bayes_repeats.WAYS) if literal else (one["procedure"],)
        return [{**own, "procedure": name, **nothing} for name in names]
    found = _literal(one, tell) if literal else {one["procedure"]: _aware(one, tell)}
    if one.has("more"):
        found = {MORE: found["literal"]}
    return [
        {**own, "procedure": name, "repeats": one.repeats, **moments(scores, ALIKE)}
        for name, scores in found.items()
    ]


@cache
def population(data: str) -> bayes_repeats.Population:
    """The patterns of a data set."""
    return bayes_repeats.Population.of(*binary(data))


def design_of(data: str, scheme: str, theta: float) -> Design:
    """One group of all attributes; personal answers are yes with probability 1/2."""
    _, schema = binary(data)
    return Design(schema, [Group(schema.names, COINS[scheme](Fraction(str(theta)), schema))])


def _divided(
    one: Setting, start: int, stop: int
) -> Iterator[tuple[bayes_repeats.Division, Generator]]:
    """The division of each repeat, and its generator; `start` begins a division."""
    people = population(one["data"])
    for first in range(start, stop, ALIKE):
        division = people.split(one.rng(first // ALIKE, of=f"{one['data']}-divisions"))
        for repeat in range(first, min(first + ALIKE, stop)):
            yield division, one.rng(repeat)


def _literal(one: Setting, tell: Tell) -> dict[str, list[float]]:
    """The paper's procedure, in both readings."""
    found: dict[str, list[float]] = {name: [] for name in bayes_repeats.WAYS}
    people, scheme = population(one["data"]), SCHEMES[one["scheme"]]
    for start in range(0, one.repeats, bayes_repeats.BLOCK):
        stop = min(start + bayes_repeats.BLOCK, one.repeats)
        repeats = _divided(one, start, stop)
        for name, scores in bayes_repeats.repeated_scores(
            people, one["theta"], scheme, repeats
        ).items():
            found[name] += scores.tolist()
        tell(stop)
    return found


def _aware(one: Setting, tell: Tell) -> list[float]:
    """tacit's own naive Bayes, from reported records."""
    people, target = population(one["data"]), TARGETS[one["data"]]
    design = design_of(one["data"], one["scheme"], one["theta"])
    patterns = people.patterns.astype(np.uint8)
    classes = np.array(design.schema[target].categories)[patterns[:, -1]]
    found = []
    for (train, test), rng in _divided(one, 0, one.repeats):
        reported = disguise(np.repeat(patterns, train, axis=0), design, rng)
        model = NaiveBayes(design, target).fit(reported)
        right = model.predict(patterns[:, :-1]) == classes
        found.append(float(test @ right) / float(test.sum()))
        tell(len(found))
    return found


def _rules(one: Setting, tell: Tell) -> Rows:
    """PSE of income before and after the rules of a tree are published (section 4.2)."""
    codes, whole = binary("adult")
    schema = whole.subset(ASKED)
    true = np.ascontiguousarray(codes[:, [whole.index(name) for name in ASKED]])
    target = TARGETS["adult"]
    rows: Rows = []
    for repeat, theta in enumerate(RULE_THETAS):
        design = Design(schema, [Group(ASKED, unrelated_scheme(Fraction(str(theta)), schema))])
        shares = np.bincount(true @ (1 << np.arange(len(ASKED))[::-1]), minlength=1 << len(ASKED))
        table = (shares / len(true)).reshape(schema.sizes)
        prior = prior_of({ASKED: table}, design)
        reported = disguise(true, design, one.rng(repeat))
        rules = DecisionTree(design, target, max_depth=DEPTH).fit(reported).rules().known
        scopes = measure(design, prior, Limits())
        mined = after_mining([list(rules)], design, prior, scopes.attributes, Limits())[target]
        figures = {name: value for name, value in mined.to_dict().items() if name != "attribute"}
        rows.append({"theta": theta, "rules": len(rules), **figures})
        tell(repeat + 1)
    return rows
