"""The experiments of the papers, run again beside tacit's own answer.

    reproduce(["du-zhan"], Plan(quick=True), folder)

Settings that an earlier run finished are read from the folder; see `job_runner`.
"""

from tacit.papers.studies import STUDIES, reproduce
from tacit.papers.study_settings import Plan

__all__ = ["STUDIES", "Plan", "reproduce"]
