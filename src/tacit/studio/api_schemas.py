"""The schemas of what the API sends and takes."""

from __future__ import annotations

from typing import Any

_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
_SHARE = {"type": ["number", "null"]}
_MAYBE = {"type": ["string", "null"]}
_CELL = {"layer": _MAYBE, "column": _TEXT, "row": _TEXT, "low": _SHARE, "high": _SHARE}
_ROLE = {"enum": ["viewer", "analyst", "owner", None]}
_DRAFT = {
    "id": _TEXT,
    "title": _TEXT,
    "version": _WHOLE,
    "saved_at": {"type": "string", "format": "date-time"},
    "saved_by": _TEXT,
    "published": {"type": ["string", "null"], "description": "The slug of the survey, if any."},
}
_INVITATION = {
    "id": _WHOLE,
    "role": {"enum": ["viewer", "analyst", "owner"]},
    "by": _TEXT,
    "works_until": {"type": "string", "format": "date-time"},
}
_PROBLEMS = {"type": "array", "items": _TEXT}
_SURVEY = {"slug": _TEXT, "title": _TEXT, "open": _FLAG, "records": _WHOLE, "role": _ROLE}


def _object(optional: tuple[str, ...] = (), /, **members: Any) -> dict[str, Any]:
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, "required": required}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_MODEL = {
    "name": _TEXT,
    "state": {"enum": ["ready", "learning", "failed"]},
    "title": _TEXT,
    "request": {"type": "object"},
    "made": _TEXT,
    "by": _TEXT,
    "records": _WHOLE,
    "accuracy": {"type": ["object", "null"]},
}
_WHOLE_MODEL = {
    "problem": _TEXT,
    "summary": {"type": "object"},
    "evaluation": {"type": ["object", "null"]},
    "privacy": {"type": "object"},
    "n_learnt": _WHOLE,
    "n_tested": _WHOLE,
    "n_left_out": _WHOLE,
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "Problem": {
        "description": "Problem details (RFC 9457); some problems have more members.",
        **_object(("problems",), type=_TEXT, title=_TEXT, status=_WHOLE, problems=_PROBLEMS),
    },
    "Surveys": _object(surveys=_list(_object(**_SURVEY))),
    "Survey": _object(
        **_SURVEY,
        fingerprint=_TEXT,
        design=_TEXT,
        links=_WHOLE,
        unused_links=_WHOLE,
        released_records=_WHOLE,
        next_release_at=_WHOLE,
        compared_records={
            **_WHOLE,
            "description": "Records of tables and models: 0 until closing, unless there is a "
            "snapshot.",
        },
    ),
    "Results": _object(
        design=_TEXT,
        records=_WHOLE,
        questions=_list(
            _object(
                name=_TEXT,
                text=_TEXT,
                missing=_WHOLE,
                effective={"type": "number"},
                answers=_list(
                    _object(label=_TEXT, share=_SHARE, low=_SHARE, high=_SHARE, reported=_SHARE)
                ),
            )
        ),
        hidden=_list(_object(text=_TEXT, why=_TEXT)),
        releases=_list(_object(day=_TEXT, records=_WHOLE, widths={"type": "object"})),
    ),
    "Table": _object(
        row=_TEXT,
        column=_TEXT,
        layer=_MAYBE,
        records=_WHOLE,
        cells=_list(_object(**_CELL, share=_SHARE, suppressed=_FLAG)),
        comparisons=_list(_object(**_CELL, against=_TEXT, difference=_SHARE)),
        test={
            **_object(statistic=_SHARE, df=_WHOLE, p=_SHARE),
            "type": ["object", "null"],
            "description": "None if a cell is suppressed.",
        },
    ),
    "Plan": {
        "description": "As `tacit plan --format json` prints it, with `tradeoff` beside.",
        **_object(
            solved=_TEXT,
            respondents=_WHOLE,
            level={"type": "number"},
            width=_SHARE,
            power=_SHARE,
            epsilon=_SHARE,
            questions=_list({"type": "object"}),
            groups=_list({"type": "object"}),
            warnings=_list(_TEXT),
            tradeoff={"type": ["object", "null"]},
        ),
    },
    "Links": _object(links=_list(_TEXT)),
    "Invitations": _object(invitations=_list(_object(**_INVITATION))),
    "NewInvitation": _object(**_INVITATION, link=_TEXT),
    "Drafts": _object(drafts=_list(_object(**_DRAFT))),
    "Draft": _object(**_DRAFT, text=_TEXT, problems=_PROBLEMS),
    "Problems": _object(problems=_PROBLEMS),
    "Published": _object(slug=_TEXT, fingerprint=_TEXT),
    "Preview": _object(address=_TEXT),
    "Models": _object(models=_list(_object(**_MODEL))),
    "Model": {
        "description": "A model; only its name and state while it is learnt, or why it was not.",
        **_object((*_MODEL, *_WHOLE_MODEL), **_MODEL, **_WHOLE_MODEL),
        "required": ["name", "state"],
    },
    "NewModel": {
        "description": "The fields of the form; shares are in percent.",
        **_object(
            (
                *("target", "criterion", "max_depth", "min_support", "min_confidence"),
                *("classes", "records"),
            ),
            kind={"enum": ["tree", "naive_bayes", "rules", "clusters"]},
            target=_TEXT,
            criterion={"enum": ["entropy", "gini"]},
            max_depth={"type": ["integer", "null"]},
            min_support={"type": "number"},
            min_confidence={"type": "number"},
            classes={"type": ["integer", "null"]},
            records={"enum": ["all", "snapshot"]},
        ),
    },
    "NewRound": _object(theta={"enum": ["2/3", "3/4", "5/6", "9/10"]}),
    "SurveyText": _object(text=_TEXT),
    "CheckedText": _object(("text",), text=_TEXT),
    "NewVersion": _object(text=_TEXT, version=_WHOLE),
    "Invite": _object(role=_INVITATION["role"]),
    "NewLinks": _object(("base",), n={"type": "integer", "minimum": 1}, base=_TEXT),
    "Confirmation": _object(confirm={"type": "string", "description": "The title."}),
}
