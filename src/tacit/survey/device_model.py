"""DeviceModel: a published model that respondents' devices apply to their own records.

In an accuracy round (Zhan & Matwin, section 3.4) each device asks what the model needs and the
answer that it predicts, applies the model, and reports only whether it was right, in disguise. The
answers themselves never leave the device. A model is either a tree or tables of scores; both use
whole numbers and categories only, so that the page and Python predict the same, ties included.

    tree      node 0 is the first; `to` has the next node for each category of its question, always
              a later one; a leaf has the category that it predicts
    scores    prior[c] + sum over questions of tables[q][c][answer]; the largest sum wins, the first
              of equal ones
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tacit.errors import TacitError, unknown
from tacit.survey.fields import Listed, Name, OneOrMore, SurveyPart, Texts, TwoOrMore
from tacit.survey.questions import YES_NO, Categories, Labels
from tacit.survey.yaml_text import Place, PlacedProblem

if TYPE_CHECKING:
    from tacit.survey.survey import Survey

MOST_NODES, MOST_QUESTIONS = 5000, 200
#: Scores are whole numbers below this size: sums of them are exact in every browser.
LARGEST_SCORE = 1 << 42

Score = Annotated[int, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
ScoreRow = TwoOrMore[Score]


class DeviceQuestion(SurveyPart):
    """A question whose answer stays on the device."""

    name: Name
    text: Texts
    categories: Categories
    labels: Labels = Field(default_factory=dict)


class DeviceNode(SurveyPart):
    """A split by the answer to a question, or a leaf with the category that it predicts."""

    question: Name | None = None
    to: TwoOrMore[int] | None = None
    category: Name | None = None


class DeviceScores(SurveyPart):
    """Scores of each category of the target: in general, and by the answer to each question."""

    prior: ScoreRow
    tables: Listed[Listed[ScoreRow]]


class DeviceModel(SurveyPart):
    """A model, what it needs, and the yes/no question that tells whether it was right."""

    reports: Name = Field(description="The yes/no question that the device answers: was it right?")
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] = Field(
        description="SHA-256 of the model file."
    )
    target: DeviceQuestion = Field(description="The answer that the model predicts.")
    questions: Listed[DeviceQuestion] = Field(
        max_length=MOST_QUESTIONS, description="What the model predicts it from."
    )
    tree: Annotated[OneOrMore[DeviceNode], Field(max_length=MOST_NODES)] | None = None
    scores: DeviceScores | None = None

    def predict(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The code of the predicted category, for the codes of answers, records x questions."""
        if self.scores is not None:
            sums = np.repeat(np.array([self.scores.prior], np.int64), len(codes), axis=0)
            for column, table in zip(codes.T, self.scores.tables, strict=True):
                sums += np.array(table, np.int64)[:, column].T
            return np.asarray(sums.argmax(axis=1))
        places = {question.name: i for i, question in enumerate(self.questions)}
        predicted = np.zeros(len(codes), np.intp)
        for number, node in enumerate(self.tree or ()):  # parents come before children
            here = predicted == ~number if number else np.ones(len(codes), bool)
            if node.category is not None:
                predicted[here] = self.target.categories.index(node.category)
            else:
                assert node.to is not None
                column = codes[here, places[str(node.question)]]
                predicted[here] = ~np.array(node.to)[column]
        return predicted


def model_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """What is wrong with the model of a survey, with its place; nothing if it has none."""
    model = survey.model
    if model is None:
        return
    if survey.device != "browser":
        yield ("model",), "the page applies the model, so the device must be browser"
    yield from _reporting(survey, model)
    yield from _questions(model)
    if (model.tree is None) == (model.scores is None):
        yield ("model",), "needs either a tree or scores"
    elif model.tree is not None:
        yield from _tree(model, model.tree)
    elif model.scores is not None:
        yield from _scores(model, model.scores)


def _questions(model: DeviceModel) -> Iterator[PlacedProblem]:
    """Names and labels of what the device asks."""
    names = [model.target.name, *(question.name for question in model.questions)]
    if len(set(names)) < len(names):
        yield ("model", "questions"), "the names of the questions must be distinct"
    parts: dict[Place, DeviceQuestion] = {("model", "target"): model.target}
    parts |= {("model", "questions", i): question for i, question in enumerate(model.questions)}
    for where, question in parts.items():
        if len(set(question.categories)) < len(question.categories):
            yield (*where, "categories"), "the names of categories must be distinct"
        for name in question.labels:
            if name not in question.categories:
                yield (*where, "labels", name), unknown("category", name, question.categories)


def _reporting(survey: Survey, model: DeviceModel) -> Iterator[PlacedProblem]:
    """The reported question must be a yes/no one whose answer the page itself disguises."""
    where: Place = ("model", "reports")
    questions = [question for question in survey.questions if question.name == model.reports]
    if not questions or questions[0].kind != "yes_no" or questions[0].answers != YES_NO:
        names = [question.name for question in survey.questions if question.kind == "yes_no"]
        yield where, unknown("yes/no question", model.reports, names)
        return
    groups = [group for group in survey.groups if model.reports in group.questions]
    if not groups:
        yield where, f"{model.reports!r} must be in a group that disguises it"
        return
    with suppress(TacitError):  # a coin that cannot be made is a problem of its group
        if groups[0].coin((model.reports,)).asks != "answer":
            yield where, f"{groups[0].family} asks something else than the answer; choose related"


def _tree(model: DeviceModel, nodes: tuple[DeviceNode, ...]) -> Iterator[PlacedProblem]:
    sizes = {question.name: len(question.categories) for question in model.questions}
    for number, node in enumerate(nodes):
        where: Place = ("model", "tree", number)
        if node.category is not None:
            if node.question is not None or node.to is not None:
                yield where, "a leaf has a category only; a split has question and to"
            elif node.category not in model.target.categories:
                yield where, unknown("category", node.category, model.target.categories)
        elif node.question is None or node.to is None:
            yield where, "needs question and to, or a category"
        elif node.question not in sizes:
            yield where, unknown("question", node.question, tuple(sizes))
        elif len(node.to) != sizes[node.question]:
            yield where, f"to needs {sizes[node.question]} numbers, one per category"
        elif not all(number < child < len(nodes) for child in node.to):
            yield where, "to must have numbers of later nodes"


def _scores(model: DeviceModel, scores: DeviceScores) -> Iterator[PlacedProblem]:
    classes, n = len(model.target.categories), len(model.questions)
    if len(scores.prior) != classes:
        yield ("model", "scores", "prior"), f"needs {classes} numbers, one per category"
    if len(scores.tables) != n:
        yield ("model", "scores", "tables"), f"needs {n} tables, one per question"
        return
    for number, (table, question) in enumerate(zip(scores.tables, model.questions, strict=True)):
        k = len(question.categories)
        if len(table) != classes or any(len(row) != k for row in table):
            yield ("model", "scores", "tables", number), f"needs {classes} rows of {k} numbers"
