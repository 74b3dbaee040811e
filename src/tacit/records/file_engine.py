"""FileEngine: an engine that counts the records of files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from tacit.core.schema import Schema
from tacit.records import Progress
from tacit.records.count_engine import CountEngine


class FileEngine(CountEngine):
    """Files with the same columns. `progress` is called with the share that is done."""

    def __init__(
        self, files: Sequence[Path], schema: Schema, progress: Progress | None = None
    ) -> None:
        super().__init__(schema)
        self.files = list(files)
        self._progress = progress

    @abstractmethod
    def columns_of(self, path: Path) -> Sequence[str]:
        """The columns of one file."""

    def column_names(self) -> Sequence[str]:
        """The columns that all files have."""
        every = [self.columns_of(path) for path in self.files]
        return [name for name in every[0] if all(name in names for names in every)]
