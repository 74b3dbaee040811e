"""JSON for programs about models: list, learn, look at, delete, publish as an accuracy round."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from tacit.errors import DataError
from tacit.studio import model_pages
from tacit.studio.access import NOT_FOUND
from tacit.studio.accounts import Role
from tacit.studio.model_folder import StoredModel
from tacit.studio.site import PageRoute, PageVisit, RouteNote, refused

READY, LEARNING, FAILED = "ready", "learning", "failed"
#: What is shown of a model; none of it has a figure of a small group.
_SHOWN = ("summary", "evaluation", "privacy", "n_learnt", "n_tested", "n_left_out")


def list_models(visit: PageVisit) -> Response:
    """The models of a survey, newest first."""
    models = model_pages.seen_models(visit)
    return JSONResponse({"models": [_described(model) for model in models]})


def learn_model(visit: PageVisit) -> Response:
    """Start to learn a model from the released records; ask for its state until it is ready."""
    fields = {
        key: "" if value is None else str(value)
        for key, value in visit.json.items()
        if isinstance(value, str | int | float | None)
    }
    name = model_pages.started(visit, fields)
    return JSONResponse({"name": name, "state": LEARNING}, 202)


def show_model(visit: PageVisit) -> Response:
    """A model with its accuracy and the cost of publishing it; or its state while it is learnt."""
    name = visit.request.path_params["model"]
    model, problem = model_pages.seen_model(visit)
    if model is not None:
        return JSONResponse(_described(model) | {key: model.content[key] for key in _SHOWN})
    if problem is None:
        return refused(visit.studio, visit.request, NOT_FOUND)
    state = FAILED if problem else LEARNING
    return JSONResponse({"name": name, "state": state, **({"problem": problem} if problem else {})})


def delete_model(visit: PageVisit) -> Response:
    """Delete a model."""
    model_pages.deleted(visit)
    return Response(status_code=204)


def publish_round(visit: PageVisit) -> Response:
    """Publish a model as an accuracy round, a survey that respondents' devices answer."""
    theta = visit.json.get("theta")
    if not isinstance(theta, str):
        raise DataError('the key theta must be a text such as "3/4"')
    made = model_pages.published_round(visit, theta)
    return JSONResponse({"slug": made.slug, "fingerprint": made.survey.fingerprint}, 201)


def _described(model: StoredModel) -> dict[str, Any]:
    """What lists say of a model."""
    return {
        "name": model.name,
        "state": READY,
        "title": model.title,
        "request": model.request.to_dict(),
        "made": model.content["made"],
        "by": model.content["by"],
        "records": model.content["n_records"],
        "accuracy": model.accuracy,
    }


_MODELS, _MODEL = f"/api{model_pages.MODELS_PATH}", f"/api{model_pages.MODEL_PATH}"
#: Their routes; a body is small.
MODEL_API = (
    PageRoute("GET", _MODELS, Role.VIEWER, list_models, note=RouteNote("Models")),
    PageRoute("POST", _MODELS, Role.ANALYST, learn_model, note=RouteNote("Model", 202, "NewModel")),
    PageRoute("GET", _MODEL, Role.VIEWER, show_model, note=RouteNote("Model")),
    PageRoute("DELETE", _MODEL, Role.OWNER, delete_model, note=RouteNote(None, 204)),
    PageRoute(
        "POST",
        f"{_MODEL}/round",
        Role.OWNER,
        publish_round,
        note=RouteNote("Published", 201, "NewRound"),
    ),
)
