"""What keeps a loop of the daemon from its work: said once, and tried again after growing pauses.

An exception of `errors` is a failure of the world, and its class says which. Any other was not foreseen: a defect of
ours, most likely brought out by an input of a new kind. A loop catches it all the same. One commit, one
cluster or one full disk must not end the process, or be lost to it for as long as it lives.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.model.base import ClusterName

log = logging.getLogger("gitfed.trouble")

_AGAIN = Backoff((5.0,))
"""Seconds until writing down is tried again when there was no room for it."""
_UNFORESEEN = Backoff((5.0, 10.0, 30.0, 60.0))
"""Seconds until a turn is tried again that failed in an unforeseen way, by failures in a row."""
_FULL = "what is decided cannot be recorded: nothing new is done"
_NOT_BELIEVED = "nothing is done before the state branch can be believed"
_UNUSABLE = "the state cannot be used: nothing new is done"


class Trouble:
    """Why a loop does nothing new."""

    def __init__(self) -> None:
        self.error: errors.GitfedError | None = None
        """None: all is well."""
        self._failures = 0

    @property
    def pause(self) -> float:
        """Seconds until the next try."""
        return (_UNFORESEEN if isinstance(self.error, errors.Unforeseen) else _AGAIN).after(self._failures)

    def begins(self, error: errors.GitfedError) -> None:
        if str(error) != str(self.error):
            if isinstance(error, errors.Unforeseen):
                say("a cycle failed: nothing new is done", error)
            elif isinstance(error, errors.StateNotBelieved):
                log.error(_NOT_BELIEVED, extra={"error": str(error)})
            else:
                log.error(_UNUSABLE if isinstance(error, errors.StateError) else _FULL, extra={"error": str(error)})
        self.error = error
        self._failures += 1

    def ends(self) -> None:
        if self.error is not None:
            log.info("what is decided can be recorded again")
        self.error, self._failures = None, 0


def say(message: str, error: BaseException | None, **keys: str) -> None:
    """One line for an unforeseen failure. Nothing is said of None: a task that ended without an exception."""
    if error is not None:
        unforeseen = error if isinstance(error, errors.Unforeseen) else errors.Unforeseen.of(error)
        log.error(message, extra={**keys, "error": unforeseen.message, "trace": unforeseen.trace})


def of_member(cluster: ClusterName, error: Exception) -> errors.GitfedError:
    """What ended the service of one cluster, as an error of ours: of several the one that was not foreseen."""
    failures = list(leaves(error))
    unforeseen = [failure for failure in failures if not isinstance(failure, errors.GitfedError | TimeoutError)]
    if unforeseen:
        return errors.Unforeseen.of(unforeseen[0])
    first = failures[0]
    if isinstance(first, errors.GitfedError):
        return first
    return errors.ClusterUnreachable(
        f"cluster {cluster}: its objects were not read in time", cluster=cluster, reason="Timeout"
    )


def of_change(cluster: ClusterName, error: BaseException) -> errors.ClusterFailed:
    """An unforeseen failure while one object is written costs that object, and nothing else."""
    unforeseen = errors.Unforeseen.of(error)
    say("a defect of gitfed, or an answer that no API server gives", unforeseen, cluster=cluster)
    return errors.ClusterFailed(f"cluster {cluster}: {unforeseen}", cluster=cluster, reason="Unforeseen")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """What a group of failures is made of, or the failure itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
