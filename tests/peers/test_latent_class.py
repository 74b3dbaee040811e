"""LatentClass beside stepmix: on the same records, and on reports of the records it sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepmix.stepmix import StepMix

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.mine import LatentClass
from tests.support.latent import random_model, true_records

SIZES = (2, 3, 2, 4, 2, 2, 3)
#: Both search for the same maximum, to the end.
OURS: dict[str, Any] = dict(alpha=1e-9, n_init=20, tol=1e-9, max_iter=20_000)
PEER: dict[str, Any] = dict(
    measurement="categorical", n_init=20, max_iter=20_000, abs_tol=1e-13, rel_tol=0.0,
    random_state=1, progress_bar=0, verbose=0,
)  # fmt: skip


def records(n_classes: int, n: int) -> Any:
    rng = np.random.default_rng(40 + n_classes)
    return true_records(*random_model(SIZES, n_classes, rng), n, rng)[0]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_without_disguise_the_log_likelihood_is_that_of_stepmix(n_classes: int) -> None:
    codes = records(n_classes, 1500)
    peer = StepMix(n_components=n_classes, **PEER).fit(codes)
    schema = Schema([Attribute(f"a{i}", range(k)) for i, k in enumerate(SIZES)])
    design = Design(schema, [Group(schema.names, truthful())])
    for given in (None, design):
        ours = LatentClass(given, n_classes, **OURS).fit(codes)
        assert abs(ours.score(codes) - peer.score(codes)) < 1e-6
        assert abs(ours.log_likelihood_ - peer.score(codes) * len(codes)) < 1e-6
        order = np.argsort(-peer.weights_)
        np.testing.assert_allclose(ours.prior_, peer.weights_[order], atol=1e-4)
        chances = peer.predict_proba(codes)[:, order]
        np.testing.assert_allclose(ours.predict_proba(codes), chances, atol=1e-3)
        assert abs(ours.bic_ - peer.bic(codes)) < 1e-5


@pytest.mark.slow
def test_disguised_records_give_the_classes_that_stepmix_finds_in_the_true_ones() -> None:
    """Profiles are within five standard errors of those of the true records."""
    codes = records(2, 20_000)
    peer = StepMix(n_components=2, **(PEER | dict(n_init=2, abs_tol=1e-9))).fit(codes)
    order = np.argsort(-peer.weights_)
    schema = Schema([Attribute(f"a{i}", range(k)) for i, k in enumerate(SIZES)])
    names = schema.names
    design = Design(schema, [Group(names[:3], related(0.8)), Group(names[3:], related(0.7))])
    reported = disguise(codes, design, np.random.default_rng(2))
    ours, as_if_true = LatentClass(design, 2).fit(reported), LatentClass(None, 2).fit(reported)
    pis = peer.get_mm_df().to_numpy()
    expected = np.concatenate([table.ravel() for table in _profiles(pis, order)])
    stderr = np.concatenate([ours.profile(name).stderr.ravel() for name in names])
    for model, close in ((ours, True), (as_if_true, False)):
        found = np.concatenate([table.ravel() for table in model.tables_])
        assert (np.abs((found - expected) / stderr).max() < 5) is np.bool_(close)


def _profiles(pis: Any, order: Any) -> list[Any]:
    """P(category | class) of each attribute out of stepmix's rows."""
    stops = np.cumsum(SIZES)
    return [pis[stop - k : stop, order].T for stop, k in zip(stops, SIZES, strict=True)]
