"""Settings of experiments: a plan gives settings, a setting gives rows.

A setting is a frozen description that fits in a small file; all its randomness comes from its
seed, its own name and the number of the repeat, so neither the order of settings nor the number
of processes changes a result.

Every setting is a job. Results are written as soon as a setting is finished, one small JSON file
each, complete or absent. So a run that was stopped continues from there; an unfinished setting
starts again.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import tacit
from tacit.errors import FileError
from tacit.records import write_text

#: A number, a text, or None if no estimate exists.
Value = float | int | str | None
#: The results of a setting: a mapping per row, with the same keys in every row of a kind.
Rows = list[dict[str, Any]]
#: Called with the number of finished repeats of a setting.
Tell = Callable[[int], None]
#: The literal procedure with so many repeats that chance hardly matters.
MORE = "literal, more repeats"
#: The rows of every setting of a study, by its name.
Results = Mapping[str, Rows]


@dataclass(frozen=True)
class Plan:
    """How much to run: `repeats` None means as in the papers, `quick` a small part of it."""

    repeats: int | None = None
    quick: bool = False
    seed: int = 0

    @property
    def small(self) -> bool:
        """Whether it has fewer repeats than the papers."""
        return self.quick or self.repeats is not None

    def count(self, published: int, quick: int) -> int:
        """The repeats of a setting: as given, else quick, else as published."""
        if self.repeats is not None:
            return self.repeats
        return quick if self.quick else published

    def setting(
        self, study: str, name: str, repeats: int, seconds: float = 1.0, **values: Value
    ) -> Setting:
        """A setting of this plan."""
        return Setting(study, name, repeats, self.seed, tuple(sorted(values.items())), seconds)


@dataclass(frozen=True)
class Setting:
    """One experiment: the study, its name in it, parameters, repeats and the seed.

    `seconds` is the approximate time of a repeat; only the progress bar uses it.
    """

    study: str
    name: str
    repeats: int
    seed: int
    values: tuple[tuple[str, Value], ...] = ()
    seconds: float = field(default=1.0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    def rng(self, repeat: int, of: str | None = None) -> np.random.Generator:
        """The generator of one repeat; settings of a study with the same `of` share it."""
        stream = zlib.crc32(f"{self.study}/{self.name if of is None else of}".encode())
        return np.random.default_rng(np.random.SeedSequence([self.seed, stream, repeat]))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content that identifies the setting."""
        content = {part.name: getattr(self, part.name) for part in fields(self) if part.compare}
        return {**content, "values": dict(self.values)}


def moments(scores: Sequence[float], alike: int = 1) -> dict[str, Any]:
    """Mean and variance as the papers draw them, and the standard error of the mean.

    Each run of `alike` scores shares a division into training and test records. If `alike` is more
    than one, the variance is the variance within a division, and the standard error counts
    divisions. None if there are too few scores.
    """
    several = np.asarray(scores, dtype=np.float64)
    mean = float(several.mean())
    divisions = several[: len(several) // alike * alike].reshape(-1, alike)
    among = divisions if alike > 1 else divisions.T
    among = among - among[:, :1]  # equal scores have a variance of 0, not of rounding
    variance = float(among.var(axis=1, ddof=1).mean()) if among[:, 1:].size else None
    if len(divisions) < 2:
        return {"mean": mean, "variance": variance, "stderr": None}
    means = divisions.mean(axis=1)
    error = float((means - means[0]).std(ddof=1) / np.sqrt(len(divisions)))
    return {"mean": mean, "variance": variance, "stderr": error}


#: Seconds after which an unfinished file is considered abandoned.
_STALE = 60.0


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be created: {error.strerror or error}") from None


@cache
def made_by() -> dict[str, str]:
    """Everything that may change a number: the version and source of tacit, NumPy and SciPy."""
    root = Path(tacit.__file__).parent
    source = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        source.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {
        "tacit": tacit.__version__,
        "source": source.hexdigest()[:16],
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def sweep(folder: Path) -> None:
    """Remove unfinished files of a run that was killed."""
    for path in folder.rglob(".tacit-*.part"):
        if time.time() - path.stat().st_mtime > _STALE:
            path.unlink(missing_ok=True)


def file_of(folder: Path, setting: Setting) -> Path:
    """The file with the rows of a setting."""
    return folder / "settings" / setting.study / f"{setting.name}.json"


def keep(folder: Path, setting: Setting, rows: Rows) -> None:
    """Write the rows of a setting."""
    path = file_of(folder, setting)
    make_folder(path.parent)
    content = {"made_by": made_by(), "setting": setting.to_dict(), "rows": rows}
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def kept(folder: Path, setting: Setting) -> Rows | None:
    """The rows of an earlier run of the same setting by the same code; None if there are none.

    A file of another plan, of other code, or that cannot be read counts as none: the setting is
    run again.
    """
    try:
        content = json.loads(file_of(folder, setting).read_text(encoding="utf-8"))
        same = (content["made_by"], content["setting"]) == (made_by(), setting.to_dict())
        rows: Rows = content["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if same else None


#: Seconds between checks for messages of the processes.
_LOOK = 0.2

#: Runs one setting.
Job = Callable[[Setting, Tell], Rows]
#: Settings as they are finished, with their rows.
Finished = Generator[tuple[Setting, Rows], None, None]
#: Called after every step; see `Progress`.
Watch = Callable[["Progress"], None]


class Progress:
    """Progress of a run: settings, repeats and approximate seconds of work, in total and done.

    `name` is the setting that reported last.
    """

    def __init__(self, settings: Sequence[Setting]) -> None:
        self._settings = {_name(setting): setting for setting in settings}
        self._done = dict.fromkeys(self._settings, 0)
        self.settings, self.settings_done = len(settings), 0
        self.repeats, self.repeats_done = sum(setting.repeats for setting in settings), 0
        self.work = sum(setting.repeats * setting.seconds for setting in settings)
        self.work_done = 0.0
        self.name = ""

    def count(self, name: str, done: int) -> None:
        """Add the repeats of a setting that were finished since it was counted last."""
        more, self._done[name] = done - self._done[name], done
        self.repeats_done += more
        self.work_done += more * self._settings[name].seconds


def run(
    settings: Sequence[Setting],
    job: Job,
    folder: Path,
    processes: int = 1,
    watch: Watch | None = None,
) -> dict[Setting, Rows]:
    """The rows of every setting, in the given order; finished settings are not run again."""
    results = {setting: rows for setting in settings if (rows := kept(folder, setting)) is not None}
    left = [setting for setting in settings if setting not in results]
    progress = Progress(settings)
    progress.settings_done = len(results)
    for setting in results:
        progress.count(_name(setting), setting.repeats)
    watch = watch or (lambda _: None)
    watch(progress)

    def count(name: str, done: int) -> None:
        progress.count(name, done)
        progress.name = name
        watch(progress)

    working = _alone if processes == 1 else _several
    with closing(working(left, job, processes, count)) as finished:
        for setting, rows in finished:
            keep(folder, setting, rows)
            results[setting] = rows
            progress.settings_done += 1
            watch(progress)
    return {setting: results[setting] for setting in settings}


def _name(setting: Setting) -> str:
    return f"{setting.study} {setting.name}"


def _alone(
    settings: Sequence[Setting], job: Job, processes: int, count: Callable[[str, int], None]
) -> Finished:
    """Run one after the other, in this process."""
    with threadpool_limits(1):
        for setting in settings:
            yield setting, job(setting, partial(count, _name(setting)))
            count(_name(setting), setting.repeats)


def _several(
    settings: Sequence[Setting], job: Job, processes: int, count: Callable[[str, int], None]
) -> Finished:
    """Run in several processes, in the order in which they finish; an exception ends all."""
    context = multiprocessing.get_context("spawn")
    messages = context.SimpleQueue()
    with context.Pool(processes, _begin, (messages, job)) as pool:
        coming = pool.imap_unordered(_work, settings)
        for _ in settings:
            finished: tuple[Setting, Rows] | None = None
            while finished is None:
                with suppress(multiprocessing.TimeoutError):
                    finished = coming.next(_LOOK)
                while not messages.empty():
                    count(*messages.get())
            setting, rows = finished
            count(_name(setting), setting.repeats)
            yield setting, rows


#: The arguments that a process of the pool was started with.
_own: dict[str, Any] = {}


def _begin(messages: Any, job: Job) -> None:
    """Ignore Ctrl-C: the parent process ends this one, also if it is killed itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _own.update(messages=messages, job=job)


def _end_with_parent() -> None:
    """Exit when the parent is gone: nobody needs the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(setting: Setting) -> tuple[Setting, Rows]:
    with threadpool_limits(1):
        return setting, _own["job"](
            setting, lambda done: _own["messages"].put((_name(setting), done))
        )
