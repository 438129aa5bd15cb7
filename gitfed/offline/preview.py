"""What would become of the fleet if one commit followed another: two plans from the same facts and decisions.

    decisions   recorded → after BASE → after HEAD: the second plan begins where the first would end
    facts       one reading for both
    limits      guards, and where state and facts are, as BASE says: a change cannot loosen its own check

Nothing is asked of a cluster, and nothing that HEAD names is contacted. What was assumed for want of something is a
note: no state branch, no facts or old ones, a Federation that is new.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from gitfed.edges import git
from gitfed.errors import RevisionNotFound
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.declared import federation
from gitfed.model.fleet import FactsRef, FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, inputs, partial_plan, state_inputs
from gitfed.planning import build, notes, place, unplanned
from gitfed.planning.lazy_manifests import AT_ONCE, LAZILY
from gitfed.planning.review import affected_templates
from gitfed.planning.review import review as reviewing
from gitfed.planning.unplanned import Bystanders, Circumstances
from gitfed.text.values import dataclass

LARGE = 500
"""Templates from which on it pays to look only at what a change can reach."""
OLD_FACTS = timedelta(days=1)
"""Facts are written when they change by more than a little, so an hour says nothing; a day is worth a word."""


@dataclass(frozen=True, slots=True)
class Preview:
    base_repo: RepoSnapshot
    head_repo: RepoSnapshot
    """As its commit says, limits included: what a reader must see changed."""
    review: reviewing.Review
    notes: tuple[str, ...]
    refused: str = ""
    """Why a daemon would not act upon HEAD: it is not signed as it must be. "" when it would."""

    @property
    def base(self) -> Plan:
        return self.review.base

    @property
    def head(self) -> Plan:
        return self.review.head


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """What the command line names instead of a branch."""

    fleet: Path | None = None
    decisions: Path | None = None
    now: datetime | None = None

    @property
    def by_hand(self) -> bool:
        return self.fleet is not None or self.decisions is not None


def between(opened: inputs.Opened, base: Commit, head: Commit, given: GivenInputs) -> Preview:
    """The preview of two commits; of a large repository only what the change reaches is looked at, if that can be told.

    Raises InputError for files that cannot be used, SourceError, StateTooNew.
    """
    if (partial := _glance(opened, base, head, given)) is not None:
        return partial
    return _everything(opened, base, inputs.read(opened, head).repo, given)


def uncommitted(opened: inputs.Opened, base: Commit, given: GivenInputs) -> Preview:
    """The preview of the files on disk. Raises as `between`."""
    tree = inputs.files_on_disk(opened)
    if (partial := _glance(opened, base, tree, given)) is not None:
        return partial
    return _everything(opened, base, inputs.read(opened, worktree=True).repo, given)


def _everything(opened: inputs.Opened, base: Commit, head_repo: RepoSnapshot, given: GivenInputs) -> Preview:
    base_repo = inputs.read(opened, base).repo
    looked = _whole(opened, base_repo, head_repo, given)
    if len(base_repo.manifests) >= LARGE:
        partial_plan.remember(opened, base_repo, looked.others)
    return looked.preview


def _glance(opened: inputs.Opened, base: Commit, head: Commit | git.WorkTree, given: GivenInputs) -> Preview | None:
    """The same of few templates; None when that does not tell."""
    remembered = partial_plan.recall(opened)
    if remembered is None:
        return None
    # What is remembered of the others may not hold any more; then the change may still do without them.
    for counted in (True, False):
        few = partial_plan.at_change(opened, remembered, base, head, counted=counted and not given.by_hand)
        look = _look(opened, few.base, few.head, given, few) if few is not None else None
        if look is not None:
            return look.preview
        if few is None or few.circumstances is None:
            break
    return None


@dataclass(frozen=True, slots=True)
class _Looked:
    preview: Preview
    others: Bystanders | None = None
    """What a look at everything found out for later glances."""


def _whole(opened: inputs.Opened, base_repo: RepoSnapshot, head_repo: RepoSnapshot, given: GivenInputs) -> _Looked:
    look = _look(opened, base_repo, head_repo, given, None)
    assert look is not None
    return look


def _look(
    opened: inputs.Opened,
    base_repo: RepoSnapshot,
    head_repo: RepoSnapshot,
    given: GivenInputs,
    few: partial_plan.Glance | None,
) -> _Looked | None:
    """`few`: the snapshots hold no other templates. None: then these are not enough."""
    now = given.now or datetime.now(UTC)
    first = federation.is_missing(base_repo.settings)
    # Before its first Federation a repository has no limits to keep to: then the head's own are all there is.
    limited = head_repo if first else reviewing.with_limits_of(base_repo, head_repo)
    source = limited if first else base_repo
    state = None if given.by_hand else state_inputs.state_commit(opened, source)
    recorded = state_inputs.decisions(opened, source, given.decisions, few.templates if few is not None else None)
    past = replace(recorded, known=True, guards=None)
    fleet = _fleet(opened, base_repo, source, given)
    fleet_then = fleet if base_repo.clusters == limited.clusters else _fleet(opened, limited, source, given)
    knows = inputs.interpreter_of(base_repo, past)
    same = (head_repo.interpreters, head_repo.webhooks) == (base_repo.interpreters, base_repo.webhooks)
    understands = knows if same else inputs.interpreter_of(head_repo, past)
    lazily = few is not None or len(head_repo.manifests) >= LARGE
    memo = build.Memo(count=opened.count, rendering=LAZILY if lazily else AT_ONCE)
    plans = _plans(_Side(base_repo, fleet, knows), _Side(limited, fleet_then, understands), past, now, memo)
    base, head, between = plans.base, plans.head, plans.between
    if few is not None and few.circumstances is not None and not few.circumstances.allow(plans.circumstances):
        return None
    review = reviewing.review(limited if first else base_repo, head_repo, base, head, between, understands)
    if first:
        review = replace(
            review, declared=reviewing.review(base_repo, head_repo, base, head, between, understands).declared
        )
    if few is not None and not affected_templates.is_whole(review, base_repo, head_repo, past, waited=plans.waited):
        return None
    review = replace(review, head=inputs.located(opened, head_repo, review.head))
    branch = source.settings.spec.state.branch
    notes = [*_new_nowhere(review), *_state_notes(opened, recorded, branch, given), *facts_notes(head.facts, now)]
    if first:
        notes.append("BASE has no Federation: limits are those of HEAD.")
    refused = state_inputs.refused(opened, head_repo, recorded, base_repo.commit or None)
    preview = Preview(base_repo, head_repo, review, (*_without_observation(head.notes), *notes), refused)
    if few is not None or given.by_hand or state != state_inputs.state_commit(opened, source):
        return _Looked(preview)
    others = unplanned.of(base, plans.circumstances, state or "", base_repo.manifests, plans.claiming)
    return _Looked(preview, others)


@dataclass(frozen=True, slots=True)
class _Plans:
    base: Plan
    head: Plan
    between: Decisions
    """What is decided when the base was carried out."""
    waited: bool
    """Whether the place of a template depended on what others take of the clusters' room."""
    circumstances: Circumstances
    """Of the base."""
    claiming: Collection[ObjectKey]
    """Templates that take room in the base or after it."""


class _Side(NamedTuple):
    """What one of the two plans is made of."""

    repo: RepoSnapshot
    fleet: FleetSnapshot
    interpreter: Interpreter


def _plans(older: _Side, newer: _Side, past: Decisions, now: datetime, memo: build.Memo) -> _Plans:
    """Both plans, and the decisions between them."""
    base = build.build(older.repo, older.fleet, past, older.interpreter, now, memo)
    base = replace(base, base=past.applied_commit)
    waited = place.waits_for_room(memo.questions)
    decided = {key: binding.decision for key, binding in base.bindings.items()}
    claiming = place.claiming(memo.questions, decided, base.facts.taken_at)
    circumstances = Circumstances.of(base, memo.clusters.candidates, past)
    between = inputs.after(base, past)
    head = build.build(newer.repo, newer.fleet, between, newer.interpreter, now, memo)
    head = replace(head, base=older.repo.commit)
    return _Plans(base, head, between, waited or place.waits_for_room(memo.questions), circumstances, claiming)


def _fleet(opened: inputs.Opened, repo: RepoSnapshot, source: RepoSnapshot, given: GivenInputs) -> FleetSnapshot:
    if repo.settings.spec.state != source.settings.spec.state:
        settings = repo.settings.model_copy(
            update={"spec": repo.settings.spec.model_copy(update={"state": source.settings.spec.state})}
        )
        repo = replace(repo, settings=settings)
    return fleet_inputs.fleet(opened, repo, given.fleet)


def _state_notes(opened: inputs.Opened, recorded: Decisions, branch: str, given: GivenInputs) -> list[str]:
    if recorded.known or given.decisions is not None:
        return []
    origin = opened.repository.remote_url("origin") is not None
    brings = f" (git fetch origin {branch}:{branch} brings what was decided)" if origin else ""
    return [f"No branch {branch}: what runs now is taken to be what BASE gives{brings}."]


def facts_notes(facts: FactsRef, now: datetime) -> list[str]:
    if facts.taken_at is None or now - facts.taken_at < OLD_FACTS:
        return []
    days = (now - facts.taken_at).days
    return [f"Facts are {days} day{'s' if days != 1 else ''} old: is the daemon running, and was its branch fetched?"]


def _without_observation(notes: tuple[str, ...]) -> tuple[str, ...]:
    """That no cluster was asked is the point of a preview, not worth a note; and what goes nowhere in all of the
    repository is not this change's."""
    return tuple(
        note
        for note in notes
        if not note.startswith("Clusters not observed") and " selected by no policy: " not in note
    )


def _new_nowhere(review: reviewing.Review) -> list[str]:
    """Templates that this change brings, or that it takes from their policy, and that go nowhere."""
    before, after = review.base.bindings, review.head.bindings
    keys = [
        key
        for key in review.touched
        if key in after and notes.goes_nowhere(after[key]) and not (key in before and notes.goes_nowhere(before[key]))
    ]
    return [notes.selected_by_none(keys)] if keys else []


# -- which two commits --------------------------------------------------------------------------------------------


def split(revisions: str) -> tuple[str, str, bool]:
    """`A..B` → (A, B, False); `A...B` → (A, B, True): from where they parted; `A` → (A, "", False).

    No name of Git's can hold two dots, so nothing is ambiguous.
    """
    for dots in ("...", ".."):
        base, separator, head = revisions.partition(dots)
        if separator:
            return base, head or "HEAD", dots == "..."
    return revisions, "", False


def base_of(opened: inputs.Opened, name: str, head: Commit, *, common: bool = False) -> Commit:
    """The commit to compare `head` with; "" means where it left the default branch; `common`: where it left `name`.

    Raises RevisionNotFound, also when the two have no common history. In a shallow clone both say how to deepen.
    """
    try:
        if not name:
            return inputs.default_base(opened, head)
        base = inputs.resolve(opened, name)
    except RevisionNotFound as error:
        if opened.repository.is_shallow():
            raise _deeper(error) from error
        raise
    if not common:
        return base
    parted = opened.repository.merge_base(base, head)
    if parted is None:
        message, hint = f"{name} and {head[:7]} have no common history", "name two commits: A..B"
        if opened.repository.is_shallow():
            raise _deeper(RevisionNotFound(message))
        raise RevisionNotFound(message, hint=hint)
    return parted


def _deeper(error: RevisionNotFound) -> RevisionNotFound:
    return RevisionNotFound(
        f"{error.message}, as far as this shallow clone tells", hint="deepen it: git fetch --unshallow origin"
    )
