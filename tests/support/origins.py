"""What commands say of a file of records that names no design."""

from __future__ import annotations


def unknown_origin(*files: str, design: str = "design.json") -> str:
    """The notes on standard error, in the order in which the files are read."""
    return "".join(
        f"note: {file} does not say which design made it; make sure that {design} did\n"
        for file in files
    )
