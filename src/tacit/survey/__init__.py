"""Survey files: texts, questions and groups, and the design that is published with them.

This package cannot undo a disguise: it may not import what reconstructs. Its names are imported on
first use, because the check of survey files takes long to load.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.survey.example_file import example as example
    from tacit.survey.precision import Width as Width
    from tacit.survey.precision import widths as widths
    from tacit.survey.published import Published as Published
    from tacit.survey.published import publish as publish
    from tacit.survey.published import read_published as read_published
    from tacit.survey.reader import read_survey as read_survey
    from tacit.survey.reader import survey_from_dict as survey_from_dict
    from tacit.survey.reader import survey_from_text as survey_from_text
    from tacit.survey.survey import Survey as Survey
    from tacit.survey.survey import json_schema as json_schema

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.survey.example_file": "example",
        "tacit.survey.precision": "Width widths",
        "tacit.survey.published": "Published publish read_published",
        "tacit.survey.reader": "read_survey survey_from_dict survey_from_text",
        "tacit.survey.survey": "Survey json_schema",
    },
)
