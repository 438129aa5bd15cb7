"""API versions that went before the oldest version of which the types are bundled, and what took their place.

Kubernetes tells it in its deprecated API migration guide. What went later shows in the bundled types themselves.
"""

from __future__ import annotations

from typing import NamedTuple


class Removed(NamedTuple):
    minor: int
    """The first version without it."""
    instead: str
    """What to do."""


_TABLE = """
1.16 extensions/v1beta1 apps/v1 DaemonSet Deployment ReplicaSet
1.16 extensions/v1beta1 networking.k8s.io/v1 NetworkPolicy
1.16 extensions/v1beta1 - PodSecurityPolicy
1.16 apps/v1beta1 apps/v1 ControllerRevision Deployment StatefulSet
1.16 apps/v1beta2 apps/v1 ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
1.21 batch/v2alpha1 batch/v1 CronJob
1.22 extensions/v1beta1 networking.k8s.io/v1 Ingress
1.22 networking.k8s.io/v1beta1 networking.k8s.io/v1 Ingress IngressClass
1.22 admissionregistration.k8s.io/v1beta1 admissionregistration.k8s.io/v1 MutatingWebhookConfiguration ValidatingWebhookConfiguration
1.22 apiextensions.k8s.io/v1beta1 apiextensions.k8s.io/v1 CustomResourceDefinition
1.22 apiregistration.k8s.io/v1beta1 apiregistration.k8s.io/v1 APIService
1.22 certificates.k8s.io/v1beta1 certificates.k8s.io/v1 CertificateSigningRequest
1.22 coordination.k8s.io/v1beta1 coordination.k8s.io/v1 Lease
1.22 rbac.authorization.k8s.io/v1beta1 rbac.authorization.k8s.io/v1 ClusterRole ClusterRoleBinding Role RoleBinding
1.22 rbac.authorization.k8s.io/v1alpha1 rbac.authorization.k8s.io/v1 ClusterRole ClusterRoleBinding Role RoleBinding
1.22 scheduling.k8s.io/v1beta1 scheduling.k8s.io/v1 PriorityClass
1.22 scheduling.k8s.io/v1alpha1 scheduling.k8s.io/v1 PriorityClass
1.22 storage.k8s.io/v1beta1 storage.k8s.io/v1 CSIDriver CSINode StorageClass VolumeAttachment
1.25 autoscaling/v2beta1 autoscaling/v2 HorizontalPodAutoscaler
1.25 batch/v1beta1 batch/v1 CronJob
1.25 discovery.k8s.io/v1beta1 discovery.k8s.io/v1 EndpointSlice
1.25 node.k8s.io/v1beta1 node.k8s.io/v1 RuntimeClass
1.25 policy/v1beta1 policy/v1 PodDisruptionBudget
1.25 policy/v1beta1 - PodSecurityPolicy
"""  # noqa: E501
_GONE = {
    (words[1], kind): Removed(
        int(words[0].removeprefix("1.")),
        "Pod Security Admission took its place" if words[2] == "-" else f"use {words[2]}",
    )
    for words in (line.split() for line in _TABLE.strip().splitlines())
    for kind in words[3:]
}


def find(api_version: str, kind: str) -> Removed | None:
    return _GONE.get((api_version, kind))
