"""Words for kinds and families: in forms, in reports, and the references that reports cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: A matrix with more entries is not written out.
MOST_ENTRIES = 100
#: Kinds of questions and families of groups in forms.
CHOICE_WORDS = {
    "choice": "one of several answers",
    "multiple": "any number of several answers",
    "number": "a number, used as a range",
    "ordered": "one of several answers in order",
    "yes_no": "yes or no",
    "related": "the true answer with probability theta, otherwise another one",
    "unrelated": "the true answer with probability theta, otherwise that to a harmless question",
    "forced": "the true answer with probability theta, otherwise one that chance sets",
    "crosswise": "whether two answers are the same, the other one being harmless",
    "triangular": "whether at least one of two answers is yes, the other one being harmless",
    "mangat": "a true yes as yes, a true no sometimes as yes",
    "mangat_singh": "the true answer, or what a second device decides",
    "kuk": "the number of red cards drawn, which depends on the true answer",
    "christofides": "a number drawn by chance, turned round for a true yes",
    "uniform_perturbation": "the true answer with probability q, otherwise any",
    "frapp": "the true answer lambda times as likely as each other one",
    "matrix": "any probabilities, as a matrix",
    "truthful": "the true answer, not disguised",
}


def _listed(shares: Any) -> str:
    """Probabilities of one distribution, or of one per question."""
    if isinstance(shares, Mapping):
        return "; ".join(f"{name}: {_listed(share)}" for name, share in shares.items())
    if any(isinstance(share, list) for share in shares):
        return "; ".join(_listed(share) for share in shares)
    return ", ".join(map(str, shares))


def _shown_matrix(rows: list[list[str]]) -> str:
    if len(rows) * len(rows[0]) > MOST_ENTRIES:
        return ", which is part of the published survey"
    return f", with the rows {_listed(rows)}"


#: What each family does with an answer, in words.
FAMILY_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "truthful": lambda given: "not disguised.",
    "related": lambda given: (
        f"with probability {given['theta']} the true answer was reported, otherwise another one, "
        "each other answer with the same probability (Warner, 1965)."
    ),
    "unrelated": lambda given: (
        f"with probability {given['theta']} the sensitive question was answered, otherwise an "
        f"unrelated one whose answers have the known probabilities {_listed(given['personal'])} "
        "(Greenberg et al., 1969)."
    ),
    "forced": lambda given: (
        f"with probability {given['theta']} the true answer was reported, otherwise one that "
        f"chance decided, with the probabilities {_listed(given['forced'])} (Boruch, 1971)."
    ),
    "crosswise": lambda given: (
        "respondents reported only whether their answer is the same as that to an innocent "
        f"question with known share {given['p']} (Yu, Tian & Tang, 2008)."
    ),
    "triangular": lambda given: (
        "respondents reported only whether their answer, or that to an innocent question with "
        f"known share {given['p']}, or both are yes (Yu, Tian & Tang, 2008)."
    ),
    "mangat": lambda given: (
        f"a true yes was always reported as yes; a true no as no with probability {given['p']}, "
        "otherwise as yes (Mangat, 1994)."
    ),
    "mangat_singh": lambda given: (
        f"with probability {given['truth']} the true answer was reported; otherwise a second draw "
        f"decided: the true answer with probability {given['p']}, else another one "
        "(Mangat & Singh, 1990)."
    ),
    "kuk": lambda given: (
        f"respondents reported the number of red cards among {given['cards']} drawn with "
        f"replacement, from a deck with a share {given['red_yes']} of red cards if their answer is "
        f"yes, from one with {given['red_no']} if it is no (Kuk, 1990)."
    ),
    "christofides": lambda given: (
        "respondents drew a number with the known probabilities "
        f"{_listed(given['distribution'])} and reported it if their answer is no, or the number "
        "counted from the other end if it is yes (Christofides, 2003)."
    ),
    "uniform_perturbation": lambda given: (
        f"with probability {given['q']} the true answer was reported, otherwise any answer with "
        "the same probability, the true one included (Agrawal, Srikant & Thomas, 2005)."
    ),
    "frapp": lambda given: (
        f"the true answer was {given['lambda']} times as likely to be reported as any other "
        "(Agrawal & Haritsa, 2005)."
    ),
    "matrix": lambda given: (
        "reports were drawn by a published matrix of probabilities with a row per report and a "
        f"column per true answer{_shown_matrix(given['matrix'])} (Huang & Du, 2008)."
    ),
}
#: What sentences cite, by how they cite it.
REFERENCES = {
    "Agrawal, Srikant & Thomas, 2005": "Agrawal, R., Srikant, R., & Thomas, D. (2005). Privacy "
    "preserving OLAP. Proceedings of ACM SIGMOD, 251-262.",
    "Agrawal & Haritsa, 2005": "Agrawal, S., & Haritsa, J. R. (2005). A framework for "
    "high-accuracy privacy-preserving mining. Proceedings of ICDE, 193-204.",
    "Boruch, 1971": "Boruch, R. F. (1971). Assuring confidentiality of responses in social "
    "research: A note on strategies. The American Sociologist, 6(4), 308-311.",
    "Christofides, 2003": "Christofides, T. C. (2003). A generalized randomized response "
    "technique. Metrika, 57, 195-200.",
    "Clopper & Pearson, 1934": "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or "
    "fiducial limits illustrated in the case of the binomial. Biometrika, 26(4), 404-413.",
    "Greenberg et al., 1969": "Greenberg, B. G., Abul-Ela, A.-L. A., Simmons, W. R., & Horvitz, "
    "D. G. (1969). The unrelated question randomized response model: Theoretical framework. "
    "Journal of the American Statistical Association, 64(326), 520-539.",
    "Huang & Du, 2008": "Huang, Z., & Du, W. (2008). OptRR: Optimizing randomized response schemes "
    "for privacy-preserving data mining. Proceedings of ICDE, 705-714.",
    "Kuk, 1990": "Kuk, A. Y. C. (1990). Asking sensitive questions indirectly. Biometrika, 77(2), "
    "436-438.",
    "Mangat, 1994": "Mangat, N. S. (1994). An improved randomized response strategy. Journal of "
    "the Royal Statistical Society B, 56(1), 93-95.",
    "Mangat & Singh, 1990": "Mangat, N. S., & Singh, R. (1990). An alternative randomized response "
    "procedure. Biometrika, 77(2), 439-442.",
    "Susko, 2013": "Susko, E. (2013). Likelihood ratio tests with boundary constraints using "
    "data-dependent degrees of freedom. Biometrika, 100(4), 1019-1023.",
    "Theil, 1971": "Theil, H. (1971). Principles of econometrics. Wiley.",
    "Warner, 1965": "Warner, S. L. (1965). Randomized response: A survey technique for eliminating "
    "evasive answer bias. Journal of the American Statistical Association, 60(309), 63-69.",
    "Wilson, 1927": "Wilson, E. B. (1927). Probable inference, the law of succession, and "
    "statistical inference. Journal of the American Statistical Association, 22(158), 209-212.",
    "Yu, Tian & Tang, 2008": "Yu, J.-W., Tian, G.-L., & Tang, M.-L. (2008). Two new models for "
    "survey sampling with sensitive characteristic: Design and analysis. Metrika, 67, 251-263.",
}


def cited(texts: list[str]) -> list[str]:
    """The references that these texts cite, in alphabetical order."""
    whole = " ".join(texts)
    return [full for short, full in sorted(REFERENCES.items()) if short in whole]
