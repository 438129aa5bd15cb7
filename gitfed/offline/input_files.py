"""Files that a person names on the command line: facts and decisions.

They were written by a control plane, by `kubectl get -o yaml` or by hand, so what is wrong with them is said with its
place, and nothing is guessed: a facts file that is half understood would give a plan that is half right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitfed.documents import bindings, facts
from gitfed.errors import InputError
from gitfed.model import allowance, capacity
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot, QuotaFacts
from gitfed.model.keys import CLUSTER_ANNOTATION
from gitfed.model.repo import RepoSnapshot
from gitfed.text import yaml
from gitfed.text.construct import YamlLimits

_MOST_BYTES = 256 * 1024 * 1024
"""Of a facts or decisions file: some hundred thousand documents."""


def decisions(path: Path) -> Decisions:
    """`ResourceBinding` and `ClusterResourceBinding` documents, or Lists of them. Raises InputError."""
    by_key: dict[ObjectKey, Decision] = {}
    for place, document in _documents(path):
        if not bindings.is_binding(document):
            raise InputError(
                f"{place}: {_called(document)} is not a decision", hint="ResourceBinding or ClusterResourceBinding"
            )
        try:
            decision = bindings.from_document(document)
        except InputError as error:
            raise InputError(f"{place}: {error.message}", hint=error.hint) from error
        if decision.key in by_key:
            raise InputError(f"{place}: a second decision for {decision.key}")
        by_key[decision.key] = decision
    return Decisions(bindings=by_key)


def fleet(path: Path, repo: RepoSnapshot) -> FleetSnapshot:
    """`Cluster` documents with status. A declared cluster takes its spec from the repository and its status from here;
    a cluster that only the file has is declared by it; one that only the repository has is assumed Ready. `Node` and
    `Pod` documents that name their cluster are counted together for estimates by node; `ResourceQuota` limits them.

    Raises InputError.
    """
    return fleet_of(_content(path), str(path), repo)


def fleet_of(content: bytes, name_of_file: str, repo: RepoSnapshot) -> FleetSnapshot:
    """The same of a file's content. Raises InputError."""
    clusters: dict[ClusterName, ClusterFacts] = {}
    members: dict[ClusterName, tuple[str, capacity.Tally]] = {}
    quotas: dict[ClusterName, list[tuple[str, Body]]] = {}
    for place, document in documents(content, name_of_file):
        if isinstance(document, Mapping) and document.get("kind") == "ResourceQuota":
            quotas.setdefault(_cluster_of(place, document), []).append((place, document))
            continue
        if isinstance(document, Mapping) and document.get("kind") in ("Node", "Pod"):
            _, tally = members.setdefault(_cluster_of(place, document), (place, capacity.Tally()))
            _count(place, document, tally)
            continue
        if not facts.is_cluster(document):
            raise InputError(
                f"{place}: {_called(document)} is not a fact",
                hint="Cluster of cluster.karmada.io with status; Node, Pod and ResourceQuota may follow",
            )
        check_cluster(place, document)
        cluster = facts.from_document(document)
        if cluster.name in clusters:
            raise InputError(f"{place}: a second Cluster {cluster.name}")
        clusters[cluster.name] = cluster
    for name, place in [
        *((name, place) for name, (place, _) in members.items()),
        *((name, some[0][0]) for name, some in quotas.items()),
    ]:
        if name not in clusters and name not in repo.clusters:
            raise InputError(f"{place}: cluster {name} is neither in this file nor in the repository")
    for name, (_, tally) in members.items():
        cluster = clusters.get(name) or ClusterFacts(name, assumed=True)
        summary = cluster.resource_summary or tally.summary()
        clusters[name] = replace(cluster, nodes=tally.nodes(), resource_summary=summary)
    for name, some in quotas.items():
        limits = [_quota(place, document) for place, document in some]
        cluster = clusters.get(name) or ClusterFacts(name, assumed=True)
        clusters[name] = replace(cluster, quotas=(*cluster.quotas, *(quota for quota in limits if quota is not None)))
    ref = FactsRef(f"file {Path(name_of_file).name}", digest=hashlib.sha256(content).hexdigest())
    return FleetSnapshot(ref, completed(clusters, repo))


def completed(clusters: Mapping[ClusterName, ClusterFacts], repo: RepoSnapshot) -> dict[ClusterName, ClusterFacts]:
    missing = {name: ClusterFacts(name, assumed=True) for name in repo.clusters if name not in clusters}
    return dict(sorted({**clusters, **missing}.items()))


def check_cluster(place: str, document: Body) -> None:
    """Only what reading it would stumble over: the file was written by a control plane, not by hand."""
    _check_shape(place, document, {"metadata": dict, "spec": dict, "status": dict})
    name = (document.get("metadata") or {}).get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"{place}: Cluster without metadata.name")
    spec, status = document.get("spec") or {}, document.get("status") or {}
    _check_shape(place, spec, {"taints": list, "zones": list}, "spec.")
    for index, taint in enumerate(spec.get("taints") or []):
        if not isinstance(taint, Mapping) or not isinstance(taint.get("key"), str) or not taint.get("effect"):
            raise InputError(f"{place}: spec.taints[{index}] of Cluster {name} needs key and effect")
    shapes = {"conditions": list, "apiEnablements": list, "resourceSummary": dict, "nodeClasses": list}
    _check_shape(place, status, shapes, "status.")
    for member in ("conditions", "apiEnablements"):
        for index, item in enumerate(status.get(member) or []):
            if not isinstance(item, Mapping):
                raise InputError(f"{place}: status.{member}[{index}] of Cluster {name} is not an object")
            for inner in item.get("resources") or []:
                if not isinstance(inner, Mapping):
                    raise InputError(f"{place}: status.{member}[{index}].resources of Cluster {name} holds no objects")


def _cluster_of(place: str, document: Body) -> ClusterName:
    """The cluster that a Node or Pod is in."""
    _check_shape(place, document, {"metadata": dict, "spec": dict, "status": dict})
    metadata = document.get("metadata") or {}
    _check_shape(place, metadata, {"annotations": dict, "labels": dict}, "metadata.")
    name = (metadata.get("annotations") or {}).get(CLUSTER_ANNOTATION)
    if not isinstance(name, str) or not name:
        raise InputError(
            f"{place}: {_called(document)} does not say which cluster it is in",
            hint=f"annotation {CLUSTER_ANNOTATION}",
        )
    return name


def _count(place: str, document: Body, tally: capacity.Tally) -> None:
    metadata = document.get("metadata") or {}
    try:
        if document["kind"] == "Node":
            tally.put_node(capacity.node_of(document))
        else:
            identity = metadata.get("uid") or f"{metadata.get('namespace')}/{metadata.get('name')}"
            tally.put_pod(str(identity), capacity.pod_of(document))
    except (AttributeError, TypeError, ValueError) as error:
        # Counting trusts what an API server stored; a file may hold anything.
        raise InputError(f"{place}: {_called(document)} has not the shape of one") from error


def _quota(place: str, document: Body) -> QuotaFacts | None:
    try:
        return allowance.of(document)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{place}: {_called(document)} has not the shape of one") from error


def _check_shape(place: str, value: Body, shapes: Mapping[str, type], prefix: str = "") -> None:
    for member, shape in shapes.items():
        part = value.get(member)
        if part is not None and not isinstance(part, shape):
            what = "a list" if shape is list else "an object"
            raise InputError(f"{place}: {prefix}{member} is not {what}")


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES // 1024 // 1024} MiB")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _documents(path: Path, content: bytes | None = None) -> Iterator[tuple[str, Any]]:
    yield from documents(_content(path) if content is None else content, str(path))


def documents(content: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """`(place, document)`; Lists are unpacked, empty documents left out. Raises InputError on the first fault."""
    stream = yaml.parse(content, limits=YamlLimits(documents=1_000_000), is_json=name.endswith(".json"))
    for fault in stream.faults:
        if not fault.warning:
            raise InputError(f"{name}:{fault.line}:{fault.column}: {fault.message}", hint=fault.hint)
    for document in stream.documents:
        place = f"{name}:{document.line}:{document.column}"
        value = document.value
        if (
            isinstance(value, Mapping)
            and str(value.get("kind", "")).endswith("List")
            and isinstance(value.get("items"), list)
        ):
            for index, item in enumerate(value["items"]):
                yield f"{place}: items[{index}]", item
        elif value is not None:
            yield place, value


def _called(document: object) -> str:
    if not isinstance(document, Mapping):
        return "this"
    kind = document.get("kind")
    return f"{kind} of {document.get('apiVersion')}" if isinstance(kind, str) else "an object without kind"
