"""Fields of the kinds that core's table of Pod fields does not reach, in that table's notation.

Read by ``fields.py`` only; see ``core/template/schema_table.py`` for the notation. A ``status`` is ``x``:
it is written by the cluster's own parts.
"""

TABLE = """
ClusterRole aggregationRule:x apiVersion kind metadata:ObjectMeta rules:[]PolicyRule
ConfigMap apiVersion binaryData:{} data:{} immutable:b kind metadata:ObjectMeta
Event action apiVersion count:i eventTime:t firstTimestamp:t involvedObject:ObjectReference kind
 lastTimestamp:t message metadata:ObjectMeta reason related:ObjectReference reportingComponent
 reportingInstance series:x source:EventSource type
EventSource component host
IPBlock cidr except:[]
Lease apiVersion kind metadata:ObjectMeta spec:LeaseSpec
LeaseSpec acquireTime:t holderIdentity leaseDurationSeconds:i leaseTransitions:i preferredHolder
 renewTime:t strategy
LimitRange apiVersion kind metadata:ObjectMeta spec:LimitRangeSpec
LimitRangeItem default:{}q defaultRequest:{}q max:{}q maxLimitRequestRatio:{}q min:{}q type
LimitRangeSpec limits:[]LimitRangeItem
LocalVolumeSource fsType path
MutatingWebhook admissionReviewVersions:[] clientConfig:x failurePolicy matchConditions:x matchPolicy name
 namespaceSelector:x objectSelector:x reinvocationPolicy rules:[]RuleWithOperations sideEffects
 timeoutSeconds:i
MutatingWebhookConfiguration apiVersion kind metadata:ObjectMeta webhooks:[]MutatingWebhook
Namespace apiVersion kind metadata:ObjectMeta spec:NamespaceSpec status:x
NamespaceSpec finalizers:[]
NetworkPolicy apiVersion kind metadata:ObjectMeta spec:NetworkPolicySpec
NetworkPolicyEgressRule ports:[]NetworkPolicyPort to:[]NetworkPolicyPeer
NetworkPolicyIngressRule from:[]NetworkPolicyPeer ports:[]NetworkPolicyPort
NetworkPolicyPeer ipBlock:IPBlock namespaceSelector:LabelSelector podSelector:LabelSelector
NetworkPolicyPort endPort:i port:p protocol
NetworkPolicySpec egress:[]NetworkPolicyEgressRule ingress:[]NetworkPolicyIngressRule
 podSelector:LabelSelector policyTypes:[]
Node apiVersion kind metadata:ObjectMeta spec:NodeSpec status:x
NodeSpec configSource:x externalID podCIDR podCIDRs:[] providerID taints:[]Taint unschedulable:b
ObjectReference apiVersion fieldPath kind name namespace resourceVersion uid
Overhead podFixed:{}q
PersistentVolume apiVersion kind metadata:ObjectMeta spec:PersistentVolumeSpec status:x
PersistentVolumeClaim apiVersion kind metadata:ObjectMeta spec:PersistentVolumeClaimSpec status:x
PersistentVolumeSpec accessModes:[] awsElasticBlockStore:x azureDisk:x azureFile:x capacity:{}q cephfs:x
 cinder:x claimRef:ObjectReference csi:x fc:x flexVolume:x flocker:x gcePersistentDisk:x glusterfs:x
 hostPath:HostPathVolumeSource iscsi:x local:LocalVolumeSource mountOptions:[] nfs:NFSVolumeSource
 nodeAffinity:VolumeNodeAffinity persistentVolumeReclaimPolicy photonPersistentDisk:x portworxVolume:x
 quobyte:x rbd:x scaleIO:x storageClassName storageos:x volumeAttributesClassName volumeMode vsphereVolume:x
Pod apiVersion kind metadata:ObjectMeta spec:PodSpec status:x
PolicyRule apiGroups:[] nonResourceURLs:[] resourceNames:[] resources:[] verbs:[]
PriorityClass apiVersion description globalDefault:b kind metadata:ObjectMeta preemptionPolicy value:i
ResourceQuota apiVersion kind metadata:ObjectMeta spec:ResourceQuotaSpec status:x
ResourceQuotaSpec hard:{}q scopeSelector:x scopes:[]
Role apiVersion kind metadata:ObjectMeta rules:[]PolicyRule
RoleBinding apiVersion kind metadata:ObjectMeta roleRef:RoleRef subjects:[]Subject
RoleRef apiGroup kind name
RuleWithOperations apiGroups:[] apiVersions:[] operations:[] resources:[] scope
RuntimeClass apiVersion handler kind metadata:ObjectMeta overhead:Overhead scheduling:Scheduling
Scheduling nodeSelector:{} tolerations:[]Toleration
Secret apiVersion data:{} immutable:b kind metadata:ObjectMeta stringData:{} type
Service apiVersion kind metadata:ObjectMeta spec:ServiceSpec status:x
ServiceAccount apiVersion automountServiceAccountToken:b imagePullSecrets:[]LocalObjectReference kind
 metadata:ObjectMeta secrets:[]ObjectReference
ServicePort appProtocol name nodePort:i port:i protocol targetPort:p
ServiceSpec allocateLoadBalancerNodePorts:b clusterIP clusterIPs:[] externalIPs:[] externalName
 externalTrafficPolicy healthCheckNodePort:i internalTrafficPolicy ipFamilies:[] ipFamilyPolicy
 loadBalancerClass loadBalancerIP loadBalancerSourceRanges:[] ports:[]ServicePort
 publishNotReadyAddresses:b selector:{} sessionAffinity sessionAffinityConfig:x trafficDistribution type
StorageClass allowVolumeExpansion:b allowedTopologies:x apiVersion kind metadata:ObjectMeta
 mountOptions:[] parameters:{} provisioner reclaimPolicy volumeBindingMode
Subject apiGroup kind name namespace
Taint effect key timeAdded:t value
VolumeNodeAffinity required:NodeSelector
"""

# What a Go client leaves out when it is empty or zero, and what it keeps: pointers keep a false or "".
KEPT_EMPTY = frozenset({"storageClassName", "apiGroup", "holderIdentity", "volumeMode", "subPath!"})
KEPT_FALSE = frozenset(
    {
        "allowPrivilegeEscalation",
        "allowVolumeExpansion",
        "automountServiceAccountToken",
        "blockOwnerDeletion",
        "controller",
        "enableServiceLinks",
        "hostUsers",
        "immutable",
        "optional",
        "privileged",
        "readOnlyRootFilesystem",
        "runAsNonRoot",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
    }
)
DROPPED_ZERO = frozenset(
    {
        "containerPort",
        "count",
        "failureThreshold",
        "hostPort",
        "initialDelaySeconds",
        "periodSeconds",
        "port",
        "successThreshold",
        "timeoutSeconds",
        "generation",
    }
)
# Fields that are written even when they are empty.
ALWAYS = frozenset({("Container", "resources"), ("EphemeralContainer", "resources"), ("Lease", "spec")})
# Times in microseconds, no more and no less.
MICRO = frozenset({("Event", "eventTime"), ("LeaseSpec", "acquireTime"), ("LeaseSpec", "renewTime")})
