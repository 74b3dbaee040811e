"""Pages for models: learn one from the released records, look at it, download and delete it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from tacit.core.channel.numbers import log_up
from tacit.errors import DataError, unknown
from tacit.mine.tree.picture import tree_picture
from tacit.output import rounding
from tacit.privacy.published_model import ALL, MODEL, NOTHING, OTHERS, REPORT
from tacit.studio.accounts import Role
from tacit.studio.accuracy_round import QUESTION, THETA, accuracy_round, model_fingerprint
from tacit.studio.disclosure import AT_CLOSING, SMALLEST_GROUP
from tacit.studio.models import CRITERIA, KINDS, ModelRequest, StoredModel
from tacit.studio.page_templates import utc_text
from tacit.studio.release import Release
from tacit.studio.site import NOT_FOUND, PageRoute, PageVisit, RefusalError
from tacit.survey import Published

#: Seconds that a request waits for a model; after that a page says that it is being learnt.
PATIENCE = 5.0
#: Seconds after which that page is loaded again.
REFRESH = 3
#: Probabilities of the true answer that an accuracy round may have, with their epsilons.
THETAS = {
    str(theta): rounding.epsilon(log_up(theta / (1 - theta)))
    for theta in (Fraction(2, 3), THETA, Fraction(5, 6), Fraction(9, 10))
}
#: What others may know about a person, in words.
KNOWN = {
    NOTHING: "only how common each answer is",
    REPORT: "the person's disguised answers",
    MODEL: "the disguised answers and this model",
    OTHERS: "the true answers to all other questions, and this model",
    ALL: "all of these",
}


def show_models(visit: PageVisit) -> Response:
    """The models of a survey, and the form for a new one."""
    return visit.page(
        "models.html",
        **visit.survey_values() | {"release": visit.studio.releases.comparable(visit.survey)},
        models=seen_models(visit),
        later=AT_CLOSING,
        texts=visit.survey.question_texts,
        kinds=KINDS,
        criteria=CRITERIA,
    )


def learn(visit: PageVisit) -> str:
    """Start to learn a model, and wait a little for it."""
    name = started(visit, visit.form)
    visit.studio.models.wait(name, PATIENCE)
    return name


def started(visit: PageVisit, fields: Mapping[str, str]) -> str:
    """The name of a model that is being learnt now."""
    request = ModelRequest.of_form(fields, visit.survey.design.schema)
    time = utc_text(visit.studio.accounts.now())
    release = _release_to_learn(visit, fields.get("records", ""))
    name = visit.studio.models.learn(release, request, visit.person.name, time)
    visit.record("model learnt", f"{visit.survey.title}: {request.title}")
    return name


def _release_to_learn(visit: PageVisit, records: str) -> Release:
    """The records to learn from: the newest that may be compared, or those of the snapshot."""
    release = visit.comparable_release()
    if records in ("", "all"):
        return release
    if records != "snapshot":
        raise DataError(unknown("records", records, ("all", "snapshot")))
    snapshot = visit.studio.releases.snapshot(visit.survey)
    if snapshot is None:
        raise DataError("the survey has no snapshot")
    return snapshot


def seen_models(visit: PageVisit) -> list[StoredModel]:
    """The models that the account may see, newest first."""
    return [model for model in visit.studio.models.all_of(visit.survey) if _sees(visit, model)]


def seen_model(visit: PageVisit) -> tuple[StoredModel | None, str | None]:
    """The model of the address; or why there is none, empty while it is learnt.

    None and None if the account may not see it, or if nobody asked for it.
    """
    name, models = visit.request.path_params["model"], visit.studio.models
    problem = models.problem(visit.survey, name)  # before: it may just be done
    model = models.find(visit.survey, name)
    if model is None:
        return None, problem
    return (model if _sees(visit, model) else None), None


def _sees(visit: PageVisit, model: StoredModel) -> bool:
    """Whether the account may see a model.

    Two models of different records tell about the people who came in between. So whoever may not
    download records sees models of one release only: of the snapshot if there is one.
    """
    role = visit.role
    return (role is not None and role >= Role.ANALYST) or _viewers_see(visit, model)


def _viewers_see(visit: PageVisit, model: StoredModel) -> bool:
    releases = visit.studio.releases
    return model.is_of(releases.snapshot(visit.survey) or releases.comparable(visit.survey))


def _why_unpublished(visit: PageVisit, model: StoredModel) -> str | None:
    """Why a model may not be published in an accuracy round, which everybody can read whole."""
    if not _viewers_see(visit, model):
        return (
            "An accuracy round would publish this model to people who may not see it: learn it "
            "again, from the snapshot if there is one."
        )
    if model.content["summary"].get("small_groups", True):
        return (
            "An accuracy round would publish figures of groups of fewer than "
            f"{SMALLEST_GROUP} people, which the model has: learn a decision tree instead."
        )
    return None


def show_model(visit: PageVisit) -> Response:
    """A model with its accuracy and the cost of publishing it; or that it is being learnt."""
    model, problem = seen_model(visit)
    if model is not None:
        return visit.page("model.html", **_shown(visit, model))
    if problem is None:
        raise RefusalError(NOT_FOUND)
    page = visit.page("model_wait.html", **visit.survey_values(), problem=problem)
    if not problem:
        page.headers["refresh"] = str(REFRESH)
    return page


def model_file(visit: PageVisit) -> Response:
    """The model as JSON, for `tacit predict`, `tacit evaluate` or `tacit privacy --rules`."""
    model = _found(visit)
    visit.record("model downloaded", f"{visit.survey.title}: {model.title}")
    return visit.file(model.content["model"], f"{model.request.kind}.json")


def deleted(visit: PageVisit) -> None:
    """Delete a model."""
    visit.require_tick("tick the box to delete the model; this cannot be undone")
    model = _found(visit)
    visit.studio.models.delete(visit.survey, model.name)
    visit.record("model deleted", f"{visit.survey.title}: {model.title}")


def published_round(visit: PageVisit) -> Published:
    """Publish a model as an accuracy round, a survey that respondents' devices answer."""
    model, theta = _found(visit), visit.text("theta")
    if theta not in THETAS:
        raise DataError(unknown("theta", theta, tuple(THETAS)))
    if (why := _why_unpublished(visit, model)) is not None:
        raise DataError(why)
    survey_round = Published(accuracy_round(visit.survey, model.content["model"], theta))
    visit.register(survey_round, "this round is published already; ask its owner for a role")
    visit.record("accuracy round published", f"{visit.survey.title}: {model.title}")
    return survey_round


def _rounds(visit: PageVisit, model: StoredModel) -> list[dict[str, Any]]:
    """The rounds of a model that the account has a role for, with the accuracy they found."""
    fingerprint = model_fingerprint(model.content["model"])
    return [
        _round(visit, survey)
        for survey in visit.studio.surveys(visit.person)
        if survey.survey.model is not None and survey.survey.model.fingerprint == fingerprint
    ]


def _round(visit: PageVisit, survey: Published) -> dict[str, Any]:
    release = visit.studio.releases.newest(survey)
    if release is None:
        return {"survey": survey, "records": 0, "accuracy": None}
    columns = release.reconstruction.table([QUESTION]).columns()
    accuracy = {key: columns[key][1] for key in ("estimate", "lower", "upper")}
    return {"survey": survey, "records": release.counts.n_records, "accuracy": accuracy}


def _found(visit: PageVisit) -> StoredModel:
    model, _ = seen_model(visit)
    if model is None:
        raise DataError("there is no such model; it may have been deleted")
    return model


def _shown(visit: PageVisit, model: StoredModel) -> dict[str, Any]:
    """What the page of a model shows."""
    content, request = model.content, model.request
    picture, epsilon = content["summary"].get("picture"), content["privacy"]["epsilon"]
    return {
        **visit.survey_values(),
        "model": model,
        "picture": None if picture is None else tree_picture(picture),
        "smallest": SMALLEST_GROUP,
        "text": visit.survey.question_texts.get(request.target, ""),
        "profiles": _by_answer(content["summary"]) if request.kind == "clusters" else [],
        "epsilon": None if epsilon is None else rounding.epsilon(epsilon),
        "known": KNOWN,
        "rounds": _rounds(visit, model),
        "unpublished": _why_unpublished(visit, model),
        "thetas": THETAS,
        "default_theta": str(THETA),
        "up": rounding.up,
    }


def _by_answer(summary: dict[str, Any]) -> list[tuple[str, list[tuple[float, float, float]]]]:
    """For each answer its share in every cluster with limits; the share of the clusters first."""
    shares: dict[str, list[tuple[float, float, float]]] = {}
    profiles = summary["profiles"]
    keys = ("attribute", "category", "estimate", "lower", "upper")
    for name, category, *numbers in zip(*(profiles[key] for key in keys), strict=True):
        label = "share of all people" if name is None else f"{name} = {category}"
        shares.setdefault(label, []).append((numbers[0], numbers[1], numbers[2]))
    return list(shares.items())


_MODELS, _MODEL = "/surveys/{survey}/models", "/surveys/{survey}/models/{model}"
#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", _MODELS, Role.VIEWER, show_models),
    PageRoute("POST", _MODELS, Role.ANALYST, learn, then=f"{_MODELS}/{{made}}"),
    PageRoute("GET", _MODEL, Role.VIEWER, show_model),
    PageRoute("GET", f"{_MODEL}/model.json", Role.ANALYST, model_file),
    PageRoute("POST", f"{_MODEL}/delete", Role.OWNER, deleted, then=_MODELS),
    PageRoute("POST", f"{_MODEL}/round", Role.OWNER, published_round, then="/surveys/{made.slug}"),
)
