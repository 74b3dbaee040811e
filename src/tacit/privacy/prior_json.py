"""Priors and rules from JSON text.

A prior file is an object with one distribution per attribute, as a list in the order of the
categories or as an object from category to probability; or a list of joint tables:

    {"smokes": {"no": 0.7, "yes": 0.3}, "income": [0.5, 0.3, 0.2]}
    [{"attributes": ["smokes", "income"], "table": [[0.4, 0.2, 0.1], [0.1, 0.1, 0.1]]}]

A rules file is a list, or an object that has one as `tacit mine tree --json` prints it and `tacit
mine rules` writes it; what else is said of a rule there is not read:

    [{"conditions": {"smokes": "yes"}, "attribute": "income", "category": "low",
      "confidence": 0.8, "support": 0.3}]

`support` is the probability of the conditions. The support of an association rule includes its
conclusion, so such a rule has `conditions_support` beside it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tacit.errors import FileError
from tacit.output.json_documents import parse_json
from tacit.privacy.published_model import Rule


def prior_from_json(text: str) -> Any:
    """What `report` takes for a prior; its content is checked there."""
    content = parse_json(text, "prior file")
    if isinstance(content, list):
        tables: dict[tuple[str, ...], Any] = {}
        for i, item in enumerate(content):
            names, table = _table(item, f"[{i}]")
            if names in tables:
                raise FileError(f"the prior has two tables of {', '.join(names)}")
            tables[names] = table
        return tables
    if not isinstance(content, dict):
        raise FileError("a prior must be an object by attribute, or a list of joint tables")
    if isinstance(content.get("tacit"), str):
        raise FileError(f"not a prior file: it says that it is a {content['tacit']}")
    return content


def rules_from_json(text: str) -> list[Rule]:
    """The rules of a model."""
    content = parse_json(text, "rules file")
    if isinstance(content, dict) and "rules" in content:
        content = content["rules"]
    if not isinstance(content, list):
        raise FileError(f"rules must be a list, got {type(content).__name__}")
    return [_rule(item, f"[{i}]") for i, item in enumerate(content)]


def _table(item: Any, where: str) -> tuple[tuple[str, ...], Any]:
    if not isinstance(item, dict) or set(item) != {"attributes", "table"}:
        raise FileError(
            f"{where} must be an object with 'attributes' and 'table', got {item!r:.60}"
        )
    names = item["attributes"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileError(f"{where}.attributes must be a list of names, got {names!r:.60}")
    return tuple(names), item["table"]


def _rule(item: Any, where: str) -> Rule:
    required = {"conditions", "attribute", "category", "confidence"}
    if isinstance(item, dict) and "conclusion" in item:
        raise FileError(
            f"{where} concludes on several attributes at once; mine rules with one conclusion"
        )
    if not isinstance(item, dict) or not required <= set(item):
        raise FileError(
            f"{where} must be an object with 'conditions', 'attribute', 'category', "
            f"'confidence' and, if known, 'support'; got {item!r:.60}"
        )
    if not isinstance(item["conditions"], dict) or not isinstance(item["attribute"], str):
        raise FileError(f"{where}: conditions must be an object and attribute a name")
    if item.get("conditions_support") is not None:
        item = item | {"support": _share(item["conditions_support"], where)}
    for number in ("confidence", "support"):
        value = item.get(number)
        wrong = isinstance(value, bool) or not isinstance(value, int | float)
        if wrong and not (number == "support" and value is None):
            raise FileError(f"{where}.{number} must be a number, got {value!r:.60}")
    return Rule(**{field.name: item[field.name] for field in fields(Rule) if field.name in item})


def _share(value: Any, where: str) -> float:
    """A support that was estimated: unbiased estimates may lie outside [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileError(f"{where}.conditions_support must be a number, got {value!r:.60}")
    return min(max(float(value), 0.0), 1.0)
