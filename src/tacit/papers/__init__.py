"""The experiments of the papers, run again beside tacit's own answer.

    reproduce(["du-zhan"], Plan(quick=True), folder)

Settings that an earlier run finished are read from the folder; see `runner`.
"""

from tacit.papers.runner import Plan
from tacit.papers.studies import STUDIES, reproduce

__all__ = ["STUDIES", "Plan", "reproduce"]
