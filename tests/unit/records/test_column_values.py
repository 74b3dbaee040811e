"""Columns beside the answers: the order of a dictionary counts only if the file says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tacit import Attribute, Schema
from tacit.records import engines


@pytest.mark.parametrize("ordered", [False, True])
def test_only_ordered_dictionaries_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ordered: bool
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)  # as without DuckDB
    labels = pa.array(["c", "a", "b"])
    for part, codes in enumerate(([0, 1, 2], [2, 1, 0])):
        region = pa.DictionaryArray.from_arrays(codes, labels, ordered=ordered)
        table = pa.table({"smokes": ["yes", "no", "no"], "region": region})
        pa.parquet.write_table(table, tmp_path / f"{part}.parquet")
    schema = Schema([Attribute("smokes", ["no", "yes"])])
    values = engines.engine_of(tmp_path, schema).patterns_by(["region"]).columns
    assert pa.types.is_dictionary(values.schema.field("region").type) is ordered
    assert values.column("region").to_pylist() == ["c", "a", "b", "b", "a", "c"]
