"""The front door: what `import tacit` promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit import (
    compliance,
    mine,
    papers,
    plan,
    privacy,
    quantitative,
    reconstruction,
    regression,
    survey,
)
from tacit.collect import store
from tacit.core import channel
from tacit.reconstruction import sampling

PROMISED = {
    "Attribute",
    "Design",
    "Group",
    "Schema",
    "TacitError",
    "christofides",
    "connect",
    "crosswise",
    "disguise",
    "forced",
    "frapp",
    "kuk",
    "mangat",
    "mangat_singh",
    "matrix",
    "reconstruct",
    "related",
    "triangular",
    "truthful",
    "uniform_perturbation",
    "unrelated",
}


PROMISED_OF_PRIVACY = {
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
}

PROMISED_OF_SURVEY = {
    "Published",
    "Survey",
    "Width",
    "example",
    "json_schema",
    "publish",
    "read_published",
    "read_survey",
    "survey_from_dict",
    "survey_from_text",
    "widths",
}


PROMISED_OF_STORE = {
    "Outcome",
    "Response",
    "SurveyState",
    "Store",
    "code_type",
    "packed",
    "unpacked",
}

#: Names of tacit.mine that are promised; its other names may still change.
PROMISED_OF_MINE = {"ChowLiuTree", "Forest", "LatentClass"}


PROMISED_OF_ITEMSETS = {
    "FalseDiscovery",
    "FamilyWise",
    "PlainThreshold",
    "association_rules",
    "itemsets",
    "split_records",
}


#: `tacit.reconstruction`: methods of estimating and testing, and what they return.
PROMISED_OF_RECONSTRUCTION = {
    "METHODS",
    "TEST_METHODS",
    "Estimate",
    "HypothesisTest",
    "Reconstruction",
    "ShareBounds",
    "combine",
    "em",
    "inversion",
    "likelihood_ratio",
    "pearson",
    "reconstruct",
    "restricted",
    "simplex",
    "wald",
}

#: What a user calls on the result of `reconstruct`.
PROMISED_OF_A_RECONSTRUCTION = {
    "asked",
    "bounds",
    "contrast",
    "difference",
    "expectation",
    "goodness_of_fit",
    "homogeneity",
    "independence",
    "odds_ratio",
    "plot",
    "probability",
    "ratio",
    "table",
    "trend",
}

#: `tacit.reconstruction.sampling`: errors of samples, and weights.
PROMISED_OF_SAMPLING = {
    "ERROR_METHODS",
    "AdjustedWeights",
    "bootstrap",
    "jackknife",
    "linearised",
    "poststratify",
    "rake",
    "response_cells",
    "response_propensity",
}

PROMISED_OF_REGRESSION = {
    "LinearResult",
    "Factors",
    "LogitResult",
    "MarginalEffects",
    "correlation",
    "linear",
    "logit",
}

PROMISED_OF_QUANTITATIVE = {
    "Scrambling",
    "additive",
    "as_matrix",
    "bar_lev",
    "distribution",
    "eriksson",
    "mean",
    "multiplicative",
    "scramble",
    "scrambling_from_json",
    "square_wave",
    "variance",
}

PROMISED_OF_COMPLIANCE = {
    "Careless",
    "Cheaters",
    "ComplianceEstimate",
    "LyingCarriers",
    "Pooled",
    "SensitivityCurve",
    "pool",
    "sensitivity",
}

PROMISED_OF_PLAN = {"QuestionPlan", "SurveyPlan", "Tradeoff", "plan", "tradeoff"}


def test_the_exported_names_are_the_promised_ones() -> None:
    """A new name is a promise: add it here, to the README and to the changelog together."""
    assert set(tacit.__all__) == PROMISED
    assert set(mine.__all__) >= PROMISED_OF_MINE
    assert set(privacy.__all__) == PROMISED_OF_PRIVACY
    assert set(survey.__all__) == PROMISED_OF_SURVEY
    assert set(store.__all__) == PROMISED_OF_STORE
    assert set(mine.__all__) >= PROMISED_OF_ITEMSETS
    assert set(reconstruction.__all__) == PROMISED_OF_RECONSTRUCTION
    assert set(dir(reconstruction.Reconstruction)) >= PROMISED_OF_A_RECONSTRUCTION
    assert set(sampling.__all__) == PROMISED_OF_SAMPLING
    assert set(regression.__all__) == PROMISED_OF_REGRESSION
    assert set(compliance.__all__) == PROMISED_OF_COMPLIANCE
    assert set(quantitative.__all__) == PROMISED_OF_QUANTITATIVE
    assert set(plan.__all__) == PROMISED_OF_PLAN
    assert set(papers.__all__) == {"STUDIES", "Plan", "reproduce"}


def test_every_exported_name_is_there_and_listed_once() -> None:
    for package in (tacit, mine, quantitative):
        assert len(package.__all__) == len(set(package.__all__))
        assert [name for name in package.__all__ if not hasattr(package, name)] == []


def test_dir_lists_the_public_names_and_the_subpackages_only(root: Path) -> None:
    folders = {path.parent.name for path in (root / "src/tacit").glob("*/__init__.py")}
    assert set(dir(tacit)) == PROMISED | folders - {"cli"}
    assert set(dir(mine)) == set(mine.__all__)
    modules = {path.stem for path in (root / "src/tacit/core/channel").glob("*.py")}
    listed = {name for name in dir(channel) if not name.startswith("_")}
    assert listed <= {*channel.families.__all__, "Channel", *modules}


def test_subpackages_are_loaded_on_first_use() -> None:
    code = (
        "import sys, tacit; before = 'tacit.mine' in sys.modules; "
        "print(before, tacit.mine.__name__, [n for n in dir(tacit) if not hasattr(tacit, n)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False tacit.mine []"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tacit' has no attribute 'minr'"):
        tacit.minr  # noqa: B018


def test_the_modules_of_a_tree_do_not_load_the_miners_that_use_them() -> None:
    code = "import sys, tacit.mine.tree.growth; print('tacit.mine.decision_tree' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_every_exported_name_has_a_docstring() -> None:
    assert [name for name in tacit.__all__ if not getattr(tacit, name).__doc__] == []
