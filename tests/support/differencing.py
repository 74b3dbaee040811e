"""The differencing attack: all numbers that a viewer gets over all releases, as one linear system.

The unknowns are the reported joint counts of all questions, with a category for missing answers,
one table for each step between two releases, and one of the people whom tables and models of some
records leave out at random. Whatever is shown is read as if it told the exact
number of people behind it: a linear function of the unknowns, since the disguise has an inverse. A
figure is told if it is a combination of these functions.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from tacit import reconstruct
from tacit.core.arrays import Mask
from tacit.core.conditions import impossible_cells
from tacit.core.label_codes import with_no_answer
from tacit.records import PatternTable
from tacit.studio.accounts import Role
from tacit.studio.disclosure import SMALLEST_GROUP
from tacit.studio.server import PAGES
from tacit.survey import Published
from tests.support.studio import Browser

#: The records of a table or model that leaves out some at random: questions that all of them
#: answered, of those that others did not, and answers that none of them gave.
Sample = tuple[tuple[str, ...], tuple[tuple[str, tuple[int, ...]], ...]]
#: A function that has this much of its length outside of what is known is not told.
_OUTSIDE = 1e-6


@dataclass
class KnownFigures:
    """What was shown of a survey, and the true counts of each set of records it was shown of.

    `sets` are nested: a later one, with more records, contains those before.
    """

    survey: Published
    sets: dict[int, PatternTable] = field(default_factory=dict)
    singles: set[tuple[int, str]] = field(default_factory=set)
    cells: set[tuple[int, tuple[tuple[str, tuple[int, ...]], ...], Sample | None]] = field(
        default_factory=set
    )

    @property
    def names(self) -> tuple[str, ...]:
        """All questions."""
        return self.survey.design.schema.names

    def add_single(self, records: int, name: str) -> None:
        """The results of a question were shown."""
        self.singles.add((records, name.removesuffix(" (asked)")))

    def add_cell(
        self, records: int, answers: Mapping[str, Any], sample: Sample | None = None
    ) -> None:
        """The number of people with these answers, as labels by question, was shown.

        A list of labels is a merged group. With a `sample`, some of the records were left out at
        random, always the same ones of the same sample.
        """
        schema = self.survey.design.schema
        codes = {}
        for name, labels in answers.items():
            categories = [*map(str, schema[name].categories)]
            listed = labels if isinstance(labels, list) else [labels]
            codes[name] = tuple(sorted(categories.index(str(label)) for label in listed))
        self.cells.add((records, tuple(sorted(codes.items())), sample))

    def sample(
        self, records: int, names: Sequence[str], without: Mapping[str, Sequence[int]]
    ) -> Sample:
        """The sample of a table or model of these questions, without some answers."""
        whole = with_missing_counts(self.sets[records], self.survey)
        lacking = tuple(name for name in sorted(names) if whole.marginal([name])[-1] > 0)
        return lacking, tuple((name, tuple(codes)) for name, codes in sorted(without.items()))

    def is_exact(self, table: Mapping[str, Any], names: Sequence[str]) -> bool:
        """Whether a table of the API is that of all records with an answer to its questions."""
        row, *by = names
        whole = reconstruct(self.sets[table["records"]], self.survey.design)
        shares = np.ravel(whole.table([row], given=by[::-1]).value)
        shown = [cell["share"] for cell in table["cells"]]
        pairs = zip(shown, shares, strict=True)
        return all(one is None or one == pytest.approx(other, abs=1e-12) for one, other in pairs)

    # The linear system ---------------------------------------------------------------------------

    @property
    def _sizes(self) -> list[int]:
        return [size + 1 for size in self.survey.design.reported.sizes]

    def _function(self, weights: Mapping[str, np.ndarray], upto: int) -> np.ndarray:
        """A product of weights per question, summed over the steps up to a set of records."""
        sizes = dict(zip(self.names, self._sizes, strict=True))
        product = np.ones(1)
        for name in self.names:
            product = np.kron(product, weights.get(name, np.ones(sizes[name])))
        possible = product * np.ravel(self._possible)
        return np.concatenate([float(records <= upto) * possible for records in sorted(self.sets)])

    @cached_property
    def _possible(self) -> Mask:
        """The joint cells that people may be in, as everybody knows.

        None leaves out a question that is not optional, or has answers that are excluded.
        """
        found = np.ones(self._sizes, bool)
        optional = {
            a.name for q in self.survey.survey.questions if q.optional for a in q.attributes
        }
        exact = [name for name in self.names if self.survey.design.is_exact(name)]
        for place, name in enumerate(self.names):
            if name not in optional:
                found[(slice(None),) * place + (-1,)] = False
        for a, b in combinations(exact, 2):
            places = self.names.index(a), self.names.index(b)
            others = tuple(p for p in range(len(self.names)) if p not in places)
            found &= ~np.expand_dims(self._impossible(a, b), others)
        return found

    def _true_weights(self, name: str, code: int) -> np.ndarray:
        """The weight of each report in the number of people with a true answer; 0 if missing."""
        inverse = np.linalg.inv(self.survey.design.channel([name]).matrix)
        return np.append(inverse[code], 0.0)

    def _sampled(self, weights: Mapping[str, np.ndarray], sample: Sample) -> dict[str, Any]:
        """The same weights for the records of a sample only."""
        lacking, without = sample
        sizes = dict(zip(self.names, self._sizes, strict=True))
        kept = {name: np.append(np.ones(sizes[name] - 1), 0.0) for name in lacking}
        for name, codes in without:
            kept.setdefault(name, np.ones(sizes[name]))[list(codes)] = 0.0
        return {
            name: weights.get(name, 1.0) * kept.get(name, np.ones(sizes[name]))
            for name in {*weights, *kept}
        }

    def _with_left_out(
        self, records: int, weights: Mapping[str, np.ndarray], sample: Sample | None
    ) -> np.ndarray:
        """The function for the records of a set, less the people whom the sample leaves out."""
        samples = sorted({(n, s) for n, _, s in self.cells if s is not None})
        left_out = np.zeros((len(samples), math.prod(self._sizes)))
        if sample is not None:
            weights = self._sampled(weights, sample)
            first = self._function(weights, max(self.sets))[: left_out.shape[1]]
            left_out[samples.index((records, sample))] = -first
        return np.concatenate([self._function(weights, records), left_out.ravel()])

    def rows(self) -> np.ndarray:
        """All functions that are known."""
        sizes = dict(zip(self.names, self._sizes, strict=True))
        known = [
            self._with_left_out(records, {name: unit}, None)
            for records, name in self.singles
            for unit in np.eye(sizes[name])
        ]
        known += [self._with_left_out(records, {}, None) for records in self.sets]
        known += [
            self._with_left_out(records, {}, sample)
            for records, sample in {(n, s) for n, _, s in self.cells if s is not None}
        ]
        for records, codes, sample in self.cells:
            weights = {
                name: sum(self._true_weights(name, code) for code in merged)
                for name, merged in codes
            }
            known.append(self._with_left_out(records, weights, sample))
        return np.array(known)

    def targets(self) -> Iterator[tuple[str, np.ndarray]]:
        """Figures of 1 to 19 people: cells of two questions, of those who came in some steps.

        A cell is one if an answer that it belongs to was given by so few of them. People who left
        out a question are a group too.
        """
        moments = sorted(self.sets)
        whole = {n: with_missing_counts(self.sets[n], self.survey) for n in moments}
        for a, b in combinations(self.names, 2):
            tables = {n: whole[n].marginal([a, b]) for n in moments}
            for before, after in combinations([0, *moments], 2):
                people = tables[after] - (tables[before] if before else 0)
                few = [
                    (total > 0) & (total < SMALLEST_GROUP)
                    for total in (people.sum(axis=1), people.sum(axis=0))
                ]
                small = (few[0][:, None] | few[1][None, :]) & ~self._impossible(a, b)
                for i, j in zip(*np.nonzero(small), strict=True):
                    units = {a: np.eye(len(people))[i], b: np.eye(people.shape[1])[j]}
                    function = self._with_left_out(after, units, None)
                    if before:
                        function = function - self._with_left_out(before, units, None)
                    yield f"{a} {i}, {b} {j}, after {before} up to {after}", function
                    for records, sample in {(n, s) for n, _, s in self.cells if s and not before}:
                        if records == after:
                            function = self._with_left_out(after, units, sample)
                            yield f"{a} {i}, {b} {j}, of {after} in {sample}", function

    def _impossible(self, a: str, b: str) -> Mask:
        """The cells of two questions that the questionnaire excludes."""
        schema = self.survey.design.schema.subset([a, b])
        cells = impossible_cells(self.survey.design.conditions, schema)
        found = np.zeros([size + 1 for size in schema.sizes], bool)
        found[:-1, :-1] = False if cells is None else cells
        return found

    def told(self) -> list[str]:
        """The figures of fewer than 20 people that what is shown determines."""
        rows = self.rows()
        _, sizes, right = np.linalg.svd(rows, full_matrices=False)
        basis = right[sizes > 1e-9 * sizes[0]]
        found = []
        for words, function in self.targets():
            rest = function - basis.T @ (basis @ function)
            if np.linalg.norm(rest) < _OUTSIDE * np.linalg.norm(function):
                found.append(words)
        return found


def with_missing_counts(table: PatternTable, survey: Published) -> PatternTable:
    """The table with a category for missing answers, also if there are none."""
    whole = table.with_no_answer()
    return PatternTable(with_no_answer(survey.design.reported), whole.patterns, whole.counts)


# What a viewer reads -----------------------------------------------------------------------------

#: Viewer-readable pages that have no figure of answers, or whose figures are checked elsewhere.
WITHOUT_FIGURES = (
    "codebook.md",
    "design.json",
    "questions",
    "export",
    "report",
    "regression",
    "comparison.csv",
    "regression.csv",
    "{question}.svg",
)
_NUMBER = re.compile(r'<td[^>]* class="num[^"]*">([^<]*)<')
_FLOAT = re.compile(r"-?\d+\.\d+(e[-+]\d+)?")


class Viewer:
    """Somebody who may only view: reads every page that a viewer may read, and keeps all of it."""

    def __init__(self, browser: Browser, survey: Published, figures: KnownFigures) -> None:
        self.browser, self.survey, self.figures = browser, survey, figures
        self.statuses: dict[str, set[int]] = {}
        self._compared: set[float] = set()
        self._read_of: int | None = None
        self.report = ""

    def look(self) -> None:
        """Read everything that there is now."""
        paths = [
            page.path
            for page in PAGES
            if page.method == "GET" and page.needs is Role.VIEWER and "{survey}" in page.path
        ]
        state = self.browser.get(f"/api/surveys/{self.survey.slug}").json()
        again = state["compared_records"] == self._read_of
        if not again:
            self._compared, self._read_of = set(), state["compared_records"]
        first, last = "/api/surveys/{survey}/results", "/surveys/{survey}/report.html"
        for path in sorted(paths, key=lambda path: (path == last) - (path == first)):
            if not (again and path.endswith(("/table", "/api/surveys/{survey}/regression"))):
                self._read(path)

    def _get(self, path: str) -> Any:
        answer = self.browser.get(path)
        self.statuses.setdefault(path.partition("?")[0], set()).add(answer.status_code)
        return answer

    def _read(self, path: str) -> None:
        own = path.replace("{survey}", self.survey.slug)
        last = path.rsplit("/", 1)[-1]
        if path == "/api/surveys/{survey}/results" or last == "estimates.json":
            self._results(own)
        elif last == "table" and path.startswith("/api"):
            self._tables(own)
        elif last == "regression" and path.startswith("/api"):
            self._regressions(own)
        elif last == "{model}" and path.startswith("/api"):
            self._models(own)
        elif last in ("{model}", "compare", "results", "{survey}", "report.html", "models"):
            self._page(own)
        elif last in ("estimates.csv", "estimates.tex", "report.pdf"):
            self._file(own, last)
        else:
            assert last in WITHOUT_FIGURES, f"{path}: say which figures this page shows"

    def _results(self, path: str) -> None:
        answer = self._get(path)
        if answer.status_code != 200:
            return
        found = answer.json()
        self._numbers = _floats(found)
        self._questions = [one["name"] for one in found["questions"]]
        for name in self._questions:
            self.figures.add_single(found["records"], name)
        for point in found["releases"]:
            for name in point["widths"]:
                self.figures.add_single(point["records"], name)

    def _tables(self, path: str) -> None:
        for names in (*permutations(self.figures.names, 2), *combinations(self.figures.names, 3)):
            keys = dict(zip(("row", "column", "layer"), names, strict=False))
            query = urlencode(keys)
            answer = self._get(f"{path}?{query}")
            own = path.removeprefix("/api").removesuffix("table")
            page = self.browser.get(f"{own}compare?{query}")
            if answer.status_code != 200:
                assert not _NUMBER.search(page.text), f"{path}?{query}"
                continue
            table = answer.json()
            shown = {
                (cell["layer"], cell["column"], cell["row"])
                for cell in table["cells"]
                if not cell["suppressed"]
            }
            sample = None
            if not self.figures.is_exact(table, names):
                sample = self.figures.sample(table["records"], names, {})
            self._analysed(own + "comparison.csv", query, table)
            for group in table["groups"]:
                if group["people"] is not None:
                    labels = {keys[key]: group[key] for key in ("layer", "column") if group[key]}
                    self.figures.add_cell(table["records"], labels)
            for one in shown:
                labels = dict(zip(("layer", "column", "row"), one, strict=True))
                answers = {name: labels[key] for key, name in keys.items()}
                self.figures.add_cell(table["records"], answers, sample)
            for one in table["comparisons"]:
                for group in (one["column"], one["against"]):
                    assert (one["layer"], group, one["row"]) in shown
            assert table["test"] is None or len(shown) == len(table["cells"])
            _shows_only(page.text, _floats(table), path)
            self._merged(path, keys, sample)

    def _recodings(self, name: str) -> list[dict[int, str]]:
        """Merge every pair of answers, and leave out every one; at least two groups remain."""
        codes = range(self.survey.design.schema[name].size)
        if len(codes) == 2:
            return []
        pairs = [{a: "1", b: "1"} for a, b in combinations(codes, 2)]
        return pairs + [{code: "out"} for code in codes]

    def _labels(self, name: str, recoding: Mapping[int, str]) -> dict[str, list[str]]:
        """The groups of a question by their labels."""
        categories = [*map(str, self.survey.design.schema[name].categories)]
        groups = [[label] for k, label in enumerate(categories) if k not in recoding]
        if "1" in recoding.values():
            groups.append([categories[k] for k in recoding])
        return {" or ".join(group): group for group in groups}

    def _merged(self, path: str, keys: Mapping[str, str], sample: Sample | None) -> None:
        """Recode every question, and every two of a table of two."""
        own = path.removeprefix("/api").removesuffix("table")
        chosen = [{name: one} for name in keys.values() for one in self._recodings(name)]
        if len(keys) == 2:
            chosen += [
                dict(zip(keys.values(), both, strict=True))
                for both in product(*map(self._recodings, keys.values()))
            ]
        for recodings in chosen:
            fields = {f"{name}.{c}": v for name, one in recodings.items() for c, v in one.items()}
            query = urlencode({**keys, **fields})
            answer = self._get(f"{path}?{query}")
            assert answer.status_code == 200, answer.text
            table = answer.json()
            self._analysed(own + "comparison.csv", query, table)
            labels = {name: self._labels(name, recodings.get(name, {})) for name in keys.values()}
            for group in table["groups"]:
                if group["people"] is not None:
                    asked = {keys[key]: group[key] for key in ("layer", "column") if group[key]}
                    answers = {name: labels[name][label] for name, label in asked.items()}
                    self.figures.add_cell(table["records"], answers)
            for cell in table["cells"]:
                if not cell["suppressed"]:
                    answers = {name: labels[name][cell[key]] for key, name in keys.items()}
                    self.figures.add_cell(table["records"], answers, sample)

    def _regressions(self, path: str) -> None:
        """Fit the models of every outcome on every question, and on every two; recode each.

        All models of the same records leave out the same people.
        """
        names = self.figures.names
        for outcome in names:
            others = [name for name in names if name != outcome]
            for chosen in (*combinations(others, 1), *combinations(others, 2)):
                used = (outcome, *chosen)
                recodings = [{}, *({name: one} for name in used for one in self._recodings(name))]
                for recoding in recodings:
                    self._regression(path, used, recoding)

    def _regression(
        self, path: str, names: Sequence[str], recodings: Mapping[str, Mapping[int, str]]
    ) -> None:
        fields = [(f"{name}.{c}", v) for name, one in recodings.items() for c, v in one.items()]
        query = urlencode([("outcome", names[0]), *(("with", name) for name in names[1:]), *fields])
        answer = self._get(f"{path}?{query}")
        if answer.status_code != 200:
            assert answer.status_code == 400, answer.text
            return
        fit = answer.json()
        self._analysed(
            path.removeprefix("/api").removesuffix("regression") + "regression.csv", query, fit
        )
        assert fit["left_out"] >= SMALLEST_GROUP
        records = fit["records"] + fit["left_out"]
        without = {
            name: [code for code, value in one.items() if value == "out"]
            for name, one in recodings.items()
            if "out" in one.values()
        }
        sample = self.figures.sample(records, names, without)
        labels = {name: self._labels(name, recodings.get(name, {})) for name in names}
        for name in names[1:]:
            for group, one in product(labels[name].values(), labels[names[0]].values()):
                self.figures.add_cell(records, {name: group, names[0]: one}, sample)

    def _analysed(self, path: str, query: str, content: Any) -> None:
        """The file of an analysis has no number that a program does not read."""
        numbers = _floats(content)
        self._compared |= numbers
        file = self.browser.get(f"{path}?{query}").text
        cells = (cell for row in csv.reader(io.StringIO(file)) for cell in row)
        seen = [abs(float(cell)) for cell in cells if _FLOAT.fullmatch(cell)]
        near = np.array(sorted(map(abs, numbers)))
        assert all(np.isclose(near, one).any() for one in seen), path

    def _models(self, path: str) -> None:
        listed = self.browser.get(path.rpartition("/")[0]).json()["models"]
        for described in listed:
            own = path.replace("{model}", described["name"])
            model = self._get(own).json()
            page = self.browser.get(own.removeprefix("/api"))
            assert page.status_code == 200
            _shows_only(page.text, _floats(model), own)
            records = model["records"] + model["n_left_out"]
            whole = self.figures.sets[records]
            sample = None
            if model["records"] != whole.complete(self.figures.names).n_records:
                sample = self.figures.sample(records, self.figures.names, {})
            for answers in model_cells(model, self.survey):
                if len(answers) > 1:
                    self.figures.add_cell(records, answers, sample)

    def _page(self, path: str) -> None:
        if "{" in path or path.endswith(("/compare", "/models")):
            return  # read beside the API
        answer = self._get(path)
        if answer.status_code == 200:
            numbers = getattr(self, "_numbers", set())
            if path.endswith("report.html"):
                self.report, numbers = answer.text, numbers | self._compared
            _shows_only(answer.text, numbers, path)

    def _file(self, path: str, name: str) -> None:
        answer = self._get(path)
        if answer.status_code != 200 or name.endswith(".pdf"):
            return  # the PDF has the values of report.html: see test_report_pdf
        assert self._questions
        seen = {float(one) for one in re.findall(r"(?<![\w.])\d\.\d{4,}(?:e-\d+)?", answer.text)}
        near = np.array(sorted(self._numbers))
        assert all(np.abs(near - one).min() < 1e-4 for one in seen)


def model_cells(model: Mapping[str, Any], survey: Published) -> Iterator[dict[str, Any]]:
    """The groups that a model has figures of, as labels by question."""
    summary, target = model["summary"], model["request"]["target"]
    for cell in summary.get("log_odds", []):
        if cell["estimate"] is not None:
            yield {target: cell["class"], cell["attribute"]: cell["category"]}
    if "criterion" in summary:
        for rule in summary["rules"]:
            for labels in _products(rule["conditions"]):
                for category in survey.design.schema[target].categories:
                    yield {**labels, target: category}
    elif "rules" in summary:
        columns = summary["rules"]
        words = zip(columns["conditions"], columns["conclusion"], strict=True)
        for sides, confidence in zip(words, columns["confidence"], strict=True):
            if confidence is not None:
                yield dict(one.split(" = ", 1) for one in ", ".join(sides).split(", "))


def _products(conditions: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    for name, labels in conditions.items():
        found = [{**one, name: label} for one in found for label in labels]
    return found


def _floats(content: Any) -> set[float]:
    """All numbers of a JSON document."""
    if isinstance(content, dict):
        return {number for value in content.values() for number in _floats(value)}
    if isinstance(content, list):
        return {number for value in content for number in _floats(value)}
    return {float(content)} if isinstance(content, int | float) else set()


def _shows_only(page: str, numbers: set[float], path: str) -> None:
    """The shares in the cells of a page are among those that a program reads."""
    known = {f"{100 * number:.1f}" for number in numbers} | {f"{n:.2f}" for n in numbers}
    known |= {f"{n:.{digits}f}" for n in numbers for digits in (1, 3, 4)}
    known |= {f"{math.ceil(1000 * n) / 10:.1f}" for n in numbers}  # privacy is rounded up
    for cell in _NUMBER.findall(page):
        for one in re.findall(r"\d+\.\d+", cell):
            assert one in known or f"-{one}" in known, f"{path}: {one} in {cell}"
