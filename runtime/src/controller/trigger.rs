use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use lariat_api::ObjectKey;
use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};

/// Has keys handled by a controller, from anywhere, also before it starts: what was asked for waits until then.
///
/// Nothing here blocks. A clone is another handle to the same controller.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat::{Controller, DynamicObject, Kind, ObjectKey};
///
/// let nodes = Kind::cluster("", "v1", "Node", "nodes");
/// let controller = Controller::<DynamicObject>::of_kind("nodes", nodes);
/// let trigger = controller.trigger();
/// trigger.enqueue(ObjectKey::new("", "a"));
/// trigger.enqueue_after(ObjectKey::new("", "a"), Duration::from_secs(60));
/// ```
#[derive(Clone)]
pub struct Trigger(pub(crate) Queue<ObjectKey>);

impl Trigger {
    /// Has a key handled as soon as there is a worker.
    pub fn enqueue(&self, key: ObjectKey) {
        self.0.add(key);
    }

    /// Has a key handled after a time.
    pub fn enqueue_after(&self, key: ObjectKey, delay: Duration) {
        self.0.add_after(key, delay);
    }

    /// Has a key handled when the rate limiter allows, and charges it with a failure.
    pub fn enqueue_rate_limited(&self, key: ObjectKey) {
        self.0.add_rate_limited(key);
    }

    /// Has a key handled when nothing is more urgent.
    pub fn enqueue_low(&self, key: ObjectKey) {
        self.0.add_with(key, AddOptions { priority: LOW_PRIORITY, ..AddOptions::default() });
    }
}

impl Debug for Trigger {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trigger").field(&self.0).finish()
    }
}
