use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lariat::api::{Metadata, Object, ResourceVersion};

use crate::types::GameServer;

/// What a loop did to the servers of one set and its cache does not show yet (GSS-2, issue 569).
///
/// # Example
///
/// ```
/// use lariat_controllers::gameserversets::Expectations;
/// use lariat_controllers::types::GameServer;
///
/// let expected = Expectations::default();
/// let mut server = GameServer::default();
/// server.metadata.name = "a".into();
/// expected.created(server.clone().into());
/// assert_eq!(expected.over(vec![]).len(), 1);
/// assert_eq!(expected.over(vec![server.into()]).len(), 1);
/// assert!(expected.over(vec![]).is_empty(), "once it was seen it is not expected any more");
/// ```
#[derive(Debug, Default)]
pub struct Expectations(Mutex<Expected>);

#[derive(Debug, Default)]
struct Expected {
    created: BTreeMap<String, Arc<GameServer>>,
    shut_down: BTreeMap<String, Arc<GameServer>>,
}

/// When a server was marked for deletion that was shut down here; only whether it was matters.
const SOON: &str = "1970-01-01T00:00:00Z";

impl Expectations {
    /// A server was created.
    pub fn created(&self, server: Arc<GameServer>) {
        self.expected().created.insert(server.name().to_owned(), server);
    }

    /// A server was told to shut down.
    pub fn shut_down(&self, server: Arc<GameServer>) {
        let mut expected = self.expected();
        expected.created.remove(server.name());
        expected.shut_down.insert(server.name().to_owned(), server);
    }

    /// The cache shows, or has shown, all that there was up to a resourceVersion. So a server that was created before and is not
    /// there has come and gone without being looked at, and nobody need wait for it.
    pub fn reached(&self, version: &str) {
        let is_later = |server: &GameServer| {
            ResourceVersion::compare(server.resource_version(), version).is_ok_and(|order| order.is_gt())
        };
        // A version that cannot be compared says nothing.
        if version.parse::<ResourceVersion>().is_ok() {
            self.expected().created.retain(|_, server| is_later(server));
        }
    }

    /// The servers of a cache with what was done since: created ones are there, and those that were shut down are being deleted.
    pub fn over(&self, cached: Vec<Arc<GameServer>>) -> Vec<Arc<GameServer>> {
        let mut expected = self.expected();
        let listed: BTreeMap<String, usize> =
            cached.iter().enumerate().map(|(place, server)| (server.name().to_owned(), place)).collect();
        let mut servers = cached;
        expected.created.retain(|name, _| !listed.contains_key(name));
        expected.shut_down.retain(|name, server| {
            let Some(place) = listed.get(name) else { return false };
            let is_seen = servers[*place].metadata.is_being_deleted();
            let mut deleting = GameServer::clone(server);
            deleting.metadata.deletion_timestamp.get_or_insert_with(|| SOON.into());
            servers[*place] = Arc::new(deleting);
            !is_seen
        });
        servers.extend(expected.created.values().cloned());
        servers
    }

    fn expected(&self) -> std::sync::MutexGuard<'_, Expected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use lariat::api::ObjectMeta;

    use super::*;

    /// A server that was created and deleted before the loop looked again, while the watch was away, never shows in the cache. It must not
    /// be counted for ever.
    #[test]
    fn what_came_and_went_unseen_is_not_expected_any_more() {
        let expected = Expectations::default();
        let metadata =
            ObjectMeta { name: "a".into(), resource_version: "12".into(), ..ObjectMeta::default() };
        expected.created(GameServer { metadata, ..GameServer::default() }.into());
        for behind in ["", "9", "11", "not a version"] {
            expected.reached(behind);
            assert_eq!(expected.over(vec![]).len(), 1, "a cache at {behind:?} does not know");
        }
        expected.reached("12");
        assert!(expected.over(vec![]).is_empty());
    }
}
