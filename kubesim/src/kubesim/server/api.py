"""★ One request, from the user to the answer.

    who asks → as whom → may they → what address → which verb → read, write, delete, watch → in which form

Everything is synchronous and in memory: a request sees one state of the cluster and its write is done when its answer
is made. The HTTP side (``http.py``) only carries bytes; controllers and tests come in by ``handle`` as well, or by
the typed doors of ``client.py``.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim import status
from kubesim.kind import Kind, Subresource
from kubesim.server import (
    actions,
    addresses,
    auth,
    connections,
    decode,
    delete,
    forms,
    impersonation,
    options,
    patching,
    paths,
    rbac,
    read,
    request,
    reviews,
    scale,
    tables,
    write,
)
from kubesim.server.call import Call, Outcome
from kubesim.server.rbac import Attributes
from kubesim.server.request import JSON, TEXT, Address, Request, Response, User
from kubesim.server.tables import Form
from kubesim.server.watch import Watch
from kubesim.server.world import World
from kubesim.store import Record

Body = dict[str, Any]

BODY_LIMIT: Final = 3 * 1024 * 1024
_LOST: Final = Response(404, b"404 page not found\n", TEXT)
_OPTIONS: Final = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


class Api:
    def __init__(self, world: World) -> None:
        self.world = world
        self.authenticator = auth.Authenticator(world)
        self._impersonation = impersonation.Impersonation(world)
        self._paths = paths.Paths(world)

    def handle(self, req: Request) -> Response:
        """Never raises for what a client may do; put-off work is seen to afterwards."""
        try:
            return self._answer(req)
        except read.NotReached:
            raise
        except status.ApiError as error:
            return refusal(error, forms.wants_yaml(str(req.headers.get("Accept", ""))))
        finally:
            self.world.proceed()

    def _answer(self, req: Request) -> Response:
        user = self.authenticator.user(req)
        address = request.locate(req.method, req.path, req.query)
        asked = _attributes(req, address)
        req.user = self._impersonation.user(req, user, asked)
        rbac.check(self.world, req.user, asked)
        if address is None:
            return self._paths.answer(req)
        kind = self.world.registry.at(address.group, address.version, address.resource)
        if kind is None or address.stray:
            return self._nowhere(address)
        handler = _Handler(self, req, address, kind)
        try:
            return handler.answer()
        except addresses.NoSuchPath:
            return _LOST
        except read.NotReached:
            raise
        except status.ApiError as error:
            # What was worth a warning stays so beside the refusal.
            response = refusal(error, forms.wants_yaml(str(req.headers.get("Accept", ""))))
            response.headers += handler.headers()
            return response

    def _nowhere(self, address: Address) -> Response:
        """404: as an object where the group is the server's own, as plain text otherwise."""
        if address.group in self.world.registry.builtin_groups:
            raise status.path_not_found()
        return _LOST


def refusal(error: status.ApiError, yaml: bool = False) -> Response:
    headers: list[tuple[str, str]] = []
    if error.details and error.details.get("retryAfterSeconds"):
        headers.append(("Retry-After", str(error.details["retryAfterSeconds"])))
    form = Form(yaml=yaml)
    return Response(error.code, forms.dumps(error.body(), form), form.media_type, headers)


def _attributes(req: Request, address: Address | None) -> Attributes:
    """What has to be allowed."""
    if address is None:
        verb = {"HEAD": "get"}.get(req.method, req.method.lower())
        return Attributes(verb, path=req.path)
    name = address.name
    if not name and address.verb in ("list", "watch"):
        # A list of the one object named by a field selector may be allowed by that name.
        for term in req.first("fieldSelector").split(","):
            if term.startswith("metadata.name="):
                name = term.partition("=")[2].removeprefix("=")
    return Attributes(
        address.verb, address.group, address.version, address.resource, address.subresource, address.namespace, name
    )


class _Handler:
    """One request to a kind that exists."""

    def __init__(self, api: Api, req: Request, address: Address, kind: Kind) -> None:
        self._api, self._world = api, api.world
        self._req, self._address, self._kind = req, address, kind
        self._warnings: list[str] = [kind.deprecated] if kind.deprecated else []

    def answer(self) -> Response:
        subresource = addresses.subresource(self._kind, self._address)
        addresses.check(self._kind, self._address, subresource, self._req.method)
        if subresource is not None and subresource.name in connections.NAMES:
            return self._connect()
        match self._address.verb:
            case "get":
                return self._get(subresource)
            case "list":
                return self._list()
            case "watch":
                return self._watch()
            case "delete":
                return self._delete()
            case "deletecollection":
                return self._delete_collection()
        return self._write(subresource)

    def _form(self, *, listing: bool = False) -> Form:
        """406 before anything is done: an action shows no Table."""
        req = self._req
        form = forms.negotiate(
            str(req.headers.get("Accept", "")),
            builtin=not self._kind.custom,
            listing=listing,
            include=req.first("includeObject"),
            pretty=request.truth(req.query.get("pretty")),
        )
        plain = self._address.subresource in ("", "status", "scale") and self._kind.verbs != ("create",)
        if form.shape == "Table" and not plain:
            raise status.not_acceptable(forms.MEDIA)
        return form

    # reading

    def _get(self, subresource: Subresource | None) -> Response:
        form = self._form()
        address = self._address
        record = read.get(self._world, self._kind, address.namespace, address.name, self._req.first("resourceVersion"))
        body = forms.view(record, self._kind)
        if subresource is not None and subresource.name == "scale":
            return self._object(200, scale.face(self._kind, body), None, form, scale.KIND)
        return self._object(200, body, record, form)

    def _connect(self) -> Response:
        address = self._address
        record = read.get(self._world, self._kind, address.namespace, address.name)
        return connections.connect(self._world, address, forms.view(record, self._kind), self._req)

    def _list(self) -> Response:
        form = self._form(listing=True)
        found = options.listing(self._req, watch=False)
        if self._address.name:
            return self._get(None)
        page = read.listing(self._world, self._kind, self._address.namespace, found)
        return self._page(page, form)

    def _page(self, page: read.Page, form: Form) -> Response:
        data = forms.encoded_list(page.records, self._kind, form, page.metadata, self._world.clock.now())
        if form.yaml or (form.pretty and form.shape != "Table"):
            data = forms.dumps(orjson.loads(data), form)
        return self._response(200, data, form)

    def _watch(self) -> Response:
        form = self._form(listing=True)
        found = options.listing(self._req, watch=True)
        watch = Watch(self._world, self._kind, self._address.namespace, found, form, self._address.name)
        return Response(200, b"", JSON, self.headers(), watch.stream(), end=watch.close)

    # deleting

    def _delete(self) -> Response:
        form = self._form()
        if len(self._req.body) > BODY_LIMIT:
            raise status.too_large(BODY_LIMIT)
        wanted, address, kind = options.deleting(self._req), self._address, self._kind
        user = self._req.user
        done = delete.delete(self._world, kind, address.namespace, address.name, wanted, user, self._warnings)
        code = 202 if not done.removed and wanted.orphan is False else 200
        if not done.removed or kind.delete_returns_object:
            return self._object(code, done.body, None, form)
        details: Body = {"name": address.name}
        if kind.group:
            details["group"] = kind.group
        details |= {"kind": kind.plural, "uid": done.body["metadata"]["uid"]}
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return self._body(code, success, form)

    def _delete_collection(self) -> Response:
        form = self._form()
        listed = options.listing(self._req, watch=False)
        wanted, user = options.deleting(self._req), self._req.user
        namespace = self._address.namespace
        page = delete.delete_collection(self._world, self._kind, namespace, listed, wanted, user, self._warnings)
        return self._page(page, form)

    # writing

    def _write(self, subresource: Subresource | None) -> Response:
        form = self._form()
        verb, req = self._address.verb, self._req
        content_type = req.content_type()
        if verb == "patch":
            self._check_patch_type(content_type)
            media = ""
        else:
            media = decode.media(str(req.headers.get("Content-Type", "")))
        if len(req.body) > BODY_LIMIT:
            raise status.too_large(BODY_LIMIT)
        wanted = options.writing(req, _OPTIONS[verb], patch=content_type if verb == "patch" else "")
        call = self._call(wanted, req.user)
        outcome = self._carry_out(call, subresource, media, content_type)
        code = 201 if outcome.created else 200
        own = scale.KIND if subresource is not None and subresource.name == "scale" else None
        return self._object(code, outcome.body, outcome.record, form, own)

    def _call(self, wanted: options.WriteOptions, user: User) -> Call:
        address = self._address
        namespace = address.namespace if self._kind.namespaced else ""
        # A custom object may be created at an address with a name, which then means nothing.
        name = "" if address.verb == "create" and self._kind.custom else address.name
        return Call(self._world, user, self._kind, namespace, name, address.subresource, wanted, self._warnings)

    def _check_patch_type(self, content_type: str) -> None:
        if self._kind.custom:
            if content_type not in patching.CUSTOM_PATCHES:
                raise status.unsupported_media_type(patching.CUSTOM_PATCHES)
        elif content_type not in patching.PATCHES:
            raise status.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})

    def _carry_out(self, call: Call, subresource: Subresource | None, media: str, content_type: str) -> Outcome:
        data, verb = self._req.body, self._address.verb
        if subresource is not None and subresource.prepare is None and subresource.name != "status":
            if subresource.name != "scale":
                return actions.perform(call, subresource, data, media, self._api.authenticator)
            if verb == "update":
                return scale.replace(call, data, media)
            return (
                scale.applied(call, data) if content_type == options.APPLY else scale.patched(call, data, content_type)
            )
        if verb == "create":
            if "list" not in self._kind.verbs and "get" not in self._kind.verbs:
                return self._without_store(call, data, media)
            return write.create(call, data, media)
        if verb == "update":
            return write.replace(call, data, media)
        return (
            patching.applied(call, data)
            if content_type == options.APPLY
            else patching.patched(call, data, content_type)
        )

    def _without_store(self, call: Call, data: bytes, media: str) -> Outcome:
        if self._kind.group:
            return reviews.answer(call, data, media, self._api.authenticator)
        return actions.bind_by_body(call, data, media)

    # answers

    def _object(self, code: int, body: Body, record: Record | None, form: Form, own: Kind | None = None) -> Response:
        """``own``: the kind of what a subresource answers, where that is not the object itself."""
        if record is not None and form == tables.PLAIN:
            return self._response(code, forms.encoded(record, self._kind), form)
        if record is not None and form.shape == "PartialObjectMetadata" and not form.yaml and not form.pretty:
            return self._response(code, forms.encoded_partial(record, form.version), form)
        shaped = forms.shaped(body, own or self._kind, form, self._world.clock.now())
        return self._body(code, shaped, form)

    def _body(self, code: int, body: Body, form: Form) -> Response:
        return self._response(code, forms.dumps(body, form), form)

    def _response(self, code: int, data: bytes, form: Form) -> Response:
        return Response(code, data, form.media_type, self.headers())

    def headers(self) -> list[tuple[str, str]]:
        shown = list(dict.fromkeys(self._warnings))
        return [("Warning", f"299 - {status.quote(text)}") for text in shown]
