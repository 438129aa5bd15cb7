"""Well-known labels and annotations, and the name under which gitfed writes fields: each once.

Names of this program, and Karmada's that it understands. Kubernetes' own are here if more than one package uses them;
the tables of what Karmada takes out of a manifest (`render.irrelevant_fields`) stay with their rules.
"""

from __future__ import annotations

from typing import Final

MANAGER: Final = "gitfed"
"""The field manager of everything that is applied."""
OURS: Final = "gitfed.io/"
"""How our own labels and annotations begin."""
THEIRS: Final = "karmada.io/"

# -- labels of what gitfed writes ---------------------------------------------------------------------------------

FEDERATION_LABEL: Final = "gitfed.io/federation"
BINDING_LABEL: Final = "gitfed.io/binding"
INVENTORY_LABEL: Final = "gitfed.io/inventory"
NAME_LABEL: Final = "app.kubernetes.io/name"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"

# -- EndpointSlices that come from another cluster (Karmada's names, but for the first) ------------------------------

DISPATCHED_BY: Final = "gitfed.io/dispatched-by"
"""The federation that wrote a slice: what bears it is ours to change and to delete."""
DISPATCH_MANAGER: Final = "endpointslice-dispatch-controller.karmada.io"
"""Who manages a slice of a MultiClusterService."""
IMPORT_MANAGER: Final = "endpointslice-controller.karmada.io"
"""Who manages a slice of a ServiceImport."""
PROVISION_CLUSTER: Final = "endpointslice.karmada.io/provision-cluster"
"""The cluster that the endpoints of a slice are in."""

# -- what a template says about itself ----------------------------------------------------------------------------

WAVE: Final = "gitfed.io/wave"
DEPENDS_ON: Final = "gitfed.io/depends-on"
WAIT_ANNOTATION: Final = "gitfed.io/wait"
PRUNE_ANNOTATION: Final = "gitfed.io/prune"
REPLACE_ANNOTATION: Final = "gitfed.io/replace"
IGNORE_ANNOTATION: Final = "gitfed.io/ignore-differences"
IGNORE_SCHEMA: Final = "gitfed.io/ignore-schema"
CACHED_FROM_CLUSTER: Final = "resource.karmada.io/cached-from-cluster"
"""Karmada: on what its proxy answers, the cluster that an object is in."""
CONFLICT_ANNOTATION: Final = "work.karmada.io/conflict-resolution"
RETAIN_REPLICAS: Final = "resourcetemplate.karmada.io/retain-replicas"
PROTECTED_LABEL: Final = "resourcetemplate.karmada.io/deletion-protected"
GENERATION: Final = "resourcetemplate.karmada.io/generation"
SKIP_LABEL: Final = "namespace.karmada.io/skip-auto-propagation"

# -- clusters, and what is known of them --------------------------------------------------------------------------

CONTEXT: Final = "gitfed.io/context"
"""The kubeconfig's context of a cluster, where it is not called like the cluster."""
IN_CLUSTER: Final = "gitfed.io/in-cluster"
POOL: Final = "gitfed.io/pool"
"""On a Cluster, and on the Leases of a pool: the pool of agents whose members keep it."""
CLUSTER_ANNOTATION: Final = "gitfed.io/cluster"
"""Where a Node, Pod or ResourceQuota of a file of facts stands, and whose agent a Secret is for."""
HUB_ANNOTATION: Final = "gitfed.io/hub"
"""HOST:PORT that a cluster's agent is registered at."""
REACH_ANNOTATION: Final = "gitfed.io/reach"
NOT_READY: Final = "cluster.karmada.io/not-ready"
UNREACHABLE: Final = "cluster.karmada.io/unreachable"
TERMINATING: Final = "cluster.karmada.io/terminating"
UNSCHEDULABLE: Final = "cluster.karmada.io/unschedulable"

# -- on Leases ----------------------------------------------------------------------------------------------------

CONNECTED: Final = "gitfed.io/connected"
"""Whether the member of a pool whose Lease it is reaches the hub."""
PUSHED: Final = "gitfed.io/pushed"
"""When a forge told a standby daemon of a push: the leading daemon fetches when it changes."""

# -- what a binding remembers -------------------------------------------------------------------------------------

APPLIED_PLACEMENT: Final = "policy.karmada.io/applied-placement"
POLICY_NAMESPACE: Final = "propagationpolicy.karmada.io/namespace"
POLICY_NAME: Final = "propagationpolicy.karmada.io/name"
CLUSTER_POLICY_NAME: Final = "clusterpropagationpolicy.karmada.io/name"
SERVICE_POLICY_NAMESPACE: Final = "multiclusterservice.karmada.io/namespace"
SERVICE_POLICY_NAME: Final = "multiclusterservice.karmada.io/name"
QUOTA_NAMESPACE: Final = "federatedresourcequota.karmada.io/namespace"
QUOTA_NAME: Final = "federatedresourcequota.karmada.io/name"
LEFT_BEHIND: Final = "gitfed.io/left-behind"
"""Clusters whose object stays for good, separated by commas."""
REBALANCED_BY: Final = "gitfed.io/rebalanced-by"
"""The names of the WorkloadRebalancers that were served, separated by commas."""
DESCHEDULED: Final = "gitfed.io/descheduled"
"""`<RFC 3339> <what was taken back>`: Karmada has an event for it, and an event is soon forgotten."""
REPEATS: Final = "gitfed.io/decided-at"
"""`<digest of the inputs> <RFC 3339>,…`: only of what was decided more than once within a short time."""
UNHEALTHY: Final = "gitfed.io/unhealthy-since"
"""This and the next four are what a failover has to remember of a workload (`model.decisions.Decision`), as JSON by
cluster, or cluster names."""
PRESERVED: Final = "gitfed.io/preserved-state"
INJECTED: Final = "gitfed.io/injected-labels"
CLEARED: Final = "gitfed.io/cleared"
RELEASED: Final = "gitfed.io/released"

# -- Kubernetes' own ----------------------------------------------------------------------------------------------

SERVICE_NAME: Final = "kubernetes.io/service-name"
SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
REVISION: Final = "deployment.kubernetes.io/revision"
TOKEN_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secrets
