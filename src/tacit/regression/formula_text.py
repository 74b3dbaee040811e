"""A formula such as "smokes ~ age + C(region)": its names, and how it uses disguised ones."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tacit.core.imports import optional_imports
from tacit.errors import DataError, unknown

#: A disguised attribute as a category: C(name), or C(name, contrast).
_CATEGORY = re.compile(r"C\(\s*`?(?P<name>.+?)`?\s*(?:,.*)?\)", re.DOTALL)
#: A term whose coefficient is 1.
OFFSET = "offset"
#: Transforms of formulaic whose columns depend on all records, which must be counted for them.
_LEARNING = frozenset({"poly", "bs", "cr", "cs", "cc", "center", "scale", "standardize"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")


@dataclass(frozen=True, eq=False)
class FormulaText:
    """The outcome, the right side as formulaic has it, and the names that it uses.

    `categories` are those that it uses as C(name) only; `offsets` are terms such as offset(name).
    `learns` says whether a transform such as center() learns from the records.
    """

    outcome: str
    right: Any
    names: tuple[str, ...]
    categories: frozenset[str]
    offsets: frozenset[str]
    learns: bool


def parsed(formula: str, known: Collection[str], disguised: Collection[str]) -> FormulaText:
    """Parse a formula; every name must be known, and what is disguised may only be a category."""
    with optional_imports():
        import formulaic
        import formulaic.errors
        import pandas  # noqa: F401
    if not isinstance(formula, str):
        raise DataError(f"the formula must be a text such as 'smokes ~ age', got {formula!r}")
    left, _, right = formula.partition("~")
    outcome = left.strip().strip("`")
    if not outcome or not right.strip() or "~" in right:
        raise DataError(
            f"the formula must have the form 'outcome ~ covariates', got {formula!r}; "
            "to use a matrix of covariates, give covariates="
        )
    if outcome not in known:
        raise DataError(unknown("outcome", outcome, known, " in the formula"))
    try:
        terms = formulaic.Formula(right.strip())
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise DataError(f"the formula {formula!r} cannot be read: {_one_line(error)}") from None
    if not isinstance(terms, formulaic.SimpleFormula):
        raise DataError(f"the formula {formula!r} has several parts; give one model")
    uses = _uses(terms, known)
    needed = set().union(*uses.values())
    for name in sorted(needed):
        if name not in known:
            raise DataError(unknown("name", name, known, " in the formula"))
    if outcome in needed:
        raise DataError(f"{outcome!r} is on both sides of the formula {formula!r}")
    _check_uses(uses, needed & set(disguised))
    other = {name for expression, used in uses.items() for name in used if not _by_c(expression)}
    return FormulaText(
        outcome,
        terms,
        tuple(sorted(needed)),
        frozenset(needed - other),
        _offsets(terms),
        any(call in _LEARNING for expression in uses for call in _calls(expression)),
    )


def _uses(terms: Any, known: Collection[str]) -> dict[str, set[str]]:
    """The names in each expression of the formula, without those of transforms.

    formulaic itself lists no names within transforms that learn from the records.
    """
    from formulaic.transforms import TRANSFORMS
    from formulaic.utils.variables import Variable, get_required_variables

    functions = {*TRANSFORMS, OFFSET}
    uses = {}
    for factor in (factor for term in terms for factor in term.factors):
        names = {str(factor.expr)} if factor.eval_method.value == "lookup" else set()
        if factor.eval_method.value == "python":
            for variable in get_required_variables(factor.expr):
                name, value = str(variable.root), Variable.Role.VALUE in variable.root.roles
                if name not in functions or (value and name in known):
                    names.add(name)
        uses[str(factor.expr)] = names
    return uses


def _calls(expression: str) -> list[str]:
    return re.findall(r"(\w+)\s*\(", expression)


def _offsets(terms: Any) -> frozenset[str]:
    """The expressions of the form offset(...); each is a term of its own."""
    offsets = set()
    for term in terms:
        expressions = [str(factor.expr) for factor in term.factors]
        if any(OFFSET in _calls(expression) for expression in expressions):
            if len(expressions) > 1 or not expressions[0].startswith(f"{OFFSET}("):
                raise DataError(f"{':'.join(expressions)}: offset() must be a term of its own")
            offsets.add(expressions[0])
    return frozenset(offsets)


def _by_c(expression: str) -> str | None:
    """The name in C(name)."""
    found = _CATEGORY.fullmatch(expression)
    return found["name"] if found else None


def _check_uses(uses: dict[str, set[str]], disguised: Collection[str]) -> None:
    """A disguised attribute may only be a category: a transform would be one of its report."""
    for expression, used in uses.items():
        hidden = sorted(used & set(disguised))
        if hidden and expression != hidden[0] and _by_c(expression) not in hidden:
            name = hidden[0]
            raise DataError(
                f"{name!r} is disguised, so {expression!r} would be computed from reports, not "
                f"from true answers; it may only be a category: {name} or C({name})"
            )


def _one_line(error: Exception) -> str:
    """The message of formulaic without colours and line breaks."""
    return " ".join(_COLOUR.sub("", str(error)).split())


def evaluation_error(error: Exception) -> DataError:
    """What formulaic cannot compute, as one line."""
    return DataError(f"the formula cannot be computed: {_one_line(error)}")
