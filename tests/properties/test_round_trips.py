"""What is written comes back: designs as JSON, records through every data frame library."""

from __future__ import annotations

import json
import string
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import Attribute, Design, Group, Schema, disguise, forced, reconstruct, related
from tacit.core.label_codes import decode, encode
from tests.support.families import designs, seeds

BACKENDS = ["pandas", "polars", "pyarrow"]
EXAMPLE = Design(
    Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])]),
    [
        Group(["smokes"], forced("2/3", ["1/2", "1/2"])),
        Group(["income"], related(theta=0.7)),
    ],
)
#: Published designs are known by it: a change of this number breaks every survey in the field.
FINGERPRINT = "0b3aaa11f614f6f67470c730a7f6596e0b5668d49b40007914451b0a73f4bbec"

texts = st.text(string.ascii_letters + " äßλ日-/'\"", min_size=1).filter(lambda t: t.strip() == t)
labels = st.one_of(
    st.lists(texts, min_size=2, max_size=6, unique=True),
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=6, unique=True),
    st.just([False, True]),
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=6, unique_by=lambda v: v + 0.0),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    return Schema([Attribute(name, draw(labels)) for name in names])


@given(designs())
def test_a_design_comes_back_from_its_json_with_its_fingerprint(design: Design) -> None:
    again = Design.from_json(design.to_json())
    assert again == design
    assert hash(again) == hash(design)
    assert again.to_json() == design.to_json()
    assert again.fingerprint == design.fingerprint
    assert again.reported == design.reported


@given(designs(max_attributes=3), designs(max_attributes=3))
def test_two_designs_share_a_fingerprint_only_if_they_are_equal(a: Design, b: Design) -> None:
    assert (a.fingerprint == b.fingerprint) == (a == b)


def test_the_fingerprint_of_a_published_design_never_changes() -> None:
    assert EXAMPLE.fingerprint == FINGERPRINT


@pytest.mark.parametrize(
    "other",
    [
        Design(EXAMPLE.schema, EXAMPLE.groups[::-1]),
        Design(EXAMPLE.schema, [EXAMPLE.groups[0], Group(["income"], related("71/100"))]),
        Design(
            Schema(
                [Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "top"])]
            ),
            EXAMPLE.groups,
        ),
    ],
    ids=["groups in another order", "another theta", "another label"],
)
def test_any_change_of_a_design_changes_its_fingerprint(other: Design) -> None:
    assert other.fingerprint != EXAMPLE.fingerprint


def test_the_way_a_number_is_written_does_not_change_the_fingerprint() -> None:
    written = ["7/10", 0.7, "0.7", "0.70"]
    groups = [[EXAMPLE.groups[0], replace(EXAMPLE.groups[1], coin=related(w))] for w in written]
    assert {Design(EXAMPLE.schema, g).fingerprint for g in groups} == {FINGERPRINT}
    spaced = json.dumps(json.loads(EXAMPLE.to_json()), indent=7, sort_keys=True)
    assert Design.from_json(spaced).fingerprint == FINGERPRINT


@given(schemas())
def test_a_schema_comes_back_from_its_json(schema: Schema) -> None:
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def random_codes(schema: Schema, seed: int, n: int = 20) -> Any:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, k, n) for k in schema.sizes], axis=1).astype(np.uint8)


@pytest.mark.parametrize("backend", BACKENDS)
@given(schema=schemas(), seed=seeds())
def test_codes_come_back_from_a_frame_of_labels(backend: str, schema: Schema, seed: int) -> None:
    codes = random_codes(schema, seed)
    frame = decode(codes, schema, backend)
    np.testing.assert_array_equal(encode(frame, schema), codes)


@pytest.mark.parametrize("backend", BACKENDS)
@given(design=designs(max_attributes=3), seed=seeds())
def test_frames_and_arrays_are_disguised_and_reconstructed_alike(
    backend: str, design: Design, seed: int
) -> None:
    codes = random_codes(design.schema, seed)
    frame = decode(codes, design.schema, backend)
    reported = disguise(codes, design, np.random.default_rng(seed))
    as_frame = disguise(frame, design, np.random.default_rng(seed))
    assert type(as_frame) is type(frame)
    np.testing.assert_array_equal(encode(as_frame, design.reported), reported)
    name = design.schema.names[-1]
    np.testing.assert_array_equal(
        reconstruct(as_frame, design).table([name]).value,
        reconstruct(reported, design).table([name]).value,
    )
