//! The other kinds.

use super::meta::{ATOMIC, CONDITIONS, METADATA, Map, Plain, REFERENCES, Struct, WHOLE, by};
use super::pod::POD;
use super::shape::{Own, Patch, Shape};

const NODE: Shape = Struct(&[
    METADATA,
    (
        "spec",
        &Struct(&[
            ("configSource", &Struct(&[("configMap", &Struct(&[]))])),
            ("podCIDRs", &Shape::List { own: Own::Set, patch: Patch::Add, item: &Plain }),
            ("taints", &ATOMIC),
        ]),
    ),
    (
        "status",
        &Struct(&[
            ("addresses", &by(&["type"], "type", &Plain)),
            ("allocatable", &Map),
            ("capacity", &Map),
            ("conditions", &CONDITIONS),
            ("config", &Struct(&[("active", &SOURCE), ("assigned", &SOURCE), ("lastKnownGood", &SOURCE)])),
            ("daemonEndpoints", &Struct(&[("kubeletEndpoint", &Struct(&[]))])),
            ("features", &Struct(&[])),
            ("images", &ATOMIC),
            ("nodeInfo", &Struct(&[("swap", &Struct(&[]))])),
            ("runtimeHandlers", &ATOMIC),
            ("volumesAttached", &ATOMIC),
            ("volumesInUse", &ATOMIC),
        ]),
    ),
]);

const SOURCE: Shape = Struct(&[("configMap", &Struct(&[]))]);

const NAMESPACE: Shape =
    Struct(&[METADATA, ("spec", &Struct(&[("finalizers", &ATOMIC)])), ("status", &STATUS_WITH_CONDITIONS)]);

const STATUS_WITH_CONDITIONS: Shape = Struct(&[("conditions", &CONDITIONS)]);

const CONFIG_MAP: Shape = Struct(&[METADATA, ("binaryData", &Map), ("data", &Map)]);

const SECRET: Shape = Struct(&[METADATA, ("data", &Map), ("stringData", &Map)]);

const SERVICE: Shape = Struct(&[
    METADATA,
    (
        "spec",
        &Struct(&[
            ("ports", &by(&["port", "protocol"], "port", &Plain)),
            ("selector", &WHOLE),
            ("sessionAffinityConfig", &Struct(&[("clientIP", &Struct(&[]))])),
        ]),
    ),
    ("status", &Struct(&[("conditions", &CONDITIONS), ("loadBalancer", &Struct(&[("ingress", &ATOMIC)]))])),
]);

const SERVICE_ACCOUNT: Shape = Struct(&[METADATA, ("imagePullSecrets", &ATOMIC), ("secrets", &REFERENCES)]);

const EVENT: Shape = Struct(&[
    METADATA,
    ("deprecatedSource", &Struct(&[])),
    ("involvedObject", &WHOLE),
    ("regarding", &WHOLE),
    ("related", &WHOLE),
    ("series", &Struct(&[])),
    ("source", &Struct(&[])),
]);

/// A kind whose fields, or those of its spec, are scalars.
const SIMPLE: Shape = Struct(&[METADATA, ("spec", &Struct(&[]))]);

const DEFINITION: Shape = Struct(&[
    METADATA,
    (
        "spec",
        &Struct(&[
            ("conversion", &Struct(&[("webhook", &Struct(&[("clientConfig", &CLIENT_CONFIG)]))])),
            ("names", &Struct(&[])),
            ("versions", &ATOMIC),
        ]),
    ),
    (
        "status",
        &Struct(&[
            ("acceptedNames", &Struct(&[])),
            ("conditions", &Shape::List { own: Own::By(&["type"]), patch: Patch::Replace, item: &Plain }),
        ]),
    ),
]);

const CLIENT_CONFIG: Shape = Struct(&[("service", &Struct(&[]))]);

/// The kinds by group and name.
pub(crate) const KINDS: &[(&str, &str, &Shape)] = &[
    ("", "ConfigMap", &CONFIG_MAP),
    ("", "Event", &EVENT),
    ("", "Namespace", &NAMESPACE),
    ("", "Node", &NODE),
    ("", "Pod", &POD),
    ("", "Secret", &SECRET),
    ("", "Service", &SERVICE),
    ("", "ServiceAccount", &SERVICE_ACCOUNT),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &DEFINITION),
    ("coordination.k8s.io", "Lease", &SIMPLE),
    ("events.k8s.io", "Event", &EVENT),
    ("scheduling.k8s.io", "PriorityClass", &SIMPLE),
];
