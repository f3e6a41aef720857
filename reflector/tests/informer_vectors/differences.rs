//! Where an informer answers otherwise than client-go's on purpose.

use lariat_fixtures::vectors::Difference;

const LIST: &str = "client-go/informer-watchlist-off";

const STREAMING: &str = "client-go/informer-watchlist-on";

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        file: STREAMING,
        case: "wl-accepted-close-right-after-bookmark",
        reason: "what a streaming list brought is complete, however short it was: the watch goes on from there, without a list",
    },
    Difference {
        file: LIST,
        case: "malformed-json-line-2",
        reason: "one object that cannot be decoded is reported and skipped; a list would bring it again",
    },
    Difference {
        file: LIST,
        case: "event-object-without-kind",
        reason: "typed objects do not need their kind, and a dynamic one is taken for what was asked for",
    },
    Difference {
        file: LIST,
        case: "list-not-a-list-object",
        reason: "a list that is answered with one object is an error, not an empty cache that is synced",
    },
    Difference {
        file: LIST,
        case: "relist-goes-back-in-time",
        reason: "a list that is older than was asked for is not applied; the newest is asked for",
    },
    Difference { file: LIST, case: "events-with-older-rv-than-store", reason: "the version never goes back" },
    Difference { file: LIST, case: "bookmark-goes-backwards", reason: "the version never goes back" },
    Difference {
        file: LIST,
        case: "event-without-resource-version",
        reason: "the last valid version is kept; a watch from none would begin with everything",
    },
    Difference {
        file: LIST,
        case: "only-mismatched-events-in-short-watch",
        reason: "events that are skipped are signs of life: the server can watch, and a list would bring the same",
    },
    Difference {
        file: LIST,
        case: "duplicate-key-in-list",
        reason: "an object that a list has twice is added once and then updated: one story, in which old is the previous new",
    },
    Difference {
        file: LIST,
        case: "transform-fails-in-stream",
        reason: "the version does not pass an event that was not applied: everything is listed again",
    },
    Difference {
        file: LIST,
        case: "transform-fails-in-list",
        reason: "one object whose transform fails is reported and skipped; the others are synced",
    },
    Difference {
        file: LIST,
        case: "item-without-name-in-list",
        reason: "an object without a name is reported and skipped, not cached under a key that is none",
    },
];
