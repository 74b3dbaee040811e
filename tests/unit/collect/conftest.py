"""What the tests of the service share."""

from __future__ import annotations

import pytest
import structlog


@pytest.fixture(autouse=True)
def _plain_logs() -> None:
    """Log as if nothing had been set up: another test's standard error may be closed."""
    structlog.reset_defaults()
