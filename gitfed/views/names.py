"""How objects are called on the screen, and what a person may type for them.

`shop/Deploy/web`: namespace, kind, name. Kinds that kubectl knows a short name for are shown by it, capitalised;
kinds of other groups carry their group, so that no two kinds look alike. Wherever a person types an object, what is
shown is understood (`shop/Deploy/web`, `Deployment.apps/shop/web`), and every spelling that kubectl accepts: kind,
plural, short name, with or without the group, in any case (`deploy/shop/web`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from gitfed.errors import NotThere, UsageError
from gitfed.model.base import ObjectKey, group_of
from gitfed.views.value import ResourceRef

_KINDS = {
    # (group, kind): (shown, what else may be typed)
    ("", "ConfigMap"): ("CM", "cm"),
    ("", "LimitRange"): ("Limits", "limits"),
    ("", "Namespace"): ("NS", "ns"),
    ("", "PersistentVolume"): ("PV", "pv"),
    ("", "PersistentVolumeClaim"): ("PVC", "pvc"),
    ("", "Pod"): ("Pod", "po"),
    ("", "ReplicationController"): ("RC", "rc"),
    ("", "ResourceQuota"): ("Quota", "quota"),
    ("", "Secret"): ("Secret", ""),
    ("", "Service"): ("Svc", "svc"),
    ("", "ServiceAccount"): ("SA", "sa"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("MutatingWebhook", ""),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("ValidatingWebhook", ""),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("CRD", "crd crds"),
    ("apps", "DaemonSet"): ("DS", "ds"),
    ("apps", "Deployment"): ("Deploy", "deploy"),
    ("apps", "ReplicaSet"): ("RS", "rs"),
    ("apps", "StatefulSet"): ("STS", "sts"),
    ("autoscaling", "HorizontalPodAutoscaler"): ("HPA", "hpa"),
    ("batch", "CronJob"): ("CJ", "cj"),
    ("batch", "Job"): ("Job", ""),
    ("networking.k8s.io", "Ingress"): ("Ing", "ing"),
    ("networking.k8s.io", "NetworkPolicy"): ("NetPol", "netpol"),
    ("policy", "PodDisruptionBudget"): ("PDB", "pdb"),
    ("scheduling.k8s.io", "PriorityClass"): ("PC", "pc"),
    ("storage.k8s.io", "StorageClass"): ("SC", "sc"),
}
_TYPED = {word: group_kind for group_kind, (shown, words) in _KINDS.items() for word in (shown.lower(), *words.split())}


def kind(group: str, name: str) -> str:
    """A kind as it is shown: `Deploy`, `Role`, `Rollout.argoproj.io`."""
    words = _KINDS.get((group, name))
    if words is not None:
        return words[0]
    if not group or "." not in group or group.endswith(".k8s.io"):
        return name
    return f"{name}.{group}"


def shown(key: ObjectKey) -> str:
    """An object as it is shown: `shop/Deploy/web`, `NS/shop`."""
    what = f"{kind(key.group, key.kind)}/{key.name}"
    return f"{key.namespace}/{what}" if key.namespace else what


def of(resource: ResourceRef) -> ObjectKey:
    return ObjectKey(group_of(resource["apiVersion"]), resource["kind"], resource["namespace"], resource["name"])


def find(text: str, candidates: Iterable[ObjectKey], *, namespace: str = "") -> ObjectKey:
    """The one object that `KIND/[NS/]NAME` means, or `NS/KIND/NAME` as it is shown.

    Raises UsageError when the text has another form or several objects could be meant, NotThere when nothing has this
    name (with a suggestion).
    """
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(
            f"{text!r} does not name an object", hint="KIND/NAME or KIND/NAMESPACE/NAME, e.g. deploy/shop/web"
        )
    keys = sorted(set(candidates))
    readings = [(parts[0], parts[1] if len(parts) == 3 else namespace)]
    if len(parts) == 3:
        # Only if nothing is called so kind first: that spelling stays certain where a namespace is called as a kind.
        readings.append((parts[1], parts[0]))
    for word, wanted_namespace in readings:
        matching = [
            key
            for key in keys
            if key.name == parts[-1]
            and (not wanted_namespace or key.namespace == wanted_namespace)
            and _is_kind(word, key)
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(f"{text!r} may be {' or '.join(typed(key) for key in matching)}", hint="say which")
    close = _closest(text, {spelled: whole for key in keys for spelled, whole in _spellings(key, len(parts))})
    raise NotThere(
        f"no object {text!r} in the repository",
        hint=f"did you mean {close}?" if close else "gitfed get bindings lists them",
    )


def find_works(text: str, every: Iterable[tuple[str, ObjectKey]], *, namespace: str = "") -> set[tuple[str, ObjectKey]]:
    """(cluster, key) of what `[CLUSTER/]KIND/[NS/]NAME` means: in that cluster, else in all. Raises as `find`."""
    works = set(every)
    cluster, _, rest = text.partition("/")
    inside = {key for name, key in works if name == cluster}
    if inside and "/" in rest:
        with contextlib.suppress(NotThere):  # then the cluster is called as a kind or a namespace
            return {(cluster, find(rest, inside, namespace=namespace))}
    key = find(text, (key for _, key in works), namespace=namespace)
    return {work for work in works if work[1] == key}


def typed(key: ObjectKey) -> str:
    """A spelling that `find` understands and nothing else has: `Deployment.apps/shop/web`."""
    return str(key)


def _spellings(key: ObjectKey, parts: int) -> Iterator[tuple[str, str]]:
    """(a spelling of so many parts, the same written out in full), of one object."""
    for word in (
        typed(key).partition("/")[0],
        key.kind.lower(),
        *_KINDS.get((key.group, key.kind), ("", ""))[1].split(),
    ):
        whole = f"{word}/{key.namespace}/{key.name}" if key.namespace else f"{word}/{key.name}"
        yield whole if parts == 3 else f"{word}/{key.name}", whole
        if parts == 3 and key.namespace:
            yield f"{key.namespace}/{word}/{key.name}", whole


def _closest(text: str, spellings: Mapping[str, str]) -> str:
    import difflib

    lowered = {spelled.lower(): whole for spelled, whole in spellings.items()}
    close = difflib.get_close_matches(text.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else ""


def _is_kind(text: str, key: ObjectKey) -> bool:
    return is_kind(text, key.group, key.kind)


def is_kind(text: str, of_group: str, name: str, plural: str = "") -> bool:
    """Whether a person's word means a kind. `plural`: as a server calls it; "" for the usual one."""
    word, _, group = text.lower().partition(".")
    if group and not (of_group == group or of_group.startswith(f"{group}.") or group.endswith(f".{of_group}")):
        return False
    singular = name.lower()
    return word in (singular, plural or singular, *_plurals(singular)) or _TYPED.get(word) == (of_group, name)


def _plurals(singular: str) -> tuple[str, ...]:
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return (f"{singular[:-1]}ies",)
    return (f"{singular}es",) if singular.endswith(("s", "x", "ch", "sh")) else (f"{singular}s",)


def offered(key: ObjectKey) -> tuple[str, ...]:
    """Spellings for completion: the short kind and the long one."""
    where = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return tuple(
        f"{word}/{where}" for word in (key.kind.lower(), *_KINDS.get((key.group, key.kind), ("", ""))[1].split())
    )


def short_forms() -> dict[tuple[str, str], str]:
    """Kinds that are shown by another word than their own, for the reference page."""
    return {group_kind: shown for group_kind, (shown, _) in _KINDS.items() if shown != group_kind[1]}
