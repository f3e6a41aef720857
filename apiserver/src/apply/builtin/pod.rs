//! Pods.

use super::meta::{
    ATOMIC, CONDITIONS, METADATA, Map, Plain, REFERENCES, RESOURCES, Struct, WHOLE, Whole, by,
};
use super::shape::{Own, Patch, Shape};

/// `v1` Pod.
pub(crate) const POD: Shape = Struct(&[METADATA, ("spec", &SPEC), ("status", &STATUS)]);

const SPEC: Shape = Struct(&[
    ("affinity", &AFFINITY),
    ("containers", &by(&["name"], "name", &CONTAINER)),
    ("dnsConfig", &Plain),
    ("ephemeralContainers", &by(&["name"], "name", &CONTAINER)),
    ("hostAliases", &by(&["ip"], "ip", &Plain)),
    ("imagePullSecrets", &REFERENCES),
    ("initContainers", &by(&["name"], "name", &CONTAINER)),
    ("nodeSelector", &WHOLE),
    ("overhead", &Map),
    ("readinessGates", &ATOMIC),
    ("resourceClaims", &by(&["name"], "name", &Plain)),
    ("resources", &RESOURCES),
    ("schedulingGates", &by(&["name"], "name", &Plain)),
    ("securityContext", &SECURITY),
    ("tolerations", &ATOMIC),
    ("topologySpreadConstraints", &by(&["topologyKey", "whenUnsatisfiable"], "topologyKey", &SPREAD)),
    ("volumes", &by(&["name"], "name", &VOLUME)),
]);

const STATUS: Shape = Struct(&[
    ("conditions", &CONDITIONS),
    ("containerStatuses", &ATOMIC),
    ("ephemeralContainerStatuses", &ATOMIC),
    ("extendedResourceClaimStatus", &Struct(&[])),
    ("hostIPs", &Shape::List { own: Own::Atomic, patch: Patch::MergeBy("ip"), item: &Plain }),
    ("initContainerStatuses", &ATOMIC),
    ("podIPs", &by(&["ip"], "ip", &Plain)),
    ("resourceClaimStatuses", &by(&["name"], "name", &Plain)),
    ("resources", &RESOURCES),
]);

const AFFINITY: Shape = Struct(&[
    ("nodeAffinity", &Struct(&[("requiredDuringSchedulingIgnoredDuringExecution", &WHOLE)])),
    ("podAffinity", &Struct(&[])),
    ("podAntiAffinity", &Struct(&[])),
]);

const SPREAD: Shape = Struct(&[("labelSelector", &WHOLE), ("matchLabelKeys", &ATOMIC)]);

const SECURITY: Shape = Struct(&[
    ("appArmorProfile", &Struct(&[])),
    ("capabilities", &Struct(&[])),
    ("seLinuxOptions", &Struct(&[])),
    ("seccompProfile", &Struct(&[])),
    ("windowsOptions", &Struct(&[])),
]);

const CONTAINER: Shape = Struct(&[
    ("args", &ATOMIC),
    ("command", &ATOMIC),
    ("env", &by(&["name"], "name", &ENV)),
    ("envFrom", &ATOMIC),
    ("lifecycle", &Struct(&[("postStart", &HANDLER), ("preStop", &HANDLER)])),
    ("livenessProbe", &HANDLER),
    ("ports", &by(&["containerPort", "protocol"], "containerPort", &Plain)),
    ("readinessProbe", &HANDLER),
    ("resizePolicy", &ATOMIC),
    ("resources", &RESOURCES),
    ("restartPolicyRules", &ATOMIC),
    ("securityContext", &SECURITY),
    ("startupProbe", &HANDLER),
    ("volumeDevices", &by(&["devicePath"], "devicePath", &Plain)),
    ("volumeMounts", &by(&["mountPath"], "mountPath", &Plain)),
]);

const HANDLER: Shape = Struct(&[
    ("exec", &Struct(&[])),
    ("grpc", &Struct(&[])),
    ("httpGet", &Struct(&[])),
    ("sleep", &Struct(&[])),
    ("tcpSocket", &Struct(&[])),
]);

const ENV: Shape = Struct(&[(
    "valueFrom",
    &Struct(&[
        ("configMapKeyRef", &WHOLE),
        ("fieldRef", &WHOLE),
        ("fileKeyRef", &WHOLE),
        ("resourceFieldRef", &WHOLE),
        ("secretKeyRef", &WHOLE),
    ]),
)]);

const SECRET_REF: Shape = Struct(&[("secretRef", &WHOLE)]);

const VOLUME: Shape = Struct(&[
    ("cephfs", &SECRET_REF),
    ("cinder", &SECRET_REF),
    ("csi", &Struct(&[("nodePublishSecretRef", &WHOLE), ("volumeAttributes", &Map)])),
    ("ephemeral", &Struct(&[("volumeClaimTemplate", &Struct(&[METADATA, ("spec", &CLAIM)]))])),
    ("flexVolume", &Struct(&[("options", &Map), ("secretRef", &WHOLE)])),
    ("iscsi", &SECRET_REF),
    ("rbd", &SECRET_REF),
    ("scaleIO", &SECRET_REF),
    ("storageos", &SECRET_REF),
]);

const CLAIM: Shape = Struct(&[
    ("dataSource", &WHOLE),
    ("dataSourceRef", &Struct(&[])),
    ("resources", &RESOURCES),
    ("selector", &Whole(&[])),
]);
