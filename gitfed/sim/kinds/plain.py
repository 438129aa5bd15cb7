"""Kinds that are stored as they come: webhooks, classes of devices and drivers, and the reviews, which are
not stored at all.

They have names, columns and, some of them, defaults; the rules that Kubernetes has for them are not repeated here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from gitfed.sim.kind import GET_UPDATE, Body, Context, Kind, Subresource
from gitfed.sim.kinds import fields, pod_defaults, preparation, table

_STATUS: Final = (Subresource(name="status"),)
_EXTENSION: Final = ("api-extensions",)
_BOTH: Final[dict[str, tuple[tuple[str, ...], ...]]] = {"": (("status",),), "status": (("spec",),)}
_NAME_AGE: Final = table.columns("Name", "Age")


def _name_age(body: Body, now: datetime) -> list[Any]:
    return [table.name(body), table.created(body, now)]


def _create(body: Body, ctx: Context) -> Body:
    return fields.without(body, "status")


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
        prepare_create=_create,
        prepare_update=_update,
        prepare_status=preparation.only_status,
        columns=_NAME_AGE,
        row=_name_age,
    )


def _simple(group: str, kind: str, plural: str, *short: str, status: bool = False, namespaced: bool = False) -> Kind:
    return Kind(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        short_names=short,
        namespaced=namespaced,
        subresources=_STATUS if status else (),
        reset_fields=_BOTH if status else {},
        prepare_create=_create if status else lambda body, ctx: body,
        prepare_update=_update if status else lambda new, old, ctx: new,
        prepare_status=preparation.only_status,
        columns=_NAME_AGE,
        row=_name_age,
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
    delete_returns_object=True,
    columns=_NAME_AGE,
    row=_name_age,
)
STORAGE: Final = (
    CSI_DRIVER,
    _simple(_STORAGE, "CSINode", "csinodes"),
    _simple(_STORAGE, "CSIStorageCapacity", "csistoragecapacities", namespaced=True),
)
LATER_STORAGE: Final = (
    _simple(_STORAGE, "VolumeAttachment", "volumeattachments", status=True),
    _simple(_STORAGE, "VolumeAttributesClass", "volumeattributesclasses", "vac"),
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
    prepare_create=_create,
    prepare_update=_update,
    prepare_status=preparation.only_status,
    columns=_NAME_AGE,
    row=_name_age,
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
    columns=_NAME_AGE,
    row=_name_age,
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
SERVICE_CIDR: Final = _simple("networking.k8s.io", "ServiceCIDR", "servicecidrs", status=True)
DEVICES: Final = (
    _simple(_DEVICES, "DeviceClass", "deviceclasses"),
    _simple(_DEVICES, "ResourceClaim", "resourceclaims", status=True, namespaced=True),
    _simple(_DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True),
    _simple(_DEVICES, "ResourceSlice", "resourceslices"),
)
FLOW_CONTROL: Final = (
    _simple(_FLOW, "FlowSchema", "flowschemas", status=True),
    _simple(_FLOW, "PriorityLevelConfiguration", "prioritylevelconfigurations", status=True),
)
