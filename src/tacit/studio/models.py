"""Models: which model an analyst wants, the models of a survey as files, and who learns them."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.core.schema import Schema
from tacit.errors import DataError, FileError, unknown
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records import Origin, read_text
from tacit.records.count_file import StoredCounts
from tacit.studio.disclosure import answering, require_comparable
from tacit.studio.release import FEWEST_SHOWN, Release
from tacit.survey import Published

KINDS = {
    "tree": "decision tree",
    "naive_bayes": "naive Bayes",
    "rules": "association rules",
    "clusters": "clusters (latent classes)",
}
#: Kinds that predict one attribute from the others.
CLASSIFIERS = ("tree", "naive_bayes")
CRITERIA = {
    "entropy": "a branch for each answer (ID3)",
    "gini": "one answer against the others (CART)",
}
DEEPEST, MOST_CLASSES = 12, 10


@dataclass(frozen=True)
class ModelRequest:
    """A kind of model with its options; those of other kinds are not used.

    `test_share` of the records are kept for estimates: of accuracy, of rules.
    """

    kind: str
    target: str = ""
    criterion: str = "entropy"
    max_depth: int | None = None
    min_support: float = 0.1
    min_confidence: float = 0.5
    classes: int | None = None
    test_share: float = 1 / 3

    @classmethod
    def of_form(cls, form: Mapping[str, str], schema: Schema) -> ModelRequest:
        """The request of a form, checked; an error names the field."""
        kind = form.get("kind", "")
        if kind not in KINDS:
            raise DataError(unknown("kind of model", kind, tuple(KINDS)))
        if len(schema) < 2:
            raise DataError("a model needs at least two questions")
        target = form.get("target", "")
        if kind in CLASSIFIERS and target not in schema.names:
            raise DataError(unknown("question to predict", target, schema.names))
        criterion = form.get("criterion", "") or "entropy"
        if criterion not in CRITERIA:
            raise DataError(unknown("criterion", criterion, tuple(CRITERIA)))
        return cls(
            kind,
            target if kind in CLASSIFIERS else "",
            criterion,
            _whole(form, "max_depth", "the most conditions", DEEPEST),
            _share(form, "min_support", "the smallest share of people", 10),
            _share(form, "min_confidence", "the smallest confidence", 50),
            _whole(form, "classes", "the number of clusters", MOST_CLASSES),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def title(self) -> str:
        """The model in a few words."""
        name = KINDS[self.kind]
        named = name[0].upper() + name[1:]
        return f"{named} for {self.target}" if self.target else named


def _whole(form: Mapping[str, str], key: str, what: str, most: int) -> int | None:
    text = form.get(key, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise DataError(f"{what} is a whole number from 1 to {most}, or empty, got {text!r:.40}")
    return int(text)


def _share(form: Mapping[str, str], key: str, what: str, percent: float) -> float:
    text = form.get(key, "").strip()
    with suppress(ValueError):
        value = float(text or percent)
        if 0 < value < 100:
            return value / 100
    raise DataError(f"{what} is a number above 0 and below 100, got {text!r:.40}")


# Models as files ----------------------------------------------------------------------------------

_KEYS = (
    "survey request by made n_records n_left_out n_learnt n_tested summary evaluation privacy model"
)
FORMAT = DocumentFormat("studio-model", "model of the studio", (tuple(_KEYS.split()),))
MOST_AT_ONCE, MOST_MODELS = 2, 100
#: Suffixes of what a process reads, and of why it could not learn a model.
COUNTS, PROBLEM = ".counts", ".problem"
#: What is said of a process that ended without a word.
STOPPED = "Learning was stopped: it took too much time or memory. Ask for a smaller model."
_NAME = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class StoredModel:
    """A model that was learnt: its name in addresses and the content of its file."""

    name: str
    content: dict[str, Any]

    @property
    def request(self) -> ModelRequest:
        """What was asked for."""
        return ModelRequest(**self.content["request"])

    @property
    def title(self) -> str:
        """The model in a few words."""
        return self.request.title

    def is_of(self, release: Release | None) -> bool:
        """Whether it was learnt from this release: those of a survey have different numbers."""
        n_records = self.content["n_records"] + self.content["n_left_out"]
        return release is not None and release.counts.n_records == n_records

    @property
    def accuracy(self) -> dict[str, float] | None:
        """The estimated accuracy with its limits; None if the model predicts nothing."""
        accuracy = (self.content["evaluation"] or {}).get("accuracy")
        if accuracy is None:
            return None
        return {key: values[0] for key, values in accuracy["table"].items()}


@dataclass
class _Learning:
    """A process that learns a model, and what went wrong once it has ended."""

    survey: str
    process: subprocess.Popen[bytes]
    problem: str = ""


class ModelFolder:
    """The models of all surveys below a folder, and the processes that learn new ones.

    A model is learnt by a process of its own: it may use a core for minutes, and it can be ended.
    It writes its file when all is done, under another name first, so that a file is complete or not
    there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._learning: dict[str, _Learning] = {}
        self._lock = threading.Lock()
        for left in ("*/.tacit-*.part", f"*/*{COUNTS}", f"*/*{PROBLEM}"):
            for path in folder.glob(left):
                path.unlink(missing_ok=True)  # of processes that were killed

    def all_of(self, survey: Published) -> list[StoredModel]:
        """The models of a survey, newest first."""
        names = [path.stem for path in self._of(survey).glob("*.json")]
        models = [self.find(survey, name) for name in names if _NAME.fullmatch(name)]
        stored = [model for model in models if model is not None]
        return sorted(stored, key=lambda model: (model.content["made"], model.name), reverse=True)

    def find(self, survey: Published, name: str) -> StoredModel | None:
        """A model of a survey; None if there is none with this name."""
        path = self._path(survey, name)
        if path is None or not path.exists():
            return None
        content = read_document(read_text(path), FORMAT)
        if content["survey"] != survey.survey.fingerprint:
            raise FileError(f"{path.name}: is a model of another survey")
        return StoredModel(name, content)

    def delete(self, survey: Published, name: str) -> None:
        """Remove a model."""
        path = self._path(survey, name)
        if path is not None:
            path.unlink(missing_ok=True)
        self._learning.pop(name, None)

    def forget(self, survey: Published) -> None:
        """Delete the models of a survey that was deleted."""
        with self._lock:
            for learning in self._learning.values():
                if learning.survey == survey.slug:
                    learning.process.kill()
            shutil.rmtree(self._of(survey), ignore_errors=True)

    def learn(self, release: Release, request: ModelRequest, by: str, time: str) -> str:
        """Start to learn a model from the records of a release; its name."""
        survey, name = require_comparable(release).survey, secrets.token_hex(8)
        with self._lock:
            running = [one for one in self._learning.values() if one.process.poll() is None]
            if len(running) >= MOST_AT_ONCE:
                raise DataError("other models are being learnt; try again when they are done")
            if len(list(self._of(survey).glob("*.json"))) >= MOST_MODELS:
                raise DataError(f"a survey has at most {MOST_MODELS} models; delete one first")
            self._of(survey).mkdir(mode=0o700, parents=True, exist_ok=True)
            stem = self._of(survey) / name
            records = answering(release, survey.design.schema.names).counts
            if records.n_records < FEWEST_SHOWN:
                raise DataError(
                    f"models need {FEWEST_SHOWN} records without a missing answer, besides a few "
                    "that are left out"
                )
            counts = stem.with_suffix(COUNTS)
            StoredCounts(records, Origin(survey.fingerprint, survey.title)).write(counts)
            about: dict[str, Any] = {"survey": survey.survey.fingerprint, "by": by, "made": time}
            about |= {"n_left_out": release.counts.n_records - records.n_records}
            job = {
                "published": survey.to_json(),
                "request": request.to_dict(),
                "about": FORMAT.header | about,
                "counts": str(counts),
                "out": str(stem.with_suffix(".json")),
                "problem": str(stem.with_suffix(PROBLEM)),
            }
            self._learning[name] = _Learning(survey.slug, _started(job))
        return name

    def wait(self, name: str, seconds: float) -> bool:
        """Whether the process that learns a model has ended, after at most so many seconds."""
        learning = self._learning.get(name)
        with suppress(subprocess.TimeoutExpired):
            if learning is not None:
                learning.process.wait(seconds)
            return True
        return False

    def problem(self, survey: Published, name: str) -> str | None:
        """Why there is no such model; empty while it is being learnt, None if nobody asked."""
        learning = self._learning.get(name)
        if learning is None or learning.survey != survey.slug:
            return None
        with self._lock:
            if learning.process.poll() is not None and not learning.problem:
                file = self._of(survey) / f"{name}{PROBLEM}"
                learning.problem = read_text(file) if file.exists() else STOPPED
                file.unlink(missing_ok=True)
        return learning.problem

    def _of(self, survey: Published) -> Path:
        return self._folder / survey.slug

    def _path(self, survey: Published, name: str) -> Path | None:
        valid = _NAME.fullmatch(name) is not None
        return self._of(survey) / f"{name}.json" if valid else None


def _started(job: dict[str, Any]) -> subprocess.Popen[bytes]:
    """A process that learns; it reads what to do from its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit.studio.model_training"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as stdin:  # it was killed: its page says so
        stdin.write(json.dumps(job).encode())
    return process
