"""Survey files: texts, questions and groups, and the design that is published with them.

This package cannot undo a disguise: it may not import what reconstructs.
"""

from tacit.survey.example import example
from tacit.survey.published import Published, publish, read_published
from tacit.survey.reader import read_survey, survey_from_dict, survey_from_text
from tacit.survey.survey import Survey, json_schema
from tacit.survey.widths import Width, widths

__all__ = [
    "Published",
    "Survey",
    "Width",
    "example",
    "json_schema",
    "publish",
    "read_published",
    "read_survey",
    "survey_from_dict",
    "survey_from_text",
    "widths",
]
