"""What a request is about: the path of an address, as an API server reads it (its RequestInfo).

    /api/v1/namespaces/shop/pods/web-1/log      pods/log web-1 in shop
    /apis/apps/v1/deployments                   deployments of apps, in all namespaces
    /api/v1/namespaces/shop                     the namespace shop, which counts as in itself
    /version, /openapi/v3, /apis/apps/v1        no resource

An API server looks at the path with its escapes taken away; so do we, and what would then be read in another way than
it is written here is refused.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from gitfed.text.values import dataclass

_ESCAPED = re.compile(r"%2f|%5c|%00|%0a|%0d", re.IGNORECASE)
_BELOW_PROXY = re.compile(r"/proxy(?:/|$)")
_NAME_ONLY = frozenset({"status", "finalize"})
"""Subresources of a namespace, not resources in it."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    resource: str = ""
    """ "" for what is no resource."""
    group: str = ""
    version: str = ""
    namespace: str = ""
    """ "" for all namespaces, and for what is in none."""
    name: str = ""
    subresource: str = ""
    collection: str = ""
    """The path of all objects of this resource and namespace, as it was written."""
    object: str = ""
    """The path of the object itself; "" without a name."""

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


def why_not(path: str) -> str:
    """Why a path, escapes and all, is not taken; "" for one that means one thing."""
    if not path.startswith("/"):
        return "the path must begin with /"
    if "#" in path:
        return "the path must be in its plain form"
    own = _BELOW_PROXY.split(path, maxsplit=1)[0]
    if _ESCAPED.search(own):
        return "the path must be in its plain form: no escaped slashes"
    decoded = unquote(path)
    if any(part in (".", "..") for part in re.split(r"[/\\]", decoded)):
        return "the path must be in its plain form: no dots between slashes"
    return ""


def parse(path: str) -> RequestInfo:
    """Of a path that `why_not` has nothing against."""
    written = [part for part in path.split("/") if part]
    parts = [unquote(part) for part in written]
    prefix = 2 if parts[:1] == ["api"] else 3 if parts[:1] == ["apis"] else 0
    if not prefix or len(parts) <= prefix:
        return RequestInfo()
    group, version = ("", parts[1]) if prefix == 2 else (parts[1], parts[2])
    if parts[prefix] in ("watch", "proxy") and len(parts) > prefix + 1:
        prefix += 1  # the form that came before `?watch=true`: it reaches the same objects
    rest, namespace = parts[prefix:], ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAME_ONLY:
            rest, prefix = rest[2:], prefix + 2
    return RequestInfo(
        resource=rest[0],
        group=group,
        version=version,
        namespace=namespace,
        name=rest[1] if len(rest) > 1 else "",
        subresource="/".join(rest[2:]),
        collection="/" + "/".join(written[: prefix + 1]),
        object="/" + "/".join(written[: prefix + 2]) if len(rest) > 1 else "",
    )


def may_wait(request: RequestInfo) -> bool:
    """Whether the answer may begin as late as it likes: when a container or a program has something to say."""
    return request.subresource.split("/")[0] in ("log", "exec", "attach", "portforward", "proxy")


def is_true(value: str | None) -> bool:
    """A boolean of a query, as API servers read it: named without a value, it is true."""
    return value is not None and value.lower() not in ("0", "f", "false")
