"""What a plan says beside its changes: clusters that are gone or fail, and what had to be assumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from gitfed.model.base import ClusterName, ObjectKey, Problem, Severity
from gitfed.model.decisions import Decisions, Share
from gitfed.model.fleet import FleetSnapshot, Reach
from gitfed.model.plan import Binding
from gitfed.model.repo import Possible, RepoSnapshot, UnreadFile
from gitfed.model.scaling import Scaled
from gitfed.placement.failover import step
from gitfed.planning.build_cache import BuildContext
from gitfed.text.identity import IdentityMemo

_EXAMPLES = 3
_CLUSTER = attrgetter("cluster")
"""As in `build`: this loop is in C."""


def together(problems: Iterable[Problem]) -> list[Problem]:
    """Sorted, each once; those of many objects that have the same cause as one, at the first of their places."""
    distinct = sorted(set(problems))
    objects: dict[str, dict[str, Problem]] = {}
    for problem in distinct:
        if problem.cause:
            objects.setdefault(problem.cause, {}).setdefault(problem.message.partition(": ")[0], problem)
    many = {cause: of for cause, of in objects.items() if len(of) > 1}
    grouped = [
        replace(
            next(iter(of.values())),
            message=f"{cause}: {len(of)} objects, such as {', '.join(list(of)[:_EXAMPLES])}",
            hint="what was decided about them before stays",
        )
        for cause, of in many.items()
    ]
    return sorted([problem for problem in distinct if problem.cause not in many] + grouped) if many else distinct


def lost_clusters(repo: RepoSnapshot, decisions: Decisions, fleet: FleetSnapshot) -> Iterator[Problem]:
    """A cluster whose file went away keeps its objects; that must be said."""
    declared = {*repo.clusters, *fleet.clusters, *decisions.cleaned}
    held = {name: count for name, count in decisions.holdings.items() if name not in declared}
    lost: dict[ClusterName, int] = {}
    # Many workloads have the same shares.
    all_declared = IdentityMemo[tuple[Share, ...], bool](lambda shares: declared.issuperset(map(_CLUSTER, shares)))
    for decision in decisions.bindings.values():
        if not decision.ownership.required_by and all_declared(decision.scheduled.shares):
            continue
        for share in decision.targets:
            if share.cluster not in declared:
                lost[share.cluster] = lost.get(share.cluster, 0) + 1
    for name, count in sorted({**lost, **held}.items()):
        yield Problem(
            repo.settings.origin,
            f"cluster {name} is no longer declared: {count} object{'s' if count != 1 else ''} stay there untouched",
            hint="declare it again, or delete there what bears our label; declared by another name, it needs nothing",
            severity=Severity.WARNING,
        )


def failing(repo: RepoSnapshot, step: step.FailoverStep) -> Iterator[Problem]:
    """What a failover has to say of workloads; and that we may be cut off."""
    for key, texts in step.problems.items():
        manifest = repo.manifests.get(key)
        if manifest is None:
            continue
        for text in texts:
            yield Problem(manifest.origin, f"{key}: {text}", severity=Severity.WARNING)
    if step.cut_off:
        away = [name for name, record in step.records.items() if record.reach is not Reach.READY]
        message = f"{len(away)} of {len(repo.clusters)} clusters are not ready: nothing is evicted from them"
        hint = "we are probably cut off; failover.maxUnreachablePercent"
        yield Problem(repo.settings.origin, message, hint, Severity.WARNING)
    if step.paced:
        limit = repo.settings.spec.failover.max_evictions_per_minute
        single = step.paced == 1
        message = f"{step.paced} workload{'' if single else 's'} wait{'s' if single else ''} for a turn to leave"
        hint = f"failover.maxEvictionsPerMinute is {limit}"
        yield Problem(repo.settings.origin, message, hint, Severity.WARNING)


def goes_nowhere(binding: Binding) -> bool:
    """No policy selects it, nothing that goes anywhere needs it, and it is no Namespace, which needs no policy."""
    return binding.scheduled.policy is None and not binding.scheduled.shares and binding.key[:2] != ("", "Namespace")


def notes(world: BuildContext, bindings: Iterable[Binding]) -> tuple[str, ...]:
    notes = []
    if world.fleet.facts.source == "assumed":
        notes.append("No facts: declared clusters are assumed Ready, with every API and unknown capacity.")
    else:
        assumed = [name for name, facts in world.fleet.clusters.items() if facts.assumed]
        if assumed:
            notes.append(f"No facts of {', '.join(sorted(assumed))}: assumed Ready with every API.")
    if world.fleet.live is None:
        notes.append("Clusters not observed: changes are unknown.")
    else:
        notes += _unread(
            {name: cluster.error for name, cluster in world.live_clusters.items() if not cluster.inventory_read}
        )
    past = world.decisions
    if past.guards is not None and past.guards != world.repo.settings.spec.guards:
        since = str(past.limits or past.applied_commit)[:7]
        notes.append(f"Limits are those of {since}: its own count when nothing of this commit is held.")
    for suspension in world.decisions.suspensions:
        notes.append(f"{suspension.of} is {suspension}.")
    notes += _scaled(world.numbers.scaling.scaled)
    notes += map(held_by, world.repo.unread)
    if world.repo.left_out:
        notes.append(left_out(world.repo.left_out))
    nowhere = [binding.key for binding in bindings if goes_nowhere(binding)]
    if nowhere:
        notes.append(selected_by_none(nowhere))
    return tuple(notes)


def _scaled(scaled: Mapping[ObjectKey, Scaled]) -> Iterator[str]:
    for key, scale in list(scaled.items())[:_EXAMPLES]:
        rule = f" (rule {scale.rule})" if scale.rule else f" ({scale.why})" if scale.why else ""
        start = f"its template's {scale.declared} is its starting point"
        yield f"{key} has {scale.replicas} replicas by {scale.by}{rule}; {start}."
    if len(scaled) > _EXAMPLES:
        yield f"{len(scaled) - _EXAMPLES} more are scaled (gitfed get autoscalers)."


def _unread(errors: Mapping[ClusterName, str]) -> Iterator[str]:
    """One note for all clusters with the same trouble: without credentials it is every one of them."""
    by_error: dict[str, list[ClusterName]] = {}
    for name in sorted(errors):
        by_error.setdefault(errors[name] or "unknown", []).append(name)
    for error, names in by_error.items():
        who, whose = ("Cluster", "Its") if len(names) == 1 else ("Clusters", "Their")
        yield f"{who} {', '.join(names)} could not be read: {error}. {whose} objects are kept."


def held_by(file: UnreadFile) -> str:
    """What a file holds that cannot be used and has no good version, and that it holds no more."""
    held = [f"what was removed of {words} is not deleted" for words in _listed(file.defines)]
    still = "nothing is placed anew, evicted or deleted" + (", and nothing written," if file.overrides else "")
    held += [f"{still} of {words}" for words in _listed(file.concerns)]
    what = "; ".join(held) + "; the rest goes on" if held else "it holds nothing"
    return f"{file.path} cannot be used and has no good version: {what} ({file.reason})."


def _listed(possible: Sequence[Possible]) -> list[str]:
    descriptions = list(dict.fromkeys(map(_words, possible)))
    return descriptions if len(descriptions) <= _EXAMPLES else [", ".join(descriptions[:_EXAMPLES]) + ", …"]


def _words(possible: Possible) -> str:
    kinds = (
        "/".join(sorted(possible.kinds))
        if possible.kinds is not None
        else "every kind"
        if possible.names is None
        else "any kind"
    )
    names = f" {'/'.join(sorted(possible.names))}" if possible.names is not None else ""
    spaces = sorted(filter(None, possible.namespaces)) if possible.namespaces is not None else []
    where = f" in namespace {'/'.join(spaces)}" if spaces else ""
    return f"{kinds}{names}{where}"


def starting_points(repo: RepoSnapshot) -> Iterator[str]:
    """Templates whose own number of replicas is not the last word."""
    autoscalers = [autoscaler for autoscaler in repo.autoscalers if autoscaler.target in repo.manifests]
    for autoscaler in autoscalers[:_EXAMPLES]:
        replicas = (repo.manifests[autoscaler.target].body.get("spec") or {}).get("replicas")
        if isinstance(replicas, int):
            start = f"the {replicas} replicas of {autoscaler.target} are its starting point"
            yield f"{start}: {autoscaler.key} decides how many it has"
    if len(autoscalers) > _EXAMPLES:
        yield f"{len(autoscalers) - _EXAMPLES} more autoscalers decide numbers of replicas (gitfed get autoscalers)"


def left_out(paths: Sequence[str]) -> str:
    """Files that the settings include and that plainly hold no objects."""
    listed = ", ".join(paths[:_EXAMPLES]) + (", …" if len(paths) > _EXAMPLES else "")
    what = "1 file holds" if len(paths) == 1 else f"{len(paths)} files hold"
    return f"{what} no Kubernetes objects and {'is' if len(paths) == 1 else 'are'} left out: {listed}."


def selected_by_none(keys: Sequence[ObjectKey]) -> str:
    listed = ", ".join(map(str, keys[:_EXAMPLES])) + (", …" if len(keys) > _EXAMPLES else "")
    objects, are = ("object", "is") if len(keys) == 1 else ("objects", "are")
    return f"{len(keys)} {objects} {are} selected by no policy: {listed} (gitfed get bindings)."
