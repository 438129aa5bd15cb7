"""Which addresses a kind has, and which verbs each of them knows.

Built-in and custom kinds are served by two routers inside a real API server, and it shows: 404 is an object here and
plain text there, and the custom one lets through what the other refuses.
"""

from __future__ import annotations

from kubesim import status
from kubesim.kind import Kind, Subresource
from kubesim.server.request import Address


class NoSuchPath(Exception):
    """An address that the router of custom kinds does not have: 404 in plain text."""


def subresource(kind: Kind, address: Address) -> Subresource | None:
    """The subresource addressed; 404 for one that the kind does not have."""
    if not address.subresource:
        return None
    found = kind.subresource(address.subresource)
    if found is not None:
        return found
    raise status.not_found(kind.group, kind.plural, address.name) if kind.custom else status.path_not_found()


def check(kind: Kind, address: Address, sub: Subresource | None, method: str) -> None:
    """404 where the address cannot be, 405 for a verb it does not know. ``method`` is HTTP's."""
    if kind.custom:
        _check_custom(kind, address, sub)
    else:
        _check_builtin(kind, address, sub, method)


def _check_builtin(kind: Kind, address: Address, sub: Subresource | None, method: str) -> None:
    if method == "HEAD":
        raise status.method_not_allowed()
    own = kind.plural == "namespaces" and not kind.group and address.namespace == address.name
    if not kind.namespaced and address.namespace and not own:
        raise status.path_not_found()
    everywhere = kind.namespaced and not address.namespace
    if everywhere and (address.name or address.subresource) and not address.legacy_watch:
        raise status.path_not_found()
    if sub is not None:
        allowed = address.verb in sub.verbs
    elif address.name:
        allowed = address.verb in kind.verbs and address.verb != "create"
    else:
        allowed = address.verb in kind.verbs and address.verb not in ("update", "patch")
        allowed = allowed and not (everywhere and address.verb in ("create", "deletecollection"))
    if not allowed:
        raise status.method_not_allowed()


def _check_custom(kind: Kind, address: Address, sub: Subresource | None) -> None:
    if address.namespace and not kind.namespaced:
        raise NoSuchPath
    if kind.namespaced and not address.namespace and address.verb not in ("list", "watch"):
        raise NoSuchPath
    if sub is not None:
        if address.verb not in sub.verbs:
            raise status.method_not_allowed()
    elif not address.name and address.verb in ("update", "patch"):
        raise status.bad_request("name must be provided")
    elif not address.verb:
        text = f' is not supported on resources of kind "{kind.resource}"'
        raise status.ApiError(405, "MethodNotAllowed", text, {"group": kind.group, "kind": kind.plural})
