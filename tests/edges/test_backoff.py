from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitfed.edges.backoff import Backoff

_PAUSES = st.lists(st.floats(0, 1e6), min_size=1, max_size=9).map(sorted).map(tuple)
_SHARES = st.floats(0, 1)


@given(_PAUSES, _SHARES, _SHARES, st.integers(0, 12))
def test_a_pause_is_that_of_its_failure_give_or_take_a_share(
    pauses: tuple[float, ...], fewer: float, more: float, failures: int
) -> None:
    named = pauses[max(0, min(failures, len(pauses)) - 1)]
    assert named * (1 - fewer) <= Backoff(pauses, fewer, more).after(failures) <= named * (1 + more) * 1.000001


def test_many_who_failed_together_do_not_come_back_together() -> None:
    backoff = Backoff((1.0, 10.0))
    assert len({backoff.after(2) for _ in range(50)}) > 40
