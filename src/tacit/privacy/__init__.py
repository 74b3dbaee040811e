"""How private the answers of a design are: posterior figures, rules, repetition, a report."""

from tacit.privacy.comparison import Comparison, compare_schemes, pse_curve
from tacit.privacy.prior import Prior, prior_of
from tacit.privacy.published_model import Rule
from tacit.privacy.repeated import Repeated, repeated
from tacit.privacy.report import Report, report
from tacit.privacy.risk import Figures, check_delta, figures
from tacit.privacy.scopes import Limits

__all__ = [
    "Comparison",
    "Figures",
    "Limits",
    "Prior",
    "Repeated",
    "Report",
    "Rule",
    "check_delta",
    "compare_schemes",
    "figures",
    "prior_of",
    "pse_curve",
    "repeated",
    "report",
]
