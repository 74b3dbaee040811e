"""The page's coin, in a browser, draws as the Python channel says: for every family and pair.

Every (true, reported) pair gets an exact binomial test, Bonferroni-corrected: a correct page fails
an assertion once in 10^6 (tests/support/chance.py). Coins that were tampered with must fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tacit import Attribute, Design, Group, Schema, matrix, related, unrelated
from tacit.collect.page import FILES, content
from tacit.core.channel import FAMILIES
from tests.support.browser import Served, device
from tests.support.chance import looks_like
from tests.support.families import MAKERS, Case, attributes_of, fits, random_coin
from tests.support.page_surveys import every_kind

DRAWS = 100_000  # of every family, over the cases of it
#: One answer of several categories, and a group of two that share a throw.
SHAPES = ((4,), (3, 2))

COUNT = """
async ({ design, each }) => {
  const { readDesign, disguiseGroup } = await import("/page/disguise.js");
  const { every } = await import("/page/device.js");
  const group = readDesign(design).groups[0];
  const sizes = group.reported.map(({ categories }) => categories.length);
  const cells = sizes.reduce((a, b) => a * b);
  return every(group.sizes).map((truth) => {
    const counts = Array(cells).fill(0);
    for (let i = 0; i < each; i += 1) {
      const codes = disguiseGroup(group, truth);
      counts[codes.reduce((cell, code, j) => cell * sizes[j] + code, 0)] += 1;
    }
    return counts;
  });
}
"""


@pytest.fixture(scope="module")
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """One for all tests but those that change the program: they only call its functions."""
    context = device(browser)
    page = context.new_page()
    page.goto(served[every_kind()])
    yield page
    context.close()


def cases() -> list[Case]:
    """Every family on each shape that it fits, and yes/no where it fits neither."""
    found = []
    for family in MAKERS:
        fitting = [shape for shape in SHAPES if fits(family, shape)]
        fitting = fitting or [shape for shape in ((2,), (2, 2)) if fits(family, shape)][:1]
        for shape in fitting:
            attributes = attributes_of(shape)
            rng = np.random.default_rng(len(family) * 100 + sum(shape))
            found.append(Case(family, random_coin(family, attributes, rng), attributes))
    return found


CASES = cases()


def counts_of(page: Page, design: Design, draws: int) -> tuple[Any, int]:
    """Counts of (reported, true) whole answers of the first group, and draws of each true one."""
    names = design.groups[0].attributes
    cells = int(np.prod([design.schema[name].size for name in names]))
    each = -(-draws // cells)
    counts = page.evaluate(COUNT, {"design": json.loads(design.to_json()), "each": each})
    return np.array(counts).T, each


def channel_of(design: Design) -> Any:
    return design.channel(design.groups[0].attributes).matrix


def test_every_family_is_drawn() -> None:
    assert {case.coin.family for case in CASES} == set(FAMILIES)
    assert {len(case.attributes) for case in CASES} == {1, 2}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs_occur_as_often_as_the_channel_says(page: Page, case: Case) -> None:
    alike = sum(case.coin.family == other.coin.family for other in CASES)
    counts, each = counts_of(page, case.design, DRAWS // alike)
    assert looks_like(counts, each, channel_of(case.design))


ONE_OF_FOUR = Design(Schema([Attribute("a", ["w", "x", "y", "z"])]), [Group(["a"], related("0.7"))])
#: What is put in the place of what, in the page's own file.
TAMPERED = {
    "a threshold off by one": ("drawn < step", "drawn <= step"),
    "no rejection": ("if (drawn < n) return drawn;", "return drawn % n;"),
    "four bits and floating point": (
        "const drawn = below(length);",
        "const drawn = BigInt(Math.floor((Number(below(16n)) / 16) * Number(length)));",
    ),
    "the truth told a little more often": (
        "export const throwCoin = (group) =>",
        'export const throwCoin = (group) => below(8n) === 0n ? { kind: "keep" } :',
    ),
    "the other answer always the next": ("+ below(each.cells - 1n)", ""),
}


def tampered(page: Page, right: str, wrong: str) -> None:
    """Serve the page's coin with one place changed."""
    source = content("disguise.js").decode()
    assert source.count(right) == 1, right
    changed = source.replace(right, wrong)
    page.route(
        "**/page/disguise.js",
        lambda route: route.fulfill(body=changed, content_type="text/javascript"),
    )


@pytest.mark.parametrize("name", [None, *TAMPERED], ids=str)
def test_only_a_tampered_coin_is_detected(
    context: BrowserContext, served: Served, name: str | None
) -> None:
    page = context.new_page()
    if name is not None:
        tampered(page, *TAMPERED[name])
    page.goto(f"{served.origin}/openapi.json")  # the page itself would refuse the changed file
    counts, each = counts_of(page, ONE_OF_FOUR, DRAWS // 2)
    assert looks_like(counts, each, channel_of(ONE_OF_FOUR)) == (name is None)


TRUTH = (1, 0, 0, 1)
RECORDS = 40_000


def test_groups_throw_for_themselves_and_a_joint_report_has_its_place(page: Page) -> None:
    """Whole records: groups apart are independent, and attributes come in the design's order."""
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abcd"])
    tall = matrix(
        [["3/5" if i == j else "1/10" for j in range(4)] for i in range(4)] + [["1/10"] * 4]
    )
    design = Design(
        schema,
        [Group(["d", "b"], tall), Group(["a"], related("3/4")), Group(["c"], related("2/3"))],
    )
    counts = page.evaluate(
        """async ({ design, truth, n }) => {
          const { readDesign, disguiseGroup, recordOf } = await import("/page/disguise.js");
          const made = readDesign(design);
          const throwAll = (group) => disguiseGroup(group, group.names.map((name) => truth[name]));
          const counts = {};
          for (let i = 0; i < n; i += 1) {
            const record = JSON.stringify(Object.entries(recordOf(made, throwAll)));
            counts[record] = (counts[record] ?? 0) + 1;
          }
          return counts;
        }""",
        {
            "design": json.loads(design.to_json()),
            "truth": dict(zip("abcd", TRUTH, strict=True)),
            "n": RECORDS,
        },
    )
    found = np.zeros(design.reported.sizes, dtype=int)
    for text, count in counts.items():
        record = json.loads(text)
        assert tuple(name for name, _ in record) == design.reported.names
        found[tuple(design.reported[name].code(label) for name, label in record)] += count
    channel = design.channel(schema.names)
    column = channel.matrix.reshape(*channel.reported.sizes, 2, 2, 2, 2)[(..., *TRUTH)]
    axes = [channel.reported.names.index(name) for name in design.reported.names]
    assert looks_like(found, RECORDS, column.transpose(axes))


REFUSED = {
    "weights that do not sum to 1": ('"theta":"5/6"', '"theta":"7/6"'),
    "a distribution that does not sum to 1": ('["1/3","1/3","1/3"]', '["1/3","1/3","1/4"]'),
    "a family that is not known": ('"family":"frapp"', '"family":"frap"'),
    "a parameter that is not known": ('"family":"related"', '"family":"related","bias":"1"'),
    "an attribute in two groups": ('"attributes":["income"]', '"attributes":["smokes"]'),
    "a category that comes twice": ('["low","middle","high"]', '["low","middle","low"]'),
    "a newer version": ('"tacit":"design","version":1', '"tacit":"design","version":2'),
    "a number that is none": ('"theta":"5/6"', '"theta":"NaN"'),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_design_that_does_not_add_up_is_refused(page: Page, name: str) -> None:
    text = json.dumps(every_kind().design.to_dict(), separators=(",", ":"))
    right, wrong = REFUSED[name]
    assert right in text
    read = "async (text) => void (await import('/page/disguise.js')).readDesign(JSON.parse(text))"
    page.evaluate(read, text)
    with pytest.raises(Exception, match="Error"):
        page.evaluate(read, text.replace(right, wrong, 1))


EDGES = [-1.5e22, -12.0, -1e-5, -0.0, 1e-7, 0.0001, 0.1, 7, 1e15 + 0.5, 1e16, 123456789012345680.0]
ODD_NAMES = ["\ue000", "\U0001f3b2", 'a"\\\x7f', "é\n", "__proto__", "10", "9"]


def designs() -> list[Design]:
    """Designs whose canonical JSON is not what a browser would write."""
    several = [Attribute(name, ["no", "yes"]) for name in ODD_NAMES]
    binned = Attribute("x", [f"c{i}" for i in range(len(EDGES) + 1)], edges=EDGES)
    personal = {name: ["1/4", "3/4"] for name in ODD_NAMES}
    return [
        *(case.design for case in CASES),
        Design(Schema([binned]), [Group(["x"], related("2/3"))]),
        Design(Schema(several), [Group(ODD_NAMES, unrelated("2/3", personal))]),
        every_kind().design,
    ]


def test_the_page_and_python_give_a_design_the_same_fingerprint(page: Page) -> None:
    read = "async (text) => (await import('/page/fingerprint.js')).fingerprintOf(JSON.parse(text))"
    for design in designs():
        assert page.evaluate(read, design.to_json()) == design.fingerprint


def test_chance_is_never_taken_from_the_weak_source() -> None:
    for name in FILES:
        assert b"Math.random" not in content(name)
