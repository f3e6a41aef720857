//! What is answered otherwise than by the real server, one by one.

pub(crate) struct Known {
    pub(crate) recording: &'static str,
    /// The number of the exchange, from 1.
    pub(crate) exchange: usize,
    /// How the lines about it begin; anything else that differs is not known.
    pub(crate) parts: &'static [&'static str],
    #[allow(dead_code, reason = "for who reads this")]
    pub(crate) why: &'static str,
}

/// What the recorded cluster had made of a fleet.
const WEBHOOK: &[&str] = &[
    ".metadata.annotations: {\"agones.dev/sdk-version\"",
    ".metadata.managedFields: ",
    ".spec.scheduling: ",
    ".spec.strategy: ",
    ".spec.template.metadata: ",
    ".spec.template.spec.health: ",
    ".spec.template.spec.sdkServer: ",
    ".spec.template.spec.template.metadata: ",
    ".spec.template.spec.template.spec.containers[0].resources: ",
    ".status: ",
];

/// Groups and resources that are not served.
const NOT_SERVED: &[&str] = &["missing: "];

pub(crate) const DIFFERENCES: &[Known] = &[
    Known {
        recording: "api-expiry-and-restart",
        exchange: 11,
        parts: &["bookmarks: 0, here 2"],
        why: "a server that was just started sends no bookmarks before the first write; this one was not started again",
    },
    Known {
        recording: "api-protocol",
        exchange: 67,
        parts: WEBHOOK,
        why: "Agones' webhook filled in the fleet's defaults; no webhooks are called here",
    },
    Known {
        recording: "api-protocol",
        exchange: 68,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 71,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 72,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 74,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 76,
        parts: NOT_SERVED,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        recording: "api-protocol",
        exchange: 78,
        parts: NOT_SERVED,
        why: "lists the resources that are served here, not endpoints, replicationcontrollers and the others",
    },
    Known {
        recording: "api-protocol",
        exchange: 80,
        parts: NOT_SERVED,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        recording: "api-objects",
        exchange: 62,
        parts: &["status Some(429), here 200", "retry-after ", "[0].", "1 values, ", "only here: "],
        why: "the recorded server had not set up its cache for the new resource yet and answered 429 once",
    },
    Known {
        recording: "api-objects",
        exchange: 63,
        parts: &["bookmarks: 1, here 0"],
        why: "the recorded server sent a bookmark a second after the watch began; here the first comes after a minute, or before the end",
    },
    Known {
        recording: "api-objects",
        exchange: 98,
        parts: &["warning "],
        why: "the recorded server warned of unknown fields in a body that it refused for its version",
    },
];
