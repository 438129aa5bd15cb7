"""Addresses that are no resources: the root, health, version, discovery, OpenAPI."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from kubesim import openapi, status
from kubesim.registry import Registry
from kubesim.server import discovery, forms, tables
from kubesim.server.request import TEXT, Request, Response
from kubesim.server.world import World

Body = dict[str, Any]

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_CHECKS: Final = {
    "healthz": ("ping", "log", "etcd"),
    "livez": ("ping", "log", "etcd"),
    "readyz": ("ping", "log", "informer-sync", "shutdown"),
}
_NOT_FOUND: Final = Response(404, b"404 page not found\n", TEXT)


class Paths:
    def __init__(self, world: World) -> None:
        self._world = world
        self._aggregated = discovery.Aggregated(world.registry)
        self._documents: dict[str, tuple[int, bytes]] = {}

    def answer(self, req: Request) -> Response:
        """405 for anything but GET; 404 as plain text for what does not exist."""
        parts = [part for part in req.path.split("/") if part]
        if parts and parts[0] in _CHECKS:
            # Health does not care how it is asked, but where.
            return _NOT_FOUND if req.path.endswith("/") else _health(req, parts[0], parts[1:])
        found = self._get(req, parts)
        if found.status != 404 and req.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        return found

    def _get(self, req: Request, parts: list[str]) -> Response:
        match parts:
            case []:
                return _json({"paths": self._known()})
            case ["version"]:
                return _version(req)
            case ["version", *_]:
                raise status.path_not_found()
            case ["openapi", *rest]:
                return self._openapi(rest)
            case ["api" | "apis" as root]:
                return self._root(req, root)
            case ["api", "v1"]:
                return _document_answer(req, discovery.resource_list(self._world.registry, "", "v1"))
            case ["api", _]:
                raise status.path_not_found()
            case ["apis", name]:
                found = discovery.one_group(self._world.registry, name)
                return _document_answer(req, found) if found else _NOT_FOUND
            case ["apis", name, version]:
                found = discovery.resource_list(self._world.registry, name, version)
                if found is None and name in self._world.registry.builtin_groups:
                    raise status.path_not_found()
                return _document_answer(req, found) if found else _NOT_FOUND
        return _NOT_FOUND

    def _root(self, req: Request, root: str) -> Response:
        """The aggregated form for the first clause that asks for it, the old one for any plain clause."""
        clauses = forms.clauses(str(req.headers.get("Accept", "")))
        if clauses and not any(forms.offered(media) for media, _ in clauses):
            raise forms.unacceptable()
        for media, params in clauses or [("*/*", {})]:
            if "as" not in params and media != forms.MEDIA[2]:
                break
            wanted = (params.get("as"), params.get("g"), params.get("v"))
            if media == forms.MEDIA[0] and wanted == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"):
                return self._aggregated.answer(root, str(req.headers.get("If-None-Match", "")))
        else:
            raise status.not_acceptable(forms.MEDIA)
        if root == "api":
            return _document_answer(req, discovery.legacy_versions(str(req.headers.get("Host", ""))))
        return _document_answer(req, discovery.group_list(self._world.registry))

    def _openapi(self, rest: list[str]) -> Response:
        """The root of version 3 and its documents, each made once for as long as the kinds stay."""
        registry = self._world.registry
        if rest == ["v3"]:
            paths = {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_tag(path, registry)}"}
                for path in _documents(registry)
            }
            return Response(200, orjson.dumps({"paths": paths}), TEXT)
        path = "/".join(rest[1:])
        if not rest or rest[0] != "v3" or path not in _documents(registry):
            return _NOT_FOUND
        known = self._documents.get(path)
        if known is None or known[0] != registry.generation:
            known = self._documents[path] = (registry.generation, orjson.dumps(_document(registry, rest[1:])))
        headers = [("Etag", f'"{_tag(path, registry)}"'), ("Vary", "Accept")]
        return Response(200, known[1], headers=headers)

    def _known(self) -> list[str]:
        paths = {"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/metrics", "/version"}
        paths |= {"/openapi/v2", "/openapi/v3", "/openapi/v3/"}
        for root, checks in _CHECKS.items():
            paths |= {f"/{root}/{check}" for check in checks}
        for name, versions in self._world.registry.groups().items():
            if name:
                paths |= {f"/apis/{name}", *(f"/apis/{name}/{version}" for version in versions)}
        return sorted(paths)


def _json(body: Any) -> Response:
    return Response(200, orjson.dumps(body))


def _document_answer(req: Request, body: Any) -> Response:
    """As JSON or YAML; 406 for anything else."""
    for media, params in forms.clauses(str(req.headers.get("Accept", ""))) or [("*/*", {})]:
        if "as" not in params and media in ("*/*", "application/*", *forms.MEDIA[:2]):
            form = tables.Form(yaml=media == forms.MEDIA[1])
            return Response(200, forms.dumps(body, form), form.media_type)
    raise status.not_acceptable(forms.MEDIA)


def _version(req: Request) -> Response:
    clauses = forms.clauses(str(req.headers.get("Accept", "")))
    if clauses and not any(media in ("*/*", forms.MEDIA[0]) for media, _ in clauses):
        text = f"406: Not Acceptable\n\nAvailable representations: {forms.MEDIA[0]}"
        raise status.ApiError(406, "NotAcceptable", text, {})
    return _json(VERSION)


def _health(req: Request, root: str, check: list[str]) -> Response:
    checks = _CHECKS[root]
    if check:
        return Response(200, b"ok", TEXT) if check[0] in checks and len(check) == 1 else _NOT_FOUND
    if "verbose" not in req.query:
        return Response(200, b"ok", TEXT)
    excluded = set(req.query.get("exclude", []))
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in checks]
    unknown = [status.quote(name) for name in sorted(excluded) if name not in checks]
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
    return Response(200, ("\n".join([*lines, f"{root} check passed"]) + "\n").encode(), TEXT)


# OpenAPI ------------------------------------------------------------------------------------------------------------


def _documents(registry: Registry) -> list[str]:
    found = [
        f"apis/{name}/{version}" if name else f"api/{version}"
        for name, versions in registry.groups().items()
        for version in versions
    ]
    groups = [f"apis/{name}" for name in registry.groups() if name]
    return ["api", "apis", "version", *groups, *found]


def _tag(path: str, registry: Registry) -> str:
    return hashlib.sha512(f"{path}:{registry.generation}".encode()).hexdigest().upper()


def _document(registry: Registry, parts: list[str]) -> Body:
    """Of one group version; addresses without kinds have an empty one."""
    if parts[0] == "apis" and len(parts) == 3:
        return openapi.document(registry, parts[1], parts[2])
    if parts[0] == "api" and len(parts) == 2:
        return openapi.document(registry, "", parts[1])
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]}, "paths": {}}
