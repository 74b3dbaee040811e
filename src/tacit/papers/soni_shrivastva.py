"""Soni & Shrivastva (2013): ID3 and CART with the attributes in one to four groups.

The text describes the schemes and shows its curves as images: no number is printed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tacit.core.channel import related
from tacit.papers import experiments, report
from tacit.papers.experiments import PROCEDURES
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
        name, many, seconds = f"theta-{HELD}-more", experiments.MANY, SECONDS / 8
        mined += [
            plan.setting(NAME, f"groups-{g}-{name}", many, seconds, groups=g, theta=HELD, more=1)
            for g in GROUPS
        ]
    text = " ".join(str(theta) for theta in thetas)
    return [*mined, plan.setting(NAME, "privacy", 1, thetas=text)]


def run(setting: Setting, tell: Tell) -> Rows:
    """Accuracy and gain; or, for the last setting, privacy."""
    if setting.name == "privacy":
        return _privacy([float(theta) for theta in setting["thetas"].split()])
    _, schema = experiments.first_records()
    design = grouped(schema, setting["groups"], lambda _: related(theta=str(setting["theta"])))
    shown = {"groups": setting["groups"], "theta": setting["theta"]}
    columns = {criterion: {**shown, "tree": tree} for criterion, tree in CRITERIA.items()}
    rows, reports = experiments.tree_rows(design, setting, tell, columns)
    reconstructions = [Reconstruction(reported, design) for reported in reports]
    gains = [experiments.largest_gain(each, experiments.TARGET) for each in reconstructions]
    gain = float(np.mean(gains)) if gains else None
    return [{**row, "gain": gain} for row in rows]


def _privacy(thetas: list[float]) -> Rows:
    """Privacy of the schemes for the shares of yes that Adult has."""
    codes, schema = experiments.first_records()
    shares = codes.mean(axis=0)
    prior = {name: [1 - p, p] for name, p in zip(schema.names, shares.tolist(), strict=True)}
    compared = compare_schemes(
        schema, prior, thetas=thetas, groups=GROUPS, schemes={"related": related_scheme}
    )
    return [{name: getattr(point, name) for name in PRIVACY} for point in compared.points]


def section(results: Results) -> report.Section:
    """Accuracy, gain and privacy against theta and groups."""
    rows = [row for name in results if name != "privacy" for row in results[name]]
    privacy = results["privacy"]

    def shown(rows: Rows, key: str, **values: Any) -> str:
        by_groups = report.points(rows, key, "groups", theta=HELD, **values)
        return ", ".join(f"{share:.4f}" for _, share in by_groups)

    return report.section_of(
        NAME,
        _checks(rows),
        _charts(rows, privacy),
        {
            "soni-shrivastva": report.table_of("Accuracy and gain by groups and theta", rows),
            "soni-shrivastva-privacy": report.table_of("Privacy by groups and theta", privacy),
        },
        repeats=rows[0]["repeats"],
        literal=shown(rows, "mean", tree="ID3", procedure="literal"),
        aware=shown(rows, "mean", tree="ID3", procedure="noise-aware"),
        privacy=shown(privacy, "map_record"),
    )


def _checks(rows: Rows) -> list[report.Check]:
    why = "No number is printed; the reference was measured with negative shares cut at zero."
    checks = []
    for groups, measured in REFERENCE.items():
        row = experiments.most_repeated(rows, groups=groups, theta=HELD, tree="ID3")
        what = f"ID3, literal, theta {HELD:g}, {_groups(groups)}"
        reason = why + experiments.doubt(row)
        checks.append(report.Check(what, row["mean"], None, measured, experiments.NEAR, reason))
    return checks


def _groups(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"


def _charts(rows: Rows, privacy: Rows) -> list[report.Chart]:
    level = experiments.commonest()
    charts = []
    for tree in CRITERIA.values():
        curves = []
        for groups, name in product(GROUPS, PROCEDURES):
            points = report.points(rows, "mean", groups=groups, tree=tree, procedure=name)
            label, dashed = f"{_groups(groups)}, {name}", name == "literal"
            curves.append(report.Curve(label, [*points, (0.5, None)], groups - 1, dashed))
        name, title = f"{NAME}-{tree.lower()}", f"{tree}: mean accuracy"
        charts.append(report.Chart(name, title, "theta", "accuracy", curves, level=level))
    id3 = {"tree": "ID3", "procedure": "literal"}  # both procedures have the same gain
    gains = [
        report.Curve(_groups(g), report.points(rows, "gain", groups=g, **id3), g - 1)
        for g in GROUPS
    ]
    privacy_curves = [
        report.Curve(_groups(g), report.points(privacy, "map_record", groups=g), g - 1)
        for g in GROUPS
    ]
    by_group = [
        report.Curve(f"theta {t:g}", report.points(privacy, "map_record", "groups", theta=t), i)
        for i, t in enumerate(t for t in FEW if t < 1)
    ]
    hidden, title = "share of wrong best guesses", "Privacy of a record by"
    return [
        *charts,
        report.Chart(f"{NAME}-gain", "Gain of the best split", "theta", "bits", gains),
        report.Chart(f"{NAME}-privacy-theta", f"{title} theta", "theta", hidden, privacy_curves),
        report.Chart(f"{NAME}-privacy-groups", f"{title} groups", "groups", hidden, by_group),
    ]
