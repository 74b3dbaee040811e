"""The experiments of the papers, run again beside tacit's own answer.

    reproduce(["du-zhan"], Plan(quick=True), folder)

Settings that an earlier run finished are read from the folder; see `running`.
"""

from tacit.reproduce.setting import Plan
from tacit.reproduce.studies import STUDIES, reproduce

__all__ = ["STUDIES", "Plan", "reproduce"]
