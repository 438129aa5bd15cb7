"""Override policies: which of them change a manifest in a cluster, and in which order (Karmada: policies §4.1).

All matching ClusterOverridePolicies first, then the OverridePolicies of the template's namespace; inside a kind from
the least to the most precise selector, then by name, so that the more precise one writes last. Selectors look at the
object when their kind's turn comes: a label that a cluster-wide policy added can select a namespaced one.

Which rules hit a cluster depends on policy and cluster alone. `classes` uses that: it splits the clusters by the
rules in force and renders once for each group, not once for each cluster.

A rule that fails fails the manifest of those clusters only, as a whole. An override never changes which object it is:
name, namespace, kind and group are what the inventory knows it by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gitfed.model.base import Body, ObjectKey, Origin, group_of, key_of
from gitfed.model.decisions import PolicyRef
from gitfed.model.plan import Edit
from gitfed.placement.scheduling import affinity
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.match import ANY, precision
from gitfed.render import overriders
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Override, Overriders, ResourceSelector
    from gitfed.text.selector import Predicate

_CLUSTER_WIDE = "ClusterOverridePolicy"
_MOST_SPLITS = 4096
"""Groups of clusters that are remembered; each is a list as long as there are clusters."""


class OverrideError(ValueError):
    """A rule of `policy` failed. `pointer` is the place in the manifest that it names, "" if none."""

    def __init__(self, policy: PolicyRef, message: str, pointer: str = "") -> None:
        super().__init__(f"{policy}: {message}")
        self.policy = policy
        self.message = message
        self.pointer = pointer


@dataclass(frozen=True, slots=True)
class Overridden:
    """The manifest of some clusters after all overrides, or why there is none."""

    clusters: tuple[str, ...]
    """Sorted."""
    body: Body
    edits: tuple[Edit, ...] = ()
    """Only those that changed something."""
    applied: tuple[PolicyRef, ...] = ()
    """One for each rule in force, in the order of application."""
    error: OverrideError | None = None


class _Selector(NamedTuple):
    api_version: str
    kind: str
    namespace: str
    name: str
    implicit: int
    labels: Predicate | None


class Rule:
    """One override rule. Compared by identity: there is one for each rule in the repository."""

    __slots__ = ("_known", "_matches", "index", "origin", "overriders", "ref")

    def __init__(self, policy: Override, index: int, matches: affinity.Predicate, overriders_: Overriders) -> None:
        self.ref, self.origin = _ref(policy), policy.origin
        """Of its policy."""
        self.index, self.overriders = index, overriders_
        self._matches = matches
        self._known: dict[str, tuple[Candidate, bool]] = {}

    def hits(self, candidate: Candidate) -> bool:
        """Remembered for as long as the candidate is the same object."""
        cached = self._known.get(candidate.name)
        if cached is None or cached[0] is not candidate:
            cached = self._known[candidate.name] = (candidate, self._matches(candidate))
        return cached[1]


class _Policy:
    __slots__ = ("namespace", "ref", "rules", "selectors", "source")

    def __init__(self, source: Override) -> None:
        self.source = source
        self.namespace = "" if source.kind == _CLUSTER_WIDE else source.metadata.namespace or ""
        self.ref = _ref(source)
        self.selectors = [_selector(wanted, self.namespace) for wanted in source.spec.resource_selectors or ()]
        self.rules = _rules(source)

    def implicit(self, api_version: str, key: ObjectKey, labels: dict[str, str]) -> int:
        """How precisely the policy selects the object; 0: not at all."""
        if not self.selectors:
            return ANY
        best = 0
        for wanted in self.selectors:
            if (
                wanted.implicit > best
                and wanted.kind == key.kind
                and wanted.api_version == api_version
                and wanted.namespace in ("", key.namespace)
                and wanted.name in ("", key.name)
                and (wanted.labels is None or wanted.labels(labels))
            ):
                best = wanted.implicit
        return best


class Overrides:
    """All override policies of one commit, ready to be applied to many objects."""

    def __init__(self, policies: Iterable[Override]) -> None:
        compiled = [_Policy(policy) for policy in policies]
        self._origins = {policy.ref: policy.source.origin for policy in compiled}
        self._sources = {str(policy.ref): policy.source for policy in compiled}
        self._splits: dict[tuple[int, ...], tuple[tuple[Candidate, ...], _Groups]] = {}
        self._cluster_wide = [policy for policy in compiled if not policy.namespace]
        self._namespaced: dict[str, list[_Policy]] = {}
        for policy in compiled:
            if policy.namespace:
                self._namespaced.setdefault(policy.namespace, []).append(policy)

    def origin(self, policy: PolicyRef) -> Origin | None:
        """Where a policy stands in the repository."""
        return self._origins.get(policy)

    def author(self, edits: Iterable[Edit], path: Sequence[str | int]) -> tuple[Origin, tuple[str | int, ...]] | None:
        """Who wrote a field of a manifest that had these edits: where the policy stands, and the way to its entry.

        An entry that names the field, or something above or below it; else the last override. None: there is none.
        """
        last: tuple[Origin, tuple[str | int, ...]] | None = None
        for edit in reversed(tuple(edits)):
            policy = self._sources.get(edit.by)
            if policy is None:
                continue
            last = last or (policy.origin, ())
            for way, given in _overriders(policy):
                for index, entry in enumerate(given.plaintext):
                    if _meet(entry.path.split("/")[1:], path):
                        return policy.origin, (*way, "plaintext", index)
        return last

    def may_mend(self, body: Body, path: Sequence[str | int]) -> bool:
        """Whether an override that selects the object writes that field, or something above or below it, anywhere."""
        return any(
            _meet(entry.path.split("/")[1:], path)
            for cluster_wide in (True, False)
            for rule in self.plan_rules(body, cluster_wide=cluster_wide)
            for entry in rule.overriders.plaintext
        )

    def rules_unlike(self, other: Overrides, namespace: str) -> Iterator[Rule]:
        """Rules that are not the same in both, of either side, as far as they may concern objects of a namespace.

        Where none of them hits, both make the same manifest from the same template: what selects an object, and in
        which order, follows from each policy alone.
        """
        mine, theirs = self._concerning(namespace), other._concerning(namespace)
        for ref in mine.keys() | theirs.keys():
            yield from _unlike(mine.get(ref), theirs.get(ref))

    def _concerning(self, namespace: str) -> dict[PolicyRef, _Policy]:
        return {policy.ref: policy for policy in (*self._cluster_wide, *self._namespaced.get(namespace, ()))}

    def plan_rules(self, body: Body, *, cluster_wide: bool) -> list[Rule]:
        """The rules of one kind of policy that select this object, in the order of application."""
        key = key_of(body)
        policies = self._cluster_wide if cluster_wide else self._namespaced.get(key.namespace, ())
        if not policies:
            return []
        labels = body["metadata"].get("labels") or {}
        ranked = [(policy.implicit(body["apiVersion"], key, labels), policy) for policy in policies]
        chosen = sorted((item for item in ranked if item[0]), key=lambda item: (item[0], item[1].ref.name))
        return [rule for _, policy in chosen for rule in policy.rules]

    def classes(self, body: Body, candidates: Sequence[Candidate]) -> list[Overridden]:
        """The manifests of these clusters, clusters with equal rules together. Sorted by their first cluster."""
        overridden: list[Overridden] = []
        for group, after_wide in self._step((body, (), ()), candidates, cluster_wide=True):
            if isinstance(after_wide, OverrideError):
                overridden.append(Overridden(_names(group), body, error=after_wide))
                continue
            for subgroup, after in self._step(after_wide, group, cluster_wide=False):
                if isinstance(after, OverrideError):
                    overridden.append(Overridden(_names(subgroup), body, error=after))
                else:
                    overridden.append(Overridden(_names(subgroup), *after))
        return sorted(overridden, key=lambda item: item.clusters)

    def apply(self, body: Body, candidate: Candidate) -> Overridden:
        """The manifest of one cluster. Raises OverrideError."""
        only = self.classes(body, (candidate,))[0]
        if only.error is not None:
            raise only.error
        return only

    def _step(
        self, state: _State, candidates: Sequence[Candidate], *, cluster_wide: bool
    ) -> Iterator[tuple[Sequence[Candidate], _State | OverrideError]]:
        rules = self.plan_rules(state[0], cluster_wide=cluster_wide)
        for group, hitting in self._split(rules, candidates):
            try:
                yield group, _apply(state, hitting)
            except OverrideError as error:
                yield group, error

    def _split(self, rules: Sequence[Rule], candidates: Sequence[Candidate]) -> _Groups:
        """`split`, remembered: thousands of templates have the same rules and go to the same clusters."""
        key = (*map(id, rules), 0, *map(id, candidates))
        known = self._splits.get(key)
        if known is None:
            if len(self._splits) >= _MOST_SPLITS:
                self._splits.clear()
            # The candidates are kept with the answer, so that none of these ids comes to name another one.
            known = self._splits[key] = (tuple(candidates), split(rules, candidates))
        return known[1]


_State = tuple[Body, tuple[Edit, ...], tuple[PolicyRef, ...]]


def rule_key(rules: Sequence[Rule], candidate: Candidate) -> tuple[tuple[PolicyRef, int], ...]:
    """Which of the rules hit a cluster: clusters with equal keys get equal manifests from equal bodies."""
    return tuple((rule.ref, rule.index) for rule in rules if rule.hits(candidate))


_Groups: TypeAlias = list[tuple[Sequence[Candidate], list[Rule]]]


def split(rules: Sequence[Rule], candidates: Sequence[Candidate]) -> _Groups:
    """The clusters grouped by the rules that hit them."""
    groups: _Groups = [(candidates, [])]
    for rule in rules:
        refined: _Groups = []
        for members, hitting in groups:
            inside = [candidate for candidate in members if rule.hits(candidate)]
            if not inside:
                refined.append((members, hitting))
            elif len(inside) == len(members):
                refined.append((members, [*hitting, rule]))
            else:
                outside = [candidate for candidate in members if not rule.hits(candidate)]
                refined += [(outside, hitting), (inside, [*hitting, rule])]
        groups = refined
    return groups


def _apply(state: _State, rules: Iterable[Rule]) -> _State:
    body, edits, applied = state
    for rule in rules:
        policy = rule.ref
        key = key_of(body)
        try:
            for what, changed in overriders.apply(body, rule.overriders):
                if changed is not body:
                    edits = (*edits, Edit(str(policy), rule.origin, what))
                    body = changed
        except overriders.RuleError as error:
            raise OverrideError(policy, str(error), error.path) from error
        _require_same_object(policy, key, body)
        applied = (*applied, policy)
    return body, edits, applied


def _require_same_object(policy: PolicyRef, key: ObjectKey, body: Body) -> None:
    metadata = body.get("metadata")
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if isinstance(metadata, dict) and isinstance(api_version, str) and isinstance(kind, str):
        now = ObjectKey(group_of(api_version), kind, metadata.get("namespace") or "", metadata.get("name") or "")
        if now == key:
            _require_maps(policy, metadata)
            return
    raise OverrideError(policy, f"an override cannot change which object it is ({key})")


def _require_maps(policy: PolicyRef, metadata: dict[str, Any]) -> None:
    """Labels are added after this."""
    for member in ("labels", "annotations"):
        if not isinstance(metadata.get(member), dict | None):
            pointer = f"/metadata/{member}"
            raise OverrideError(policy, f"an override cannot make {pointer} something else than a map", pointer)


def _selector(wanted: ResourceSelector, own: str) -> _Selector:
    implicit, labels = precision(wanted.name, wanted.label_selector)
    return _Selector(wanted.api_version, wanted.kind, wanted.namespace or own, wanted.name or "", implicit, labels)


def _rules(policy: Override) -> list[Rule]:
    """`overrideRules`, or without them the older pair of one target and its overriders."""
    spec = policy.spec
    if spec.override_rules:
        return [
            Rule(policy, index, affinity.compile(rule.target_cluster), rule.overriders)
            for index, rule in enumerate(spec.override_rules)
        ]
    return [Rule(policy, 0, affinity.compile(spec.target_cluster), spec.overriders)]


def _unlike(before: _Policy | None, after: _Policy | None) -> list[Rule]:
    """The rules that differ between two versions of a policy, both versions of each; all where it selects otherwise."""
    old, new = (list(_written(policy)) if policy is not None else [] for policy in (before, after))
    rules = [*(before.rules if before is not None else ()), *(after.rules if after is not None else ())]
    if before is None or after is None or len(old) != len(new):
        return rules
    if before.source is after.source:
        return []
    if before.source.spec.resource_selectors != after.source.spec.resource_selectors:
        return rules
    return [rule for rule in rules if old[rule.index] != new[rule.index]]


def _written(policy: _Policy) -> Iterator[tuple[object, Overriders]]:
    """(target, overriders) of each rule, as `_rules` numbers them."""
    spec = policy.source.spec
    if spec.override_rules:
        yield from ((rule.target_cluster, rule.overriders) for rule in spec.override_rules)
    else:
        yield spec.target_cluster, spec.overriders


def _overriders(policy: Override) -> Iterator[tuple[tuple[str | int, ...], Overriders]]:
    """What its rules do, and the way to it in the policy."""
    for index, rule in enumerate(policy.spec.override_rules):
        yield ("spec", "overrideRules", index, "overriders"), rule.overriders
    if not policy.spec.override_rules:
        yield ("spec", "overriders"), policy.spec.overriders


def _ref(policy: Override) -> PolicyRef:
    namespace = "" if policy.kind == _CLUSTER_WIDE else policy.metadata.namespace or ""
    return PolicyRef(policy.kind, namespace, policy.metadata.name)


def _meet(tokens: Sequence[str], path: Sequence[str | int]) -> bool:
    """Whether a JSON pointer's tokens lead to a path, past it, or to something that holds it."""
    plain = (token.replace("~1", "/").replace("~0", "~") for token in tokens)
    return all(
        token == str(part) or (isinstance(part, int) and token.startswith("-"))
        for token, part in zip(plain, path, strict=False)
    )


def _names(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    return tuple(sorted(candidate.name for candidate in candidates))
