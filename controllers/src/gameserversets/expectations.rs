use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lariat::api::{Metadata, Object};

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
