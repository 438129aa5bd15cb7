"""Who follows a hub is interrupted for good."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from gitfed.client.connection import HubConnection
from gitfed.client.follow import Follower


def test_an_interrupt_whose_exception_was_lost_ends_the_wait() -> None:
    follower = Follower(cast(HubConnection, SimpleNamespace()))
    follower.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        follower.wait()
