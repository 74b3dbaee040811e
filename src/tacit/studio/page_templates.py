"""The templates of pages and reports; everything they show is escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def page_templates() -> Environment:
    """The templates in the folder `templates`; an unknown name in one is an error."""
    return Environment(
        loader=PackageLoader("tacit.studio"), autoescape=True, undefined=StrictUndefined
    )
