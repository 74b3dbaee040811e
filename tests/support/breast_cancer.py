"""The two breast cancer data sets as codes, missing cells a category of their own."""

from __future__ import annotations

from tacit import Schema
from tacit.core.arrays import Codes
from tacit.core.label_codes import encode
from tacit.datasets import load_ljubljana, load_wisconsin


def wisconsin() -> tuple[Codes, Schema]:
    frame = load_wisconsin().drop_columns(["id"])
    schema = Schema.infer(frame, missing="unknown")
    return encode(frame, schema), schema


def ljubljana() -> tuple[Codes, Schema]:
    schema = Schema.infer(load_ljubljana(), missing="unknown")
    return encode(load_ljubljana(), schema), schema
