"""The section of the report on Zhan & Matwin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tacit.privacy import pse_curve
from tacit.reproduce.section import NO_ESTIMATE, Chart, Check, Curve, Section, curve, table_of
from tacit.reproduce.study_settings import MORE, Results, Rows
from tacit.reproduce.zhan_matwin import NAME, NOTHING, UNSURE
from tacit.table import Table

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


def section(results: Results) -> Section:
    """Figures of both data sets, their Figure 7, PSE curves and rules."""
    rows = [row for name, found in results.items() for row in found if name != "rules"]
    return Section(
        NAME,
        "Naive Bayes from unrelated questions",
        "J. Zhan and S. Matwin, Privacy-Preserving Data Mining in Electronic Surveys",
        (
            "Naive Bayes learns income from Adult (48,842 records, 15 yes/no attributes) and "
            "malignancy from the Wisconsin breast cancer records (699, 10 attributes). All "
            "attributes are one group; a personal answer is yes with probability 1/2. The paper "
            "divides the records once, 80/20, and disguises one part again and again. Here the "
            f"{_repeats(rows, 'literal')} repeats have a new division every second time, the same "
            "for every theta, so that the mean does not depend on one; the variance is that of "
            "disguising alone, as in the paper: 0 at theta = 1. Tests are on true records.",
            "The paper does not say what to do with negative shares. Literal multiplies them as "
            "they are; the second reading cuts them at zero; the noise-aware procedure is tacit's "
            f"own naive Bayes, by likelihood, with {_repeats(rows, 'noise-aware')} repeats, since "
            "each takes some fifty times as long: its standard errors are in the table.",
            f"Unrelated questions at theta = 0 and related ones at theta = 1/2: {NO_ESTIMATE}, "
            "although the paper lists them.",
            "PSE is how often a guess drawn from the posterior is wrong; the paper prints 1 - Wy "
            "once instead of Wy, which changes nothing at Wy = 1/2. After the "
            "rules of a tree are published, what they recover (REC, for one who knows their "
            "conditions and one who does not) is taken off, down to 0. " + _after(results["rules"]),
        ),
        tuple(_checks(rows)),
        (*_charts(rows), _pse()),
        {
            "zhan-matwin-figure-7": _figure_7(rows),
            "zhan-matwin": table_of("Mean and variance of the accuracy", rows),
            "zhan-matwin-rules": table_of(
                "PSE of income before and after a tree's rules are published", results["rules"]
            ),
        },
        _found(rows),
    )


def _found(rows: Rows) -> str:
    """The summary's sentences."""

    def mean(scheme: str, theta: float, procedure: str = "literal", data: str = "adult") -> str:
        return f"{_value(rows, 'mean', data, scheme, theta, procedure) or 0:.4f}"

    low, high = (mean("unrelated", theta) for theta in (0.5, 0.9))
    return (
        f"Undisguised, naive Bayes gets {mean('related', 1.0)} of Adult right (published .82) and "
        f"{mean('related', 1.0, data='wisconsin')} of Wisconsin. From unrelated questions it gets "
        f"{low} at theta .5 and {high} at .9 (.81 and .82), from related ones at .6 "
        f"{mean('related', 0.6)} (.81) and at .51 {mean('related', 0.51)} (.66), where negative "
        f"shares are multiplied; tacit's own gets {mean('related', 0.51, 'noise-aware')} there."
    )


def _repeats(rows: Rows, procedure: str) -> str:
    own = [int(row["repeats"] or 0) for row in rows if row["procedure"] == procedure]
    return f"{max(own):,}"


def _after(rules: Rows) -> str:
    """What PSE after mining shows, and what it does not."""
    left = max(float(row[key] or 0) for row in rules for key in ("pse_known", "pse_unknown"))
    told = all(row["accuracy_with_model"] == row["accuracy_before"] for row in rules)
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
    return said + (more if told else " The last columns show what an adversary gains by them.")


def _value(rows: Rows, key: str, *own: float | str) -> float | None:
    """The value of one setting: data set, scheme, theta, procedure."""
    names = ("data", "scheme", "theta", "procedure")
    found = next(row[key] for row in rows if tuple(row[name] for name in names) == own)
    return None if found is None else float(found)


def _checks(rows: Rows) -> list[Check]:
    literal = "literal"
    original = _value(rows, "mean", "adult", "related", 1.0, literal)
    benign = _value(rows, "mean", "wisconsin", "related", 1.0, literal)
    why = "The paper draws this curve and prints no number."
    return [
        Check("Adult, undisguised", original, 0.82, 0.8205, 0.004, ROUNDED),
        Check("Wisconsin, undisguised", benign, None, 0.960, 0.003, why),
        *(
            Check(
                f"Adult, {scheme}, theta {theta:g}, literal",
                _value(rows, "mean", "adult", scheme, theta, literal),
                mean,
                within=NEAR,
                why=ROUNDED,
            )
            for scheme, published in PUBLISHED.items()
            for theta, mean in published.items()
            if (scheme, theta) != UNSURE[1:]
        ),
        *_unsure(rows),
    ]


def _unsure(rows: Rows) -> Iterator[Check]:
    """Mean and variance of the setting with negative shares, from the most repeats."""
    data, scheme, theta = UNSURE
    more = any(row["procedure"] == MORE for row in rows)
    own = (data, scheme, theta, MORE if more else "literal")
    what = f"Adult, {scheme}, theta {theta:g}, literal"
    repeats, error = int(_value(rows, "repeats", *own) or 0), _value(rows, "stderr", *own) or 0.0
    why = RAW.format(repeats=repeats, error=error)
    yield Check(what, _value(rows, "mean", *own), PUBLISHED[scheme][theta], within=0.03, why=why)
    variance = _value(rows, "variance", *own)
    yield Check(f"{what}, variance", variance, VARIANCES[scheme][theta], why=why)


def _figure_7(rows: Rows) -> Table:
    heads = ("scheme", "theta", "published mean", *(f"{p}, mean" for p in PROCEDURES))
    heads += ("published variance", *(f"{p}, variance" for p in PROCEDURES))
    body = [
        (
            scheme,
            theta,
            mean,
            *(_value(rows, "mean", "adult", scheme, theta, p) for p in PROCEDURES),
            VARIANCES[scheme][theta],
            *(_value(rows, "variance", "adult", scheme, theta, p) for p in PROCEDURES),
        )
        for scheme, published in PUBLISHED.items()
        for theta, mean in published.items()
    ]
    none = (None,) * len(PROCEDURES)
    body.append(("related", NOTHING["related"], None, *none, None, *none))
    return Table(heads, body, "Their Figure 7 beside ours")


def _charts(rows: Rows) -> list[Chart]:
    return [
        Chart(
            f"zhan-matwin-{data}-{scheme}-{key}",
            f"Naive Bayes, {DATA[data]}, {scheme} questions: {said}",
            "theta",
            said,
            tuple(_curves(rows, data, scheme, key)),
        )
        for data in DATA
        for scheme in PUBLISHED
        for key, said in (("mean", "mean accuracy"), ("variance", "variance of the accuracy"))
    ]


def _curves(rows: Rows, data: str, scheme: str, key: str) -> list[Curve]:
    chosen = [row for row in rows if (row["data"], row["scheme"]) == (data, scheme)]
    own = [row for row in chosen if row["mean"] is None or row[key] is not None]
    made = [
        curve(
            procedure,
            [
                (float(row["theta"] or 0), None if row[key] is None else float(row[key] or 0))
                for row in own
                if row["procedure"] == procedure
            ],
            colour,
            dashed=procedure == "cut at zero",
        )
        for colour, procedure in enumerate(PROCEDURES)
    ]
    printed = (PUBLISHED if key == "mean" else VARIANCES)[scheme]
    if data == "adult":
        made.append(curve("published", list(printed.items()), len(PROCEDURES), dashed=True))
    return made


def _pse() -> Chart:
    thetas = np.linspace(0, 1, 51)
    made = [
        curve(
            f"Wa = {share:g}",
            list(zip(thetas.tolist(), pse_curve(thetas.tolist(), share).tolist(), strict=True)),
            colour,
            marks=False,
        )
        for colour, share in enumerate(SHARES)
    ]
    return Chart("zhan-matwin-pse", "PSE before mining, Wy = 1/2", "theta", "PSE", tuple(made))
