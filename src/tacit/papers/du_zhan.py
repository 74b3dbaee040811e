"""Du & Zhan (2003): ID3 on Adult, one related group, every theta of the paper.

Using Randomized Response Techniques for Privacy-Preserving Data Mining, KDD 2003, section 5.
"""

from __future__ import annotations

from tacit import Design, Group, related
from tacit.papers import experiments, report
from tacit.papers.experiments import PROCEDURES
from tacit.papers.runner import MORE, Plan, Results, Rows, Setting, Tell

NAME = "du-zhan"
THETAS = (0.1, 0.2, 0.3, 0.4, 0.45, 0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0)
REPEATS, QUICK = experiments.USUAL, 2
#: Approximate time of a repeat.
SECONDS = 0.2
#: Thetas at which trees differ so much that 50 repeats do not determine the mean.
UNSURE = (0.51, 0.55)
#: Measured for the literal procedure with negative shares cut at zero, over 50 repeats.
REFERENCE = {0.51: 0.676, 0.55: 0.750, 0.6: 0.782, 0.7: 0.799, 0.8: 0.804, 0.9: 0.810, 1.0: 0.8135}
WHY = (
    "The paper draws this curve and prints no number; the reference was measured with negative "
    "shares cut at zero."
)


def settings(plan: Plan) -> list[Setting]:
    """A setting per theta; and for some of them, another with more repeats."""
    repeats = plan.count(REPEATS, QUICK)
    usual = [plan.setting(NAME, f"theta-{t}", repeats, SECONDS, theta=t) for t in THETAS]
    if plan.small:
        return usual
    many, seconds = experiments.MANY, SECONDS / 4
    more = [plan.setting(NAME, f"theta-{t}-more", many, seconds, theta=t, more=1) for t in UNSURE]
    return usual + more


def run(setting: Setting, tell: Tell) -> Rows:
    """Accuracy of both procedures, on true and on disguised test records."""
    _, schema = experiments.first_records()
    design = Design(schema, [Group(schema.names, related(theta=str(setting["theta"])))])
    columns = {"entropy": {"theta": setting["theta"]}}
    return experiments.tree_rows(design, setting, tell, columns)[0]


def section(results: Results) -> report.Section:
    """Both figures of the paper, and the accuracy estimated from disguised records."""
    rows = [row for setting_rows in results.values() for row in setting_rows]
    literal, aware = (report.by_theta(rows, "mean", procedure=name) for name in PROCEDURES)
    close = str(min(UNSURE))
    return report.section_of(
        NAME,
        _checks(rows),
        _charts(rows),
        {"du-zhan": report.table_of("ID3 on Adult: accuracy by theta", rows)},
        repeats=rows[0]["repeats"],
        literal=literal,
        aware=aware,
        than="below" if aware[close] < literal[close] else "not below",
        more="".join(
            f"Over {row['repeats']} repeats the literal tree has {row['mean']:.4f} +- "
            f"{row['stderr'] or 0:.4f}."
            for row in report.matching(rows, theta=min(UNSURE), procedure=MORE)
        ),
    )


def _checks(rows: Rows) -> list[report.Check]:
    ours = {theta: experiments.most_repeated(rows, theta=theta) for theta in REFERENCE}
    return [
        report.Check(
            f"ID3, literal, theta {theta:g}" + (" (undisguised)" if theta == 1 else ""),
            ours[theta]["mean"],
            reference=reference,
            within=0.01 if theta == 1 else experiments.NEAR,
            why=WHY + experiments.doubt(ours[theta]),
        )
        for theta, reference in REFERENCE.items()
    ]


def _charts(rows: Rows) -> list[report.Chart]:
    level = experiments.commonest()

    def curve(name: str, y: str, said: str = "") -> report.Curve:
        """A curve of one procedure, with a gap at theta = 1/2."""
        estimated = [
            point for point in report.points(rows, y, procedure=name) if point[1] is not None
        ]
        colour = list(PROCEDURES).index(name)
        return report.Curve(f"{name}{said}", [*estimated, (0.5, None)], colour, dashed=bool(said))

    means, variances = [], [curve(name, "variance") for name in PROCEDURES]
    for name in PROCEDURES:
        means += [curve(name, "mean"), curve(name, "estimated", ", estimated")]
    return [
        report.Chart("du-zhan-mean", "ID3: mean accuracy", "theta", "accuracy", means, level=level),
        report.Chart(
            "du-zhan-variance", "ID3: variance of the accuracy", "theta", "variance", variances
        ),
    ]
