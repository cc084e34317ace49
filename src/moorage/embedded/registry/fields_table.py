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
Lease apiVersion kind metadata:ObjectMeta spec:LeaseSpec
LeaseSpec acquireTime:t holderIdentity leaseDurationSeconds:i leaseTransitions:i preferredHolder
 renewTime:t strategy
LimitRange apiVersion kind metadata:ObjectMeta spec:LimitRangeSpec
LimitRangeItem default:{}q defaultRequest:{}q max:{}q maxLimitRequestRatio:{}q min:{}q type
LimitRangeSpec limits:[]LimitRangeItem
ObjectReference apiVersion fieldPath kind name namespace resourceVersion uid
PersistentVolumeClaim apiVersion kind metadata:ObjectMeta spec:PersistentVolumeClaimSpec status:x
Pod apiVersion kind metadata:ObjectMeta spec:PodSpec status:x
PolicyRule apiGroups:[] nonResourceURLs:[] resourceNames:[] resources:[] verbs:[]
PriorityClass apiVersion description globalDefault:b kind metadata:ObjectMeta preemptionPolicy value:i
ResourceQuota apiVersion kind metadata:ObjectMeta spec:ResourceQuotaSpec status:x
ResourceQuotaSpec hard:{}q scopeSelector:x scopes:[]
Role apiVersion kind metadata:ObjectMeta rules:[]PolicyRule
RoleBinding apiVersion kind metadata:ObjectMeta roleRef:RoleRef subjects:[]Subject
RoleRef apiGroup kind name
RuntimeClass apiVersion handler kind metadata:ObjectMeta overhead:x scheduling:x
Secret apiVersion data:{} immutable:b kind metadata:ObjectMeta stringData:{} type
ServiceAccount apiVersion automountServiceAccountToken:b imagePullSecrets:[]LocalObjectReference kind
 metadata:ObjectMeta secrets:[]ObjectReference
StorageClass allowVolumeExpansion:b allowedTopologies:x apiVersion kind metadata:ObjectMeta
 mountOptions:[] parameters:{} provisioner reclaimPolicy volumeBindingMode
Subject apiGroup kind name namespace
"""

# What a Go client leaves out when it is empty or zero, and what it keeps: pointers keep a false or "".
KEPT_EMPTY = frozenset({"storageClassName", "apiGroup", "subPath!"})
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
