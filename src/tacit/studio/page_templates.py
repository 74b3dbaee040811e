"""The templates of pages and reports; everything they show is escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.output.number_text import number_of
from tacit.studio.account_tables import utc_text
from tacit.studio.form_words import hint, in_place, in_words


@cache
def page_templates() -> Environment:
    """The templates in the folder `templates`; an unknown name in one is an error."""
    made = Environment(
        loader=PackageLoader("tacit.studio"), autoescape=True, undefined=StrictUndefined
    )
    made.globals |= {word.__name__: word for word in (number_of, in_words, hint)}
    made.filters |= {"in_place": in_place, "utc": utc_text}
    return made
