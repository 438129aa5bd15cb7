"""Files as a snapshot reads them."""

from __future__ import annotations

from gitfed.model.repo import RepoSnapshot


def config(name: str, namespace: str = "shop", data: str = "x") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{a: {data}}}\n"


def keys(snapshot: RepoSnapshot) -> list[str]:
    return sorted(str(key) for key in snapshot.manifests)


def told(snapshot: RepoSnapshot) -> list[str]:
    return [str(problem) for problem in snapshot.problems]
