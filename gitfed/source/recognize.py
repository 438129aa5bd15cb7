"""Which files plainly hold no Kubernetes objects: settings of a CI, of an editor, of a chart, of a renovation bot.

A repository has many YAML and JSON files that are none of ours. They are left out and said once. A manifest in
which only a line was forgotten is an error: what has a member apiVersion, kind or metadata, in any spelling, was meant
as an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_OBJECT = frozenset(("apiversion", "kind", "metadata"))
_WORD = re.compile(rb"""(?:^|[\s{,"'-])(?:api_?version|kind|metadata)["']?\s*:""", re.IGNORECASE)
_CHART = "Chart.yaml"
_TEMPLATES = "/templates/"
_PROGRAMS = re.compile(
    r"(admission\.k8s\.io|audit\.k8s\.io|k3d\.io|kind\.x-k8s\.io|kubeadm\.k8s\.io|skaffold|(?!kustomize\.).+\.config\.k8s\.io)/"
)
"""Groups whose documents are settings of programs, or what programs send each other, which no API server serves. What
Kustomize reads has rules of its own."""
_TESTS = re.compile(r"test\.gatekeeper\.sh/")
"""Groups of such documents that have metadata all the same."""


def is_foreign(value: Any, path: str) -> bool:
    """Whether a document was plainly not meant as an object. A mere text may have been anything."""
    if isinstance(value, dict):
        return (
            _is_chart(value, path)
            or _is_of_program(value)
            or not any(str(name).casefold() in _OBJECT for name in value)
        )
    if isinstance(value, list):
        return all(is_foreign(item, path) for item in value if isinstance(item, dict))
    return False


def mentions_objects(data: bytes) -> bool:
    """Whether a text that cannot be read as YAML or JSON says apiVersion, kind or metadata anywhere."""
    return b"\0" in data or _WORD.search(data) is not None  # NUL: UTF-16, which a look at bytes does not see through


def inside_charts(paths: Iterable[str], everything: Iterable[str]) -> dict[str, list[str]]:
    """Chart.yaml of a Helm chart → those of `paths` that are in its folder of templates."""
    charts = {path.removesuffix(_CHART) for path in everything if path.rpartition("/")[2] == _CHART}
    templates_by_chart: dict[str, list[str]] = {}
    for path in paths if charts else ():
        folder = path[: path.rfind(_TEMPLATES) + 1] if _TEMPLATES in f"/{path}" else None
        if folder is not None and folder in charts:
            templates_by_chart.setdefault(folder + _CHART, []).append(path)
    return templates_by_chart


def _is_of_program(value: dict[str, Any]) -> bool:
    said = str(value.get("apiVersion"))
    return _TESTS.match(said) is not None or ("metadata" not in value and _PROGRAMS.match(said) is not None)


def _is_chart(value: dict[str, Any], path: str) -> bool:
    """Helm's Chart.yaml has an apiVersion of its own."""
    return path.rpartition("/")[2] == _CHART and value.keys().isdisjoint(("kind", "metadata"))
