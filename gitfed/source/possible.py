"""What a file that cannot be used may have meant: a mistake holds that, and nothing else.

Kind, namespace and name limit it, as far as they can be read. What may be *defined* in the file and is gone from others
is not deleted; what may be *concerned* by it (the templates of a broken policy) stays where it is, and as it is where
an override may be missing. A text that no parser reads is looked at line by line; of bytes that tell nothing, and of a
folder that Kustomize cannot build from known files, everything is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from gitfed.model.base import Kind, ObjectKey, group_of
from gitfed.model.declared import registry
from gitfed.model.repo import Possible
from gitfed.source import recognize, scope
from gitfed.text.values import dataclass

_OVERRIDES = frozenset(("OverridePolicy", "ClusterOverridePolicy"))
_OF_A_NAMESPACE = registry.NAMESPACED
_ASIDE = frozenset(("CronFederatedHPA", "FederatedHPA", "MultiClusterService", "MultiClusterIngress"))
"""Without them what was decided last stands: nothing has to be held for that."""
_OF_ALL = frozenset(
    ("ClusterPropagationPolicy", "ClusterOverridePolicy", "ResourceInterpreterCustomization",
     "ResourceInterpreterWebhookConfiguration")
)  # fmt: skip
_DEFINITION = "CustomResourceDefinition"
_SELECTOR = frozenset(("apiVersion", "kind", "namespace", "name", "labelSelector"))
_NOWHERE = frozenset(("", "default"))
"""Namespaces of an object that names none: which, depends on its kind."""

_DECLARED = frozenset(kind for _, kind in registry.MODELS)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_CHUNK = re.compile(r"^---", re.MULTILINE)
_KIND = re.compile(
    r"""(?P<open>\{)|(?P<close>\})"""
    r"""|(?P<start>^)?(?P<quote>["']?)\bkind(?P=quote)\s*:[ \t]*["']?(?P<kind>[A-Za-z]\w*)?["']?"""
    r"""|"[^"\n]*["\n]""",
    re.MULTILINE,
)
"""Braces, members kind, and texts in which no brace counts."""
_NAMESPACE = re.compile(r"""\bnamespace["']?\s*:\s*["']?([^\s,}\]"'#]*)""")
_NAMESPACE_NAME = re.compile(r"(?![0-9]+$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""Digits alone are a number, unless they are quoted."""
_NO_NAMES = frozenset(("null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"))
"""Words of YAML and JSON that name nothing."""


@dataclass(frozen=True, slots=True)
class Meaning:
    defines: tuple[Possible, ...] = ()
    """Objects that it may define."""
    concerns: tuple[Possible, ...] = ()
    """Templates that what it declares may be about."""
    overrides: bool = False
    """Whether it may change the manifests of these."""


ANYTHING = Meaning((Possible(),))


def of_documents(values: Iterable[Any]) -> Meaning:
    return _together(_of_document(value) for value in values)


def of_text(data: bytes) -> Meaning:
    """Of a file that is neither YAML nor JSON. Nothing, where it mentions no object at all."""
    if not recognize.mentions_objects(data):
        return Meaning()
    text = data.decode("utf-8", "replace")
    if "\0" in text:
        return ANYTHING
    chunks = (chunk for chunk in _CHUNK.split(text) if recognize.mentions_objects(chunk.encode()))
    return _together(_of_chunk(chunk) for chunk in chunks)


def of_keys(keys: Iterable[ObjectKey]) -> Meaning:
    """Of a file that is good by itself, and at fault together with another."""
    named = (_meaning(_one(key.kind), frozenset((key.namespace,)), _one(key.name), None) for key in keys)
    return _together(named)


def of_build(kinds: Iterable[str]) -> Meaning:
    """Of a folder that Kustomize cannot build, from material of these kinds: it may give them any name."""
    every = frozenset((*kinds, "ConfigMap", "Secret"))
    return _together([_meaning(every, None, None, None)])


def _of_document(value: Any) -> Meaning:
    if recognize.is_foreign(value, ""):
        return Meaning()
    if isinstance(value, list):
        return _together(_of_document(item) for item in value if isinstance(item, dict))
    if not isinstance(value, dict):
        return of_text(str(value).encode("utf-8", "replace"))
    kind = value.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list):
        return _together(_of_document(item) for item in value["items"])
    metadata = value.get("metadata")
    namespaces, names = None, None
    if isinstance(metadata, dict):
        namespace, name = metadata.get("namespace"), metadata.get("name")
        if _is_name(namespace):
            namespaces = frozenset((namespace,))
        elif namespace is None and metadata.keys() <= {"name", "labels", "annotations"}:
            namespaces = _NOWHERE
        names = _one(name) if _is_name(name) else None
    kinds = _one(str(kind)) if _is_known(value.get("apiVersion"), kind) else None
    return _meaning(kinds, namespaces, names, value.get("spec"))


def _is_name(value: Any) -> TypeGuard[str]:
    """A name that no object can have is itself the mistake, and limits nothing."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_known(api_version: Any, kind: Any) -> bool:
    """Whether there is such a kind, as far as that is known: one with a slip may have been any other."""
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind.isalnum():
        return False
    group = group_of(api_version)
    if group in scope.BUILT_IN_GROUPS:
        return Kind(group, kind) in scope.NAMESPACED
    return group not in registry.OWN_GROUPS or kind in _DECLARED


def _of_chunk(text: str) -> Meaning:
    kinds = _kinds_of(text)
    named = frozenset(_NAMESPACE.findall(text))
    # One that no namespace can have is itself the mistake, and limits nothing.
    may_be = named.isdisjoint(_NO_NAMES) and all(map(_NAMESPACE_NAME.fullmatch, named))
    namespaces = named if named and may_be else None
    return _meaning(kinds, namespaces, None, None)


def _kinds_of(text: str) -> frozenset[str] | None:
    """What the object says to be, not what it refers to: members in the first column, or in one brace. None where that
    is not plain."""
    kinds, depth = set(), 0
    for match in _KIND.finditer(text):
        if match["open"] or match["close"]:
            depth += 1 if match["open"] else -1
        elif match["quote"] is not None and (depth == 1 or (depth == 0 and match["start"] is not None)):
            kinds.add(match["kind"] or "")
    plain = all(kind and kind not in _NO_NAMES and not kind.endswith("List") for kind in kinds)
    return frozenset(kinds) if kinds and plain else None


def _meaning(
    kinds: frozenset[str] | None, namespaces: frozenset[str] | None, names: frozenset[str] | None, spec: Any
) -> Meaning:
    scoped = namespaces
    if kinds is not None and kinds.isdisjoint(_OF_A_NAMESPACE) and namespaces is not None:
        scoped = namespaces | {""}  # another kind may be namespaced or not
    defines = [Possible(kinds, scoped, names)]
    concerns = []
    if kinds is not None and kinds & (_OF_A_NAMESPACE - _ASIDE):
        concerns.append(Possible(None, namespaces))
    if kinds is not None and kinds & _OF_ALL:
        concerns.append(_selected(spec))
    if kinds is not None and _DEFINITION in kinds:
        # The definition says whether objects of its kind are namespaced: without it they seem to have another key.
        defines.append(Possible(_defined(spec), _NOWHERE))
    return Meaning(tuple(defines), tuple(concerns), kinds is not None and bool(kinds & _OVERRIDES))


def _selected(spec: Any) -> Possible:
    """Which templates a policy of all namespaces, or a rule for a kind, may be about."""
    if not isinstance(spec, dict):
        return Possible()
    target = spec.get("target")
    if isinstance(target, dict) and isinstance(target.get("kind"), str):
        return Possible(_one(target["kind"]))
    selectors = spec.get("resourceSelectors")
    if spec.get("propagateDeps") or not isinstance(selectors, list) or not all(map(_is_selector, selectors)):
        return Possible()
    if not selectors:
        return Possible()
    return Possible(
        frozenset(selector["kind"] for selector in selectors),
        _all_of(selectors, "namespace"),
        _all_of(selectors, "name"),
    )


def _is_selector(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= _SELECTOR
        and isinstance(value.get("kind"), str)
        and all(isinstance(value.get(name, ""), str) for name in ("apiVersion", "namespace", "name"))
    )


def _all_of(selectors: list[Mapping[str, Any]], name: str) -> frozenset[str] | None:
    """None where one of them does not say it."""
    values = frozenset(selector.get(name) or "" for selector in selectors)
    return None if "" in values else values


def _defined(spec: Any) -> frozenset[str] | None:
    names = spec.get("names") if isinstance(spec, dict) else None
    kind = names.get("kind") if isinstance(names, dict) else None
    return _one(kind) if isinstance(kind, str) and kind else None


def _one(text: str) -> frozenset[str]:
    return frozenset((text,))


def _together(meanings: Iterable[Meaning]) -> Meaning:
    parts = list(meanings)
    return Meaning(
        tuple(dict.fromkeys(definition for each in parts for definition in each.defines)),
        tuple(dict.fromkeys(concern for each in parts for concern in each.concerns)),
        any(each.overrides for each in parts),
    )
