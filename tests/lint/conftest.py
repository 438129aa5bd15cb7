"""No test reads this user's caches, settings or kubeconfig."""

from __future__ import annotations

from tests.cli.conftest import fleet as fleet
from tests.cli.conftest import own_surroundings as own_surroundings
