"""Du & Zhan (2003): ID3 on Adult, one related group, every theta of the paper.

Using Randomized Response Techniques for Privacy-Preserving Data Mining, KDD 2003, section 5.
"""

from __future__ import annotations

import numpy as np

from tacit.channel import related
from tacit.design import Design, Group
from tacit.reproduce.adult import commonest, first_records
from tacit.reproduce.section import NO_ESTIMATE, Chart, Check, Section, Table, curve
from tacit.reproduce.setting import Plan, Results, Rows, Setting, Tell, moments, setting
from tacit.reproduce.trees import NEAR, PROCEDURES, doubt, trials

NAME = "du-zhan"
THETAS = (0.1, 0.2, 0.3, 0.4, 0.45, 0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0)
REPEATS, QUICK = 50, 2
#: Measured for the literal procedure with negative shares cut at zero.
REFERENCE = {0.51: 0.676, 0.55: 0.750, 0.6: 0.782, 0.7: 0.799, 0.8: 0.804, 0.9: 0.810, 1.0: 0.8135}
WHY = (
    "The paper draws this curve and prints no number; the reference was measured with negative "
    "shares cut at zero."
)


def settings(plan: Plan) -> list[Setting]:
    """One setting a theta."""
    repeats = plan.count(REPEATS, QUICK)
    return [setting(NAME, f"theta-{theta}", repeats, plan, theta=theta) for theta in THETAS]


def run(one: Setting, tell: Tell) -> Rows:
    """Accuracy of both procedures, on true and on disguised test records."""
    _, schema = first_records()
    design = Design(schema, [Group(schema.names, related(theta=str(one["theta"])))])
    found = []
    for repeat in range(one.repeats):
        found.append(trials(design, one.rng(repeat), ("entropy",))[0])
        tell(repeat + 1)
    return [
        {
            "theta": one["theta"],
            "procedure": name,
            "repeats": one.repeats,
            **moments([trial["entropy", name].accuracy for trial in found]),
            "estimated": float(np.mean([trial["entropy", name].estimated for trial in found])),
            "estimated_stderr": float(np.mean([trial["entropy", name].stderr for trial in found])),
        }
        for name in PROCEDURES
    ]


def section(results: Results) -> Section:
    """Both figures of the paper, and the accuracy estimated from disguised records."""
    rows = [row for found in results.values() for row in found]
    header = tuple(rows[0])
    table = Table(
        "du-zhan",
        "ID3 on Adult: accuracy by theta",
        header,
        tuple(tuple(row[name] for name in header) for row in rows),
    )
    return Section(
        NAME,
        "Decision trees from disguised records",
        "W. Du and Z. Zhan, Using Randomized Response Techniques for Privacy-Preserving Data "
        "Mining, KDD 2003",
        (
            "ID3 learns income from the first 10,000 records of Adult, cut to yes/no; all 15 "
            "attributes are one group of related questions. Each repeat splits the records 80/20 "
            "anew, disguises both parts, grows a tree and tests it on the true test records.",
            "The literal procedure cuts negative shares at zero and grows until leaves are pure. "
            "The noise-aware one makes a split only where it stands out by two standard errors. "
            "Dashed lines are accuracies estimated from the disguised test records alone, as the "
            "paper proposes; each has the standard error that the table shows.",
            "At theta = .51 even the share of the classes has a standard error of .28 with 8,000 "
            "records: some repeats take the rarer class for the commoner one, whatever the "
            "procedure.",
            f"At theta = 1/2: {NO_ESTIMATE}. At theta = 1 the tree is the undisguised one.",
        ),
        tuple(_checks(rows)),
        tuple(_charts(rows)),
        (table,),
    )


def _checks(rows: Rows) -> list[Check]:
    ours = {row["theta"]: row for row in rows if row["procedure"] == "literal"}
    return [
        Check(
            f"ID3, literal, theta {theta:g}" + (" (undisguised)" if theta == 1 else ""),
            float(ours[theta]["mean"] or 0),
            reference=reference,
            within=0.01 if theta == 1 else NEAR,
            why=WHY + doubt(ours[theta]["stderr"]),
        )
        for theta, reference in REFERENCE.items()
    ]


def _charts(rows: Rows) -> list[Chart]:
    level = ("commonest class", commonest(first_records()[0]))
    made = {
        y: [
            curve(f"{name}{said}", _points(rows, name, y), colour, dashed=bool(said))
            for colour, name in enumerate(PROCEDURES)
            for y, said in ys
        ]
        for y, ys in {
            "mean": (("mean", ""), ("estimated", ", estimated")),
            "variance": (("variance", ""),),
        }.items()
    }
    return [
        Chart(
            "du-zhan-mean", "ID3: mean accuracy", "theta", "accuracy", tuple(made["mean"]),
            level=level,
        ),
        Chart(
            "du-zhan-variance", "ID3: variance of the accuracy", "theta", "variance",
            tuple(made["variance"]),
        ),
    ]  # fmt: skip


def _points(rows: Rows, procedure: str, y: str) -> list[tuple[float, float | None]]:
    """Points of one procedure, with a gap at theta = 1/2."""
    chosen = [row for row in rows if row["procedure"] == procedure and row[y] is not None]
    known = [(float(row["theta"] or 0), float(row[y] or 0)) for row in chosen]
    return [*known, (0.5, None)]
