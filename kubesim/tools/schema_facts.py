"""What Kubernetes' types say beyond their field names: facts that the client library's models do not carry.

``kubernetes.client.models`` tells every field, its JSON name and a rough type. The embedded fleet also has to know how
lists are keyed and merged, which maps and structs have one owner, how wide numbers are, and what the server writes for
a field that is empty. Those facts are the tables below, by type and JSON field name (``Type.field``; the leading
``V1`` of the models' names is left out). Sources: the Kubernetes API reference and the answers of a real server.
"""

from __future__ import annotations

# fmt: off
GROUPS: dict[str, str] = {
    "/v1": "Binding ComponentStatus ConfigMap Endpoints CoreV1Event=Event LimitRange Namespace Node PersistentVolume"
           " PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "meta.k8s.io/v1": "DeleteOptions Status",
    "admissionregistration.k8s.io/v1": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
           " MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
           " ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "AuthenticationV1TokenRequest=TokenRequest SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"
           " SubjectAccessReview",
    "autoscaling/v1": "HorizontalPodAutoscaler Scale",
    "autoscaling/v2": "V2HorizontalPodAutoscaler=HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "EventsV1Event=Event",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.k8s.io/v1": "DeviceClass ResourceV1ResourceClaim=ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
}
"""apiVersion → model[=kind] served there."""

KEYED_LISTS = """
ObjectMeta.ownerReferences uid; PodSpec.containers name; PodSpec.initContainers name; PodSpec.ephemeralContainers name
PodSpec.volumes name; PodSpec.imagePullSecrets name; PodSpec.hostAliases ip
PodSpec.topologySpreadConstraints topologyKey whenUnsatisfiable; PodSpec.schedulingGates name
PodSpec.resourceClaims name; PodStatus.conditions type; PodStatus.podIPs ip; PodStatus.resourceClaimStatuses name
Container.ports containerPort protocol; Container.env name; Container.volumeMounts mountPath
Container.volumeDevices devicePath; Container.resizePolicy -; EphemeralContainer.ports containerPort protocol
EphemeralContainer.env name; EphemeralContainer.volumeMounts mountPath; EphemeralContainer.volumeDevices devicePath
ResourceRequirements.claims name; ContainerStatus.volumeMounts mountPath
ContainerStatus.allocatedResourcesStatus name; ResourceStatus.resources resourceID; NodeStatus.conditions type
NodeStatus.addresses type; ServiceSpec.ports port protocol; ServiceStatus.conditions type; ServiceAccount.secrets name
NamespaceStatus.conditions type; PersistentVolumeClaimStatus.conditions type
ReplicationControllerStatus.conditions type; ComponentStatus.conditions type; DeploymentStatus.conditions type
ReplicaSetStatus.conditions type; StatefulSetStatus.conditions type; DaemonSetStatus.conditions type
V2HorizontalPodAutoscalerStatus.conditions type; PodDisruptionBudgetStatus.conditions type
ServiceCIDRStatus.conditions type; CSINodeSpec.drivers name; MutatingWebhookConfiguration.webhooks name
ValidatingWebhookConfiguration.webhooks name; MutatingWebhook.matchConditions name
ValidatingWebhook.matchConditions name; ValidatingAdmissionPolicySpec.matchConditions name
ValidatingAdmissionPolicySpec.variables name; ValidatingAdmissionPolicyStatus.conditions type
MutatingAdmissionPolicySpec.matchConditions name; CustomResourceDefinitionStatus.conditions type
JSONSchemaProps.x-kubernetes-validations rule; APIServiceStatus.conditions type
CertificateSigningRequestStatus.conditions type; FlowSchemaStatus.conditions type
PriorityLevelConfigurationStatus.conditions type; ResourceClaimStatus.reservedFor uid
ResourceClaimStatus.devices driver device pool shareID; AllocatedDeviceStatus.conditions type
"""
"""Lists that are maps: ``Type.field key [key…]``."""

SET_LISTS = """
ObjectMeta.finalizers NodeSpec.podCIDRs Endpoint.addresses CSIDriverSpec.volumeLifecycleModes
UncountedTerminatedPods.succeeded UncountedTerminatedPods.failed PodFailurePolicyOnExitCodesRequirement.values
ValidatingAdmissionPolicyBindingSpec.validationActions ContainerRestartRuleOnExitCodes.values
NodeAllocatableResourceClaimStatus.containers ResourcePolicyRule.verbs ResourcePolicyRule.apiGroups
ResourcePolicyRule.resources ResourcePolicyRule.namespaces NonResourcePolicyRule.verbs
NonResourcePolicyRule.nonResourceURLs
"""
"""Lists that are sets of scalars. Every other list has one owner."""

MERGE_KEYS = """
ObjectMeta.ownerReferences uid; ObjectMeta.finalizers -; PodSpec.containers name; PodSpec.initContainers name
PodSpec.ephemeralContainers name; PodSpec.volumes name; PodSpec.imagePullSecrets name; PodSpec.hostAliases ip
PodSpec.topologySpreadConstraints topologyKey; PodSpec.schedulingGates name; PodSpec.resourceClaims name
PodStatus.conditions type; PodStatus.podIPs ip; PodStatus.hostIPs ip; PodStatus.resourceClaimStatuses name
Container.ports containerPort; Container.env name; Container.volumeMounts mountPath
Container.volumeDevices devicePath; EphemeralContainer.ports containerPort; EphemeralContainer.env name
EphemeralContainer.volumeMounts mountPath; EphemeralContainer.volumeDevices devicePath
ContainerStatus.volumeMounts mountPath; ContainerStatus.allocatedResourcesStatus name; NodeSpec.podCIDRs -
NodeStatus.conditions type; NodeStatus.addresses type; ServiceSpec.ports port; ServiceStatus.conditions type
ServiceAccount.secrets name; NamespaceStatus.conditions type; PersistentVolumeClaimStatus.conditions type
ReplicationControllerStatus.conditions type; ComponentStatus.conditions type; DeploymentStatus.conditions type
ReplicaSetStatus.conditions type; StatefulSetStatus.conditions type; DaemonSetStatus.conditions type
JobStatus.conditions type; V2HorizontalPodAutoscalerStatus.conditions type; PodDisruptionBudgetStatus.conditions type
ServiceCIDRStatus.conditions type; CSINodeSpec.drivers name; MutatingWebhookConfiguration.webhooks name
ValidatingWebhookConfiguration.webhooks name; MutatingWebhook.matchConditions name
ValidatingWebhook.matchConditions name; ValidatingAdmissionPolicySpec.matchConditions name
ValidatingAdmissionPolicySpec.variables name; MutatingAdmissionPolicySpec.matchConditions name
JSONSchemaProps.x-kubernetes-validations rule; APIServiceStatus.conditions type; FlowSchemaStatus.conditions type
PriorityLevelConfigurationStatus.conditions type; ResourceClaimStatus.reservedFor uid
"""
"""Lists that a strategic merge patch merges: ``Type.field key``; ``-`` for lists of scalars."""

RETAIN_KEYS = "DeploymentSpec.strategy PodSpec.volumes PodSpec.resourceClaims PodStatus.resourceClaimStatuses"
REPLACED = "PodDisruptionBudgetSpec.selector"
"""Strategic merge: fields whose patch may say ``$retainKeys`` by itself, and those replaced as a whole."""

ATOMIC_STRUCTS = """
CoreV1EndpointPort DiscoveryV1EndpointPort EndpointAddress ConfigMapKeySelector SecretKeySelector FileKeySelector
LabelSelector LocalObjectReference NodeSelector NodeSelectorTerm ObjectFieldSelector ObjectReference OwnerReference
ResourceFieldSelector ScopeSelector SecretReference TopologySelectorTerm TypedLocalObjectReference
CrossVersionObjectReference RoleRef RbacV1Subject ParamKind ParamRef ServiceBackendPort Variable
NamedRuleWithOperations MatchResources
"""
"""Structs with one owner."""
GRANULAR_FIELDS = "PersistentVolumeSpec.claimRef"
"""…and where one is granular all the same."""

ATOMIC_MAPS = """
PodSpec.nodeSelector ServiceSpec.selector ReplicationControllerSpec.selector Scheduling.nodeSelector
"""

INT64 = """
user ints activeDeadlineSeconds deletionGracePeriodSeconds expirationSeconds fsGroup generation gracePeriodSeconds
observedGeneration remainingItemCount runAsGroup runAsUser seconds sizeBytes startingDeadlineSeconds
supplementalGroups terminationGracePeriodSeconds tolerationSeconds maxItems maxLength maxProperties minItems minLength
minProperties ControllerRevision.revision LinuxContainerUser.gid LinuxContainerUser.uid NodeSwapStatus.capacity
nodeAllocatableUpdatePeriodSeconds ResourcePool.generation ResourcePool.resourceSliceCount ExactDeviceRequest.count
DeviceSubRequest.count DeviceAttribute.int
"""
INT32 = "CertificateSigningRequestSpec.expirationSeconds"
"""Whole numbers are int32 unless their field is named here (and not there)."""

QUANTITY_MAPS = """
limits requests capacity allocatable allocatedResources overhead default defaultRequest max min maxLimitRequestRatio
hard used podFixed consumedCapacity
"""
QUANTITIES = """
EmptyDirVolumeSource.sizeLimit ResourceFieldSelector.divisor CSIStorageCapacity.capacity
CSIStorageCapacity.maximumVolumeSize V2MetricTarget.averageValue V2MetricTarget.value V2MetricValueStatus.averageValue
V2MetricValueStatus.value DeviceCapacity.value CapacityRequestPolicy.default CapacityRequestPolicyRange.min
CapacityRequestPolicyRange.max CapacityRequestPolicyRange.step Counter.value V2HPAScalingRules.tolerance
CapacityRequestPolicy.validValues
"""

MICRO_TIMES = "LeaseSpec.acquireTime LeaseSpec.renewTime CoreV1Event.eventTime EventsV1Event.eventTime" \
              " CoreV1EventSeries.lastObservedTime EventsV1EventSeries.lastObservedTime"

POINTER_TIMES = """
ObjectMeta.deletionTimestamp ManagedFieldsEntry.time JobStatus.startTime JobStatus.completionTime
CronJobStatus.lastScheduleTime CronJobStatus.lastSuccessfulTime HorizontalPodAutoscalerStatus.lastScaleTime
V2HorizontalPodAutoscalerStatus.lastScaleTime PodStatus.startTime LeaseSpec.acquireTime LeaseSpec.renewTime
Taint.timeAdded DeviceTaint.timeAdded PersistentVolumeStatus.lastPhaseTransitionTime ObjectMeta.creationTimestamp
AllocationResult.allocationTimestamp
"""
"""Times left out when unset; all others are written as null."""

POINTERS = """
CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds CertificateSigningRequestSpec.expirationSeconds
ClientIPConfig.timeoutSeconds defaultMode mode FCVolumeSource.lun CronJobSpec.failedJobsHistoryLimit
CronJobSpec.successfulJobsHistoryLimit CronJobSpec.startingDeadlineSeconds revisionHistoryLimit collisionCount
DeleteOptions.gracePeriodSeconds DeploymentSpec.progressDeadlineSeconds DeploymentSpec.replicas
ReplicaSetSpec.replicas ReplicationControllerSpec.replicas StatefulSetSpec.replicas terminatingReplicas
HorizontalPodAutoscalerSpec.minReplicas HorizontalPodAutoscalerSpec.targetCPUUtilizationPercentage
HorizontalPodAutoscalerStatus.currentCPUUtilizationPercentage HorizontalPodAutoscalerStatus.observedGeneration
V2HorizontalPodAutoscalerStatus.observedGeneration V2HorizontalPodAutoscalerSpec.minReplicas maxItems maxLength
maxProperties minItems minLength minProperties maximum minimum multipleOf activeDeadlineSeconds backoffLimit
backoffLimitPerIndex completions maxFailedIndexes parallelism ttlSecondsAfterFinished JobStatus.ready
JobStatus.terminating LeaseSpec.leaseDurationSeconds LeaseSpec.leaseTransitions ListMeta.remainingItemCount
MutatingWebhook.timeoutSeconds ValidatingWebhook.timeoutSeconds endPort NodeSwapStatus.capacity
ObjectMeta.deletionGracePeriodSeconds fsGroup runAsGroup runAsUser priority@PodSpec terminationGracePeriodSeconds
RollingUpdateStatefulSetStrategy.partition expirationSeconds SuccessPolicyRule.succeededCount tolerationSeconds
minDomains VolumeError.errorCode VolumeNodeResources.count stabilizationWindowSeconds averageUtilization
DiscoveryV1EndpointPort.port port@ServiceReference maxExpirationSeconds attachRequired podInfoOnMount
requiresRepublish seLinuxMount storageCapacity serviceAccountTokenInSecrets immutable optional started suspend
orphanDependents ignoreStoreReadErrorWithClusterBreakingPotential EndpointConditions.ready EndpointConditions.serving
EndpointConditions.terminating x-kubernetes-preserve-unknown-fields manualSelector supplementalGroupsPolicy
recursiveReadOnlyMounts userNamespaces blockOwnerDeletion controller@OwnerReference runAsNonRoot
automountServiceAccountToken enableServiceLinks hostUsers setHostnameAsFQDN shareProcessNamespace
allowPrivilegeEscalation privileged readOnlyRootFilesystem allocateLoadBalancerNodePorts allowVolumeExpansion
optionalOldSelf hostProcess AzureDiskVolumeSource.readOnly adminAccess runtimeClassName preemptionPolicy
hostnameOverride ipFamilyPolicy internalTrafficPolicy trafficDistribution loadBalancerClass
PersistentVolumeClaimSpec.storageClassName volumeMode volumeAttributesClassName ingressClassName pathType
IngressPortStatus.error NetworkPolicyPort.protocol appProtocol holderIdentity LeaseSpec.strategy preferredHolder
failurePolicy matchPolicy sideEffects MutatingWebhook.reinvocationPolicy path@ServiceReference url@WebhookClientConfig
scope@RuleWithOperations scope@NamedRuleWithOperations reclaimPolicy@StorageClass volumeBindingMode fsGroupPolicy
propagationPolicy Preconditions.uid Preconditions.resourceVersion completionMode podReplacementPolicy managedBy
timeZone PodFailurePolicyOnExitCodesRequirement.containerName procMount fsGroupChangePolicy seLinuxChangePolicy
localhostProfile gmsaCredentialSpec gmsaCredentialSpecName runAsUserName mountPropagation recursiveReadOnly
PodDNSConfigOption.value restartPolicy@Container nodeAffinityPolicy nodeTaintsPolicy TypedObjectReference.namespace
DiscoveryV1EndpointPort.name DiscoveryV1EndpointPort.protocol Endpoint.hostname nodeName@Endpoint zone@Endpoint
HostPathVolumeSource.type cachingMode AzureDiskVolumeSource.fsType CSIVolumeSource.fsType AzureDiskVolumeSource.kind
initiatorName endpointsNamespace VolumeAttachmentSource.persistentVolumeName resourceClaimName
resourceClaimTemplateName selectPolicy x-kubernetes-list-type x-kubernetes-map-type $ref reason@Validation
deprecationWarning url@Webhook ClusterTrustBundleProjection.name ClusterTrustBundleProjection.signerName
unhealthyPodEvictionPolicy parameterNotFoundAction currentVolumeAttributesClassName stopSignal
ObjectMeta.managedFields IngressClassParametersReference.namespace IngressClassParametersReference.apiGroup
LocalVolumeSource.fsType CSIVolumeSource.readOnly ResourceHealth.message PodSchedulingGroup.podGroupName
LoadBalancerIngress.ipMode PortStatus.error SuccessPolicyRule.succeededIndexes JobStatus.failedIndexes
CSIDriverSpec.preventPodSchedulingIfMissing lendablePercent borrowingLimitPercent nominalConcurrencyShares
ResourceSliceSpec.nodeName allNodes perDeviceNodeSelection partitionTypeAttribute Device.nodeName bindsToNode
allowMultipleAllocations DeviceAttribute.int DeviceAttribute.bool DeviceAttribute.string DeviceAttribute.version
labelSelectorPath matchAttribute distinctAttribute shareID extendedResourceName
"""
"""Scalars left out only when unset, not when they are zero: ``field``, ``Type.field`` or ``field@partOfType``."""

VALUE_STRUCTS = """
metadata spec status DeploymentSpec.strategy updateStrategy Container.resources EphemeralContainer.resources
PersistentVolumeClaimSpec.resources ContainerStatus.state ContainerStatus.lastState loadBalancer
IngressServiceBackend.port NetworkPolicySpec.podSelector CoreV1Event.source EventsV1Event.deprecatedSource
EventsV1Event.regarding Endpoint.conditions daemonEndpoints nodeInfo kubeletEndpoint acceptedNames
TokenReviewStatus.user SelfSubjectReviewStatus.userInfo ResourceClaimSpec.devices AllocationResult.devices
PodTemplate.template ReplicaSetSpec.template
"""
"""Structs written even when empty, except:"""
POINTER_STRUCTS = "CustomResourceSubresources.status NetworkPolicy.status Eviction.status"
ALWAYS = """
ClusterRole.rules Role.rules ControllerRevision.revision PriorityClass.value PodDisruptionBudgetStatus.currentHealthy
PodDisruptionBudgetStatus.desiredHealthy PodDisruptionBudgetStatus.disruptionsAllowed
PodDisruptionBudgetStatus.expectedPods StatefulSetOrdinals.start StatefulSetStatus.availableReplicas
EndpointSlice.ports V2HorizontalPodAutoscalerStatus.currentMetrics CustomResourceDefinitionStatus.conditions
CustomResourceDefinitionStatus.storedVersions TokenRequestSpec.expirationSeconds CSINodeDriver.topologyKeys
TypedObjectReference.apiGroup AzureFilePersistentVolumeSource.secretNamespace ProjectedVolumeSource.sources
GRPCAction.service TypedLocalObjectReference.apiGroup NodeRuntimeHandler.name ContainerImage.names
CoreV1Event.reportingComponent CoreV1Event.reportingInstance StatefulSetSpec.serviceName StatefulSetCondition.type
StatefulSetCondition.status DeploymentCondition.type DeploymentCondition.status DaemonSetCondition.type
DaemonSetCondition.status ReplicaSetCondition.type ReplicaSetCondition.status
PodFailurePolicyOnPodConditionsPattern.status IngressClassParametersReference.scope EndpointSlice.endpoints
TokenRequestSpec.audiences TokenRequestSpec.boundObjectRef TokenRequestStatus.token RoleRef.apiGroup
FlowSchemaSpec.matchingPrecedence ResourcePolicyRule.namespaces
LimitedPriorityLevelConfiguration.nominalConcurrencyShares QueuingConfiguration.queues QueuingConfiguration.handSize
QueuingConfiguration.queueLengthLimit DeviceClaim.requests CapacityRequestPolicy.default
AllocatedDeviceStatus.conditions ResourceFieldSelector.divisor ServicePort.targetPort HTTPGetAction.port
TCPSocketAction.port
"""
"""Optional by the models, yet always written."""
NOT_ALWAYS = """
PodCertificateProjection.signerName PodCertificateProjection.keyType ImageVolumeStatus.imageRef
ContainerRestartRule.action ContainerRestartRuleOnExitCodes.operator ParentReference.resource ParentReference.name
ValidatingAdmissionPolicyBindingSpec.policyName ValidatingAdmissionPolicyBindingSpec.validationActions
TokenReviewSpec.token FlowSchemaCondition.type PriorityLevelConfigurationCondition.type CounterSet.counters
DeviceCounterConsumption.counters
"""
"""Required by the models, yet left out when zero."""
NULLABLE = "IPAddressSpec.parentRef CapacityRequestPolicyRange.min"
"""Required by the models, yet left out when unset."""

NULL_WHEN_UNSET = """
TypedObjectReference.apiGroup AzureFilePersistentVolumeSource.secretNamespace ScaleIOVolumeSource.secretRef
ScaleIOPersistentVolumeSource.secretRef GRPCAction.service TypedLocalObjectReference.apiGroup StatefulSetSpec.selector
DeploymentSpec.selector DaemonSetSpec.selector ReplicaSetSpec.selector HTTPIngressPath.pathType
IngressClassParametersReference.scope ValidatingWebhook.sideEffects MutatingWebhook.sideEffects
TokenRequestSpec.expirationSeconds TokenRequestSpec.boundObjectRef
LimitedPriorityLevelConfiguration.nominalConcurrencyShares CapacityRequestPolicy.default APIServiceSpec.service
"""
"""Always written, as null when unset."""

ANYTHING = "JSONSchemaProps.default JSONSchemaProps.example JSONSchemaProps.enum ControllerRevision.data"
SCHEMA_OR_BOOL = "JSONSchemaProps.additionalItems JSONSchemaProps.additionalProperties JSONSchemaProps.items" \
                 " JSONSchemaProps.dependencies"
NEWER = """
ClusterTrustBundleProjection.user ConfigMapVolumeSource.defaultUser DownwardAPIVolumeFile.user
DownwardAPIVolumeSource.defaultUser EmptyDirVolumeSource.mode GRPCAction.mode HTTPGetAction.protocol KeyToPath.user
NodeAllocatableResourceClaimStatus.mapping NodeAllocatableResourceClaimStatus.overhead NodeSpec.podPreemptionPolicy
NodeSystemInfo.runningInUserNamespace PersistentVolumeClaimStatus.healthStatus PodCertificateProjection.user
PodSpec.evictionResponders PodStatus.volumeHealth ProjectedVolumeSource.defaultUser SecretVolumeSource.defaultUser
ServiceAccountTokenProjection.user VolumeMount.bindMountOptions V2HorizontalPodAutoscalerCondition.observedGeneration
JobSpec.scheduling CSINode.status Device.nodeAllocatableResources DeviceCounterConsumption.compatibilityGroups
DeviceRequestAllocationResult.skipNodeOperations DeviceSubRequest.derivedAttributes ExactDeviceRequest.derivedAttributes
ResourceSliceSpec.partitionTypeAttribute ResourceSliceSpec.skipNodeOperations TokenRequestSpec.attestations
"""
"""Fields of the models that the server's version does not have yet."""
MISSING = {
    "Device.nodeAllocatableResourceMappings": ["{}any", "-"],
    "NodeAllocatableResourceClaimStatus.resources": ["{}quantity", "-"],
}
"""Fields of the server's version that the models do not have any more."""
# fmt: on
