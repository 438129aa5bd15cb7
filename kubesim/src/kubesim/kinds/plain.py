"""Kinds that are stored as they come: webhooks, classes of devices and drivers, and the reviews, which are
not stored at all.

They have names, columns and, some of them, defaults; the rules that Kubernetes has for them are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesim.kind import GET_UPDATE, Body, Context, Kind, Subresource
from kubesim.kinds import fields, plain_rows, pod_defaults, preparation, table
from kubesim.kinds.fields import Errors

_STATUS: Final = (Subresource(name="status"),)
_EXTENSION: Final = ("api-extensions",)
_BOTH: Final[dict[str, tuple[tuple[str, ...], ...]]] = {"": (("status",),), "status": (("spec",),)}


def _update(new: Body, old: Body, ctx: Context) -> Body:
    return fields.carry(new, old, "status")


def _reviews(group: str, kind: str, plural: str, *, namespaced: bool = False) -> Kind:
    return Kind(group=group, version="v1", kind=kind, plural=plural, namespaced=namespaced, verbs=("create",))


BINDING: Final = Kind(group="", version="v1", kind="Binding", plural="bindings", verbs=("create",))
COMPONENT_STATUS: Final = Kind(
    group="",
    version="v1",
    kind="ComponentStatus",
    plural="componentstatuses",
    short_names=("cs",),
    namespaced=False,
    verbs=("get", "list"),
    deprecated="v1 ComponentStatus is deprecated in v1.19+",
)


def _webhooks(kind: str, plural: str) -> Kind:
    def default(hook: Body) -> Body:
        hook = pod_defaults.fill(
            hook,
            failurePolicy="Fail",
            matchPolicy="Equivalent",
            namespaceSelector={},
            objectSelector={},
            timeoutSeconds=10,
        )
        if kind.startswith("Mutating"):
            hook = pod_defaults.fill(hook, reinvocationPolicy="Never")
        hook = pod_defaults.each(hook, "rules", lambda rule: pod_defaults.fill(rule, scope="*"))
        return pod_defaults.within(
            hook,
            "clientConfig",
            lambda config: pod_defaults.within(config, "service", lambda service: pod_defaults.fill(service, port=443)),
        )

    return Kind(
        group="admissionregistration.k8s.io",
        version="v1",
        kind=kind,
        plural=plural,
        categories=_EXTENSION,
        namespaced=False,
        has_generation=True,
        generation_moves=lambda new, old: bool(new.get("webhooks") != old.get("webhooks")),
        default=lambda body: pod_defaults.each(body, "webhooks", default),
        columns=table.columns("Name", "Webhooks:integer", "Age"),
        row=lambda body, now: [table.name(body), len(fields.items(body, "webhooks")), table.created(body, now)],
    )


def _policy_default(body: Body) -> Body:
    """Policies match and fail as webhooks do. Kubernetes: SetDefaults_MatchResources."""

    def matching(found: Body) -> Body:
        found = pod_defaults.fill(found, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})
        for key in ("resourceRules", "excludeResourceRules"):
            found = pod_defaults.each(found, key, lambda rule: pod_defaults.fill(rule, scope="*"))
        return found

    def rules(spec: Body) -> Body:
        if not fields.text(body, "kind").endswith("Binding"):
            spec = pod_defaults.fill(spec, failurePolicy="Fail")
        return pod_defaults.within(pod_defaults.within(spec, "matchConstraints", matching), "matchResources", matching)

    return pod_defaults.within(body, "spec", rules)


def _policies(kind: str, plural: str, *, status: bool = False) -> Kind:
    return Kind(
        group="admissionregistration.k8s.io",
        version="v1",
        kind=kind,
        plural=plural,
        categories=_EXTENSION,
        namespaced=False,
        subresources=_STATUS if status else (),
        has_generation=True,
        reset_fields=_BOTH if status else {},
        default=_policy_default,
        prepare_create=lambda body, ctx: preparation.new_status(body, {} if status else None),
        prepare_update=_update,
        prepare_status=preparation.only_status,
        columns=plain_rows.of(kind)[0],
        row=plain_rows.of(kind)[1],
    )


def _simple(
    group: str,
    kind: str,
    plural: str,
    *short: str,
    status: bool = False,
    namespaced: bool = False,
    labels: tuple[str, ...] = (),
    generation: bool = False,
    returned: bool = False,
    empty: Body | None = None,
    finalizer: str = "",
    default: Callable[[Body], Body] = lambda body: body,
) -> Kind:
    """`empty` is the first status, `finalizer` what admission adds; `returned` is for kinds whose deletion answers the
    object."""

    def reader(path: str) -> Callable[[Body], str]:
        return lambda body: fields.text(fields.obj(body, "spec"), path.removeprefix("spec."))

    def admit(body: Body, old: Body | None, ctx: Context) -> Body:
        held = fields.items(body, "metadata", "finalizers")
        if old is not None or not finalizer or finalizer in held:
            return body
        return fields.with_path(body, ("metadata", "finalizers"), [*held, finalizer])

    return Kind(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        short_names=short,
        namespaced=namespaced,
        subresources=_STATUS if status else (),
        reset_fields=_BOTH if status else {},
        has_generation=generation,
        delete_returns_object=returned,
        default=default,
        admit=admit,
        prepare_create=lambda body, ctx: preparation.new_status(body, empty),
        prepare_update=_update,
        field_labels={path: reader(path) for path in labels},
        prepare_status=preparation.only_status,
        columns=plain_rows.of(kind)[0],
        row=plain_rows.of(kind)[1],
    )


def _driver_default(body: Body) -> Body:
    return pod_defaults.within(
        body,
        "spec",
        lambda spec: pod_defaults.fill(
            spec,
            attachRequired=True,
            podInfoOnMount=False,
            storageCapacity=False,
            fsGroupPolicy="ReadWriteOnceWithFSType",
            volumeLifecycleModes=["Persistent"],
            requiresRepublish=False,
            seLinuxMount=False,
        ),
    )


def _driver_warnings(body: Body, old: Body | None) -> list[str]:
    spec = fields.obj(body, "spec")
    if not spec.get("tokenRequests") or spec.get("serviceAccountTokenInSecrets") is not None:
        return []
    return [
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
        " logging of tokens in volume attributes"
    ]


def _level_default(body: Body) -> Body:
    def level(limited: Body) -> Body:
        return pod_defaults.fill(limited, nominalConcurrencyShares=30, lendablePercent=0)

    return pod_defaults.within(body, "spec", lambda spec: pod_defaults.within(spec, "limited", level))


def _create_api(body: Body, ctx: Context) -> Body:
    """An API that no service stands behind is the server's own, and there at once."""
    if fields.obj(body, "spec", "service"):
        return preparation.new_status(body, {})
    spec = fields.without(fields.obj(body, "spec"), "service")
    here: Body = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return preparation.new_status({**body, "spec": spec}, {"conditions": [here]})


def _validate_api(body: Body) -> Errors:
    spec, name = fields.obj(body, "spec"), table.name(body)
    wanted = f"{fields.text(spec, 'version')}.{fields.text(spec, 'group')}"
    if name == wanted:
        return []
    return fields.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')


_STORAGE: Final = "storage.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"

CSI_DRIVER: Final = Kind(
    group=_STORAGE,
    version="v1",
    kind="CSIDriver",
    plural="csidrivers",
    namespaced=False,
    default=_driver_default,
    warnings=_driver_warnings,
    delete_returns_object=True,
    columns=plain_rows.of("CSIDriver")[0],
    row=plain_rows.of("CSIDriver")[1],
)
STORAGE: Final = (
    CSI_DRIVER,
    _simple(_STORAGE, "CSINode", "csinodes", returned=True),
    _simple(_STORAGE, "CSIStorageCapacity", "csistoragecapacities", namespaced=True),
)
LATER_STORAGE: Final = (
    _simple(_STORAGE, "VolumeAttachment", "volumeattachments", status=True, returned=True, empty={"attached": False}),
    _simple(
        _STORAGE,
        "VolumeAttributesClass",
        "volumeattributesclasses",
        "vac",
        returned=True,
        finalizer="kubernetes.io/vac-protection",
    ),
)
API_SERVICE: Final = Kind(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    plural="apiservices",
    categories=_EXTENSION,
    namespaced=False,
    subresources=_STATUS,
    reset_fields=_BOTH,
    prepare_create=_create_api,
    validate=_validate_api,
    prepare_update=_update,
    prepare_status=preparation.only_status,
    columns=plain_rows.of("APIService")[0],
    row=plain_rows.of("APIService")[1],
)
CERTIFICATE_REQUEST: Final = Kind(
    group="certificates.k8s.io",
    version="v1",
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    short_names=("csr",),
    namespaced=False,
    subresources=(
        Subresource(name="approval", verbs=GET_UPDATE, prepare=lambda new, old, ctx: preparation.only_status(new, old)),
        Subresource(name="status"),
    ),
    reset_fields=_BOTH,
    prepare_create=lambda body, ctx: preparation.new_status(body, {}),
    # A request is signed as it was made: nothing but metadata changes.
    prepare_update=lambda new, old, ctx: fields.carry(new, old, "spec", "status"),
    prepare_status=preparation.only_status,
    field_labels={"spec.signerName": lambda body: fields.text(fields.obj(body, "spec"), "signerName")},
    columns=plain_rows.of("CertificateSigningRequest")[0],
    row=plain_rows.of("CertificateSigningRequest")[1],
)
AUTHENTICATION: Final = (
    _reviews("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    _reviews("authentication.k8s.io", "TokenReview", "tokenreviews"),
)
AUTHORIZATION: Final = (
    _reviews("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced=True),
    _reviews("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    _reviews("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
    _reviews("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"),
)
ADMISSION: Final = (
    _policies("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    _policies("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
    _webhooks("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    _policies("ValidatingAdmissionPolicy", "validatingadmissionpolicies", status=True),
    _policies("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    _webhooks("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
)
IP_ADDRESS: Final = _simple("networking.k8s.io", "IPAddress", "ipaddresses", "ip")
SERVICE_CIDR: Final = _simple("networking.k8s.io", "ServiceCIDR", "servicecidrs", status=True, empty={})
DEVICES: Final = (
    _simple(_DEVICES, "DeviceClass", "deviceclasses", generation=True, returned=True),
    _simple(_DEVICES, "ResourceClaim", "resourceclaims", status=True, namespaced=True, returned=True, empty={}),
    _simple(_DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True, returned=True),
    _simple(
        _DEVICES,
        "ResourceSlice",
        "resourceslices",
        generation=True,
        returned=True,
        labels=("spec.nodeName", "spec.driver"),
    ),
)
FLOW_CONTROL: Final = (
    _simple(_FLOW, "FlowSchema", "flowschemas", status=True, generation=True, empty={}),
    _simple(
        _FLOW,
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        status=True,
        generation=True,
        empty={},
        default=_level_default,
    ),
)
