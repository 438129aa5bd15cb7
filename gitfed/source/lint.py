"""What is suspicious although it is valid: `gitfed validate` says it, nothing is held because of it.

Only what the repository alone can tell: names of clusters that are not declared, policies that tie, overrides that a
policy waits for and that do not exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from gitfed.model import agent_identity
from gitfed.model.base import Origin, Problem, Severity
from gitfed.model.declared.placement import ClusterAffinity, Path
from gitfed.model.declared.policy import Override, Propagation, ResourceSelector
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.source import locate
from gitfed.text import nearest, pointer, selector


def check(snapshot: RepoSnapshot, at: locate.Locate = locate.by_object) -> tuple[Problem, ...]:
    """Warnings, sorted by place. The message names the field, and `at` tells where it stands."""
    warnings = [
        *_unknown_clusters(snapshot, at),
        *_ties(snapshot),
        *_missing_overrides(snapshot, at),
        *_selects_nothing(snapshot, at),
        *_pulled(snapshot),
        *_state_preservation(snapshot),
        *_encrypted(snapshot),
    ]
    return tuple(sorted(set(warnings)))


def _pulled(snapshot: RepoSnapshot) -> Iterator[Problem]:
    """Fields that say how the daemon reaches a cluster which it never reaches."""
    for cluster in snapshot.clusters.values():
        spec = cluster.spec
        if spec.sync_mode != "Pull":
            continue
        names = {
            "apiEndpoint": spec.api_endpoint,
            "secretRef": spec.secret_ref,
            "proxyURL": spec.proxy_url,
            "proxyHeader": spec.proxy_header,
            "insecureSkipTLSVerification": spec.insecure_skip_tls_verification,
        }
        if idle := [f"spec.{name}" for name, value in names.items() if value]:
            are = "have" if len(idle) > 1 else "has"
            yield _warning(cluster, f"{' and '.join(idle)} {are} no effect with syncMode Pull: the agent dials out")
        if why := agent_identity.why_not_a_name(cluster.metadata.name):
            yield _warning(cluster, f"the hub signs no certificate for an agent of {cluster.metadata.name}: it {why}")


def _encrypted(snapshot: RepoSnapshot) -> Iterator[Problem]:
    """What SOPS encrypted: a cluster would get `ENC[…]` in place of each value."""
    for manifest in snapshot.manifests.values():
        sops = manifest.body.get("sops")
        if isinstance(sops, Mapping) and ("mac" in sops or "version" in sops):
            message = f"{manifest.key} is encrypted with SOPS, and is applied as it is: gitfed decrypts nothing"
            hint = "let an operator in the clusters make the Secret, such as External Secrets"
            yield Problem(manifest.origin, message, hint, Severity.WARNING)


def _state_preservation(snapshot: RepoSnapshot) -> Iterator[Problem]:
    """What keeps preserved state from going with a workload: to be known before a cluster fails, not after."""
    for policy in snapshot.propagation:
        failover = policy.spec.failover
        for member in ("cluster", "application"):
            part = getattr(failover, member, None)
            if part is None or part.state_preservation is None:
                continue
            name = f"spec.failover.{member}.statePreservation"
            if part.purge_mode != "Directly":
                yield _warning(
                    policy, f"{name} has no effect with purgeMode {part.purge_mode}", "Directly passes state on"
                )
            if not _has_one_target(policy):
                yield _warning(
                    policy,
                    f"{name} has an effect only while there is exactly one target",
                    "a spreadConstraint by cluster with maxGroups 1, or Aggregated",
                )
            for rule in part.state_preservation.rules:
                if "{" not in rule.json_path:
                    yield _warning(
                        policy,
                        f"{name}: the jsonPath {rule.json_path} is plain text and names nothing",
                        "write {" + rule.json_path + "}",
                    )


def _has_one_target(policy: Propagation) -> bool:
    """Whether the placement may end in a single cluster."""
    placement = policy.spec.placement
    for constraint in placement.spread_constraints or ():
        if constraint.spread_by_field == "cluster" and constraint.max_groups == 1:
            return True
    scheduling = placement.replica_scheduling
    if scheduling is not None and scheduling.replica_division_preference == "Aggregated":
        return True
    terms = placement.cluster_affinities or ((placement.cluster_affinity,) if placement.cluster_affinity else ())
    return bool(terms) and all(len(term.cluster_names) == 1 for term in terms)


def _unknown_clusters(snapshot: RepoSnapshot, at: locate.Locate) -> Iterator[Problem]:
    """A name that no Cluster declares matches nothing. A repository without clusters may be half of something."""
    if not snapshot.clusters:
        return
    for declared, path, name in _named_clusters(snapshot):
        if name not in snapshot.clusters:
            hint = nearest.did_you_mean(name, snapshot.clusters)
            if any(character in name for character in "*?["):
                hint = "names have no wildcards: use a labelSelector"
            message = f"{pointer.dotted(path)} names the cluster {name}, which is not declared"
            yield Problem(at(declared, path), message, hint, Severity.WARNING)


def _named_clusters(snapshot: RepoSnapshot) -> Iterator[tuple[Declared, Path, str]]:
    for policy in snapshot.propagation:
        for path, affinity in _affinities(policy):
            yield from _in_affinity(policy, path, affinity)
        suspension = policy.spec.suspension
        listed = suspension.dispatching_on_clusters if suspension else None
        for i, name in enumerate(listed.cluster_names if listed else ()):
            yield policy, ("spec", "suspension", "dispatchingOnClusters", "clusterNames", i), name
    for override in snapshot.overrides:
        for i, rule in enumerate(override.spec.override_rules):
            if rule.target_cluster:
                yield from _in_affinity(override, ("spec", "overrideRules", i, "targetCluster"), rule.target_cluster)
        if override.spec.target_cluster:
            yield from _in_affinity(override, ("spec", "targetCluster"), override.spec.target_cluster)
    for registry in snapshot.registries:
        yield from _in_affinity(registry, ("spec", "targetCluster"), registry.spec.target_cluster)
    for taints in snapshot.taint_policies:
        if taints.spec.target_clusters:
            yield from _in_affinity(taints, ("spec", "targetClusters"), taints.spec.target_clusters)
    for remedy in snapshot.remedies:
        named = remedy.spec.cluster_affinity
        for i, name in enumerate(named.cluster_names if named else ()):
            yield remedy, ("spec", "clusterAffinity", "clusterNames", i), name
    for quota in snapshot.quotas:
        for i, assignment in enumerate(quota.spec.static_assignments):
            yield quota, ("spec", "staticAssignments", i, "clusterName"), assignment.cluster_name


def _affinities(policy: Propagation) -> Iterator[tuple[Path, ClusterAffinity]]:
    placement = policy.spec.placement
    if placement.cluster_affinity:
        yield ("spec", "placement", "clusterAffinity"), placement.cluster_affinity
    for i, term in enumerate(placement.cluster_affinities):
        path: Path = ("spec", "placement", "clusterAffinities", i)
        yield path, term
        for j, overflow in enumerate(term.overflow_affinities):
            yield (*path, "overflowAffinities", j), overflow
    division = placement.replica_scheduling
    preference = division.weight_preference if division else None
    for i, entry in enumerate(preference.static_weight_list if preference else ()):
        below = ("replicaScheduling", "weightPreference", "staticWeightList", i, "targetCluster")
        yield ("spec", "placement", *below), entry.target_cluster


def _in_affinity(declared: Declared, path: Path, affinity: ClusterAffinity) -> Iterator[tuple[Declared, Path, str]]:
    for member, names in (("clusterNames", affinity.cluster_names), ("exclude", affinity.exclude)):
        for i, name in enumerate(names):
            yield declared, (*path, member, i), name


def _ties(snapshot: RepoSnapshot) -> Iterator[Problem]:
    """Policies of equal priority that name the same template: the alphabet decides, which is hardly meant."""
    groups: dict[tuple[str, ...], list[Propagation]] = defaultdict(list)
    for policy in snapshot.propagation:
        keys = {
            (
                policy.kind,
                policy.metadata.namespace,
                s.api_version,
                s.kind,
                s.namespace,
                s.name,
                str(policy.spec.priority),
            )
            for s in policy.spec.resource_selectors
            if s.name
        }
        for key in keys:
            groups[key].append(policy)
    for named, policies in groups.items():
        if len(policies) > 1:
            first = min(policies, key=lambda policy: policy.metadata.name)
            target = "/".join(part for part in named[3:6] if part)
            for policy in policies:
                if policy is not first:
                    message = f"{_name(first)} selects {target} by name too, with equal priority, and wins by its name"
                    yield _warning(policy, message, "set spec.priority, or select it once")


def _missing_overrides(snapshot: RepoSnapshot, at: locate.Locate) -> Iterator[Problem]:
    overrides = {(o.kind, o.metadata.namespace, o.metadata.name) for o in snapshot.overrides}
    for policy in snapshot.propagation:
        kind = "ClusterOverridePolicy" if policy.is_cluster_wide else "OverridePolicy"
        namespace = "" if policy.is_cluster_wide else policy.metadata.namespace
        names = [n for other, where, n in overrides if (other, where) == (kind, namespace)]
        for i, name in enumerate(policy.spec.dependent_overrides):
            if name not in names:
                message = f"spec.dependentOverrides[{i}] names the {kind} {name}, which does not exist"
                place = at(policy, ("spec", "dependentOverrides", i))
                yield Problem(place, message, nearest.did_you_mean(name, names), Severity.WARNING)


def _selects_nothing(snapshot: RepoSnapshot, at: locate.Locate) -> Iterator[Problem]:
    """Selectors that no template answers to. Dependencies and generated objects do not exist here, so: a warning."""
    by_kind: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for manifest in snapshot.manifests.values():
        by_kind[manifest.api_version, manifest.key.kind].append(manifest)
    policies: list[Propagation | Override] = [*snapshot.propagation, *snapshot.overrides]
    for declared in policies:
        own = "" if declared.is_cluster_wide else declared.metadata.namespace
        for i, wanted in enumerate(declared.spec.resource_selectors):
            if not _selects_any(wanted, own, by_kind[wanted.api_version, wanted.kind]):
                target = "/".join(part for part in (wanted.namespace, wanted.name) if part)
                which = f"{wanted.kind}{'' if wanted.name or not target else ' in'} {target}".rstrip()
                message = f"spec.resourceSelectors[{i}] selects nothing: no {which}"
                place = at(declared, ("spec", "resourceSelectors", i))
                yield Problem(place, message, _why_nothing(wanted, own, snapshot), Severity.WARNING)


def _selects_any(wanted: ResourceSelector, own: str, candidates: list[Manifest]) -> bool:
    matches = None
    if wanted.label_selector is not None and not wanted.name:
        matches = selector.from_body(wanted.label_selector.as_json())
    for manifest in candidates:
        if own and manifest.key.namespace != own:
            continue
        if wanted.namespace and manifest.key.namespace != wanted.namespace:
            continue
        if wanted.name and manifest.key.name != wanted.name:
            continue
        if matches is None or matches((manifest.body["metadata"].get("labels")) or {}):
            return True
    return False


def _why_nothing(wanted: ResourceSelector, own: str, snapshot: RepoSnapshot) -> str:
    kinds = {manifest.key.kind: manifest.api_version for manifest in snapshot.manifests.values()}
    if wanted.kind not in kinds:
        return nearest.did_you_mean(wanted.kind, kinds)
    if not any(m.api_version == wanted.api_version for m in snapshot.manifests.values() if m.key.kind == wanted.kind):
        return f"the repository has it as {kinds[wanted.kind]}"
    if wanted.name:
        names = {m.key.name for m in snapshot.manifests.values() if m.key.kind == wanted.kind}
        return nearest.did_you_mean(wanted.name, names - {wanted.name})
    return ""


def _warning(declared: Declared, message: str, hint: str = "") -> Problem:
    return Problem(declared.origin or Origin(""), message, hint, Severity.WARNING)


def _name(declared: Propagation | Override) -> str:
    namespace = declared.metadata.namespace
    return f"{declared.kind} {namespace}/{declared.name}" if namespace else f"{declared.kind} {declared.name}"
