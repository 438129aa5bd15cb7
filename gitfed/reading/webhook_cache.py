"""What webhooks answered, and what they still have to: the memory between builds that ask and a loop that waits.

A build looks answers up here (`find`, from any thread) and never waits. What it did not find is *wanted*;
`webhook_queue` fetches that and puts it in (`put`, `fail`). A build asks again wherever it found nothing, so `version`
alone tells whether another build is worth its while.

Answers that decisions and renderings are made from are recorded on the state branch by the digest of their question,
so that a replay and a review need no network and get the same. What is asked about live objects (health, status,
retention) is too fast for Git: those answers live here only, the latest thousands of them.

A recorded answer stands for as long as the question is the same. It is dropped when another answer to the same took its
place, or nothing in the plan asks for it any more; but never while some question has no answer, because then what is
missing from a plan says nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gitfed.interpret.registry import Operation
from gitfed.model.base import Body, Digest, ObjectKey
from gitfed.model.plan import Binding
from gitfed.model.webhook import NoReply, WebhookQuestion

T = TypeVar("T")

RECORDED = frozenset({Operation.REPLICA, Operation.COMPONENT, Operation.REVISE, Operation.DEPENDENCY})
_LATEST = 20_000
"""Answers about live objects that are remembered, and failures."""
_NOT_RECORDED = NoReply("has no recorded answer; it is asked when the commit is applied", at_all=True)
_NOT_YET = NoReply("has not answered yet")
_NOTHING: Mapping[str, Body] = {}


def recorded(answers: Mapping[str, Body]) -> Callable[[WebhookQuestion], Body | NoReply]:
    """For a look without consequences: what the state branch tells, and no question leaves."""

    def find(question: WebhookQuestion) -> Body | NoReply:
        document = answers.get(question.digest)
        return _NOT_RECORDED if document is None else _response(question, document) or _NOT_RECORDED

    return find


class Answers:
    """Of one engine. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorded: Mapping[str, Body] = _NOTHING
        self._documents: dict[str, Body] = {}
        """What a record could hold, by digest: read from it, or answered since."""
        self._asked: dict[str, WebhookQuestion] = {}
        """Questions of RECORDED operations that builds of this interpreter asked."""
        self._subjects: dict[tuple[ObjectKey, str], Digest] = {}
        """The object that the newest answer about a key is about."""
        self._latest: OrderedDict[str, Body] = OrderedDict()
        self._failed: OrderedDict[str, NoReply] = OrderedDict()
        self._wanted: dict[str, WebhookQuestion] = {}
        self._open: dict[str, WebhookQuestion] = {}
        """Wanted and not answered yet."""
        self.version = 0
        """Goes up with everything new that a build could learn."""
        self.on_wanted: Callable[[], None] = lambda: None
        """Called from the thread that wants something, once until `take` is called."""

    def remember(self, answers: Mapping[str, Body]) -> None:
        """The state branch was read or written: `answers` by digest. May be read from lazily."""
        with self._lock:
            self._recorded = answers

    def begin(self) -> None:
        """Another interpreter: a build of everything follows, and tells what is still asked."""
        with self._lock:
            self._asked.clear()
            self._wanted.clear()
            self._open.clear()
            self._failed.clear()

    def find(self, question: WebhookQuestion) -> Body | NoReply:
        """See `model.webhook.Find`."""
        digest = question.digest
        lasting = question.operation in RECORDED
        with self._lock:
            if lasting:
                self._asked[digest] = question
            response = self._known(question)
            if response is not None:
                return response
            tell = digest not in self._open and not self._wanted
            if digest not in self._open:
                self._open[digest] = self._wanted[digest] = question
            failure = self._failed.get(digest, _NOT_YET)
        if tell:
            self.on_wanted()
        return failure

    def _known(self, question: WebhookQuestion) -> Body | None:
        digest = question.digest
        if question.operation not in RECORDED:
            response = self._latest.get(digest)
            if response is not None:
                self._latest.move_to_end(digest)
            return response
        document = self._documents.get(digest)
        if document is None:
            document = self._recorded.get(digest)
            if document is None or _response(question, document) is None:
                return None
            self._documents[digest] = document
        self._subjects[question.key, question.operation] = question.subject
        return _response(question, document)

    # -- for who asks -------------------------------------------------------------------------------------------

    def take(self) -> list[WebhookQuestion]:
        """What is wanted since the last call."""
        with self._lock:
            wanted, self._wanted = self._wanted, {}
        return list(wanted.values())

    def is_open(self, digest: str) -> bool:
        """Whether an answer is still of use."""
        with self._lock:
            return digest in self._open

    def put(self, question: WebhookQuestion, response: Body) -> None:
        """Raises ValueError when the response is not one that could be used; then nothing is remembered."""
        kept = question.read(response)
        with self._lock:
            self._open.pop(question.digest, None)
            self._failed.pop(question.digest, None)
            self.version += 1
            if question.operation in RECORDED:
                self._documents[question.digest] = _document(question, kept)
                self._subjects[question.key, question.operation] = question.subject
                return
            _keep(self._latest, question.digest, kept)

    def fail(self, questions: Iterable[WebhookQuestion], message: str) -> bool:
        """The webhook gave no answer. Returns whether that is new."""
        reason, fresh = NoReply(message), False
        with self._lock:
            for question in questions:
                if question.digest in self._open and self._failed.get(question.digest) != reason:
                    _keep(self._failed, question.digest, reason)
                    fresh = True
            self.version += fresh
        return fresh

    def give_up(self, question: WebhookQuestion) -> None:
        """It was tried often enough. A build that still needs the answer asks for it again."""
        with self._lock:
            if self._open.pop(question.digest, None) is not None:
                self.version += 1

    # -- for who builds and records -----------------------------------------------------------------------------

    def in_use(self, bindings: Mapping[ObjectKey, Binding]) -> Mapping[str, Body]:
        """What the state branch should hold for these bindings, by digest."""
        with self._lock:
            if not self._asked and not self._recorded:
                return _NOTHING
            used = {
                digest: self._documents[digest]
                for digest, question in self._asked.items()
                if digest in self._documents and self._is_used(question, bindings.get(question.key))
            }
            recorded, owed = self._recorded, any(question.operation in RECORDED for question in self._open.values())
            if not owed:
                self._forget(used, bindings)
        if owed:  # without the lock: some of these are read from the repository only now
            used |= {digest: recorded[digest] for digest in recorded if digest not in used}
        return dict(sorted(used.items()))

    def _forget(self, used: Mapping[str, Body], bindings: Mapping[ObjectKey, Binding]) -> None:
        """Drop what no binding uses; should it come back, the webhook is asked again."""
        self._asked = {digest: question for digest, question in self._asked.items() if digest in used}
        self._documents = dict(used)
        self._subjects = {about: subject for about, subject in self._subjects.items() if about[0] in bindings}

    def _is_used(self, question: WebhookQuestion, binding: Binding | None) -> bool:
        if binding is None or self._subjects.get((question.key, question.operation)) != question.subject:
            return False
        if question.operation != Operation.REVISE:
            return True
        return any(share.replicas == question.request["replicas"] for share in binding.scheduled.shares)


def _keep(memory: OrderedDict[str, T], digest: str, value: T) -> None:
    memory[digest] = value
    if len(memory) > _LATEST:
        memory.popitem(last=False)


def _document(question: WebhookQuestion, response: Body) -> Body:
    """What a person finds in `answers/<digest>.yaml`: who was asked what about which object, and what came back."""
    about: dict[str, Any] = {
        "webhook": question.webhook.name,
        "operation": question.operation,
        "object": str(question.key),
        "response": response,
    }
    if "replicas" in question.request:
        about["replicas"] = question.request["replicas"]
    return about


def _response(question: WebhookQuestion, document: Body) -> Body | None:
    """None for a document that is no answer to this question, whatever was written into it."""
    response = document.get("response")
    if not isinstance(response, Mapping) or document.get("operation") != question.operation:
        return None
    return response
