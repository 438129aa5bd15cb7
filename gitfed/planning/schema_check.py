"""What an API server would refuse is not sent there: manifests against the schemas of their clusters' versions.

A manifest that does not fit is treated as one that an override failed to make: of that object, in the clusters whose
version refuses it, what is there stays as it is, and everything else goes on. For a cluster that is newer or older than
every version whose types are known here, it is only said: the server may know better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.faults import Fault, FaultCode
from gitfed.interpret.schema.kubernetes import Basis, Kubernetes
from gitfed.model.base import Body, ClusterName, ObjectKey, Origin, Problem, Severity
from gitfed.model.plan import RenderedManifest
from gitfed.model.repo import Manifest
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.render import override
from gitfed.render.manifest import Rendered
from gitfed.text.values import dataclass

_MOST = 20
"""Faults of one object that are told; more than that is another mistake."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Judge:
    """The schemas of one commit, and which clusters run which version. The same object while both are the same."""

    schemas: Schemas
    versions: Mapping[ClusterName, str]
    bases: Mapping[ClusterName, Basis]
    usual: tuple[Basis, ...]
    """By what the clusters are judged, each once."""


def judge(
    before: Judge | None,
    kubernetes: Kubernetes | None,
    definitions: Iterable[Body],
    versions: Mapping[ClusterName, str],
) -> Judge | None:
    """None: no types are known, and nothing is checked."""
    if kubernetes is None:
        return None
    bodies = tuple(definitions)
    schemas = before.schemas if before is not None else None
    if schemas is None or schemas.kubernetes is not kubernetes or schemas.definitions != bodies:
        schemas = Schemas(kubernetes, bodies)
    if before is not None and schemas is before.schemas and before.versions == versions:
        return before
    bases = {name: kubernetes.basis(version) for name, version in versions.items()}
    return Judge(schemas, versions, bases, tuple(dict.fromkeys(bases.values())))


def broken(
    judge: Judge | None,
    manifests: Mapping[ObjectKey, Manifest],
    overrides: override.Overrides,
    sound: dict[ObjectKey, Manifest],
) -> Mapping[ObjectKey, str]:
    """Templates that no cluster would take, each with the reason: their numbers are not to be believed either.

    `replica: 8` says that one replica is wanted. Such a template is not placed anew: its last good version stays where
    it is. A field that an override writes may become right by that; it is looked at when it is rendered, as all are.
    `sound` remembers which fit by themselves.
    """
    if judge is None or not judge.usual or not all(basis.sure for basis in judge.usual):
        return {}
    reasons = {}
    for key, manifest in manifests.items():
        if sound.get(key) is not manifest:
            reason = _why_broken(judge, manifest, overrides)
            if reason is None:
                sound[key] = manifest
            elif reason:
                reasons[key] = reason
    return reasons


def _why_broken(judge: Judge, manifest: Manifest, overrides: override.Overrides) -> str | None:
    """None: a cluster takes it as it is; "": an override may put it right."""
    first = ""
    for basis in judge.usual:
        faults = judge.schemas.faults(manifest.body, basis.minor, manifest.body)
        faults = tuple(fault for fault in faults if fault.code is not FaultCode.NOT_SERVED)
        if not faults:
            return None
        lasting = [fault for fault in faults if not overrides.may_mend(manifest.body, fault.path)]
        if not lasting:
            return ""
        first = first or str(lasting[0])
    return f"it does not fit its schema: {first}"


@dataclass(slots=True)
class _Found:
    """One fault, and where it shows."""

    fault: Fault
    origin: Origin
    path: tuple[str | int, ...]
    clusters: dict[ClusterName, Basis] = field(default_factory=dict)


def checked(
    judge: Judge | None,
    manifest: Manifest,
    result: Rendered,
    candidates: Mapping[ClusterName, Candidate],
    overrides: override.Overrides,
) -> Rendered:
    """The same without what API servers would refuse, and a problem for each thing that is wrong."""
    if judge is None or not result.rendered:
        return result
    kept: list[RenderedManifest] = []
    failed: dict[ClusterName, str] = {}
    findings: dict[tuple[object, ...], _Found] = {}
    for rendered in result.rendered:
        refused: set[ClusterName] = set()
        for basis in judge.usual:
            faults = judge.schemas.faults(rendered.body, basis.minor, manifest.body)
            if not faults:
                continue
            names = [name for name in rendered.clusters if judge.bases.get(name) == basis]
            for fault in faults[:_MOST]:
                where = [name for name in names if not _serves(candidates.get(name), manifest, fault)]
                if where:
                    own = not rendered.edits or fault in judge.schemas.faults(manifest.body, basis.minor)
                    author = None if own else overrides.author(rendered.edits, fault.path)
                    origin, path = author or (manifest.origin, fault.path)
                    finding = findings.setdefault((origin, path, fault), _Found(fault, origin, path))
                    finding.clusters.update(dict.fromkeys(where, basis))
                    if basis.sure:
                        refused.update(where)
                        for name in where:
                            failed.setdefault(name, f"it does not fit its schema: {fault}")
        if not refused:
            kept.append(rendered)
        elif left := tuple(name for name in rendered.clusters if name not in refused):
            kept.append(replace(rendered, clusters=left))
    if not findings:
        return result
    everywhere = {name for rendered in result.rendered for name in rendered.clusters}
    problems = [problem for finding in findings.values() for problem in _problems(manifest, finding, everywhere)]
    return replace(
        result, rendered=tuple(kept), failed={**result.failed, **failed}, problems=(*result.problems, *problems)
    )


def unplaced(judge: Judge | None, manifest: Manifest) -> tuple[Problem, ...]:
    """What is wrong with a template that goes nowhere: it would be found out on the day that it goes somewhere."""
    if judge is None:
        return ()
    bases = judge.usual or (judge.schemas.kubernetes.basis(),)
    faults = [judge.schemas.faults(manifest.body, basis.minor) for basis in bases]
    if not all(faults):
        return ()
    severity = Severity.ERROR if any(basis.sure for basis in bases) else Severity.WARNING
    return tuple(
        Problem(manifest.origin, f"{manifest.key}: {fault}", fault.hint, severity, path=fault.path)
        for fault in faults[-1][:_MOST]
    )


def _serves(candidate: Candidate | None, manifest: Manifest, fault: Fault) -> bool:
    """Whether a cluster says itself that it has what its version should not have."""
    if fault.code is not FaultCode.NOT_SERVED or candidate is None or candidate.apis is None:
        return False
    return (manifest.api_version, manifest.key.kind) in candidate.apis.kinds


def _problems(manifest: Manifest, finding: _Found, everywhere: set[ClusterName]) -> Iterator[Problem]:
    for sure in (True, False):
        names = sorted(name for name, basis in finding.clusters.items() if basis.sure is sure)
        if not names:
            continue
        where = f" ({_some(names)})" if len(names) < len(everywhere) else ""
        message = f"{manifest.key}: {finding.fault}{where}"
        if sure:
            yield Problem(finding.origin, message, finding.fault.hint, path=finding.path)
        else:
            hint = "its cluster runs a version whose types are not known here: it is not held"
            yield Problem(finding.origin, message, hint, Severity.WARNING, path=finding.path)


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
