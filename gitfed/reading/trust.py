"""Which commits may be acted upon: those whose signatures the last accepted commit asks for.

What has to be signed, and by whom, is read from the *base*: the last commit that this daemon accepted, else the last
one that the state says was applied. A commit can so never excuse itself. Without any base the first commit speaks for
itself, unless the operator brought keys of his own (`--trusted-keys`), which go before those of the repository.

While signatures are demanded, the base moves only forward: to commits that descend from it. Otherwise a push by force
of an old commit, signed or from before the settings asked for signatures, would be the next base, and bring back the
keys and approvers that it trusts. A history that was rewritten on purpose names the base that it replaces, in a trailer
of a commit that an approver of that base signed; it cannot be used again once the base has moved.

A commit that is not accepted waits, the base stays in force, and nothing is deleted. The base is remembered beside the
clone and not in the source repository, where everyone who may push could move it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path

from gitfed.edges import files, git
from gitfed.edges.git import signature
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.declared.federation import Federation
from gitfed.model.operator_orders import Approval
from gitfed.text import public_key, trailers
from gitfed.text.values import dataclass

_MOST_COMMITS = 1000
_MOST_HANDOVERS = 100
_VERSION = 1
_TRAILER = re.compile(r"gitfed-allow:\s*(?P<gate>[a-z][a-z -]*?)\s*=\s*(?P<count>\d{1,9})\s*", re.IGNORECASE)
_REPLACES = "gitfed-replaces:"
GATES = ("deletions", "deletion percent", "moved replicas", "clusters touched", "history")
"""Gates that a trailer may open. An unknown state is not about a commit."""


@dataclass(frozen=True, slots=True)
class SignatureRequirement:
    """Which commits must be signed (none, head, all), and with which keys."""

    commits: str
    keys: signature.Keyring


@dataclass(frozen=True, slots=True)
class Parties:
    """Whose commits on the state branch count, and for what."""

    writers: signature.Keyring
    """Engines: for everything."""
    operators: signature.Keyring
    """People: for orders."""
    approvers: signature.Keyring
    """People: for opening gates."""
    binding: bool
    """Whether others do not count. Without `verify` they do, and it is only said."""
    named_by: Commit


class Trust:
    """`settings_of` reads the Federation of a commit. `record` None: nothing is remembered beyond this process."""

    def __init__(
        self,
        repository: git.Repository,
        settings_of: Callable[[Commit], Federation],
        *,
        record: Path | None = None,
        trusted_keys: Path | None = None,
    ) -> None:
        self._repository = repository
        self._settings_of = settings_of
        self._record = record
        self._own = _own_keys(trusted_keys)
        self.base, self._demanded = self._remembered()
        self._known: tuple[Commit, Federation] | None = None
        self._admitted: tuple[Commit, Commit | None, str] | None = None

    def why_not(self, commit: Commit) -> str:
        """Why a commit must wait; "" when it may be acted upon. Raises SourceError."""
        if commit == self.base:
            return ""
        if self._admitted is None or self._admitted[:2] != (commit, self.base):
            self._admitted = (commit, self.base, self._judge(commit))
        return self._admitted[2]

    def begin_at(self, base: Commit | None, demanded: str = "") -> None:
        """What the state says was applied last, and whose signatures that asks for: the base of a daemon that remembers
        none itself."""
        if self.base is None:
            self.base, self._demanded = base, demanded

    def accept(self, commit: Commit, settings: Federation) -> None:
        """This commit is acted upon: its settings decide about the next one. Raises SourceError for a full disk."""
        if commit == self.base and self._demanded:
            return
        demanded = settings.spec.sources.verify.commits
        self.base, self._demanded, self._known = commit, demanded, (commit, settings)
        if self._record is not None:
            content = json.dumps({"schemaVersion": _VERSION, "commit": commit, "commits": demanded})
            try:
                files.write_atomically(self._record, content.encode())
            except OSError as error:
                raise SourceError(f"{self._record} cannot be written: {error.strerror}") from error

    def unusable_keys(self, commit: Commit, settings: Federation) -> str:
        """Why the keys that a commit names could never accept its successor; "" when they could."""
        verify = settings.spec.sources.verify
        if verify.commits == "none" or self._own:
            return ""
        keys = self._keyring(verify.keys, commit)
        if keys.unusable:
            return f"spec.sources.verify names keys that cannot be used: {'; '.join(keys.unusable[:3])}"
        return "" if keys else "spec.sources.verify names no key that can be used"

    def _judge(self, commit: Commit) -> str:
        base = self.base
        if base is not None and self._repository.is_ancestor(base, commit):
            # Keys may have changed hands in between: each change counts that the holders of the keys before it signed.
            for step in self._handovers(base, commit):
                if step != commit and not self._why_not_after(base, step):
                    base = step
        return self._why_not_after(base, commit)

    def _handovers(self, base: Commit, commit: Commit) -> list[Commit]:
        """Commits of the followed branch that changed the settings or the files of keys, oldest first."""
        settings = self._settings(base)
        keys = [entry for entry in settings.spec.sources.verify.keys if not public_key.is_key(entry)]
        return self._repository.commits_of([settings.origin.path, *keys], base, commit, limit=_MOST_HANDOVERS)

    def _why_not_after(self, base: Commit | None, commit: Commit) -> str:
        """Why a commit cannot follow `base` (None: be the first)."""
        requirement = self._requirement(base, commit)
        if requirement is None:
            return self._nobody_says(base)
        if requirement.commits == "none":
            return ""
        if base is not None and not self._repository.is_ancestor(base, commit):
            return self._why_not_instead_of(base, commit)
        commits = [commit]
        if requirement.commits == "all" and base is not None:
            commits = self._repository.commits_since(base, commit, limit=_MOST_COMMITS + 1)
            if len(commits) > _MOST_COMMITS:
                return f"more than {_MOST_COMMITS} commits since {base[:12]} would have to be checked"
        for unchecked in commits:
            said = self._verdict(unchecked, requirement.keys).why_not
            if said:
                return f"{unchecked[:12]} {said}"
        return ""

    def _nobody_says(self, base: Commit | None) -> str:
        gone = f"{(base or '')[:12]}, which was accepted last, is not in the repository any more"
        if not self._demanded:
            return (
                f"{gone}, and there is no record of whether it asked for signatures: bring it back, or --trusted-keys"
            )
        return f"{gone}: there is no record of whose signatures count (remove {self._record} to begin anew)"

    def _why_not_instead_of(self, base: Commit, commit: Commit) -> str:
        """Why a commit that does not descend from `base` cannot replace it: an approver's signed word is needed."""
        why = f"{commit[:12]} does not descend from {base[:12]}, which was accepted last"
        named = [
            line[len(_REPLACES) :].strip()
            for line in trailers.last_paragraph(self._repository.info(commit).body)
            if line.lower().startswith(_REPLACES)
        ]
        if named != [str(base)]:
            return f"{why} (an approver's signed commit may say Gitfed-Replaces: {base})"
        if not self._repository.has(base):
            approvers = self._own
        else:
            settings = self._settings(base)
            approvers = self._keyring(settings.spec.guards.approvers, base, settings.spec.sources.verify.keys)
            if not approvers:
                return f"{why}, and {base[:12]} names no guards.approvers who could replace it"
        said = self._verdict(commit, approvers).why_not
        return f"{why}; its trailer Gitfed-Replaces does not count: it {said}" if said else ""

    def _requirement(self, base: Commit | None, commit: Commit) -> SignatureRequirement | None:
        """None: it was demanded, and cannot be read any more by whom."""
        origin = base or commit
        try:
            verify = self._settings(origin).spec.sources.verify
        except SourceError:
            if base is None or self._repository.has(origin):
                raise
            if self._own:
                return SignatureRequirement(self._demanded if self._demanded == "all" else "head", self._own)
            return SignatureRequirement("none", self._own) if self._demanded == "none" else None
        if self._own:
            return SignatureRequirement("all" if verify.commits == "all" else "head", self._own)
        if verify.commits == "none":
            return SignatureRequirement("none", self._own)
        return SignatureRequirement(verify.commits, self._keyring(verify.keys, origin))

    def _settings(self, commit: Commit) -> Federation:
        if self._known is None or self._known[0] != commit:
            self._known = (commit, self._settings_of(commit))
        return self._known[1]

    def _verdict(self, commit: Commit, keys: signature.Keyring) -> signature.SignatureVerdict:
        return signature.verify(self._repository.read(commit), keys)

    def _keyring(self, entries: tuple[str, ...], commit: Commit, also: tuple[str, ...] = ()) -> signature.Keyring:
        """`also` names files in which PGP keys may be found that `entries` name by fingerprint."""
        read = functools.partial(self._content, commit)
        key_files = [content for path in (*entries, *also) if not public_key.is_key(path) and (content := read(path))]
        return signature.keyring(entries, read, key_files=(*key_files, *self._own.trusted))

    def _content(self, commit: Commit, path: str) -> bytes | None:
        entry = self._repository.entries(commit).get(path)
        return None if entry is None else self._repository.read(entry.blob_id)

    # -- approvals ----------------------------------------------------------------------------------------------

    def approvals(self, commit: Commit, base: Commit | None) -> tuple[tuple[Approval, ...], str]:
        """What the trailers of a commit let through, and why they do not count ("" when they do, or there are none).

        They count if one of `guards.approvers` of the base signed the commit.
        """
        info = self._repository.info(commit)
        allowed, wrong = allowances(info.body)
        if not allowed and not wrong:
            return (), ""
        if wrong:
            return (), wrong
        if base is None or base == commit:
            return (), "nothing was applied before that says who may approve"
        settings = self._settings(base)
        approvers = settings.spec.guards.approvers
        if not approvers:
            return (), f"{base[:12]} names no guards.approvers"
        keys = self._keyring(approvers, base, settings.spec.sources.verify.keys)
        verdict = self._verdict(commit, keys)
        if verdict.why_not:
            return (), f"it {verdict.why_not}"
        return (Approval("", commit, tuple(sorted(allowed.items())), verdict.by, info.when),), ""

    # -- the state branch ---------------------------------------------------------------------------------------

    def parties(self, newest: Commit) -> Parties:
        """Whose commits on the state branch count: as the base says, or `newest` where nothing was accepted yet.

        Raises SourceError.
        """
        origin = self.base if self.base is not None and self._repository.has(self.base) else newest
        spec = self._settings(origin).spec
        signers = spec.sources.verify.keys
        return Parties(
            writers=self._keyring(spec.state.writers, origin),
            operators=self._keyring(spec.guards.operators or signers, origin, signers)
            if spec.guards.operators or not self._own
            else self._own,
            approvers=self._keyring(spec.guards.approvers, origin, signers),
            binding=bool(self._own) or spec.sources.verify.commits != "none",
            named_by=origin,
        )

    # -- memory -------------------------------------------------------------------------------------------------

    def _remembered(self) -> tuple[Commit | None, str]:
        if self._record is None or not self._record.exists():
            return None, ""
        try:
            record = json.loads(self._record.read_bytes())
            if record["schemaVersion"] > _VERSION:
                raise SourceError(f"{self._record} was written by a newer gitfed")
            return Commit(str(record["commit"])), str(record["commits"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            # Forgetting it would let the next commit speak for itself.
            raise SourceError(f"{self._record} cannot be read", hint="remove it to begin anew") from error


def allowances(body: str) -> tuple[dict[str, int], str]:
    """Gate → number of changes that `Gitfed-Allow: <gate>=<n>` lets through, and what is wrong with the trailers.

    Trailers are the last paragraph of a message, as Git has it.
    """
    allowed: dict[str, int] = {}
    for line in trailers.last_paragraph(body):
        if not line.lower().startswith("gitfed-allow:"):
            continue
        match = _TRAILER.fullmatch(line)
        gate = " ".join(match["gate"].lower().replace("-", " ").split()) if match else ""
        if match is None or gate not in GATES:
            return {}, f"the trailer {line[:80]!r} is not Gitfed-Allow: <gate>=<number>; gates: {', '.join(GATES)}"
        allowed[gate] = max(int(match["count"]), allowed.get(gate, 0))
    return allowed, ""


def _own_keys(folder: Path | None) -> signature.Keyring:
    """Every file of the operator's folder. Raises SourceError: a folder without a key would accept nothing."""
    if folder is None:
        return signature.Keyring()
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        content = {path.name: path.read_bytes() for path in paths}
    except OSError as error:
        raise SourceError(f"{folder} cannot be read: {error.strerror}") from error
    keyring = signature.keyring(content, content.get)
    if keyring.unusable or not keyring:
        said = "; ".join(keyring.unusable) or "no file in it"
        raise SourceError(
            f"{folder} holds no keys that can be used: {said}", hint="public keys: PGP blocks or SSH's .pub"
        )
    return keyring
