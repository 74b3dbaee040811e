"""Soni & Shrivastva (2013): ID3 and CART with the attributes in one to four groups.

The text describes the schemes and shows its curves as images: no number is printed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.channel import related
from tacit.core.design import Design
from tacit.papers.experiments import (
    MANY,
    NEAR,
    PROCEDURES,
    TARGET,
    commonest,
    doubt,
    first_records,
    largest_gain,
    more_trials,
    most_repeated,
    summed_up,
    trials,
)
from tacit.papers.report import NO_ESTIMATE, Chart, Check, Curve, Section, points, table_of
from tacit.papers.runner import Plan, Results, Rows, Setting, Tell
from tacit.privacy import compare_schemes
from tacit.privacy.comparison import grouped, related_scheme
from tacit.reconstruction import Reconstruction

NAME = "soni-shrivastva"
THETAS, FEW = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0), (0.51, 0.6, 0.8, 1.0)
GROUPS = (1, 2, 3, 4)
CRITERIA = {"entropy": "ID3", "gini": "CART"}
REPEATS, QUICK = 50, 1
#: Approximate time of a repeat.
SECONDS = 0.4
#: ID3 at this theta with negative shares cut at zero, by groups.
HELD, REFERENCE = 0.6, {1: 0.782, 2: 0.727, 3: 0.658, 4: 0.657}
PRIVACY = ("groups", "theta", "pse", "pse_record", "map_record", "worst_record")


def settings(plan: Plan) -> list[Setting]:
    """A setting per number of groups and theta, some with more repeats, and one for privacy."""
    repeats = plan.count(REPEATS, QUICK)
    thetas = FEW if plan.quick else THETAS
    mined = [
        plan.setting(NAME, f"groups-{g}-theta-{theta}", repeats, SECONDS, groups=g, theta=theta)
        for g in GROUPS
        for theta in thetas
    ]
    if not plan.small:
        name, seconds = f"theta-{HELD}-more", SECONDS / 8
        mined += [
            plan.setting(NAME, f"groups-{g}-{name}", MANY, seconds, groups=g, theta=HELD, more=1)
            for g in GROUPS
        ]
    text = " ".join(str(theta) for theta in thetas)
    return [*mined, plan.setting(NAME, "privacy", 1, thetas=text)]


def run(setting: Setting, tell: Tell) -> Rows:
    """Accuracy and gain; or, for the last setting, privacy."""
    if setting.name == "privacy":
        return _privacy([float(theta) for theta in setting["thetas"].split()])
    _, schema = first_records()
    design = grouped(schema, setting["groups"], lambda _: related(theta=str(setting["theta"])))
    columns = {"groups": setting["groups"], "theta": setting["theta"]}
    if "more" not in dict(setting.values):
        return [columns | row for row in _mined(design, setting, tell)]
    unknown = {"estimated": None, "estimated_stderr": None, "gain": None}
    return [
        {**columns, "tree": CRITERIA["entropy"], **more_trials(design, setting, tell), **unknown}
    ]


def _mined(design: Design, setting: Setting, tell: Tell) -> Rows:
    """Both trees by both procedures, and the gain of the best split of all records."""
    results, gains = [], []
    for repeat in range(setting.repeats):
        if repeat == 0 or setting["theta"] != 1:  # without a disguise all repeats are the same
            trial, reported = trials(design, setting.rng(repeat), tuple(CRITERIA))
            gain = largest_gain(Reconstruction(reported, design), TARGET)
        results.append(trial)
        gains.append(gain)
        tell(repeat + 1)
    return [
        {
            "tree": tree,
            "procedure": name,
            "repeats": setting.repeats,
            **summed_up([trial[criterion, name] for trial in results]),
            "gain": float(np.mean(gains)),
        }
        for criterion, tree in CRITERIA.items()
        for name in PROCEDURES
    ]


def _privacy(thetas: list[float]) -> Rows:
    """Privacy of the schemes for the shares of yes that Adult has."""
    codes, schema = first_records()
    shares = codes.mean(axis=0)
    prior = {name: [1 - p, p] for name, p in zip(schema.names, shares.tolist(), strict=True)}
    compared = compare_schemes(
        schema, prior, thetas=thetas, groups=GROUPS, schemes={"related": related_scheme}
    )
    return [{name: getattr(point, name) for name in PRIVACY} for point in compared.points]


def section(results: Results) -> Section:
    """Accuracy, gain and privacy against theta and groups."""
    rows = [
        row for name, setting_rows in results.items() for row in setting_rows if name != "privacy"
    ]
    privacy = results["privacy"]
    return Section(
        NAME,
        "One to four groups, ID3 and CART",
        "M. Soni and V. Shrivastva, Randomized Response Technique in Data Mining, IJRITCC 1(6), "
        "2013",
        (
            "The records, the division and both procedures are those of Du & Zhan's experiment; "
            "the 15 attributes are in one to four runs of neighbours, each with a coin of its own, "
            f"for ID3 (entropy) and CART (Gini). Repeats: {rows[0]['repeats']}. The paper prints "
            "no number and says neither how often it repeated nor which attributes were together. "
            "Theta and 1 - theta are equally hard, so thetas above 1/2 are enough.",
            "With three or four groups near theta = 1/2 the literal tree is worse than giving "
            "everybody the commoner class: a share cut at zero looks pure and becomes a leaf.",
            "Gain is the information gain of the best split of all records, as the reports tell "
            "it: noise makes it look larger than it is.",
            "One group hides single answers but not how answers go together: the record as a "
            "whole becomes more private with every group, and mining needs more records.",
            f"At theta = 1/2: {NO_ESTIMATE}.",
        ),
        _checks(rows),
        _charts(rows, privacy),
        {
            "soni-shrivastva": table_of("Accuracy and gain by groups and theta", rows),
            "soni-shrivastva-privacy": table_of("Privacy by groups and theta", privacy),
        },
        _summary(rows, privacy),
    )


def _summary(rows: Rows, privacy: Rows) -> str:
    """The summary's sentences."""

    def shares(rows: Rows, key: str, **values: Any) -> str:
        shown = [points(rows, key, groups=groups, **values)[0][1] for groups in GROUPS]
        return ", ".join(f"{value:.4f}" for value in shown)

    at: dict[str, Any] = {"theta": HELD, "tree": "ID3"}
    return (
        f"With one to four groups at theta {HELD:g}, ID3 gets "
        f"{shares(rows, 'mean', procedure='literal', **at)} right by the literal procedure and "
        f"{shares(rows, 'mean', procedure='noise-aware', **at)} by the noise-aware one; the best "
        f"guess of a whole record is wrong for {shares(privacy, 'map_record', theta=HELD)} of "
        "them: more groups, more privacy, as the paper says."
    )


def _checks(rows: Rows) -> list[Check]:
    ours = {groups: most_repeated(rows, groups=groups, theta=HELD, tree="ID3") for groups in GROUPS}
    return [
        Check(
            f"ID3, literal, theta {HELD:g}, {_groups(groups)}",
            row["mean"],
            reference=REFERENCE[groups],
            within=NEAR,
            why="No number is printed; the reference was measured with negative shares cut at zero."
            + doubt(row),
        )
        for groups, row in ours.items()
    ]


def _groups(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"


def _charts(rows: Rows, privacy: Rows) -> list[Chart]:
    level = ("commonest class", commonest(first_records()[0]))
    accuracy = {
        tree: [
            Curve(
                f"{_groups(groups)}, {name}",
                [*points(rows, "mean", groups=groups, tree=tree, procedure=name), (0.5, None)],
                groups - 1,
                dashed=name == "literal",
            )
            for groups in GROUPS
            for name in PROCEDURES
        ]
        for tree in CRITERIA.values()
    }
    id3 = {"tree": "ID3", "procedure": "literal"}  # both procedures have the same gain
    gains = [Curve(_groups(g), points(rows, "gain", groups=g, **id3), g - 1) for g in GROUPS]
    by_theta = [Curve(_groups(g), points(privacy, "map_record", groups=g), g - 1) for g in GROUPS]
    by_group = [
        Curve(f"theta {t:g}", points(privacy, "map_record", "groups", theta=t), i)
        for i, t in enumerate(t for t in FEW if t < 1)
    ]
    hidden, title = "share of wrong best guesses", "Privacy of a record by"
    return [
        *(
            Chart(
                f"{NAME}-{tree.lower()}",
                f"{tree}: mean accuracy",
                "theta",
                "accuracy",
                curves,
                level=level,
            )
            for tree, curves in accuracy.items()
        ),
        Chart(f"{NAME}-gain", "Gain of the best split", "theta", "bits", gains),
        Chart(f"{NAME}-privacy-theta", f"{title} theta", "theta", hidden, by_theta),
        Chart(f"{NAME}-privacy-groups", f"{title} groups", "groups", hidden, by_group),
    ]
