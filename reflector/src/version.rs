use std::cmp::Ordering;

use lariat_api::ResourceVersion;
use tokio::sync::watch;

/// The resourceVersion up to which a cache follows its server; `""` before the first list.
#[derive(Debug)]
pub(crate) struct SyncVersion(watch::Sender<String>);

impl SyncVersion {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(String::new()))
    }

    pub(crate) fn current(&self) -> String {
        self.0.borrow().clone()
    }

    pub(crate) fn set(&self, version: &str) {
        self.0.send_modify(|last| version.clone_into(last));
    }

    /// Moves on to a version that an event carried, unless that is none or would be a step back.
    pub(crate) fn advance(&self, version: &str) {
        self.0.send_if_modified(|last| advance(last, version));
    }

    /// Waits until a version has been reached; for ever if nobody follows the server any more.
    pub(crate) async fn reached(&self, version: &str) {
        let mut last = self.0.subscribe();
        let reached = last.wait_for(|last| {
            !last.is_empty()
                && (last == version || ResourceVersion::compare(last, version) == Ok(Ordering::Greater))
        });
        // The sender is this.
        let _ = reached.await;
    }
}

/// Moves a version on to another, unless that is none, the same or before it. True if it did.
pub(crate) fn advance(last: &mut String, version: &str) -> bool {
    let is_later = !version.is_empty() && version != last && !is_older(version, last);
    if is_later {
        version.clone_into(last);
    }
    is_later
}

/// Whether a version is before another. Versions that are no numbers cannot be told apart.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    ResourceVersion::compare(version, than) == Ok(Ordering::Less)
}
