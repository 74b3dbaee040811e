"""Coverage of intervals and size of tests of pooled samples and models of non-compliance.

    .venv/bin/python -m tests.statistical.compliance_study --surveys 4000 --seed 1

An interval covers the truth if and only if the profile likelihood at the truth is within the
quantile, so no limit is searched for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit import Attribute, Design, Group, Schema, crosswise, forced, mangat, related, truthful
from tacit.compliance import Careless, Cheaters, LyingCarriers
from tacit.compliance.mixture import Quantity, ReportMixture, excess, share_of_all
from tacit.compliance.noncompliance import NoncomplianceModel, compliance_tests
from tacit.compliance.pool import read_sample, samples_agree
from tacit.core.arrays import Array
from tacit.output.table import Table
from tests.support.compliance import YES_NO, design_of

LEVEL = 0.95
THREE = Attribute("drug", ["never", "once", "often"])
ANCHOR = Attribute("anchor", ["no", "yes"])


@dataclass(frozen=True)
class Setting:
    """Designs, a model or None for pooled samples, true shares of the classes, sample size."""

    name: str
    designs: tuple[Design, ...]
    model: NoncomplianceModel | None
    shares: tuple[float, ...]
    n: int

    def matrices(self) -> list[Array]:
        """What each class reports in each sample."""
        found = []
        for design in self.designs:
            names = list(design.schema.names)
            record = np.zeros((1, len(names)), dtype=int)
            read = read_sample(record, design, names, "sample")
            target = design.schema[names[0]]
            pair = (read.matrix,) if self.model is None else self.model.matrices(read, target)
            found.append(np.column_stack(pair))
        return found

    def quantities(self) -> dict[str, Quantity]:
        """The estimated quantities: shares of categories but the first, share of the others."""
        target = self.designs[0].schema.attributes[0]
        if self.model is None:
            parts = [share_of_all(part) for part in np.eye(target.size)]
        else:
            parts = self.model.distribution(target)
        named = dict(zip(map(str, target.categories[1:]), parts[1:], strict=True))
        return named if self.model is None else named | {"share": self.model.share(target)}

    def surveys(self, number: int, rng: np.random.Generator) -> Iterator[ReportMixture]:
        """Simulated surveys."""
        matrices = self.matrices()
        for _ in range(number):
            reports = (rng.multinomial(self.n, k @ self.shares).astype(float) for k in matrices)
            yield ReportMixture(tuple(reports), tuple(matrices))


def warner(theta: str, attribute: Attribute = YES_NO) -> Design:
    return design_of(related(theta), attribute)


def die(yes: str) -> Design:
    """The truth with 2/3, else a die that says yes with this probability."""
    return design_of(forced("2/3", [f"{1 - float(yes):g}", yes]))


CROSSWISE = Design(
    Schema([YES_NO, ANCHOR]),
    [Group(["drug"], crosswise("0.15")), Group(["anchor"], crosswise("0.15"))],
)
DICE, TWO = (die("0.25"), die("0.75")), (warner("0.8"), warner("0.3"))
MANGAT = (design_of(mangat("1/2")), design_of(mangat("4/5")))
KNOWN = Careless("anchor", [1, 0])
SETTINGS = (
    Setting(
        "pool, related .7 + truthful", (warner("0.7"), design_of(truthful())), None, (0.8, 0.2), 500
    ),
    Setting("pool, rare", (warner("0.8"), design_of(truthful())), None, (0.99, 0.01), 100),
    Setting(
        "pool, 3 categories",
        (warner("0.8", THREE), warner("0.6", THREE)),
        None,
        (0.5, 0.3, 0.2),
        500,
    ),
    Setting("cheaters", DICE, Cheaters(), (0.6, 0.25, 0.15), 1000),
    Setting("cheaters, none", DICE, Cheaters(), (0.75, 0.25, 0.0), 1000),
    Setting("cheaters, few, rare", TWO, Cheaters(), (0.93, 0.05, 0.02), 500),
    Setting("lying carriers", DICE, LyingCarriers(), (0.7, 0.2, 0.1), 1000),
    Setting("lying carriers, none", DICE, LyingCarriers(), (0.8, 0.2, 0.0), 1000),
    Setting("careless", (CROSSWISE,), KNOWN, (0.64, 0.16, 0.2), 1000),
    Setting("careless, none", (CROSSWISE,), KNOWN, (0.8, 0.2, 0.0), 1000),
    Setting("lying carriers, 50", DICE, LyingCarriers(), (0.8, 0.14, 0.06), 50),
    Setting("lying carriers, 50, none", DICE, LyingCarriers(), (0.95, 0.05, 0.0), 50),
    Setting("lying carriers, Mangat, 50, none", MANGAT, LyingCarriers(), (0.98, 0.02, 0.0), 50),
)


def measured(setting: Setting, number: int, rng: np.random.Generator) -> dict[str, float]:
    """Coverage of each quantity; how often the test rejects at 5 %."""
    quantities = setting.quantities()
    truth = {name: q.value(np.array(setting.shares)) for name, q in quantities.items()}
    counted = dict.fromkeys([*quantities, "rejected"], 0)
    for mixture in setting.surveys(number, rng):
        for name, quantity in quantities.items():
            counted[name] += excess(mixture, quantity, truth[name], LEVEL) <= 0
        test = samples_agree(mixture) if setting.model is None else compliance_tests(mixture)[0]
        counted["rejected"] += test.pvalue <= 1 - LEVEL
    return {name: count / number for name, count in counted.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    for setting in SETTINGS:
        found = measured(setting, asked.surveys, rng)
        rows = [(name, f"{value:.4f}") for name, value in found.items()]
        sys.stdout.write(f"{Table(('of', 'share'), rows, setting.name)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
