"""Every exception of gitfed, in one place.

An exception means that *the world* failed. A mistake in the user's files is a `Problem` (data, collected, never
raised); one object that did not work out is an outcome (a value). Callers choose by class, never by text.

    GitfedError
    ├── UsageError                 the command line or a setting of the process is wrong (exit code 2)
    │   └── NotThere               what was named is not there
    ├── InputError                 what was named cannot be used as input: facts file, decisions file, plan file (3)
    ├── SourceError                the repository cannot be read (4)
    │   ├── SourceUnreachable      network, missing repository, lock: trying again may help
    │   ├── RevisionNotFound       no such commit, branch or tag
    │   │   └── NothingDecided     no state branch, and nowhere else where one could be
    │   ├── StateNotBelieved       the state branch holds nothing that a key which counts has signed
    │   └── CloneUnwritable        nothing can be written into our own clone: the disk is full, or no right to
    ├── StateError                 the state branch cannot be used
    │   ├── StateConflict          another writer pushed first: read again, decide again
    │   └── StateTooNew            written by a newer gitfed
    ├── CacheError                 the parse cache on disk cannot be written; the work goes on without it
    ├── ClusterError               one cluster cannot be used (4)
    │   ├── CredentialsError       no usable credentials, or refused kinds of them
    │   ├── ClusterUnreachable     no answer: refused, timed out, reset, TLS failed
    │   ├── ClusterBusy            429 or 503; `retry_after` may say how long
    │   ├── ClusterFailed          a 5xx answer
    │   ├── Unauthorized           401 or 403
    │   ├── ObjectNotFound         404
    │   ├── ObjectExists           409 on creation
    │   ├── ObjectConflict         409 on a write: another manager's fields or another version
    │   ├── ObjectInvalid          400 or 422: the server refuses the object itself
    │   ├── HistoryGone            410: list again
    │   ├── ClusterReplaced        another cluster answers at the address, or the same one from a backup
    │   ├── KindUnknown            discovery does not know the kind
    │   └── NotRetained            it cannot be told what of an object belongs to the cluster
    ├── WebhookError               an interpreter webhook answered what cannot be used
    │   └── WebhookUnreachable     no answer: refused, timed out, reset, TLS failed, an address we do not contact
    ├── ForgeError                 a forge refuses a comment or a status (4)
    │   └── ForgeUnreachable       no answer, 5xx, 429: `retry_after` may say how long
    ├── HubError                   the hub that was asked refuses, or answers what cannot be used (4)
    │   └── HubUnreachable         no answer, 5xx, 429: `retry_after` may say how long
    ├── DeliveryError              a notification could not be delivered: `retry_after` may say how long to wait
    ├── SearchStoreError           what is cached cannot be copied to the OpenSearch of a registry
    ├── IdentityError              who calls the hub cannot be told: the credential is not accepted
    │   └── IdentityUnreachable    the issuer or API server that would know gives no answer
    ├── NotAllowed                 no AccessPolicy gives the right to what a caller of the hub orders
    ├── NotLeading                 this process operates nothing: another one leads
    ├── TooBusy                    so much is asked of the hub that this has to wait
    ├── NotOwned                   the inventory or the term says that this daemon must not write
    │   └── StaleTerm              what was sent to an agent is of an earlier term than it has seen
    ├── LinkError                  a hub and an agent do not understand each other; `final`: nor will they later
    │   └── LinkCut                the connection between them is gone, or brings no sign of life
    └── Unforeseen                 an exception of another class, caught by a loop that must not end (70)

`retry` says whether the same call can succeed later.
"""

from __future__ import annotations

import traceback
from pathlib import PurePath
from typing import ClassVar, Self


class GitfedError(Exception):
    retry: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(GitfedError):
    """The command line or a setting of the process is wrong."""


class NotThere(UsageError):
    """What was named is not there."""


class InputError(GitfedError):
    """A file named on the command line cannot be used."""


class SourceError(GitfedError):
    """The repository cannot be read."""


class SourceUnreachable(SourceError):
    """`retry_after`: seconds that the server asks to be left alone, if it says so (429, 503)."""

    retry = True

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class RevisionNotFound(SourceError):
    """No such commit, branch or tag."""


class NothingDecided(RevisionNotFound):
    """There is no state branch, and no other repository that could have one: nothing is unknown."""


class StateNotBelieved(SourceError):
    """The state branch holds nothing that a key which counts has signed: a person has to say what to do."""

    retry = True


class CloneUnwritable(SourceError):
    """The disk is full, or there is no right to write there: a person may change that."""

    retry = True


class StateError(GitfedError):
    """The state branch cannot be used."""


class StateConflict(StateError):
    retry = True


class StateTooNew(StateError):
    """The state was written by a newer gitfed."""


class CacheError(GitfedError):
    """The parse cache on disk cannot be written."""


class ClusterError(GitfedError):
    """One cluster cannot be used. `cluster` names it; `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, message: str, *, cluster: str = "", status: int = 0, reason: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.cluster = cluster
        self.status = status
        self.reason = reason


class CredentialsError(ClusterError):
    """No usable credentials, or credentials of a kind that is refused."""


class ClusterUnreachable(ClusterError):
    retry = True


class ClusterBusy(ClusterError):
    retry = True

    def __init__(self, message: str, *, cluster: str = "", status: int = 429, retry_after: float | None = None) -> None:
        super().__init__(message, cluster=cluster, status=status)
        self.retry_after = retry_after


class ClusterFailed(ClusterError):
    retry = True


class Unauthorized(ClusterError):
    """401 or 403."""


class ObjectNotFound(ClusterError):
    """404."""


class ObjectExists(ClusterError):
    """409 AlreadyExists, to a POST. (`edges.kube.apply` creates by a patch, which is answered with a conflict.)"""


class ObjectConflict(ClusterError):
    """409 on a write. `causes` are the server's texts, one for each contested field."""

    retry = True

    def __init__(
        self, message: str, *, cluster: str = "", reason: str = "", causes: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message, cluster=cluster, status=409, reason=reason)
        self.causes = causes  # (field path, text)


class ObjectInvalid(ClusterError):
    """400 or 422: the server refuses the object."""


class ClusterReplaced(ClusterError):
    """Another cluster answers at the address than a moment ago, or the same one as it was earlier: nothing that is
    known of it holds."""

    retry = True


class HistoryGone(ClusterError):
    retry = True


class KindUnknown(ClusterError):
    """Discovery, complete and fresh, does not know the kind."""


class NotRetained(ClusterError):
    """The rule that says what of an object belongs to the cluster gave no answer. The next plan looks again."""

    retry = True


class WebhookError(GitfedError):
    """The message is a sentence without its subject, the webhook."""

    retry = True


class WebhookUnreachable(WebhookError):
    """Not this question's fault: others would not be answered either."""

    retry = True


class NotAllowed(GitfedError):
    """No AccessPolicy gives the right to what a caller of the hub orders."""


class NotLeading(GitfedError):
    """This process operates nothing: another one leads, or will."""

    retry = True


class TooBusy(GitfedError):
    """So much is asked of the hub at a time that this has to wait."""

    retry = True


class NotOwned(GitfedError):
    """The inventory belongs to another repository, or its term is higher than ours: no write."""


class StaleTerm(NotOwned):
    """What was sent to an agent is of an earlier term than it has seen."""


class LinkError(GitfedError):
    """A hub and an agent do not understand each other. `final`: connecting again would not help."""

    def __init__(self, message: str, *, final: bool = False, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.final = final


class LinkCut(LinkError):
    """The connection between a hub and an agent is gone, or brings no sign of life."""

    retry = True


class ForgeError(GitfedError):
    """A forge refuses a comment or a status. `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, message: str, *, status: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class ForgeUnreachable(ForgeError):
    retry = True

    def __init__(self, message: str, *, status: int = 0, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, status=status, hint=hint)
        self.retry_after = retry_after


class HubError(GitfedError):
    """A hub refuses, or what answers is none. `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, message: str, *, status: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class HubUnreachable(HubError):
    retry = True

    def __init__(self, message: str, *, status: int = 0, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, status=status, hint=hint)
        self.retry_after = retry_after


class DeliveryError(GitfedError):
    """A notification could not be delivered. The message names no address: addresses hold secrets."""

    retry = True

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class SearchStoreError(GitfedError):
    """What is cached cannot be copied to the OpenSearch that a ResourceRegistry names. It is tried again."""

    retry = True


class IdentityError(GitfedError):
    """A credential that was shown to the hub is not accepted. The message is for the log: guessers learn nothing."""


class IdentityUnreachable(IdentityError):
    retry = True


class Unforeseen(GitfedError):
    """An unexpected exception: a defect of ours, most likely with an unusual input.

    The loops of a daemon catch it, so that one commit, or one cluster, stops only itself. Its message names the class
    and the place in our code. It leaves out the foreign exception's text, which may quote a Secret or a password.
    """

    retry = True

    @classmethod
    def of(cls, error: BaseException) -> Self:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "gitfed" in PurePath(frame.filename).parts] or frames
        where = f" at {PurePath(own[-1].filename).name}:{own[-1].lineno}" if own else ""
        made = cls(f"unexpected {type(error).__name__}{where}", hint="this is a defect of gitfed: please report it")
        made.__cause__ = error
        return made

    @property
    def trace(self) -> str:
        """For the log: which functions called each other, the outermost first, without any value."""
        frames = traceback.extract_tb(self.__cause__.__traceback__) if self.__cause__ is not None else ()
        return " > ".join(f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
