"""Kinds that are stored as they come, and the reviews, which are not stored at all.

A cluster serves them, with their types, their subresources and their place in discovery. What Kubernetes has for them
beside that (defaults, rules, columns) is not repeated here: no conversation and no test asks for it.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Scale, Subresource
from kubesim.kinds import fields, preparation, workloads

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


def _simple(
    group: str,
    kind: str,
    plural: str,
    *short: str,
    namespaced: bool = False,
    status: bool = False,
    **more: Any,
) -> Kind:
    """``more`` is what else a ``Kind`` may have."""
    return Kind(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        short_names=short,
        namespaced=namespaced,
        subresources=(*more.pop("subresources", ()), *(_STATUS if status else ())),
        reset_fields=_BOTH if status else {},
        prepare_create=lambda body, ctx: preparation.new_status(body, {} if status else None),
        prepare_update=_update,
        prepare_status=preparation.only_status,
        **more,
    )


def _admission(kind: str, plural: str, *, status: bool = False) -> Kind:
    group = "admissionregistration.k8s.io"
    return _simple(group, kind, plural, status=status, categories=_EXTENSION, has_generation=True)


_APPS: Final = "apps"
_NETWORK: Final = "networking.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"

ENDPOINTS: Final = _simple(
    "",
    "Endpoints",
    "endpoints",
    "ep",
    namespaced=True,
    list_kind="EndpointsList",
    allow_create_on_update=True,
    deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)
VOLUME: Final = _simple("", "PersistentVolume", "persistentvolumes", "pv", status=True, delete_returns_object=True)
POD_TEMPLATE: Final = _simple("", "PodTemplate", "podtemplates", namespaced=True, delete_returns_object=True)
REPLICATION_CONTROLLER: Final = _simple(
    "",
    "ReplicationController",
    "replicationcontrollers",
    "rc",
    namespaced=True,
    status=True,
    categories=("all",),
    subresources=(workloads.SCALE,),
    scale=Scale(),
    has_generation=True,
)
API_SERVICE: Final = _simple("apiregistration.k8s.io", "APIService", "apiservices", status=True, categories=_EXTENSION)
CONTROLLER_REVISION: Final = _simple(_APPS, "ControllerRevision", "controllerrevisions", namespaced=True)
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
CERTIFICATE_REQUEST: Final = _simple(
    "certificates.k8s.io",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    "csr",
    status=True,
    subresources=(Subresource(name="approval", prepare=lambda new, old, ctx: preparation.only_status(new, old)),),
)
INGRESS_CLASS: Final = _simple(_NETWORK, "IngressClass", "ingressclasses", has_generation=True)
IP_ADDRESS: Final = _simple(_NETWORK, "IPAddress", "ipaddresses", "ip")
SERVICE_CIDR: Final = _simple(_NETWORK, "ServiceCIDR", "servicecidrs", status=True)
STORAGE: Final = (
    _simple(_STORAGE, "CSIDriver", "csidrivers", delete_returns_object=True),
    _simple(_STORAGE, "CSINode", "csinodes", delete_returns_object=True),
    _simple(_STORAGE, "CSIStorageCapacity", "csistoragecapacities", namespaced=True),
    _simple(_STORAGE, "StorageClass", "storageclasses", "sc", delete_returns_object=True),
    _simple(_STORAGE, "VolumeAttachment", "volumeattachments", status=True, delete_returns_object=True),
    _simple(_STORAGE, "VolumeAttributesClass", "volumeattributesclasses", "vac", delete_returns_object=True),
)
ADMISSION: Final = (
    _admission("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    _admission("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
    _admission("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    _admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies", status=True),
    _admission("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    _admission("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
)
RUNTIME_CLASS: Final = _simple("node.k8s.io", "RuntimeClass", "runtimeclasses")
DEVICES: Final = (
    _simple(_DEVICES, "DeviceClass", "deviceclasses", has_generation=True, delete_returns_object=True),
    _simple(_DEVICES, "ResourceClaim", "resourceclaims", namespaced=True, status=True, delete_returns_object=True),
    _simple(_DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True, delete_returns_object=True),
    _simple(_DEVICES, "ResourceSlice", "resourceslices", has_generation=True, delete_returns_object=True),
)
FLOW_CONTROL: Final = (
    _simple(_FLOW, "FlowSchema", "flowschemas", status=True, has_generation=True),
    _simple(_FLOW, "PriorityLevelConfiguration", "prioritylevelconfigurations", status=True, has_generation=True),
)
