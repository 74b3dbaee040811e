"""The schema: look-up by name, JSON that is exact, errors that name the place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.schema import Attribute, Label, Schema, text
from tacit.errors import SchemaError

SMOKES = Attribute("smokes", ["no", "yes"])
INCOME = Attribute("income", ["low", "mid", "high"])
AGE = Attribute("age", ["<= 37", "> 37", "?"], missing="?", edges=[37])
SCHEMA = Schema([SMOKES, INCOME, AGE])


def test_attributes_are_found_by_name_and_by_position() -> None:
    assert SCHEMA.names == ("smokes", "income", "age")
    assert SCHEMA.sizes == (2, 3, 3)
    assert SCHEMA["income"] is INCOME
    assert SCHEMA.index("age") == 2
    assert len(SCHEMA) == 3
    assert list(SCHEMA) == [SMOKES, INCOME, AGE]
    assert "smokes" in SCHEMA
    assert "drinks" not in SCHEMA


def test_a_subset_keeps_the_order_asked() -> None:
    assert SCHEMA.subset(["age", "smokes"]) == Schema([AGE, SMOKES])


def test_an_unknown_attribute_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(SchemaError, match="unknown attribute 'smoke'; did you mean 'smokes'"):
        SCHEMA["smoke"]
    with pytest.raises(SchemaError, match="unknown attribute 'incom'"):
        SCHEMA.subset(["smokes", "incom"])


def test_a_schema_without_attributes_is_an_error() -> None:
    with pytest.raises(SchemaError, match="at least one attribute"):
        Schema([])


def test_a_name_used_twice_is_an_error_that_names_the_place() -> None:
    with pytest.raises(SchemaError, match=r"attributes\[1\].*'smokes' is taken"):
        Schema([SMOKES, SMOKES])


def test_anything_but_an_attribute_is_an_error_that_names_the_place() -> None:
    with pytest.raises(SchemaError, match=r"attributes\[1\]: must be an Attribute, got str"):
        Schema([SMOKES, "income"])  # type: ignore[list-item]


@pytest.mark.parametrize("attributes", [SMOKES, None, 3, "smokes", {SMOKES, INCOME}])
def test_anything_but_a_list_of_attributes_is_an_error(attributes: Any) -> None:
    with pytest.raises(SchemaError, match="the attributes of a schema must be a list"):
        Schema(attributes)


@pytest.mark.parametrize("attributes", [[None], ["smokes"], {"smokes": SMOKES}, [[SMOKES]]])
def test_a_list_of_anything_else_is_an_error_too(attributes: Any) -> None:
    with pytest.raises(SchemaError, match=r"attributes\[0\]: must be an Attribute"):
        Schema(attributes)


LABELS = (
    st.text() | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    labels: list[Label] = draw(st.lists(LABELS, min_size=2, max_size=6, unique_by=text))
    missing = draw(st.none() | st.sampled_from(labels))
    return Attribute(name, labels, missing=missing)


@st.composite
def binned(draw: st.DrawFn, name: str) -> Attribute:
    finite = st.floats(allow_nan=False, allow_infinity=False)
    edges = sorted(draw(st.sets(finite, min_size=1, max_size=5)))
    last = draw(st.sampled_from([[], ["absent"]]))
    labels = [f"bin {i}" for i in range(len(edges) + 1)] + last
    return Attribute(name, labels, missing="absent" if last else None, edges=edges)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = st.text(min_size=1).filter(lambda name: bool(name.strip()))
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    return Schema([draw(attributes(name) | binned(name)) for name in chosen])


@given(schemas())
def test_json_gives_back_an_equal_schema_and_the_same_text(schema: Schema) -> None:
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert json.dumps(again.to_dict()) == json.dumps(schema.to_dict())


def test_missing_and_edges_are_written_only_where_set() -> None:
    assert SMOKES.to_dict() == {"name": "smokes", "categories": ["no", "yes"]}
    assert AGE.to_dict() == {
        "name": "age",
        "categories": ["<= 37", "> 37", "?"],
        "missing": "?",
        "edges": [37.0],
    }


def changed(place: int, **fields: Any) -> dict[str, Any]:
    """The plain form of SCHEMA with some fields of one attribute replaced."""
    plain = SCHEMA.to_dict()
    plain["attributes"][place] |= fields
    return plain


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([], "schema: must be an object, got list"),
        ({}, "schema: the key 'attributes' is missing"),
        ({"attributes": [], "version": 1}, "unknown key 'version' in schema"),
        ({"attributes": {}}, "attributes: must be a list, got dict"),
        ({"attributes": ["age"]}, r"attributes\[0\]: must be an object, got str"),
        ({"attributes": [{"name": "a"}]}, r"attributes\[0\]: the key 'categories' is missing"),
        (changed(1, label="x"), r"unknown key 'label' in attributes\[1\]"),
        (changed(2, categories="abc"), r"attributes\[2\]\.categories: must be a list, got str"),
        (changed(2, categories=["a", None]), r"attributes\[2\].*a category must be"),
        (changed(0, name=7), r"attributes\[0\].*name of an attribute"),
        (changed(2, edges=37), r"attributes\[2\]\.edges: must be a list, got int"),
        (changed(2, edges=["37"]), r"attributes\[2\].*finite number"),
        (changed(2, missing=None), r"attributes\[2\]\.missing: must be a category"),
        (changed(0, missing=["no"]), r"attributes\[0\].*as missing of attribute 'smokes'"),
        (changed(0, name="age"), r"attributes\[2\]: the name 'age' is taken"),
    ],
)
def test_a_malformed_schema_is_an_error_that_names_the_place(plain: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(plain)
