"""run: the settings that are not finished yet, on several processes.

Every setting is a job of its own. What is finished is written at once, so a run that is stopped
goes on from there; a setting that was under way starts again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import IMapIterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from tacit.reproduce.stored_results import keep, kept
from tacit.reproduce.study_settings import Rows, Setting, Tell

#: Seconds between looks at what the processes tell.
_LOOK = 0.2

#: Runs one setting.
Job = Callable[[Setting, Tell], Rows]
#: Settings as they are finished, with their rows.
Finished = Generator[tuple[Setting, Rows], None, None]
#: Told after every step what is done; see `Progress`.
Watch = Callable[["Progress"], None]


@dataclass
class Progress:
    """How far a run is: settings, repeats and seconds of work, about, in all and done.

    `name` is what was heard of last.
    """

    settings: int
    repeats: int
    work: float
    settings_done: int = 0
    repeats_done: int = 0
    work_done: float = 0.0
    name: str = ""

    def add(self, setting: Setting, repeats: int) -> None:
        """More repeats of a setting are done."""
        self.repeats_done += repeats
        self.work_done += repeats * setting.seconds


def run(
    settings: Sequence[Setting],
    job: Job,
    folder: Path,
    processes: int = 1,
    watch: Watch | None = None,
) -> dict[Setting, Rows]:
    """The rows of every setting, in the order given; finished ones are read, not run."""
    found = {one: rows for one in settings if (rows := kept(folder, one)) is not None}
    left = [one for one in settings if one not in found]
    work = sum(one.repeats * one.seconds for one in settings)
    progress = Progress(len(settings), sum(one.repeats for one in settings), work)
    progress.settings_done = len(found)
    for one in found:
        progress.add(one, one.repeats)
    watch = watch or _unwatched
    watch(progress)
    working = _alone if processes == 1 else _several
    with closing(working(left, job, processes, _Heard(left, progress, watch))) as finished:
        for one, rows in finished:
            keep(folder, one, rows)
            found[one] = rows
            progress.settings_done += 1
            watch(progress)
    return {one: found[one] for one in settings}


def _unwatched(_: Progress) -> None:
    """Progress that nobody watches."""


class _Heard:
    """Adds up what settings tell of their repeats."""

    def __init__(self, settings: Sequence[Setting], progress: Progress, watch: Watch) -> None:
        self._progress, self._watch = progress, watch
        self._settings = {_name(one): one for one in settings}
        self._done: dict[str, int] = {}

    def __call__(self, name: str, done: int) -> None:
        self._progress.add(self._settings[name], done - self._done.get(name, 0))
        self._done[name] = done
        self._progress.name = name
        self._watch(self._progress)


def _name(setting: Setting) -> str:
    return f"{setting.study} {setting.name}"


def _alone(settings: Sequence[Setting], job: Job, processes: int, heard: _Heard) -> Finished:
    """One after the other, here."""
    with threadpool_limits(1):
        for one in settings:
            yield one, job(one, partial(heard, _name(one)))
            heard(_name(one), one.repeats)


def _several(settings: Sequence[Setting], job: Job, processes: int, heard: _Heard) -> Finished:
    """On several processes, in the order in which they finish; left by an exception, all end."""
    context = multiprocessing.get_context("spawn")
    told = context.SimpleQueue()
    with context.Pool(processes, _begin, (told, job)) as pool:
        coming = pool.imap_unordered(_work, settings)
        for _ in settings:
            one, rows = _next(coming, told, heard)
            heard(_name(one), one.repeats)
            yield one, rows


def _next(coming: IMapIterator[Any], told: Any, heard: _Heard) -> tuple[Setting, Rows]:
    """The next result; what is told meanwhile is passed on."""
    while True:
        while not told.empty():
            heard(*told.get())
        try:
            found: tuple[Setting, Rows] = coming.next(_LOOK)
        except multiprocessing.TimeoutError:
            continue
        while not told.empty():
            heard(*told.get())
        return found


#: What a process of the pool was begun with.
_own: dict[str, Any] = {}


def _begin(told: Any, job: Job) -> None:
    """Ctrl-C is for the process that writes; this one is ended by it, or ends when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _own.update(told=told, job=job)


def _end_with_parent() -> None:
    """A parent that was killed ended nobody: nobody would want the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(one: Setting) -> tuple[Setting, Rows]:
    with threadpool_limits(1):
        return one, _own["job"](one, lambda done: _own["told"].put((_name(one), done)))
