"""What is known of the clusters for a look without consequences: from a file, else the facts branch, else assumed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gitfed.documents import facts
from gitfed.edges import files
from gitfed.edges.state import memory
from gitfed.model.base import ClusterName, Commit
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import input_files, state_inputs
from gitfed.offline.inputs import Opened


def fleet(opened: Opened, repo: RepoSnapshot, path: Path | None = None) -> FleetSnapshot:
    """Facts of the clusters: of the file if given, else of the facts branch, else assumed. Raises InputError."""
    if path is not None:
        return input_files.fleet(path, repo)
    return _fleet_of_branch(opened, repo) or assumed(repo)


def assumed(repo: RepoSnapshot) -> FleetSnapshot:
    """Nobody looked: declared clusters are Ready, serve every kind and have unknown room."""
    return FleetSnapshot(FactsRef("assumed"), input_files.completed({}, repo))


def _fleet_of_branch(opened: Opened, repo: RepoSnapshot) -> FleetSnapshot | None:
    commit = state_inputs.standing(opened, repo, facts=True).commit
    return None if commit is None else fleet_at(opened, repo, commit)


def fleet_at(opened: Opened, repo: RepoSnapshot, commit: Commit) -> FleetSnapshot:
    """Facts as one commit of the facts branch has them. Raises InputError, SourceError when it is not there."""
    repository, branch = opened.repository, repo.settings.spec.state.facts_branch
    clusters: dict[ClusterName, ClusterFacts] = {}
    total = hashlib.sha256()
    entries = repository.some(commit, (), ("clusters/",))
    cache = memory.Memory(
        files.DiskCache(files.cache_directory() / "facts"),
        hashlib.sha256(f"{repository.path}\0{branch}".encode()).hexdigest(),
    )
    cache.take_up()
    for path in sorted(entries):
        blob = entries[path].blob_id
        content = repository.read(blob)
        total.update(content)
        parsed = cache.get(blob)
        if parsed is None:
            parsed = {"documents": [list(document) for document in input_files.documents(content, f"{branch}:{path}")]}
            cache.add(blob, parsed)
        for place, document in parsed["documents"]:
            if facts.is_cluster(document):
                input_files.check_cluster(place, document)
                cluster = facts.from_document(document)
                if cluster.name in repo.clusters:  # a cluster whose declaration is gone is no target any more
                    clusters[cluster.name] = cluster
    cache.keep({entry.blob_id for entry in entries.values()})
    ref = FactsRef("facts branch", commit, repository.info(commit).when, total.hexdigest())
    return FleetSnapshot(ref, input_files.completed(clusters, repo))
