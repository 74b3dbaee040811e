"""An accuracy round: a model as a survey that respondents' devices answer (Zhan & Matwin, 3.4).

The round is an ordinary survey with one yes/no question, "was the model right?", disguised by the
related family. Each device asks what the model needs, applies it and answers the question itself;
see `tacit.survey.device_model`. The estimated share of yes is the accuracy on true records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import mine  # its miners are loaded when they are needed
from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.mine.tree.cells import NONE
from tacit.survey import Published, Survey, survey_from_dict
from tacit.survey.device_model import LARGEST_SCORE
from tacit.survey.fields import text_in

#: The question that devices answer, and the disguise unless another is asked for.
QUESTION, THETA = "correct", Fraction(3, 4)
#: A unit of log-probability in scores: rounding moves a sum of 200 by less than 1e-7.
SCALE = 1 << 32
_WORDS = {
    "en": (
        "how often is a model right?",
        "A model was learnt from disguised answers. Your device applies it to your own answers. "
        "They never leave your device: only whether the model was right is sent, in disguise.",
        "Did the model predict your answer correctly?",
    ),
    "de": (
        "wie oft hat ein Modell recht?",
        "Aus verschleierten Antworten wurde ein Modell gelernt. Ihr Gerät wendet es auf Ihre "
        "eigenen Antworten an. Diese bleiben auf Ihrem Gerät: Gesendet wird nur, verschleiert, ob "
        "das Modell recht hat.",
        "Hat das Modell Ihre Antwort richtig vorhergesagt?",
    ),
    "fr": (
        "à quelle fréquence un modèle a-t-il raison ?",
        "Un modèle a été appris à partir de réponses déguisées. Votre appareil l’applique à vos "
        "propres réponses. Elles ne quittent jamais votre appareil : seul le fait que le modèle "
        "ait raison ou non est envoyé, sous forme déguisée.",
        "Le modèle a-t-il prédit correctement votre réponse ?",
    ),
    "es": (
        "¿con qué frecuencia acierta un modelo?",
        "Se aprendió un modelo a partir de respuestas disfrazadas. Su dispositivo lo aplica a sus "
        "propias respuestas, que nunca salen de él: solo se envía, disfrazado, si el modelo "
        "acierta.",
        "¿Predijo el modelo correctamente su respuesta?",
    ),
}


def accuracy_round(published: Published, model_text: str, theta: Any = THETA) -> Survey:
    """The survey in which devices apply a model that was learnt from records of `published`.

    `model_text` is the model file of a decision tree or naive Bayes. A device tells the truth about
    whether the model was right with probability `theta`.
    """
    model = mine.model_from_json(model_text)
    if not isinstance(model, mine.DecisionTree | mine.NaiveBayes):
        raise DataError("an accuracy round needs a decision tree or naive Bayes")
    if model.fingerprint_ != published.fingerprint:
        raise DataError("the model was learnt from records of another survey")
    survey = published.survey
    texts = _Texts(survey)
    content = {
        "title": texts.made(
            lambda language, words: f"{text_in(survey.title, language)} – {words[0]}"
        ),
        "introduction": texts.made(lambda language, words: words[1]),
        "languages": list(survey.languages),
        "access": survey.access,
        "questions": [
            {"name": QUESTION, "kind": "yes_no", "text": texts.made(lambda _, words: words[2])}
        ],
        "groups": [{"questions": [QUESTION], "family": "related", "theta": str(theta)}],
        "model": {
            "reports": QUESTION,
            "fingerprint": model_fingerprint(model_text),
            "target": texts.question(str(model.target)),
            **_described(model, texts),
        },
    }
    return survey_from_dict(content, "accuracy round")


def model_fingerprint(model_text: str) -> str:
    """SHA-256 of a model file, by which rounds name their model."""
    return hashlib.sha256(model_text.encode()).hexdigest()


def _described(model: mine.DecisionTree | mine.NaiveBayes, texts: _Texts) -> dict[str, Any]:
    """The questions that a model uses, and its tree or scores."""
    assert model.features_ is not None
    if isinstance(model, mine.NaiveBayes):
        tables = dict(zip(model.features_.names, map(_whole, model.feature_log_prob_), strict=True))
        used = {name: table for name, table in tables.items() if (table != table[0]).any()}
        scores = {
            "prior": _whole(model.class_log_prior_).tolist(),
            "tables": [table.tolist() for table in used.values()],
        }
        return {"questions": [*map(texts.question, used)], "scores": scores}
    tree, schema = model.tree_, model.view().schema
    names = [schema.names[a] for a in np.unique(tree.attribute[tree.attribute != NONE])]
    nodes: list[dict[str, Any]] = []
    for attribute, child, label in zip(tree.attribute, tree.child, tree.label, strict=True):
        if attribute == NONE:
            nodes.append({"category": str(model.classes_[label])})
        else:
            question = schema.attributes[attribute]
            nodes.append({"question": question.name, "to": child[: question.size].tolist()})
    return {"questions": [*map(texts.question, names)], "tree": nodes}


def _whole(logs: Array) -> Any:
    """Log-probabilities as whole numbers; one of zero is as small as a score may be."""
    return np.rint(np.clip(logs * SCALE, -LARGEST_SCORE, 0)).astype(np.int64)


class _Texts:
    """What respondents of a survey read, in each of its languages."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._of = {
            attribute.name: (question, attribute)
            for question in survey.questions
            for attribute in question.attributes
        }

    def made(self, make: Callable[[str, tuple[str, ...]], str]) -> Any:
        """One text, or one per language if there are several."""
        texts = {
            language: make(language, _WORDS.get(language.partition("-")[0], _WORDS["en"]))
            for language in self._survey.languages
        }
        return texts if len(texts) > 1 else next(iter(texts.values()))

    def question(self, name: str) -> dict[str, Any]:
        """The question of an attribute as one with a list of answers.

        Yes and no without a label have none: the page says them in its own words.
        """
        question, attribute = self._of[name]
        categories = [str(category) for category in attribute.categories]
        labels = {**self._survey.labels, **question.labels}

        def label(category: str) -> Any:
            return self.made(lambda language, _: self._survey.label(question, category, language))

        return {
            "name": name,
            "text": self.made(lambda code, _: self._survey.attribute_texts(code, " – ")[name]),
            "categories": categories,
            "labels": {category: label(category) for category in categories if category in labels},
        }
