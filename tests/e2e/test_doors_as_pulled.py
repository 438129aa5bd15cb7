"""What the hub keeps of the fleet for searches, with every cluster pulled: on real API servers, too, when at hand."""

from __future__ import annotations

import pytest

from tests.e2e import worlds
from tests.e2e.test_doors import test_kubectl_searches_what_registries_select  # noqa: F401 - collected here, too
from tests.support import needs

pytestmark = [pytest.mark.e2e, needs.program("kubectl")]

WORLDS = worlds.PULLED_BOTH
