"""Pages for models: learn one from the released records, look at it, download and delete it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from starlette.responses import RedirectResponse, Response

from tacit import outward
from tacit.channel.numbers import log_up
from tacit.errors import DataError, unknown
from tacit.privacy.model_disclosure import ALL, MODEL, NOTHING, OTHERS, REPORT
from tacit.studio.access import NOT_FOUND
from tacit.studio.accounts import Role
from tacit.studio.accuracy_round import QUESTION, THETA, accuracy_round, model_fingerprint
from tacit.studio.model_folder import StoredModel
from tacit.studio.model_request import CLASSIFIERS, CRITERIA, KINDS, ModelRequest
from tacit.studio.question_results import question_texts
from tacit.studio.release import FEWEST_SHOWN
from tacit.studio.site import PageRoute, PageVisit, refused
from tacit.studio.small_groups import SMALLEST_GROUP
from tacit.studio.survey_pages import file_response, released
from tacit.studio.tree_picture import tree_picture
from tacit.survey import Published

#: Seconds that a request waits for a model; after that a page says that it is being learnt.
PATIENCE = 5.0
#: Seconds after which that page is loaded again.
REFRESH = 3
#: Probabilities of the true answer that an accuracy round may have, with their epsilons.
THETAS = {
    str(theta): outward.epsilon(log_up(theta / (1 - theta)))
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
    release = visit.studio.releases.newest(visit.survey)
    return visit.page(
        "models.html",
        survey=visit.survey,
        role=visit.person.role(visit.survey.survey.fingerprint),
        models=visit.studio.models.all_of(visit.survey),
        shown=0 if release is None else release.counts.n_records,
        fewest=FEWEST_SHOWN,
        texts=question_texts(visit.survey),
        kinds=KINDS,
        criteria=CRITERIA,
    )


def learn(visit: PageVisit) -> Response:
    """Start to learn a model, and wait a little for it."""
    name = started(visit, visit.form)
    visit.studio.models.wait(name, PATIENCE)
    return RedirectResponse(f"/surveys/{visit.survey.slug}/models/{name}", 303)


def started(visit: PageVisit, fields: Mapping[str, str]) -> str:
    """The name of a model that is being learnt now."""
    request = ModelRequest.of_form(fields, visit.survey.design.schema)
    made = datetime.fromtimestamp(visit.studio.accounts.now(), UTC).strftime("%Y-%m-%d %H:%M:%S")
    name = visit.studio.models.learn(released(visit), request, visit.person.name, made)
    visit.record("model learnt", f"{visit.survey.title}: {request.title}")
    return name


def show_model(visit: PageVisit) -> Response:
    """A model with its accuracy and the cost of publishing it; or that it is being learnt."""
    name = visit.request.path_params["model"]
    problem = visit.studio.models.problem(visit.survey, name)  # before: it may just be done
    model = visit.studio.models.find(visit.survey, name)
    if model is not None:
        return visit.page("model.html", **_shown(visit, model))
    if problem is None:
        return refused(visit.studio, visit.request, NOT_FOUND)
    page = visit.page("model_wait.html", survey=visit.survey, problem=problem)
    if not problem:
        page.headers["refresh"] = str(REFRESH)
    return page


def model_file(visit: PageVisit) -> Response:
    """The model as JSON, for `tacit predict`, `tacit evaluate` or `tacit privacy --rules`."""
    model = _found(visit)
    visit.record("model downloaded", f"{visit.survey.title}: {model.title}")
    name = f"{visit.survey.slug}-{model.request.kind}.json"
    return file_response(model.content["model"], "application/json", name)


def delete(visit: PageVisit) -> Response:
    """Delete a model, if the box was ticked to confirm it."""
    if visit.form.get("confirm") != "yes":
        raise DataError("tick the box to delete the model; this cannot be undone")
    deleted(visit)
    return RedirectResponse(f"/surveys/{visit.survey.slug}/models", 303)


def deleted(visit: PageVisit) -> None:
    """Delete the model of the address."""
    model = _found(visit)
    visit.studio.models.delete(visit.survey, model.name)
    visit.record("model deleted", f"{visit.survey.title}: {model.title}")


def publish_round(visit: PageVisit) -> Response:
    """Publish a model as an accuracy round, a survey that respondents' devices answer."""
    made = published_round(visit, visit.form.get("theta", ""))
    return RedirectResponse(f"/surveys/{made.slug}", 303)


def published_round(visit: PageVisit, theta: str) -> Published:
    """The accuracy round of the model of the address."""
    model = _found(visit)
    if theta not in THETAS:
        raise DataError(unknown("theta", theta, tuple(THETAS)))
    made = Published(accuracy_round(visit.survey, model.content["model"], theta))
    if made.survey.fingerprint in {s.survey.fingerprint for s in visit.studio.store.published()}:
        raise DataError("this round is published already; ask its owner for a role")
    visit.studio.store.register(made)
    visit.studio.accounts.give(visit.person.id, made.survey.fingerprint, Role.OWNER)
    visit.record("accuracy round published", f"{visit.survey.title}: {model.title}")
    return made


def _rounds(visit: PageVisit, model: StoredModel) -> list[dict[str, Any]]:
    """The rounds of a model that the account has a role for, with the accuracy they found."""
    own = model_fingerprint(model.content["model"])
    rounds = [
        survey
        for survey in visit.studio.surveys(visit.person)
        if survey.survey.model is not None and survey.survey.model.fingerprint == own
    ]
    return [_round(visit, survey) for survey in rounds]


def _round(visit: PageVisit, survey: Published) -> dict[str, Any]:
    release = visit.studio.releases.newest(survey)
    shown: dict[str, Any] = {"survey": survey, "records": 0, "accuracy": None}
    if release is None:
        return shown
    columns = release.reconstruction.table([QUESTION]).columns()
    accuracy = {key: columns[key][1] for key in ("estimate", "lower", "upper")}
    return shown | {"records": release.counts.n_records, "accuracy": accuracy}


def _found(visit: PageVisit) -> StoredModel:
    model = visit.studio.models.find(visit.survey, visit.request.path_params["model"])
    if model is None:
        raise DataError("there is no such model; it may have been deleted")
    return model


def _shown(visit: PageVisit, model: StoredModel) -> dict[str, Any]:
    """What the page of a model shows."""
    content, request = model.content, model.request
    picture = content["summary"].get("picture")
    epsilon = content["privacy"]["epsilon"]
    return {
        "survey": visit.survey,
        "role": visit.person.role(visit.survey.survey.fingerprint),
        "model": model,
        "content": content,
        "summary": content["summary"],
        "evaluation": content["evaluation"],
        "request": request,
        "classifier": request.kind in CLASSIFIERS,
        "picture": None if picture is None else tree_picture(picture),
        "people": content["n_records"],
        "smallest": SMALLEST_GROUP,
        "text": question_texts(visit.survey).get(request.target, ""),
        "few": _few(visit, content),
        "profiles": _by_answer(content["summary"]) if request.kind == "clusters" else [],
        "epsilon": None if epsilon is None else outward.epsilon(epsilon),
        "known": KNOWN,
        "rounds": _rounds(visit, model),
        "thetas": THETAS,
        "default_theta": str(THETA),
        "up": outward.up,
    }


def _few(visit: PageVisit, content: dict[str, Any]) -> set[tuple[str, str]]:
    """Answers that are estimated to be those of too few people to be shown as a group."""
    schema, shares = visit.survey.design.schema, content["summary"].get("shares", {})
    return {
        (name, str(label))
        for name, own in shares.items()
        for label, share in zip(schema[name].categories, own, strict=True)
        if share * content["n_records"] < SMALLEST_GROUP
    }


def _by_answer(summary: dict[str, Any]) -> list[tuple[str, list[tuple[float, float, float]]]]:
    """For each answer its share in every cluster with limits; the share of the clusters first."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    profiles = summary["profiles"]
    keys = ("attribute", "category", "estimate", "lower", "upper")
    for name, category, *numbers in zip(*(profiles[key] for key in keys), strict=True):
        label = "share of all people" if name is None else f"{name} = {category}"
        found.setdefault(label, []).append((numbers[0], numbers[1], numbers[2]))
    return list(found.items())


#: The addresses of all models of a survey, and of one.
MODELS = "/surveys/{survey}/models"
ONE_MODEL = f"{MODELS}/{{model}}"
#: The pages of models with the rights that they need.
MODEL_PAGES = (
    PageRoute("GET", MODELS, Role.VIEWER, show_models),
    PageRoute("POST", MODELS, Role.ANALYST, learn),
    PageRoute("GET", ONE_MODEL, Role.VIEWER, show_model),
    PageRoute("GET", f"{ONE_MODEL}/model.json", Role.ANALYST, model_file),
    PageRoute("POST", f"{ONE_MODEL}/delete", Role.OWNER, delete),
    PageRoute("POST", f"{ONE_MODEL}/round", Role.OWNER, publish_round),
)
