//! What is answered otherwise than by the real server, one by one.

pub(crate) struct Known {
    pub(crate) recording: &'static str,
    /// The number of the exchange, from 1.
    pub(crate) exchange: usize,
    #[allow(dead_code, reason = "for who reads this")]
    pub(crate) why: &'static str,
}

pub(crate) const DIFFERENCES: &[Known] = &[
    Known {
        recording: "api-expiry-and-restart",
        exchange: 11,
        why: "a server that was just started sends no bookmarks before the first write; this one was not started again",
    },
    Known {
        recording: "api-protocol",
        exchange: 67,
        why: "Agones' webhook filled in the fleet's defaults; no webhooks are called here",
    },
    Known {
        recording: "api-protocol",
        exchange: 68,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 71,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 72,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 74,
        why: "the fleet of 67, and Agones' controller had written its status",
    },
    Known {
        recording: "api-protocol",
        exchange: 76,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        recording: "api-protocol",
        exchange: 78,
        why: "lists the resources that are served here, not endpoints, replicationcontrollers and the others",
    },
    Known {
        recording: "api-protocol",
        exchange: 80,
        why: "lists the groups that are served here, not apps, batch and the others",
    },
    Known {
        recording: "api-objects",
        exchange: 62,
        why: "the recorded server had not set up its cache for the new resource yet and answered 429 once",
    },
    Known {
        recording: "api-objects",
        exchange: 63,
        why: "the recorded server sent a bookmark a second after the watch began; here the first comes after a minute, or before the end",
    },
    Known {
        recording: "api-objects",
        exchange: 98,
        why: "the recorded server warned of unknown fields in a body that it refused for its version",
    },
];
