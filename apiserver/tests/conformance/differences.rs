//! What is answered otherwise than when it was recorded, one by one.

pub(crate) struct Known {
    /// By which server.
    pub(crate) on: On,
    pub(crate) recording: &'static str,
    /// The number of the exchange, from 1.
    pub(crate) exchange: usize,
    /// How the lines about it begin; anything else that differs is not known.
    pub(crate) parts: &'static [&'static str],
    #[allow(dead_code, reason = "for who reads this")]
    pub(crate) why: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// This project's.
    Embedded,
    /// Another real one, which has neither the recorded cluster's Agones nor its speed.
    Real,
    /// Both.
    Both,
}

impl Known {
    pub(crate) fn is_on(&self, on: On) -> bool {
        self.on == on || self.on == On::Both
    }

    /// Whether it may also be as recorded: on a real server much is a matter of moments.
    pub(crate) fn is_by_chance(&self) -> bool {
        self.on == On::Real
    }
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
        on: On::Embedded,
        recording: "api-expiry-and-restart",
        exchange: 11,
        parts: &["bookmarks: 0, here 2"],
        why: "a server that was just started sends no bookmarks before the first write; this one was not started again",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 67,
        parts: WEBHOOK,
        why: "Agones' webhook filled in the fleet's defaults; no webhooks are called here",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 68,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 71,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 72,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 74,
        parts: WEBHOOK,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 76,
        parts: NOT_SERVED,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        on: On::Embedded,
        recording: "api-protocol",
        exchange: 78,
        parts: NOT_SERVED,
        why: "lists the resources that are served here, not endpoints, replicationcontrollers and the others",
    },
    Known {
        on: On::Both,
        recording: "api-protocol",
        exchange: 80,
        parts: NOT_SERVED,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        on: On::Embedded,
        recording: "api-objects",
        exchange: 63,
        parts: &["bookmarks: 1, here 0"],
        why: "the recorded server sent a bookmark a second after the watch began; here the first comes after a minute, or before the end",
    },
    Known {
        on: On::Real,
        recording: "api-objects",
        exchange: 62,
        parts: &["status Some(429), here 200", "retry-after ", "[0].", "1 values, ", "only here: "],
        why: "whether the cache of a new resource is there in time for the first request is left to chance",
    },
    Known {
        on: On::Real,
        recording: "api-objects",
        exchange: 49,
        parts: &["status Some(200), here 404", "."],
        why: "whether the garbage collector has freed the orphans right after the request is left to chance",
    },
    Known {
        on: On::Embedded,
        recording: "api-protocol",
        exchange: 19,
        parts: &[".columnDefinitions["],
        why: "what columns mean is said in words of our own",
    },
    Known {
        on: On::Embedded,
        recording: "api-objects",
        exchange: 91,
        parts: &[".columnDefinitions["],
        why: "what columns mean is said in words of our own",
    },
];
