"""The figures of the README and the docs, drawn by tacit and matplotlib.

python -m tests.support.doc_figures     writes docs/figures/*.png (part of make screenshots)

Seeds are fixed, so a figure changes only if its numbers do. The README's own code draws the tree.
"""

from __future__ import annotations

import io
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tacit import Attribute, Design, Group, Schema, forced, related, uniform_perturbation, unrelated
from tacit.core.channel import Coin
from tacit.optimize import front
from tacit.output.plot_style import BLUE, GREY, INK, RED, plain
from tacit.survey import widths
from tests.support.doc_blocks import blocks
from tests.support.screenshots import small

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "figures"
GREEN = "#009e73"
#: Of the true cells of the README's first example, in its order.
_TRUE = np.outer([0.7, 0.3], [0.5, 0.3, 0.2]).ravel()
_RESPONDENTS = 1000


def readme_example(word: str) -> dict[str, Any]:
    """The names that the README's Python block with this word defines, run in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if word in block)
    return run_quietly(code)


def run_quietly(code: str) -> dict[str, Any]:
    """The names that some code defines, run in an empty folder; it prints nothing."""
    names: dict[str, Any] = {"print": lambda *_: None}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(code, names)
        finally:
            os.chdir(here)
    return names


def estimate() -> Figure:
    """The README's first example: reported shares, estimates with intervals, the truth."""
    names = readme_example("reconstruct(")
    table = names["reconstruct"](names["reported"], names["design"]).table(["smokes", "income"])
    lower, upper = (np.ravel(end) for end in table.interval())
    value = table.value.ravel()
    cells = names["reported"][:, 0] * 3 + names["reported"][:, 1]
    reported = np.bincount(cells.astype(int), minlength=6) / len(cells)
    figure = Figure(figsize=(5.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(6)
    axes.bar(places, 100 * reported, 0.72, color="#dddddd", label="reported")
    axes.hlines(100 * _TRUE, places - 0.36, places + 0.36, color=RED, lw=2, label="truth")
    axes.errorbar(
        places,
        100 * value,
        100 * np.array([value - lower, upper - value]),
        fmt="o",
        color=BLUE,
        capsize=3,
        label="estimate, 95 % interval",
    )
    axes.set_xticks(places, [f"{s}\n{i}" for s in ("no", "yes") for i in ("low", "mid", "high")])
    axes.set_xlabel("smokes, income")
    axes.set_ylabel("% of people")
    plain(axes, "y")
    axes.legend(frameon=False, fontsize="small")
    return figure


def tree() -> Figure:
    """The README's third example."""
    drawn: Figure = readme_example("DecisionTree")["tree"].plot()
    return drawn


def study() -> Figure:
    """The figure of the worked study, drawn by the code of its page."""
    code = "".join(text for language, text in blocks("docs/study.md") if language == "python")
    drawn: Figure = run_quietly(code)["figure"]
    return drawn


def yes_no(coin: Coin) -> tuple[Design, float]:
    """A design of one yes/no question, and half its 95 % interval at a share of 10 %."""
    design = Design(Schema([Attribute("answer", ["no", "yes"])]), [Group(["answer"], coin)])
    return design, _half(design)


def _half(design: Design, respondents: int = _RESPONDENTS) -> float:
    (width,) = widths(design, respondents)
    half = width.half(width.at_tenth)
    assert half is not None
    return 100 * half


_COINS: tuple[tuple[str, str, str, Callable[[float], Coin]], ...] = (
    ("related, crosswise", BLUE, "-", lambda t: related(round(0.5 + t / 2, 4))),
    ("unrelated, 1/4 yes", RED, "--", lambda t: unrelated(round(t, 4), [0.75, 0.25])),
    ("forced, 3/4 yes", GREEN, "-.", lambda t: forced(round(t, 4), [0.25, 0.75])),
)


def families() -> Figure:
    """Precision against two measures of privacy, for a yes/no question."""
    figure = Figure(figsize=(8.4, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for label, colour, style, coin in _COINS:
        epsilon, posterior, half = [], [], []
        for t in np.linspace(0.2, 0.98, 60):
            design, width = yes_no(coin(float(t)))
            channel = design.channel(["answer"])
            matrix = channel.factors[0].channel.matrix
            epsilon.append(channel.epsilon)
            posterior.append(100 * matrix[1, 1] * 0.1 / (matrix[1] @ [0.9, 0.1]))
            half.append(width)
        left.plot(epsilon, half, style, color=colour, label=label)
        right.plot(posterior, half, style, color=colour)
    left.set_xlabel("epsilon of an answer")
    left.set_xlim(0, 5)
    left.set_ylabel(f"± points, {_RESPONDENTS:,} respondents")
    right.set_xlabel("true “yes” among 100 who send “yes”")
    right.set_xlim(10, 80)
    left.set_ylim(0, 12)
    for axes in (left, right):
        axes.axhline(100 * 1.96 * math.sqrt(0.09 / _RESPONDENTS), color=GREY, lw=0.8, ls=":")
        plain(axes, "both")
    left.legend(frameon=False, fontsize="small")
    return figure


def respondents() -> Figure:
    """Interval against the number of respondents, for several thetas and numbers of categories."""
    figure = Figure(figsize=(8.4, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    counts = np.unique(np.geomspace(100, 20_000, 40).astype(int))
    for theta, colour in (("3/5", RED), ("2/3", GREEN), ("3/4", BLUE), ("5/6", GREY), ("1", INK)):
        design, _ = yes_no(related(theta))
        halves = [_half(design, int(n)) for n in counts]
        left.plot(counts, halves, color=colour, label=f"theta {theta}")
    for size, colour in ((2, INK), (3, GREY), (5, BLUE), (10, RED)):
        attribute = Attribute("answer", [str(i) for i in range(size)])
        design = Design(
            Schema([attribute]), [Group(["answer"], uniform_perturbation(f"2/{2 + size}"))]
        )
        assert math.isclose(design.channel(["answer"]).epsilon, math.log(3))
        halves = [_half(design, int(n)) for n in counts]
        right.plot(counts, halves, color=colour, label=f"{size} categories")
    left.set_title("related, yes/no", fontsize="medium")
    right.set_title("uniform_perturbation, epsilon 1.10", fontsize="medium")
    left.set_ylabel("± points at a share of 10 %")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("respondents")
        axes.set_xticks([100, 300, 1000, 3000, 10_000], ["100", "300", "1,000", "3,000", "10,000"])
        axes.minorticks_off()
        axes.set_ylim(0, 20)
        plain(axes, "both")
        axes.legend(frameon=False, fontsize="small")
    return figure


def optimal() -> Figure:
    """The best channels for an uneven distribution, beside Warner's."""
    drawn: Figure = front([0.6, 0.3, 0.1], n_records=10_000, delta=0.8).plot()
    return drawn


def figures() -> Iterator[tuple[str, Figure]]:
    for draw in (estimate, tree, families, respondents, optimal, study):
        yield f"{draw.__name__}.png", draw()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, figure in figures():
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
        kept = small(stream.getvalue())
        (FOLDER / name).write_bytes(kept)
        sys.stdout.write(f"{name}: {len(kept):,} bytes\n")


if __name__ == "__main__":
    main()
