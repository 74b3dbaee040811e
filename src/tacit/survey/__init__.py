"""Survey files: texts, questions and groups, and the design that is published with them.

This package cannot undo a disguise: it may not import what reconstructs. Its names are imported on
first use, because the check of survey files takes long to load.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.survey.example_file import *  # noqa: F403
    from tacit.survey.precision import *  # noqa: F403
    from tacit.survey.published import *  # noqa: F403
    from tacit.survey.reader import *  # noqa: F403
    from tacit.survey.survey import *  # noqa: F403

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
